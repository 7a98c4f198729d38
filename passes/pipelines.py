"""The named pipelines: stretches of the compiler's stages that the registry runs."""

import functools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from girih.passes import stages
from girih.passes.options import UnknownPass, options_text, parse_options
from girih.passes.pipeline_syntax import Step, parse_pipeline
from girih.passes.stages import CompilerStage

PIPELINES: dict[str, tuple[CompilerStage, ...]] = {
    **stages.PIPELINES,
    "default": (
        CompilerStage("graph", "The imported graph becomes one of fusions.", "graph"),
        CompilerStage("host", "Fusions become a launch program and kernels.", "host"),
        CompilerStage("cpu", "Kernels become functions of LLVM's dialect.", "cpu"),
    ),
}


def texts(name: str) -> list[str]:
    """Returns the texts of a named pipeline's steps.

    Raises:
        KeyError: There is no such pipeline.
    """
    return [stage.passes for stage in PIPELINES[name]]


def texts_of(step: Step) -> list[str]:
    """Returns the texts of the steps of a pipeline that a step names.

    Raises:
        UnknownPass: It is given options: its passes have some, it has none.
    """
    found = texts(step.name)
    if step.options:
        raise UnknownPass(
            f"the pipeline {step.name!r} has no options, got {step.options!r}; write "
            f"out its passes to give them options: {','.join(found)}"
        )
    return found


def upstream_passes() -> frozenset[str]:
    """Returns the passes that some pipeline takes from upstream."""
    from girih.passes import PASS_MODULES

    named = {
        step.name
        for pipeline in PIPELINES.values()
        for stage in pipeline
        for step in parse_pipeline(stage.passes)
    }
    return frozenset(named - set(PASS_MODULES) - set(PIPELINES))


def with_options(name: str, options: Mapping[str, str]) -> list[str]:
    """Returns a named pipeline's texts, fully expanded, with options of passes added.

    Args:
        name: the pipeline.
        options: for a pass, its options as text: ``{"tile": "vector-bits=512"}``.
    """
    expanded = []
    for text in texts(name):
        if text in PIPELINES:
            expanded.extend(with_options(text, options))
        else:
            expanded.append(_with_options(text, options))
    return expanded


def steps_of(name: str, options: Mapping[str, Any]) -> list[Step]:
    """Returns a pipeline's steps, each with its stage and the options of its pass.

    Args:
        name: a pipeline of stages.
        options: for a pass, its options as an object of the pass's own class. What the
            pipeline itself says holds all the same.
    """
    return [
        _given(step, options.get(step.name))
        for stage in PIPELINES[name]
        for step in _steps_of(stage)
    ]


@functools.cache
def _steps_of(stage: CompilerStage) -> tuple[Step, ...]:
    return tuple(replace(s, stage=stage.name) for s in parse_pipeline(stage.passes))


def _given(step: Step, options: Any) -> Step:
    if options is None:
        return step
    options, text = _filled(step.name, step.options, options)
    return replace(step, options=text, given=options)


@functools.lru_cache(maxsize=512)
def _filled(name: str, text: str, options: Any) -> tuple[Any, str]:
    """Options with what a pipeline says of them, and all of it as text.

    A first call asks for its pipelines several times: to find what is kept, and to run.
    """
    filled = parse_options(name, type(options), text, options)
    return filled, options_text(filled)


def _with_options(text: str, options: Mapping[str, str]) -> str:
    step, _, own = text.removesuffix("}").partition("{")
    if not options.get(step):
        return text
    given = " ".join(filter(None, (own, options[step])))
    return f"{step}{{{given}}}"
