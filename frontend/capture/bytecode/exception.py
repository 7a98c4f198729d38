"""Raising, handling, and ``with``.

Source: https://docs.python.org/3.12/library/dis.html#opcode-RAISE_VARARGS and following
"""

from __future__ import annotations

from girih.errors import unsupported
from girih.frontend.capture.bytecode.table import opcode
from girih.frontend.capture.values.base import Raised


@opcode("RAISE_VARARGS")
def _raise_varargs(tracer, frame, instruction):
    if instruction.arg == 0:
        if not frame.handled:
            tracer.throw(RuntimeError, "No active exception to reraise")
        raise Raised(frame.handled[-1])
    cause = frame.pop() if instruction.arg == 2 else None
    value = tracer.exception_of(frame.pop())
    if not issubclass(value.python_type(), BaseException):
        tracer.throw(TypeError, "exceptions must derive from BaseException")
    if cause is not None:
        value.set_attr(tracer, "__cause__", tracer.exception_of(cause))
    raise Raised(value)


@opcode("RERAISE")
def _reraise(tracer, frame, instruction):
    # The offset further down the stack only serves tracebacks.
    value = frame.pop()
    raise Raised(value)


@opcode("PUSH_EXC_INFO")
def _push_exc_info(tracer, frame, instruction):
    value = frame.pop()
    frame.push(frame.handled[-1] if frame.handled else tracer.constant(None))
    frame.push(value)
    frame.handled.append(value)


@opcode("POP_EXCEPT")
def _pop_except(tracer, frame, instruction):
    frame.pop()
    frame.handled.pop()


@opcode("CHECK_EXC_MATCH")
def _check_exc_match(tracer, frame, instruction):
    expected = frame.pop()
    raised = frame.stack[-1].python_type()
    classes = expected.items if hasattr(expected, "items") else [expected]
    found = any(issubclass(raised, cls.as_python()) for cls in classes)
    frame.push(tracer.constant(found))


@opcode("CHECK_EG_MATCH", "PREP_RERAISE_STAR", "CLEANUP_THROW")
def _exception_group(tracer, frame, instruction):
    unsupported(
        kind="exception group or exception thrown into yield from",
        context=instruction.opname,
        explanation="girih does not follow this instruction.",
    )


# https://docs.python.org/3.12/library/dis.html#opcode-BEFORE_WITH


@opcode("BEFORE_WITH")
def _before_with(tracer, frame, instruction):
    manager = frame.pop()
    leave = tracer.get_attr(manager, "__exit__")
    entered = tracer.call(tracer.get_attr(manager, "__enter__"), [], {})
    frame.push(leave)
    frame.push(entered)


@opcode("WITH_EXCEPT_START")
def _with_except_start(tracer, frame, instruction):
    value = frame.stack[-1]
    leave = frame.stack[-4]
    cls = tracer.constant(value.python_type())
    args = [cls, value, tracer.constant(None)]
    frame.push(tracer.call(leave, args, {}))
