"""Writer of generators: a real one, suspended where the traced one is."""

from __future__ import annotations

import ast

from girih.errors import unsupported
from girih.frontend.capture.continuation import function_of, state_of
from girih.frontend.capture.rebuilding.code import call, tuple_of
from girih.frontend.capture.rebuilding.iterators import advanced, ended
from girih.frontend.capture.rebuilding.registry import writes
from girih.frontend.capture.resume.code import generator_code
from girih.frontend.capture.resume.origin import original_position
from girih.frontend.capture.resume.stack_effect import CannotStep
from girih.frontend.capture.values.iterator.generator import GeneratorValue


def _finished():
    """A generator of no items."""
    yield from ()


@writes(GeneratorValue)
def _write_generator(rebuilder, value: GeneratorValue) -> ast.expr:
    if value.is_finished:
        empty = call(rebuilder.constant(_finished))
        return rebuilder.assign(value, call(rebuilder.constant(ended), empty))
    if value.is_running:
        _refuse(value, "It is running, so it can't be left in the middle.")
    try:
        made = _suspended(rebuilder, value)
    except CannotStep as error:
        _refuse(value, f"Its frame can't be restored: {error}.")
    if value.is_started:
        made = call(rebuilder.constant(advanced), made, ast.Constant(1))
    return rebuilder.assign(value, made)


def _suspended(rebuilder, value: GeneratorValue) -> ast.expr:
    """A call that makes the generator; if it was started, its next yield is None."""
    frame = value.frame
    place = frame.next - 1 if value.is_started else frame.next
    code, index = original_position(frame.code, place)
    layout, args = state_of(rebuilder, frame, code, index)
    made = generator_code(code, index, layout, value.is_started)
    function = function_of(rebuilder, frame, made)
    return ast.Call(function, [ast.Starred(tuple_of(args), ast.Load())], [])


def _refuse(value: GeneratorValue, explanation: str):
    unsupported(
        kind="generator that can't be rebuilt",
        context=value.frame.code.co_qualname,
        explanation=explanation,
    )
