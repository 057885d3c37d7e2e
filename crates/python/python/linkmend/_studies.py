"""Functions of studies: keywords become the arguments of a command, which is declared only once."""

from __future__ import annotations

import difflib
import functools
import inspect
import textwrap
import warnings
from collections.abc import Iterable
from typing import Any

from . import _native
from ._progress import Progress, watched
from ._result import Result
from ._text import UNITS, Value, plain, texted

Declaration = dict[str, Any]


@functools.cache
def declarations() -> dict[str, list[Declaration]]:
    """The arguments of each study, by its name."""
    return {study["name"]: study["arguments"] for study in _native.studies()}


def call(study: str, keywords: dict[str, Value], progress: Progress = None) -> Result:
    """Executes a study with these keywords."""
    declared = {argument["name"].replace("-", "_"): argument for argument in declarations()[study]}
    arguments = ["--json"]
    positional = []
    for name, value in keywords.items():
        if value is None:
            continue
        argument = declared.get(name)
        if argument is None:
            raise TypeError(f"there is no keyword {name!r}; {near(name, declared)}")
        if argument["is_positional"]:
            values = value if argument["is_multiple"] and isinstance(value, (list, tuple)) else [value]
            positional += [texted(name, part, argument["quantity"]) for part in values]
        elif argument["is_flag"]:
            switch = plain(value)
            if not isinstance(switch, bool):
                raise TypeError(f"{name} = {value!r}: must be True or False")
            arguments += [f"--{argument['name']}"] if switch else []
        else:
            arguments.append(f"--{argument['name']}={texted(name, value, quantity(argument))}")
    with watched(progress, study) as show:
        result = _native.call(study, [*arguments, "--", *positional], show)
    for warning in result.warnings:
        warnings.warn(warning, stacklevel=3)
    return Result(result)


def near(name: str, known: Iterable[str]) -> str:
    """Keywords like this one, or where to find all of them."""
    alike = difflib.get_close_matches(name, known, n=3) or [other for other in known if name and name in other]
    return f"did you mean {' or '.join(alike)}?" if alike else "help() of the function lists all keywords"


def quantity(argument: Declaration) -> str | None:
    """What the argument measures: as declared, or by the word that stands for its value in the help."""
    declared: str | None = argument["quantity"]
    if declared is None and argument["name"] in ("speed", "default-speed"):
        return "rate"
    return declared or {"SIZE": "size", "TIME": "time", "LENGTH": "distance"}.get(argument["value"])


class StudyFunction:
    """The function of a study. Its signature and documentation are made when somebody asks, so that importing is fast."""

    def __init__(self, name: str, summary: str) -> None:
        self._name, self._summary = name, summary
        self.__name__ = self.__qualname__ = name.split()[-1]
        self.__module__ = "linkmend"

    def __call__(self, *positional: Value, progress: Progress = None, **keywords: Value) -> Result:
        places = [argument for argument in declarations()[self._name] if argument["is_positional"]]
        given = dict(zip((place["name"] for place in places), positional, strict=False))
        if len(positional) > len(places):
            if not (places and places[-1]["is_multiple"]):
                raise TypeError(
                    f"{self.__name__}() takes {len(places)} positional arguments: give the others as keywords"
                )
            given[places[-1]["name"]] = list(positional[len(places) - 1 :])
        return call(self._name, {**given, **keywords}, progress)

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        return document(self._name, self._summary)

    @property
    def __signature__(self) -> inspect.Signature:
        kind = inspect.Parameter.KEYWORD_ONLY
        keywords = [
            inspect.Parameter(
                argument["name"].replace("-", "_"),
                _kind(argument),
                default=inspect.Parameter.empty if argument["is_required"] or argument["is_multiple"] else None,
            )
            for argument in sorted(declarations()[self._name], key=lambda argument: not argument["is_positional"])
        ]
        return inspect.Signature(
            [*keywords, inspect.Parameter("progress", kind, default=None)], return_annotation=Result
        )

    def __repr__(self) -> str:
        return f"<function linkmend {self._name}>"


def _kind(argument: Declaration) -> Any:
    if not argument["is_positional"]:
        return inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter.VAR_POSITIONAL if argument["is_multiple"] else inspect.Parameter.POSITIONAL_OR_KEYWORD


def document(name: str, summary: str) -> str:
    """The documentation of a study's function."""
    lines = [summary, "", f"The same as `linkmend {name}`, with the same results.", "", "Parameters", "----------"]
    for argument in declarations()[name]:
        lines.append(f"{argument['name'].replace('-', '_')} : {kind_in_words(argument)}")
        lines += textwrap.wrap(in_python(argument["help"]), 100, initial_indent="    ", subsequent_indent="    ")
        if argument["default"] is not None:
            lines.append(f"    [default: {argument['default']}]")
    lines += ["progress : bool or callable, optional", "    Show progress, or call this with the steps done and all."]
    lines += [
        "",
        "Raises",
        "------",
        "ParameterError",
        "    If a value cannot be used; it has the parameter, the value and the requirement.",
    ]
    lines += ["StudyError", "    If the study failed.", "KeyboardInterrupt", "    After Ctrl-C."]
    return "\n".join(lines)


def kind_in_words(argument: Declaration) -> str:
    """What a keyword takes, in words."""
    optional = "" if argument["is_required"] else ", optional"
    if argument["is_flag"]:
        return "bool" + optional
    if argument["words"]:
        return "{" + ", ".join(repr(word) for word in argument["words"]) + "}" + optional
    if "FILE" in argument["value"]:
        return "path, or data of linkmend.data" + optional
    if argument["value"] == "N" and argument["quantity"] != "loss-rate":
        return "whole number" + optional
    unit = UNITS.get(quantity(argument) or "")
    return (f"text with a unit, or a number in {unit}" if unit else "text or number") + optional


def in_python(text: str) -> str:
    """Options in a text as keywords."""
    words = text.split("--")
    return words[0] + "".join(option[: (end := _end(option))].replace("-", "_") + option[end:] for option in words[1:])


def _end(option: str) -> int:
    for place, letter in enumerate(option):
        if not (letter.islower() or letter == "-" or letter.isdigit()):
            return place
    return len(option)
