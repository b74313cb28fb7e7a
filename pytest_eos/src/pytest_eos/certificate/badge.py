"""The badge of a certificate: a small SVG file, and the line of Markdown that shows it."""

from __future__ import annotations

from html import escape
from typing import Final
from urllib.parse import quote

from pytest_eos.certificate.readable_text import readable

_COLOURS: Final = {"held": "#00664a", "failed": "#9b2c00", "nothing shown": "#52606d"}
_LEFT: Final = "exactly once"
_CHARACTER = 6.6
"""Pixels of a character of 11 px at most, as the fonts below draw it: a badge has no way to measure its text."""
_FONTS = 'Verdana, "DejaVu Sans", Geneva, sans-serif'


def badge(verdict: str) -> str:
    """The badge as the text of an SVG file."""
    right = readable(verdict)
    widths = [len(text) * _CHARACTER + 14 for text in (_LEFT, right)]
    width, height = sum(widths), 20
    label = escape(f"{_LEFT}: {right}")
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}" role="img">',
        f"<title>{label}</title>",
        f'<clipPath id="c"><rect width="{width:.0f}" height="{height}" rx="3"/></clipPath><g clip-path="url(#c)">',
        f'<rect width="{width:.0f}" height="{height}" fill="#3e4c59"/>',
        f'<rect x="{widths[0]:.0f}" width="{widths[1]:.0f}" height="{height}" fill="{_COLOURS[verdict]}"/></g>',
        f'<g fill="#ffffff" text-anchor="middle" font-size="11" font-family=\'{_FONTS}\'>',
        f'<text x="{widths[0] / 2:.1f}" y="14">{_LEFT}</text>',
        f'<text x="{widths[0] + widths[1] / 2:.1f}" y="14">{escape(right)}</text></g></svg>\n',
    ]
    return "\n".join(parts)


def markdown(verdict: str, image: str, page: str) -> str:
    """The line that shows the badge in a README beside the files, and leads to the page."""
    return f"[![{_LEFT}: {verdict}]({quote(image)})]({quote(page)})"
