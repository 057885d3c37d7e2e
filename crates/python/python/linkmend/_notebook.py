"""Pages of reports as notebooks show them."""

from __future__ import annotations

import re

STYLE = re.compile(r"<style>(.*?)</style>", re.DOTALL)
MAIN = re.compile(r"<main[^>]*>(.*)</main>", re.DOTALL)


def shown(page: str) -> str:
    """The page in a shadow root, so that its style and that of the notebook do not meet."""
    style, main = STYLE.search(page), MAIN.search(page)
    if style is None or main is None:
        return page
    return f'<div><template shadowrootmode="open"><style>{style[1]}</style>{main[1]}</template></div>'
