"""Raising, handling, and ``with``.

Source: https://docs.python.org/3.12/library/dis.html#opcode-RAISE_VARARGS and following
"""

from __future__ import annotations

from girih.errors import unsupported
from girih.frontend.capture.bytecode.table import opcode
from girih.frontend.capture.values.base import Raised, type_name
from girih.frontend.capture.values.classes import ClassValue
from girih.frontend.capture.values.exception import PreviousException
from girih.frontend.capture.values.exception_group import (
    exception_classes,
    match_group,
    what_to_reraise,
)
from girih.frontend.capture.values.lookup import MISSING
from girih.frontend.capture.values.protocols import SpecialMethods


@opcode("RAISE_VARARGS")
def _raise_varargs(tracer, frame, instruction):
    if instruction.arg == 0:
        raise Raised(_handled(tracer), is_new=False)
    cause = frame.pop() if instruction.arg == 2 else None
    value = _exception(tracer, frame.pop(), "exceptions must derive from BaseException")
    if cause is not None:
        value.set_attr(tracer, "__cause__", _cause(tracer, cause))
    raise Raised(value)


def _handled(tracer):
    value = tracer.handled_exception()
    if value is None:
        unsupported(
            kind="raise without an exception outside of an except block",
            context="raise",
            explanation=(
                "A caller of the compiled function handles the exception that the "
                "statement raises again. girih does not see that exception."
            ),
        )
    return value


def _cause(tracer, cause):
    if tracer.is_none(cause):
        return cause
    return _exception(tracer, cause, "exception causes must derive from BaseException")


def _exception(tracer, value, message: str):
    """The exception that ``raise value`` raises."""
    if isinstance(value, ClassValue) and issubclass(value.cls, BaseException):
        value = tracer.call(value, [], {})
    if not issubclass(value.python_type(), BaseException):
        tracer.throw(TypeError, message)
    return value


@opcode("RERAISE")
def _reraise(tracer, frame, instruction):
    # The offset further down the stack only serves tracebacks.
    raise Raised(frame.pop(), is_new=False)


@opcode("PUSH_EXC_INFO")
def _push_exc_info(tracer, frame, instruction):
    value = frame.pop()
    frame.push(PreviousException(frame.handled[-1] if frame.handled else None))
    frame.push(value)
    frame.handled.append(value)


@opcode("POP_EXCEPT")
def _pop_except(tracer, frame, instruction):
    frame.pop()
    frame.handled.pop()


def _is_caught(raised: type, classes: tuple[type, ...]) -> bool:
    """Whether ``except`` catches a class: what classes say of others is not asked.

    Source: ``PyErr_GivenExceptionMatches`` in CPython's errors.c
    """
    return any(base is cls for cls in classes for base in raised.__mro__)


@opcode("CHECK_EXC_MATCH")
def _check_exc_match(tracer, frame, instruction):
    classes = exception_classes(tracer, frame.pop())
    raised = frame.stack[-1].python_type()
    tracer.guard_bases(raised)
    frame.push(tracer.constant(_is_caught(raised, classes)))


@opcode("CHECK_EG_MATCH")
def _check_eg_match(tracer, frame, instruction):
    value, expected = frame.pop_many(2)
    match, rest = match_group(tracer, value, expected)
    none = tracer.constant(None)
    frame.push(rest or none)
    frame.push(match or none)
    if match is not None:
        frame.handled[-1] = match


@opcode("PREP_RERAISE_STAR", until=(3, 11))
def _prep_reraise_star(tracer, frame, instruction):
    original, results = frame.pop_many(2)
    frame.push(what_to_reraise(tracer, original, results))


# https://docs.python.org/3.12/library/dis.html#opcode-BEFORE_WITH


@opcode("BEFORE_WITH")
def _before_with(tracer, frame, instruction):
    manager = frame.pop()
    enter = _method_of_manager(tracer, manager, "__enter__", "")
    leave = _method_of_manager(tracer, manager, "__exit__", " (missed __exit__ method)")
    entered = tracer.call(enter, [], {})
    frame.push(leave)
    frame.push(entered)


def _method_of_manager(tracer, manager, name: str, missed: str):
    """A method of a manager's class, past what the manager itself has."""
    cls = manager.python_type()
    member, _ = tracer.lookup(cls, name)
    if member is MISSING:
        text = "object does not support the context manager protocol"
        tracer.throw(TypeError, f"'{type_name(cls)}' {text}{missed}")
    if isinstance(manager, SpecialMethods):
        return manager.bind_special(tracer, name, member)
    return tracer.get_attr(manager, name)


@opcode("WITH_EXCEPT_START")
def _with_except_start(tracer, frame, instruction):
    value = frame.stack[-1]
    leave = frame.stack[-4]
    cls = tracer.constant(value.python_type())
    args = [cls, value, tracer.get_attr(value, "__traceback__")]
    frame.push(tracer.call(leave, args, {}))
