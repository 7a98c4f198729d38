"""The passes of users, and where they run: ``options={"passes": {...}}``.

::

    {"before:fuse": my_pass, "after:decompose": ["mine:double_to_add", "cse"]}

A pass is a function of a module, one that takes options, too, or text: the name of a
pass, ``module:function``, either with ``{options}``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from girih.dialects import additions
from girih.passes import registry
from girih.passes.default_options import OptionsByClass, with_defaults
from girih.passes.fingerprints import fingerprint
from girih.passes.options import parse_options
from girih.passes.pipeline_syntax import Step, parse_pipeline
from girih.passes.places import PassPlace, parse_place


@dataclass(frozen=True)
class UserPasses:
    """Passes by place, in the order in which they were given."""

    steps: tuple[tuple[PassPlace, Step], ...] = ()

    def at(self, program: str, when: str, stage: str) -> list[Step]:
        """The passes before a stage, or after it."""
        return [
            replace(step, stage=str(place))
            for place, step in self.steps
            if place[:2] == (when, stage) and place.holds_in(program)
        ]

    def around(self, program: str, steps: Iterable[Step]) -> list[Step]:
        """The steps of a pipeline with these passes where they belong."""
        if not self.steps:
            return list(steps)
        found = []
        for step in steps:
            found += self.at(program, "before", step.stage)
            found.append(step)
            found += self.at(program, "after", step.stage)
        return found

    def with_options(self, known: OptionsByClass) -> UserPasses:
        """These passes, with options of the compilation where they say nothing."""
        steps = ((place, with_defaults(step, known)) for place, step in self.steps)
        return UserPasses(tuple(steps))

    def key(self) -> str:
        """Text that is another one where any of them does something else."""
        return "".join(f"{place} {key_of([step])};" for place, step in self.steps)

    def places(self) -> list[str]:
        """The places, as text."""
        return list(dict.fromkeys(str(place) for place, _ in self.steps))


_everywhere: list[tuple[PassPlace, Step]] = []


def add_everywhere(places: Iterable[str], name: str) -> None:
    """Has a registered pass run at places of every compilation.

    Raises:
        ValueError: A place is not known.
    """
    parsed = [parse_place(text) for text in places]
    before = list(_everywhere)
    additions.on_failure(lambda: _everywhere.__setitem__(slice(None), before))
    _everywhere[:] = [each for each in _everywhere if each[1].name != name]
    step = _checked(Step(name))
    _everywhere.extend((place, step) for place in parsed)


def with_plugins(given: UserPasses | None) -> UserPasses:
    """Returns the passes of a compilation: those of plugins, and those it was given."""
    return UserPasses((*_everywhere, *(given.steps if given else ())))


def parse_user_passes(given: Any) -> UserPasses:
    """Returns what the option ``passes`` says.

    Raises:
        TypeError: It is no mapping from places to passes.
        ValueError: A place or a pass is not known.
    """
    if not isinstance(given, Mapping):
        raise TypeError(
            "option 'passes' must be a dict from place to passes, such as "
            f"{{'before:fuse': my_pass}}, got {type(given).__name__}"
        )
    steps = []
    for text, passes in given.items():
        place = parse_place(text)
        several = passes if isinstance(passes, list | tuple) else [passes]
        steps += [(place, step) for each in several for step in _steps(each, text)]
    return UserPasses(tuple(steps))


def key_of(steps: Iterable[Step]) -> str:
    """Text that is another one wherever the steps do something else.

    Names say what girih's own passes do, since its sources are part of every key.
    """
    parts = []
    for step in steps:
        parts.append(str(step))
        if ":" in step.name or registry.is_foreign(step):
            parts.append(fingerprint(registry.info_of_step(step).function))
    return ",".join(parts)


def _steps(given: Any, place: str) -> list[Step]:
    if isinstance(given, str):
        return [_checked(step) for step in parse_pipeline(given)]
    if callable(given):
        return [_of_function(given)]
    raise TypeError(
        f"the passes at {place!r} must be functions, names or lists of them, "
        f"got {given!r} of type {type(given).__name__}"
    )


def _checked(step: Step) -> Step:
    """A step whose pass and options exist."""
    if registry.is_own(step.name):
        info = registry.find_pass(step.name)
        parse_options(info.name, info.options, step.options)
        return replace(step, info=info) if registry.is_users(info) else step
    registry.expect_upstream(step)
    return step


def _of_function(function: Callable) -> Step:
    info = registry.info_of(function)
    return Step(info.name, info=info)
