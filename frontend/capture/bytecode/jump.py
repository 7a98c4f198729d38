"""Jumps, loops, and leaving a frame.

Source: https://docs.python.org/3.12/library/dis.html#opcode-JUMP_FORWARD and following
"""

from __future__ import annotations

from girih.errors import unsupported
from girih.frontend.capture.bytecode.table import of_version, opcode
from girih.frontend.capture.values.base import NULL, Raised
from girih.frontend.capture.values.iterator.generator import send_to


@opcode("JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT")
def _jump(tracer, frame, instruction):
    frame.jump(instruction.argval)


@opcode("POP_JUMP_FORWARD_IF_TRUE", "POP_JUMP_BACKWARD_IF_TRUE", until=(3, 11))
@opcode("POP_JUMP_IF_TRUE", since=(3, 12))
def _jump_if_true(tracer, frame, instruction):
    if frame.pop().truth(tracer):
        frame.jump(instruction.argval)


@opcode("POP_JUMP_FORWARD_IF_FALSE", "POP_JUMP_BACKWARD_IF_FALSE", until=(3, 11))
@opcode("POP_JUMP_IF_FALSE", since=(3, 12))
def _jump_if_false(tracer, frame, instruction):
    if not frame.pop().truth(tracer):
        frame.jump(instruction.argval)


@opcode("POP_JUMP_FORWARD_IF_NONE", "POP_JUMP_BACKWARD_IF_NONE", until=(3, 11))
@opcode("POP_JUMP_IF_NONE", since=(3, 12))
def _jump_if_none(tracer, frame, instruction):
    if tracer.is_none(frame.pop()):
        frame.jump(instruction.argval)


@opcode("POP_JUMP_FORWARD_IF_NOT_NONE", "POP_JUMP_BACKWARD_IF_NOT_NONE", until=(3, 11))
@opcode("POP_JUMP_IF_NOT_NONE", since=(3, 12))
def _jump_if_not_none(tracer, frame, instruction):
    if not tracer.is_none(frame.pop()):
        frame.jump(instruction.argval)


@opcode("JUMP_IF_TRUE_OR_POP", until=(3, 11))
def _jump_if_true_or_pop(tracer, frame, instruction):
    if frame.stack[-1].truth(tracer):
        frame.jump(instruction.argval)
    else:
        frame.pop()


@opcode("JUMP_IF_FALSE_OR_POP", until=(3, 11))
def _jump_if_false_or_pop(tracer, frame, instruction):
    if frame.stack[-1].truth(tracer):
        frame.pop()
    else:
        frame.jump(instruction.argval)


# https://docs.python.org/3.12/library/dis.html#opcode-GET_ITER


@opcode("GET_ITER")
def _get_iter(tracer, frame, instruction):
    frame.push(tracer.iterator(frame.pop()))


@opcode("GET_YIELD_FROM_ITER")
def _get_yield_from_iter(tracer, frame, instruction):
    frame.push(tracer.iterator(frame.pop()))


@opcode("FOR_ITER", until=(3, 11))
def _for_iter(tracer, frame, instruction):
    item = tracer.next_of(frame.stack[-1])
    if item is None:
        frame.pop()
        frame.jump(instruction.argval)
    else:
        frame.push(item)


@opcode("FOR_ITER", since=(3, 12))
def _for_iter_past_its_end(tracer, frame, instruction):
    item = tracer.next_of(frame.stack[-1])
    if item is not None:
        frame.push(item)
        return
    # The end of the loop would pop what is popped here; it is skipped, as CPython does.
    frame.pop()
    frame.jump(instruction.argval)
    frame.next += _END_OF_LOOP


_END_OF_LOOP = of_version({(3, 11): 0, (3, 12): 1, (3, 13): 2})


@opcode("TO_BOOL", since=(3, 13))
def _to_bool(tracer, frame, instruction):
    frame.push(tracer.constant(frame.pop().truth(tracer)))


# https://docs.python.org/3.12/library/dis.html#opcode-RETURN_VALUE


@opcode("RETURN_VALUE")
def _return_value(tracer, frame, instruction):
    return "return", frame.pop()


@opcode("RETURN_CONST", since=(3, 12))
def _return_const(tracer, frame, instruction):
    return "return", tracer.constant(instruction.argval)


@opcode("RETURN_GENERATOR")
def _return_generator(tracer, frame, instruction):
    return "generator", NULL


@opcode("YIELD_VALUE")
def _yield_value(tracer, frame, instruction):
    return "yield", frame.pop()


@opcode("SEND", until=(3, 11))
def _send(tracer, frame, instruction):
    sent = frame.pop()
    item, result = send_to(tracer, frame.stack[-1], sent)
    if item is not None:
        frame.push(item)
        return
    frame.stack[-1] = result
    frame.jump(instruction.argval)


@opcode("SEND", since=(3, 12))
def _send_and_keep(tracer, frame, instruction):
    sent = frame.pop()
    item, result = send_to(tracer, frame.stack[-1], sent)
    if item is not None:
        frame.push(item)
        return
    frame.push(result)
    frame.jump(instruction.argval)


@opcode("END_SEND", since=(3, 12))
def _end_send(tracer, frame, instruction):
    _, value = frame.pop_many(2)
    frame.push(value)


@opcode("CLEANUP_THROW", since=(3, 12))
def _cleanup_throw(tracer, frame, instruction):
    _, _, value = frame.pop_many(3)
    if not issubclass(value.python_type(), StopIteration):
        raise Raised(value, is_new=False)
    frame.push(tracer.constant(None))
    frame.push(tracer.get_attr(value, "value"))


@opcode("ASYNC_GEN_WRAP", until=(3, 11))
@opcode("GET_AWAITABLE", "GET_AITER", "GET_ANEXT", "BEFORE_ASYNC_WITH", "END_ASYNC_FOR")
def _asynchronous(tracer, frame, instruction):
    unsupported(
        kind="asynchronous code",
        context=instruction.opname,
        explanation="Coroutines are not captured.",
        hints=("Compile the plain functions that the coroutine calls.",),
    )
