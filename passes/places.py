"""Places: where, in the order of the compiler, a user's pass runs.

A place is ``before:STAGE`` or ``after:STAGE``, with a stage of `girih.passes.stages`. A
program in front says that it holds there alone: ``backward:before:fuse``.
"""

import difflib
from collections.abc import Iterable
from typing import NamedTuple

from girih.passes import stages

_WHEN = ("before", "after")


class PassPlace(NamedTuple):
    """A place in the order of the compiler.

    Attributes:
        when: "before" or "after".
        stage: The name of a stage.
        program: The kind of program; "" for all that have the stage.
    """

    when: str
    stage: str
    program: str = ""

    def __str__(self) -> str:
        return ":".join(filter(None, (self.program, self.when, self.stage)))

    def holds_in(self, program: str) -> bool:
        """Whether the place is meant in programs of this kind."""
        return self.program in ("", program)


def parse_place(text: str) -> PassPlace:
    """Returns the place that a text names.

    Raises:
        ValueError: There is no such place; the message lists those that there are.
    """
    if not isinstance(text, str):
        raise TypeError(
            f"a place of passes must be a str such as 'before:fuse', got {text!r}"
        )
    program, when, stage = (
        ("", *text.split(":"))
        if text.count(":") == 1
        else (text.split(":") if text.count(":") == 2 else ("", "", ""))
    )
    if when not in _WHEN:
        raise ValueError(
            f"expected a place of passes such as 'before:fuse', 'after:decompose' or "
            f"'backward:before:fuse', got {text!r}"
        )
    if program and program not in stages.PROGRAMS:
        raise ValueError(_unknown("program", program, text, stages.PROGRAMS))
    known = names_of_places(when, program)
    if stage not in known:
        raise ValueError(_unknown_stage(stage, text, known))
    return PassPlace(when, stage, program)


def names_of_places(when: str, program: str = "") -> list[str]:
    """The stages with a place in front or behind, in order, on any target."""
    programs = (program,) if program else stages.PROGRAMS
    found = (
        stage.name
        for kind in programs
        for target in stages.TARGETS.values()
        for stage in stages.stages_of(kind, target)
        if (stage.takes_ir if when == "before" else stage.leaves_ir)
    )
    return list(dict.fromkeys(found))


def _unknown_stage(name: str, text: str, known: Iterable[str]) -> str:
    """The message for a stage that has no place, or that is a pass's name."""
    runs = [
        stage.name
        for kind in stages.PIPELINES.values()
        for stage in kind
        if stage.passes.partition("{")[0] == name
    ]
    if runs:
        names = " and ".join(map(repr, dict.fromkeys(runs)))
        return f"the pass {name!r} of the place {text!r} runs in the stages {names}"
    return _unknown("stage", name, text, known)


def _unknown(what: str, name: str, text: str, known: Iterable[str]) -> str:
    known = list(known)
    close = difflib.get_close_matches(name, known, n=1)
    hint = f" (did you mean {close[0]!r}?)" if close else ""
    listed = ", ".join(map(repr, known))
    return f"unknown {what} {name!r} in the place {text!r}{hint}; there are: {listed}"
