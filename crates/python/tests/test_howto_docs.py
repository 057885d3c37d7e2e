"""The Python of docs/howto/notebook.md, and what it prints."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

DOCUMENT = Path(__file__).parents[3] / "docs" / "howto" / "notebook.md"


def test_cells_print_what_the_page_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = DOCUMENT.read_text(encoding="utf-8")
    cells = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(cells) == 3
    shown = re.search(r"```text\n(scheme .*?)```", text, re.DOTALL)
    assert shown
    names: dict[str, object] = {}
    for cell in cells:
        exec(compile(cell, DOCUMENT.name, "exec"), names)  # noqa: S102 (our own document)
    assert capsys.readouterr().out == shown.group(1)
