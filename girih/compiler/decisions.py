"""The options ``choices_fuel`` and ``choices_seed``, as options of passes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from girih.options import Options
from girih.passes.choices import CHOOSING, NO_LIMIT, ChoiceOptions
from girih.passes.options import options_text, parse_options
from girih.passes.pipeline_syntax import Step
from girih.passes.registry import find_pass, info_of_step


def with_choices(given: Mapping[str, Any], options: Options) -> dict[str, Any]:
    """Options of passes in which fuel and seed are those of a compilation.

    Args:
        given: Options by the name of a pass.
        options: Of the compilation.
    """
    found = dict(given)
    for name in _names(options):
        base = given[name] if name in given else find_pass(name).options()
        found[name] = _limited(base, options)
    return found


def steps_with_choices(steps: Iterable[Step], options: Options) -> list[Step]:
    """Steps of a file's pipeline, in which fuel and seed are those of a compilation.

    Args:
        steps: The steps.
        options: Of the compilation. If they say nothing, what the file says holds.
    """
    if not options.chooses():
        return list(steps)
    names = _names(options)
    return [
        with_options(step, _limited(given, options))
        if step.name in names and (given := choice_options(step)) is not None
        else step
        for step in steps
    ]


def choice_options(step: Step) -> ChoiceOptions | None:
    """Options of a pass that takes decisions; None of another one."""
    info = info_of_step(step)
    if info is None or not issubclass(info.options or object, ChoiceOptions):
        return None
    return step.given or parse_options(info.name, info.options, step.options)


def with_options(step: Step, options: ChoiceOptions) -> Step:
    """The step with these options, as an object and as text."""
    return replace(step, options=options_text(options), given=options)


def _names(options: Options) -> tuple[str, ...]:
    return (options.choices_pass,) if options.choices_pass else CHOOSING


def _limited(given: ChoiceOptions, options: Options) -> ChoiceOptions:
    fuel, seed = options.choices_fuel, options.choices_seed
    return replace(
        given,
        fuel=NO_LIMIT if fuel is None else fuel,
        seed=NO_LIMIT if seed is None else seed,
    )
