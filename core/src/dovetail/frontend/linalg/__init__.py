"""torch.linalg, and what torch has of it under other names."""

from dovetail.frontend.linalg import (  # noqa: F401 (they offer their names)
    definite,
    functions,
    general,
    indefinite,
    low_rank,
    norms,
    orthogonal,
    products,
    spectra,
    systems,
    triangles,
)
