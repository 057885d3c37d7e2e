"""Results as notebooks show them."""

from __future__ import annotations

import re

TOOK = re.compile(r"<tr><td[^>]*>took</td>.*?</tr>", re.DOTALL)
"""How long it took, which would change a stored notebook each time."""

STYLE = """
.lm-result figure{margin:0 0 1em}
.lm-result .lm-table{border-collapse:collapse;font-variant-numeric:tabular-nums}
.lm-result .lm-table caption{text-align:left;font-weight:600;padding:.3em .5em}
.lm-result .lm-table th,.lm-result .lm-table td{text-align:left;vertical-align:top;padding:.2em .5em}
.lm-result .lm-table .lm-number{text-align:right;white-space:nowrap}
.lm-result figcaption{max-width:46em;font-size:.9em;opacity:.75;padding:.3em .5em}
.lm-result .lm-plot{max-width:56em;height:auto}
"""


def shown(tables: list[str], plots: list[str]) -> str:
    """Tables with a style of their own, and plots as files, which have theirs.

    Notebooks insert HTML as `innerHTML`, which ignores declarative shadow roots, so the style names its class instead.
    """
    body = "".join([*(TOOK.sub("", table) for table in tables), *plots])
    return f'<div class="lm-result"><style>{STYLE}</style>{body}</div>'


def timeless(text: str) -> str:
    """The text without the line that says how long it took."""
    return "\n".join(line for line in text.split("\n") if not line.startswith("  took "))
