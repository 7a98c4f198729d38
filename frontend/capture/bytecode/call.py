"""Calls.

Source: https://docs.python.org/3.12/library/dis.html#opcode-CALL and following
"""

from __future__ import annotations

from girih.frontend.capture.bytecode.table import opcode
from girih.frontend.capture.values.base import NULL
from girih.frontend.capture.values.function import name_of_callee
from girih.frontend.capture.values.lookup import is_iterable


@opcode("KW_NAMES")
def _kw_names(tracer, frame, instruction):
    frame.keyword_names = frame.code.co_consts[instruction.arg]


@opcode("CALL", until=(3, 12))
def _call(tracer, frame, instruction):
    args = frame.pop_many(instruction.arg)
    first, second = frame.pop_many(2)
    if first is NULL:
        callee = second
    else:  # an unbound method and its owner
        callee, args = first, [second, *args]
    names, frame.keyword_names = frame.keyword_names, ()
    frame.push(_called(tracer, frame, callee, args, names))


@opcode("CALL", since=(3, 13))
def _call_with_null_last(tracer, frame, instruction):
    callee, args = _callee_and_arguments(frame, instruction.arg)
    frame.push(_called(tracer, frame, callee, args, ()))


@opcode("CALL_KW", since=(3, 13))
def _call_kw(tracer, frame, instruction):
    names = frame.pop().as_python()
    callee, args = _callee_and_arguments(frame, instruction.arg)
    frame.push(_called(tracer, frame, callee, args, names))


def _callee_and_arguments(frame, count: int):
    args = frame.pop_many(count)
    callee, owner = frame.pop_many(2)
    return callee, args if owner is NULL else [owner, *args]


def _called(tracer, frame, callee, args: list, names: tuple[str, ...]):
    count = len(args) - len(names)
    kwargs = dict(zip(names, args[count:], strict=True))
    return tracer.call_from(frame, callee, args[:count], kwargs)


@opcode("CALL_FUNCTION_EX", until=(3, 12))
def _call_function_ex(tracer, frame, instruction):
    args, kwargs = _unpacked_arguments(tracer, frame, instruction, -1)
    callee = frame.pop()
    frame.pop()  # NULL
    frame.push(tracer.call_from(frame, callee, args, kwargs))


@opcode("CALL_FUNCTION_EX", since=(3, 13))
def _call_function_ex_with_null_last(tracer, frame, instruction):
    args, kwargs = _unpacked_arguments(tracer, frame, instruction, -2)
    frame.pop()  # NULL
    frame.push(tracer.call_from(frame, frame.pop(), args, kwargs))


def _unpacked_arguments(tracer, frame, instruction, place: int):
    """The arguments on the stack, above a callee at a place of what is below them."""
    kwargs = {}
    if instruction.arg & 1:
        for key, value in tracer.pairs_of(frame.pop()):
            if not issubclass(key.python_type(), str):
                tracer.throw(TypeError, "keywords must be strings")
            kwargs[key.as_python()] = value
    args = frame.pop()
    if not is_iterable(tracer, args):
        kind = args.python_type().__name__
        message = f"argument after * must be an iterable, not {kind}"
        tracer.throw(TypeError, f"{name_of_callee(frame.stack[place])} {message}")
    return tracer.listed(args), kwargs
