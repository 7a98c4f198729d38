"""Places: where, in the order of the compiler, a user's pass runs.

A place is ``before:STAGE`` or ``after:STAGE``, with a stage of `girih.passes.stages`. A
program before says that it holds there alone: ``backward:before:fuse``.
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
        programs = f"; programs are {', '.join(stages.PROGRAMS)}"
        raise ValueError(f"unknown program {program!r} in the place {text!r}{programs}")
    known = names_of_places(when, program)
    if stage not in known:
        raise ValueError(_unknown_stage(stage, when, program, text, known))
    return PassPlace(when, stage, program)


def names_of_places(when: str, program: str = "") -> list[str]:
    """The stages with a place before or after, in order, on any target."""
    programs = (program,) if program else stages.PROGRAMS
    found = (
        stage.name
        for kind in programs
        for target in stages.TARGETS.values()
        for stage in stages.stages_of(kind, target)
        if (stage.takes_ir if when == "before" else stage.leaves_ir)
    )
    return list(dict.fromkeys(found))


def _unknown_stage(
    name: str, when: str, program: str, text: str, known: Iterable[str]
) -> str:
    """The message for a stage that has no such place, or that is a pass's name."""
    other = "after" if when == "before" else "before"
    if name in names_of_places(other, program):
        ir_is = "takes no IR" if when == "before" else "leaves no IR"
        return f"the stage {name!r} {ir_is}, so there is {other}:{name}, but no {text}"
    having = [kind for kind in stages.PROGRAMS if name in names_of_places(when, kind)]
    if having:
        programs = " and ".join(having)
        return f"{program} programs have no stage {name!r} of {text!r}, but {programs}"
    runs = [
        stage.name
        for kind in stages.PIPELINES.values()
        for stage in kind
        if stage.passes.partition("{")[0] == name
    ]
    if runs:
        names = " and ".join(map(repr, dict.fromkeys(runs)))
        return f"the pass {name!r} of the place {text!r} runs in the stages {names}"
    close = difflib.get_close_matches(name, list(known), n=3, cutoff=0.5)
    hint = f"; did you mean {' or '.join(map(repr, close))}?" if close else ""
    hint += (
        "\n  girih-opt --list-stages lists those of inference on the CPU; --training"
    )
    hint += " and --target=gpu have others"
    return f"unknown stage {name!r} in the place {text!r}{hint}"
