"""Calls.

Source: https://docs.python.org/3.12/library/dis.html#opcode-CALL and following
"""

from __future__ import annotations

from girih.frontend.capture.bytecode.table import opcode
from girih.frontend.capture.values.base import NULL


@opcode("KW_NAMES")
def _kw_names(tracer, frame, instruction):
    frame.keyword_names = frame.code.co_consts[instruction.arg]


@opcode("CALL")
def _call(tracer, frame, instruction):
    args = frame.pop_many(instruction.arg)
    first, second = frame.pop_many(2)
    if first is NULL:
        callee = second
    else:  # an unbound method and its owner
        callee, args = first, [second, *args]
    names, frame.keyword_names = frame.keyword_names, ()
    count = len(args) - len(names)
    kwargs = dict(zip(names, args[count:], strict=True))
    frame.push(tracer.call_from(frame, callee, args[:count], kwargs))


@opcode("CALL_FUNCTION_EX")
def _call_function_ex(tracer, frame, instruction):
    kwargs = {}
    if instruction.arg & 1:
        for key, value in tracer.pairs_of(frame.pop()):
            kwargs[key.as_python()] = value
    args = list(tracer.iterate(frame.pop()))
    callee = frame.pop()
    frame.pop()  # NULL
    frame.push(tracer.call_from(frame, callee, args, kwargs))
