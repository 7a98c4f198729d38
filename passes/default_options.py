"""Options that a pass takes from others of its class, where nobody says them.

``print-schedules`` prints what ``tile`` is about to do only with ``tile``'s options.
Both have the same class of options, so one gets what the other one was given.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from girih.passes import registry, reproducer
from girih.passes.options import UnknownPass, options_text, parse_options
from girih.passes.pipeline_syntax import PipelineSyntaxError, Step, parse_pipeline
from girih.passes.stages import CompilerStage

OptionsByClass = Mapping[type, Any]
"""Options of passes, by their class."""


def of_compilation(
    stages: Iterable[CompilerStage], options: Mapping[str, Any]
) -> OptionsByClass:
    """Returns the options that a compilation gives to its passes.

    Args:
        stages: All stages of a program. The first pass of a class counts.
        options: By the name of a pass; what a stage itself says holds all the same.
    """
    found = {type(each): each for each in options.values()}
    for stage in reversed(list(stages)):
        for step in parse_pipeline(stage.passes):
            if (base := options.get(step.name)) is not None:
                cls = type(base)
                found[cls] = parse_options(step.name, cls, step.options, base)
    return found


def of_dump(text: str) -> OptionsByClass:
    """Returns the options that the first line of a dump gives to girih's passes.

    The line may name passes that are not loaded, or functions. They are left out, since
    nothing that a file names is imported here.
    """
    if not reproducer.is_reproducer(text):
        return {}
    try:
        steps = registry.expand_pipeline(reproducer.pipeline_of(text))
    except PipelineSyntaxError:
        return {}
    found: dict[type, Any] = {}
    for step in steps:
        if ":" in step.name or not registry.is_own(step.name):
            continue
        info = registry.find_pass(step.name)
        if info.options is None or info.options in found:
            continue
        try:
            found[info.options] = parse_options(info.name, info.options, step.options)
        except UnknownPass:
            continue
    return found


def with_defaults(step: Step, known: OptionsByClass) -> Step:
    """Returns a step that has known options where its own text says nothing."""
    info = registry.info_of_step(step) if known else None
    base = known.get(info.options) if info is not None else None
    if base is None:
        return step
    given = parse_options(info.name, info.options, step.options, base)
    return replace(step, options=options_text(given), given=given)
