"""Exception groups, and what ``except*`` does with them.

Source: Objects/exceptions.c of CPython 3.12 (``exceptiongroup_split_recursive``,
``_PyExc_PrepReraiseStar``) and ``_PyEval_ExceptionGroupMatch`` in Python/ceval.c.
"""

from __future__ import annotations

from collections.abc import Callable

from girih.frontend.capture.values.base import Value
from girih.frontend.capture.values.classes import ClassValue
from girih.frontend.capture.values.exception import CHAINING, ExceptionValue
from girih.frontend.capture.values.object import ObjectValue
from girih.frontend.capture.values.sequence import SequenceValue, TupleValue

Split = tuple[Value | None, Value | None]


class GroupValue(ExceptionValue):
    """An exception group.

    Attributes:
        members: Its exceptions; of one from outside, None until they are read.
    """

    members: list[Value] | None = None

    def _new(self, tracer, args: list[Value]) -> ExceptionValue:
        return new_group(tracer, self.cls, args)

    def exceptions(self, tracer) -> list[Value]:
        """The exceptions in it."""
        if self.members is None:
            source = self.source.attribute("exceptions")
            found = tracer.wrap(self.real.exceptions, source)
            self.members = list(found.iterate(tracer))
        return self.members

    def find_attr(self, tracer, name):
        """``message`` and ``exceptions``; others as for any exception."""
        if name == "exceptions":
            return TupleValue(list(self.exceptions(tracer)))
        if name == "message" and self.real is None:
            return self.args[0]
        return super().find_attr(tracer, name)

    def generic_set_attr(self, tracer, name, value):
        """``message`` and ``exceptions`` are not to be set."""
        if name in ("message", "exceptions"):
            tracer.throw(AttributeError, "readonly attribute")
        super().generic_set_attr(tracer, name, value)

    def method___init__(self, tracer, /, *args, **kwargs):
        """Groups are made by ``__new__``."""
        return tracer.constant(None)

    def method___str__(self, tracer):
        """``message (n sub-exceptions)``."""
        count = len(self.exceptions(tracer))
        message = tracer.get_attr(self, "message").as_python()
        plural = "" if count == 1 else "s"
        return tracer.constant(f"{message} ({count} sub-exception{plural})")

    def method_derive(self, tracer, exceptions):
        """A group with the same message."""
        message = tracer.get_attr(self, "message")
        return new_group(tracer, BaseExceptionGroup, [message, exceptions])

    def method_split(self, tracer, condition):
        """``self.split(condition)``."""
        match, rest = split(tracer, self, _condition(tracer, condition))
        none = tracer.constant(None)
        return TupleValue([match or none, rest or none])

    def method_subgroup(self, tracer, condition):
        """``self.subgroup(condition)``."""
        match, _ = split(tracer, self, _condition(tracer, condition))
        return match or tracer.constant(None)


def new_group(tracer, cls: type, args: list[Value]) -> GroupValue:
    """``cls.__new__(cls, message, exceptions)``."""
    if len(args) != 2:
        message = "BaseExceptionGroup.__new__() takes exactly 2 arguments"
        tracer.throw(TypeError, f"{message} ({len(args)} given)")
    members = _checked_members(tracer, args[1])
    are_plain = all(issubclass(m.python_type(), Exception) for m in members)
    if cls is BaseExceptionGroup and are_plain:
        cls = ExceptionGroup
    if not are_plain and issubclass(cls, Exception):
        start = "Cannot nest BaseExceptions in an ExceptionGroup"
        if cls is not ExceptionGroup:
            start = f"Cannot nest BaseExceptions in '{cls.__name__}'"
        tracer.throw(TypeError, start)
    made = GroupValue(cls, list(args))
    made.members = members
    return made


def _checked_members(tracer, exceptions: Value) -> list[Value]:
    what = "second argument (exceptions)"
    base = exceptions.base if isinstance(exceptions, ObjectValue) else exceptions
    if not isinstance(base, SequenceValue):
        tracer.throw(TypeError, f"{what} must be a sequence")
    if not base.items:
        tracer.throw(ValueError, f"{what} must be a non-empty sequence")
    for index, item in enumerate(base.items):
        if not issubclass(item.python_type(), BaseException):
            tracer.throw(ValueError, f"Item {index} of {what} is not an exception")
    return list(base.items)


def _condition(tracer, condition: Value) -> Callable[[Value], bool]:
    if isinstance(condition, (ClassValue, TupleValue)):
        classes = exception_classes(tracer, condition)
        return lambda value: issubclass(value.python_type(), classes)
    return lambda value: tracer.call(condition, [value], {}).truth(tracer)


def exception_classes(tracer, expected: Value) -> tuple[type, ...]:
    """The classes that an ``except`` names."""
    items = expected.items if isinstance(expected, TupleValue) else [expected]
    classes = []
    for item in items:
        cls = item.as_python() if isinstance(item, ClassValue) else None
        if cls is None or not issubclass(cls, BaseException):
            message = "catching classes that do not inherit from BaseException"
            tracer.throw(TypeError, f"{message} is not allowed")
        classes.append(cls)
    return tuple(classes)


def split(tracer, value: Value, matches: Callable[[Value], bool]) -> Split:
    """An exception's part that matches, and the rest."""
    if matches(value):
        return value, None
    if not isinstance(value, GroupValue):
        return None, value
    parts = [split(tracer, member, matches) for member in value.exceptions(tracer)]
    match = [part for part, _ in parts if part is not None]
    rest = [part for _, part in parts if part is not None]
    return _subset(tracer, value, match), _subset(tracer, value, rest)


def _subset(tracer, group: GroupValue, members: list[Value]) -> Value | None:
    """A group like another one, of some of its exceptions."""
    if not members:
        return None
    made = tracer.call_method(group, "derive", [tracer.list_of(members)])
    made.raising, made.entries = group.raising, list(group.entries)
    for name in CHAINING[:2]:
        made.set_attr(tracer, name, tracer.get_attr(group, name))
    suppressed = tracer.get_attr(group, CHAINING[2])
    made.set_attr(tracer, CHAINING[2], suppressed)
    notes = tracer.find_attr(group, "__notes__")
    if isinstance(notes, SequenceValue):
        made.set_attr(tracer, "__notes__", tracer.list_of(list(notes.items)))
    return made


def match_group(tracer, value: Value, expected: Value) -> Split:
    """What ``except* expected`` takes of an exception, and what it leaves."""
    classes = exception_classes(tracer, expected)
    if any(issubclass(cls, BaseExceptionGroup) for cls in classes):
        message = "catching ExceptionGroup with except* is not allowed."
        tracer.throw(TypeError, f"{message} Use except instead.")
    match, rest = split(tracer, value, lambda v: issubclass(v.python_type(), classes))
    if match is value and not isinstance(match, GroupValue):
        args = [tracer.constant(""), TupleValue([value])]
        match = new_group(tracer, BaseExceptionGroup, args)
    return match, rest


def what_to_reraise(tracer, original: Value, results: Value) -> Value:
    """What is raised after the ``except*`` clauses of a ``try``; None for nothing."""
    left = [item for item in results.items if not tracer.is_none(item)]
    if not left or not isinstance(original, GroupValue):
        return left[0] if left else tracer.constant(None)
    raised = [item for item in left if not _is_part(tracer, item, original)]
    again = [item for item in left if item not in raised]
    projection = _projection(tracer, original, again) if again else None
    if not raised:
        return projection or tracer.constant(None)
    if projection is not None:
        raised.append(projection)
    if len(raised) == 1:
        return raised[0]
    args = [tracer.constant(""), tracer.list_of(raised)]
    return new_group(tracer, BaseExceptionGroup, args)


def _is_part(tracer, value: Value, original: GroupValue) -> bool:
    """Whether a group was split off another one, and not raised since."""
    if not isinstance(value, GroupValue) or value.raising is not original.raising:
        return False
    return all(
        tracer.same(tracer.get_attr(value, name), tracer.get_attr(original, name))
        for name in CHAINING[:2]
    )


def _projection(tracer, group: GroupValue, parts: list[Value]) -> Value | None:
    """The part of a group that holds the exceptions of some parts of it."""
    leaves = [leaf for part in parts for leaf in _leaves(tracer, part)]
    match, _ = split(tracer, group, lambda value: any(value is leaf for leaf in leaves))
    return match


def _leaves(tracer, value: Value) -> list[Value]:
    if not isinstance(value, GroupValue):
        return [value]
    members = value.exceptions(tracer)
    return [leaf for member in members for leaf in _leaves(tracer, member)]
