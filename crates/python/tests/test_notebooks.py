"""Executes the notebooks, and compares what they print and draw with what is stored.

`UPDATE_EXPECT=1` writes the outputs into the notebooks and the plots into `docs/`. What notebooks print must be equal.
Plots may be shifted a little, because the size of texts depends on the version of matplotlib.
"""

from __future__ import annotations

import os
import re
import time
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")
pytest.importorskip("matplotlib")

ROOT = Path(__file__).resolve().parents[3]
DOCS = ROOT / "docs"
NOTEBOOKS = sorted((ROOT / "crates/python/notebooks").glob("*.ipynb"))
UPDATE = os.environ.get("UPDATE_EXPECT") == "1"
SECONDS = float(os.environ.get("LINKMEND_NOTEBOOK_SECONDS", "30"))
"""How long one notebook may take; they take up to 8 s on an idle machine."""
TOLERANCE = 3.0
"""How far a coordinate of a plot may be off, in points; matplotlib 3.10 and 3.11 differ by up to 2.5."""
MAX_SVG_BYTES = 60_000
SVG = "image/svg+xml"
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")

by_name = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


@by_name
def test_a_notebook_prints_and_draws_what_is_stored(path: Path, tmp_path: Path) -> None:
    stored = nbformat.read(path, as_version=4)
    executed = execute(stored, tmp_path)
    drawn = sorted(tmp_path.glob("notebook-*.svg"))
    assert drawn, "it saves no plot"
    for plot in drawn:
        assert plot.stat().st_size < MAX_SVG_BYTES, f"{plot.name} is too large"
    if UPDATE:
        nbformat.write(executed, path)
        for plot in drawn:
            (DOCS / plot.name).write_bytes(plot.read_bytes())
    for before, after in zip(stored.cells, executed.cells, strict=True):
        if not UPDATE and after.cell_type == "code":
            assert printed(after) == printed(before), f"cell {after.id}: UPDATE_EXPECT=1 stores the new outputs"
    for plot in drawn:
        differ = difference((DOCS / plot.name).read_text(), plot.read_text())
        assert differ is None, f"docs/{plot.name}: {differ}; UPDATE_EXPECT=1 stores the new plot"


@by_name
def test_a_notebook_shows_the_plots_of_the_documents(path: Path) -> None:
    shown = [data[SVG] for cell in nbformat.read(path, as_version=4).cells for data in displayed(cell) if SVG in data]
    assert [text for text in shown if not any(text == plot.read_text() for plot in DOCS.glob("notebook-*.svg"))] == []
    assert 1 <= len(shown) <= 2


@by_name
def test_an_answer_has_numbers_that_its_notebook_prints(path: Path) -> None:
    book = nbformat.read(path, as_version=4)
    evidence = "\n".join([*(cell.source for cell in book.cells if cell.cell_type == "code"), *map(printed, book.cells)])
    missing = numbers(answer(book)) - numbers(evidence)
    assert not missing, f"no cell has or prints {missing}"


@by_name
def test_the_page_has_the_question_the_answer_and_the_plot(path: Path) -> None:
    book, page = nbformat.read(path, as_version=4), " ".join((DOCS / "notebooks.md").read_text().split())
    for text in (question(book), answer(book), f"({os.path.relpath(path, DOCS)})", *(plots(book))):
        assert text in page, f"docs/notebooks.md lacks: {text}"


@by_name
def test_the_links_of_a_notebook_lead_somewhere(path: Path) -> None:
    texts = [cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "markdown"]
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", "\n".join(texts)):
        assert (path.parent / target).exists(), target


@by_name
def test_a_notebook_is_short_and_has_no_traces_of_its_execution(path: Path) -> None:
    book = nbformat.read(path, as_version=4)
    code = [cell for cell in book.cells if cell.cell_type == "code"]
    assert 4 <= len(code) <= 8 and code[0].source.startswith("# pip install")
    assert all(cell.execution_count is None and not cell.metadata for cell in code)
    assert not any("stderr" in output.get("name", "") for cell in code for output in cell.outputs)


def test_a_changed_plot_is_found() -> None:
    def svg(path: str, text: str) -> str:
        return f'<svg xmlns="http://www.w3.org/2000/svg"><path id="a" d="{path}"/><text>{text}</text></svg>'

    stored = svg("M 1 2", "10 ms")
    assert difference(stored, svg("M 1.2 4", "10 ms").replace('"a"', '"b"')) is None
    for changed in (svg("M 1 6", "10 ms"), svg("M 1 2", "10.1 ms"), svg("M 1 2", "10 s"), svg("M 1 2 L 3 4", "10 ms")):
        assert difference(stored, changed) is not None
    assert difference(stored, stored.replace("<text>10 ms</text>", "")) is not None


def execute(book: Any, folder: Path) -> Any:
    """A copy of the notebook with the outputs of an execution in this folder, without numbers and times of execution."""
    book = nbformat.from_dict(book)
    started = time.monotonic()
    nbclient.NotebookClient(
        book, timeout=SECONDS, kernel_name="python3", resources={"metadata": {"path": str(folder)}}, record_timing=False
    ).execute()
    print(f"{time.monotonic() - started:.1f} s")
    for cell in book.cells:
        if cell.cell_type == "code":
            cell.execution_count = None
            cell.metadata = nbformat.from_dict({})
            cell.outputs = merged(cell.outputs)
    book.metadata = nbformat.from_dict(
        {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        }
    )
    return book


def merged(outputs: list[Any]) -> list[Any]:
    """The outputs with one text instead of as many as the kernel happened to send, and without numbers of execution."""
    texts: dict[str, Any] = {}
    kept = []
    for output in outputs:
        if output.output_type == "stream" and output.name in texts:
            texts[output.name].text += output.text
            continue
        if output.output_type == "stream":
            texts[output.name] = output
        output.pop("execution_count", None)
        if output.output_type == "execute_result":
            output.output_type = "display_data"
        kept.append(output)
    return kept


def displayed(cell: Any) -> list[dict[str, str]]:
    """What the cell displays, by type."""
    return [output.data for output in cell.get("outputs", []) if "data" in output]


def printed(cell: Any) -> str:
    """The texts among the cell's outputs."""
    streams = [output.text for output in cell.get("outputs", []) if output.output_type == "stream"]
    return "\n".join([*streams, *(data.get("text/plain", "") for data in displayed(cell))])


def question(book: Any) -> str:
    return str(book.cells[0].source.splitlines()[0].removeprefix("# "))


def answer(book: Any) -> str:
    """The bold sentence below the question."""
    found = re.search(r"\*\*(.+?)\*\*", book.cells[0].source, re.DOTALL)
    assert found, "the first cell has no answer"
    return " ".join(found[1].split())


def plots(book: Any) -> list[str]:
    """The plots that the notebook saves, as the page links them."""
    return [f"({name})" for cell in book.cells for name in re.findall(r"notebook-[\w-]+\.svg", cell.source)]


def numbers(text: str) -> set[float]:
    """The numbers in a text; a comma separates thousands."""
    return {abs(float(number)) for number in NUMBER.findall(re.sub(r"(?<=\d),(?=\d{3})|(?<=\d)_(?=\d)", "", text))}


def difference(stored: str, drawn: str) -> str | None:
    """The first difference between what two SVG files show that is not only a rounding."""
    parts, now = shapes(stored), shapes(drawn)
    for at, (part, other) in enumerate(zip(parts, now, strict=False)):
        if part.startswith("text") and part != other or NUMBER.split(part) != NUMBER.split(other):
            return f"part {at}, {part[:60]!r}, has become {other[:60]!r}"
        for number, changed in zip(NUMBER.findall(part), NUMBER.findall(other), strict=True):
            if abs(float(number) - float(changed)) > TOLERANCE:
                return f"part {at}: {number} has become {changed} in {other[:60]!r}"
    return None if len(parts) == len(now) else f"{len(parts)} parts have become {len(now)}"


def shapes(svg: str) -> list[str]:
    """The lines, markers and texts in the file, without identifiers, and without fonts, which versions write differently."""
    found = []
    for element in ElementTree.fromstring(svg).iter():
        kind = element.tag.rpartition("}")[2]
        if kind == "text":
            found.append("text " + "".join(element.itertext()).strip())
        elif kind in ("path", "use"):
            found.append(" ".join([kind, *(element.get(key, "") for key in ("d", "x", "y", "style"))]))
    return found
