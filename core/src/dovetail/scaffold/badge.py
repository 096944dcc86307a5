"""The level of a device as a picture for its README."""

from __future__ import annotations

from typing import Final
from xml.sax.saxutils import escape

UNKNOWN: Final = "#6e7781"
_LABEL: Final = "dovetail"
_LETTER: Final = 6.6  # pixels of one in the font below
_SVG: Final = """\
<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" \
aria-label="{label}: {text}">
<title>{label}: {text}</title>
<clipPath id="r"><rect width="{width}" height="20" rx="3"/></clipPath>
<g clip-path="url(#r)">
<rect width="{left}" height="20" fill="#424a53"/>
<rect x="{left}" width="{right}" height="20" fill="{color}"/>
</g>
<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" \
font-size="11">
<text x="{left_middle}" y="14">{label}</text>
<text x="{right_middle}" y="14">{text}</text>
</g>
</svg>
"""


def badge(text: str, color: str = UNKNOWN) -> str:
    """A picture that says `dovetail` and the text beside it."""
    left, right = _width(_LABEL), _width(text)
    return _SVG.format(
        width=left + right, left=left, right=right, left_middle=left / 2,
        right_middle=left + right / 2, label=_LABEL, text=escape(text), color=color,
    )  # fmt: skip


def _width(text: str) -> int:
    return round(_LETTER * len(text)) + 12
