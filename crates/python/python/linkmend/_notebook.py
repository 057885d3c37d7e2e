"""Pages of reports as notebooks show them."""

from __future__ import annotations

import re

MAIN = re.compile(r"<main[^>]*>(.*)</main>", re.DOTALL)
PLOT = re.compile(r'<svg class="lm-plot".*?</svg>(?=</div>)', re.DOTALL)
"""A plot, up to the end of its figure, because it may contain others."""
LEFT_OUT = re.compile(
    r'<h2[^>]*>Results</h2>|<p class="lm-download">.*?</p>|<tr><td[^>]*>took</td>.*?</tr>',
    re.DOTALL,
)
"""The heading, copies of the data, and how long it took, which would change a stored notebook each time."""

STYLE = """
.lm-result figure{margin:0 0 1em}
.lm-result .lm-table{border-collapse:collapse;font-variant-numeric:tabular-nums}
.lm-result .lm-table caption{text-align:left;font-weight:600;padding:.3em .5em}
.lm-result .lm-table th,.lm-result .lm-table td{text-align:left;vertical-align:top;padding:.2em .5em}
.lm-result .lm-table .lm-number{text-align:right;white-space:nowrap}
.lm-result figcaption{max-width:46em;font-size:.9em;opacity:.75;padding:.3em .5em}
.lm-result .lm-plot{max-width:56em;height:auto}
"""


def shown(page: str, plots: list[str]) -> str:
    """The tables of the page with a style of their own, and its plots as files, which have theirs.

    Notebooks insert HTML as `innerHTML`, which ignores declarative shadow roots, so the style names its class instead.
    """
    main = MAIN.search(page)
    if main is None:
        return page
    complete = iter(plots)
    body = PLOT.sub(lambda found: next(complete, found[0]), LEFT_OUT.sub("", main[1]))
    return f'<div class="lm-result"><style>{STYLE}</style>{body}</div>'


def timeless(text: str) -> str:
    """The text without the line that says how long it took."""
    return "\n".join(line for line in text.split("\n") if not line.startswith("  took "))
