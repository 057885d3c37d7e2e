"""Stubs are those of the declarations, and type checkers understand them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import linkmend
from linkmend._stubs import all_stubs

PACKAGE = Path(linkmend.__file__).parent
GOOD = """
import linkmend

found: linkmend.Result = linkmend.stress(speed="100G", loss=1e-3, scheme="ordered", frames=20_000_000, seed=1)
run: linkmend.Run = linkmend.Run(transport="dctcp", size=linkmend.data.FlowSizes([1], [1]))
value: float = run.measure(seed=1)["frames_sent"].value
plan: linkmend.Result = linkmend.fleet.plan(topology="fat-tree:k=4", links="links.csv")
"""
BAD = {
    'linkmend.stress(scheme="both")': "scheme",
    "linkmend.stress(los=1e-3)": "los",
    "linkmend.rdma.plan()": "wanted",
    "linkmend.Run(full=3)": "full",
}


def test_the_stubs_are_those_of_the_declarations() -> None:
    outdated = [name for name, text in all_stubs().items() if (PACKAGE / name).read_text() != text]
    assert not outdated, f"python -m linkmend._stubs crates/python/python/linkmend rewrites {outdated}"


def checked(text: str, folder: Path, *checker: str) -> tuple[int, str]:
    # mypy takes a file of the same name, length and time for the one that it has seen.
    file = folder / f"checked_{len(list(folder.iterdir()))}.py"
    file.write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", *checker, str(file)], capture_output=True, text=True, cwd=folder, check=False
    )
    return done.returncode, done.stdout + done.stderr


def test_mypy_understands_them(tmp_path: Path) -> None:
    code, said = checked(GOOD, tmp_path, "mypy", "--strict")
    assert code == 0, said
    for line, name in BAD.items():
        code, said = checked(f"import linkmend\n{line}\n", tmp_path, "mypy", "--strict")
        assert code == 1 and name in said, said


def test_pyright_understands_them(tmp_path: Path) -> None:
    code, said = checked(GOOD, tmp_path, "pyright", "--pythonpath", sys.executable)
    assert code == 0, said
    code, said = checked("import linkmend\n" + "\n".join(BAD), tmp_path, "pyright", "--pythonpath", sys.executable)
    assert code == 1 and all(name in said for name in BAD.values()), said


def test_the_functions_are_documented() -> None:
    documentation = linkmend.stress.__doc__ or ""
    assert "loss : text or number, optional" in documentation
    assert "Share of frames" in documentation
