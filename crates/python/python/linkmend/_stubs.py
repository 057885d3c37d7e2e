"""Stubs of the functions of studies, made from their declarations: `python -m linkmend._stubs [--check] FOLDER`."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path
from typing import Any

from . import _native
from ._functions import FUNCTIONS
from ._studies import declarations, document, quantity

HEAD = '''"""{title}

Made by `python -m linkmend._stubs` from the declarations of parameters.
"""

from collections.abc import Sequence
from typing import Any, Literal

from ._progress import Progress
from ._result import Result
from ._text import Number, Path
'''

TITLES = {
    "_presets": "Functions that simulate links.",
    "fleet": "Networks of many links over time: which of them to disable, protect and repair.",
    "rdma": "A model of how often corruption makes RDMA wait for a timeout.",
}
"""The modules that have functions of studies."""


def kind(argument: dict[str, Any]) -> str:
    """The type of a keyword."""
    if argument["is_flag"]:
        return "bool"
    if argument["words"]:
        return f"Literal[{', '.join(repr(word) for word in argument['words'])}]".replace("'", '"')
    if argument["name"] == "size":
        return "Path | float"
    if argument["name"] == "topology" or "FILE" in argument["value"] or argument["value"] == "PATH":
        return "Path"
    if quantity(argument) or argument["value"] in (
        "N",
        "COUNT",
        "LOSS",
        "RATE",
        "SHARE",
        "BYTES",
        "DAYS",
        "HOURS",
        "YEARS",
    ):
        return "Number"
    return "str | float | Sequence[object]"


def signature(name: str, study: str, summary: str, *, indent: str = "", first: str = "") -> str:
    """The stub of a function."""
    arguments = sorted(declarations()[study], key=lambda argument: not argument["is_positional"])
    lines = [f"def {name}("] + ([f"    {first},"] if first else [])
    starred = False
    for argument in arguments:
        if argument["is_positional"] and argument["is_multiple"]:
            lines.append(f"    *{argument['name']}: str,")
            starred = True
            continue
        if not argument["is_positional"] and not starred:
            lines.append("    *,")
            starred = True
        optional = "" if argument["is_required"] else " | None"
        default = "" if argument["is_required"] else " = None"
        lines.append(f"    {argument['name'].replace('-', '_')}: {kind(argument)}{optional}{default},")
    lines += ["    progress: Progress = None,", ") -> Result:"]
    text = document(study, summary).replace("\\", "\\\\")
    documentation = textwrap.indent(f'"""{text}\n"""', "    ", lambda line: bool(line.strip()))
    return textwrap.indent("\n".join([*lines, documentation]), indent, lambda line: bool(line.strip()))


def module(name: str) -> str:
    """The stub of a module."""
    parts = [HEAD.format(title=TITLES[name])]
    parts += [signature(function, *of) for function, of in FUNCTIONS[name].items()]
    if name == "_presets":
        parts += [
            (
                'def throughput(duration: Number = "1s", **keywords: Any) -> Result:\n    """Run one endless flow for this '
                'time, and measure its throughput: `flows` without `load` and `trials`."""'
            ),
            (
                'def collective(operation: str | None = None, **keywords: Any) -> Result:\n    """Run a collective '
                'operation of a training job on all hosts, all-reduce-ring unless there is a `program`."""'
            ),
            'class Llr:\n    """Ultra Ethernet\'s Link Layer Retry."""\n\n    def __call__(self, **keywords: Any) -> Result:\n'
            '        """Send frames at line rate over one link with LLR: `stress(scheme="llr", ...)`."""\n\n    @staticmethod\n'
            + signature("plan", *FUNCTIONS["llr"]["plan"], indent="    "),
            "llr: Llr",
        ]
    return "\n\n".join(parts) + "\n"


def run() -> str:
    """The stub of `Run`."""
    lines = [
        (
            '"""A run: parameters of a link, hosts and traffic, which can be varied and measured.\n\n'
            'Made by `python -m linkmend._stubs` from the declarations of parameters.\n"""\n'
        ),
        "from typing import Any, Literal, NamedTuple\n",
        "from ._text import Number, Path\n",
        "class Measured(NamedTuple):",
        '    """A value, and the ends of its 95 % interval if it has one."""\n',
        "    value: float\n    low: float | None\n    high: float | None\n",
        "class Run:",
        '    """A run, described by its parameters as an experiment file describes one."""\n',
    ]
    keywords = []
    for parameter in _native.parameters():
        argument = {**parameter, "value": "FILE" if "FILE" in parameter["value"] else ""}
        keywords.append(f"        {parameter['name'].replace('-', '_')}: {kind(argument)} | None = None,")
    everything = "\n".join(["        self,", "        *,", *keywords])
    lines.append(f"    def __init__(\n{everything}\n    ) -> None: ...")
    lines.append(f"    def replace(\n{everything}\n    ) -> Run: ...")
    lines += [
        "    @property\n    def parameters(self) -> dict[str, str]: ...",
        "    def measure(self, seed: int = 1) -> dict[str, Measured]: ...",
        "    def to_toml(self) -> str: ...",
        "    def __reduce__(self) -> tuple[Any, ...]: ...",
        "    def __eq__(self, other: object) -> bool: ...",
        "    def __hash__(self) -> int: ...",
        "\ndef key(name: str) -> str: ...",
        "def quantity(name: str) -> str | None: ...",
    ]
    return "\n".join(lines) + "\n"


def all_stubs() -> dict[str, str]:
    """All stubs, by the name of their file."""
    return {**{f"{name}.pyi": module(name) for name in TITLES}, "_run.pyi": run()}


def main() -> int:
    """Writes the stubs into a folder, or says which of those there are outdated."""
    *options, folder = sys.argv[1:]
    outdated = [name for name, text in all_stubs().items() if _read(Path(folder) / name) != text]
    if "--check" in options:
        for name in outdated:
            print(f"{name} is outdated: python -m linkmend._stubs {folder}", file=sys.stderr)
        return 1 if outdated else 0
    for name in outdated:
        (Path(folder) / name).write_text(all_stubs()[name])
    return 0


def _read(path: Path) -> str | None:
    return path.read_text() if path.exists() else None


if __name__ == "__main__":
    sys.exit(main())
