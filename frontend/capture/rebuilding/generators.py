"""Writer of generators: a real one, suspended where the traced one is."""

from __future__ import annotations

import ast

from girih.errors import unsupported
from girih.frontend.capture.continuation import function_of, state_of
from girih.frontend.capture.frame import plan_of
from girih.frontend.capture.rebuilding.code import call, tuple_of
from girih.frontend.capture.rebuilding.iterators import advanced
from girih.frontend.capture.rebuilding.registry import writes
from girih.frontend.capture.resume.arguments import arguments
from girih.frontend.capture.resume.code import generator_code
from girih.frontend.capture.resume.layout import Layout
from girih.frontend.capture.resume.origin import original_position
from girih.frontend.capture.resume.stack_effect import CannotStep
from girih.frontend.capture.values.iterator.generator import GeneratorValue


def closed(generator):
    """A generator that came to its end."""
    generator.close()
    return generator


@writes(GeneratorValue)
def _write_generator(rebuilder, value: GeneratorValue) -> ast.expr:
    if value.is_finished:
        made = call(rebuilder.constant(closed), _unused(rebuilder, value))
        return rebuilder.assign(value, made)
    if value.is_running:
        _refuse(value, "It is running, so it can't be left in the middle.")
    try:
        made = _suspended(rebuilder, value)
    except CannotStep as error:
        _refuse(value, f"Its frame can't be restored: {error}.")
    if value.is_started:
        made = call(rebuilder.constant(advanced), made, ast.Constant(1))
    return rebuilder.assign(value, made)


def close_generators(rebuilder, generators, returning) -> None:
    """Lets Python close the generators that nothing refers to any more.

    Those that locals of a frame hold which returns now are made, and freed with it.

    Args:
        rebuilder: Has written all that goes on to live.
        generators: All that were started.
        returning: The frames that return now.

    Raises:
        UnsupportedError: One was left somewhere else, and closing it runs code.
    """
    held = [value for frame in returning for value in frame.locals.values()]
    for value in generators:
        if not value.needs_closing or rebuilder.made(value) is not None:
            continue
        if not any(value is item for item in held):
            unsupported(
                kind="generator that is left unfinished",
                context=value.frame.code.co_qualname,
                explanation="Python runs its handlers when it frees the generator.",
                hints=("Run it to its end, or close it.",),
            )
        rebuilder.expression(value)


def _suspended(rebuilder, value: GeneratorValue) -> ast.expr:
    """A call that makes the generator; if it was started, its next yield is None."""
    frame = value.frame
    place = frame.next - 1 if value.is_started else frame.next
    code, index = original_position(frame.code, place)
    layout, args = state_of(rebuilder, frame, code, index)
    made = generator_code(code, index, layout, value.is_started)
    function = function_of(rebuilder, frame, made)
    return ast.Call(function, [ast.Starred(tuple_of(args), ast.Load())], [])


def _unused(rebuilder, value: GeneratorValue) -> ast.expr:
    """A call that makes a generator of the same code, which never runs."""
    code = original_position(value.frame.code, 0)[0]
    names = [instruction.opname for instruction in plan_of(code).instructions]
    start = names.index("RETURN_GENERATOR") + 1
    made = generator_code(code, start, Layout(), started=False)
    function = function_of(rebuilder, value.frame, made)
    args = [ast.Constant(None)] * len(arguments(code, Layout(), {}, {}, ()))
    return call(function, *args)


def _refuse(value: GeneratorValue, explanation: str):
    unsupported(
        kind="generator that can't be rebuilt",
        context=value.frame.code.co_qualname,
        explanation=explanation,
    )
