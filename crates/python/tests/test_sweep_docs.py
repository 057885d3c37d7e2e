"""The examples of docs/sweeps.md."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCUMENT = Path(__file__).parents[3] / "docs" / "sweeps.md"
NEEDS_A_CLUSTER = ("scheduler:8786", "ray.init", "MPIPoolExecutor")


def test_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 5
    names: dict[str, object] = {}
    ran = 0
    for block in blocks:
        code = compile(block.replace('frames="1M"', "frames=2000").replace("200", "8"), DOCUMENT.name, "exec")
        if not any(word in block for word in NEEDS_A_CLUSTER):
            exec(code, names)  # noqa: S102 (our own document)
            ran += 1
    assert ran == 2
