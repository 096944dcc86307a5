"""torch.masked: reductions and normalisations of the elements that a mask keeps."""

from dovetail.frontend.masked import (  # noqa: F401 (they offer their names)
    normalisations,
    reductions,
)
