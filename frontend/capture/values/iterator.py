"""Iterators and generators."""

from __future__ import annotations

from collections.abc import Iterator

from girih.errors import unsupported
from girih.frontend.capture.values.base import Raised, Value

_ITERATOR = type(iter(()))


class IteratorValue(Value):
    """An iterator over traced values.

    Args:
        items: The values to come.
        cls: Its Python type.
    """

    def __init__(self, items: Iterator[Value], cls: type | None = None):
        self.items = items
        self.cls = cls or _ITERATOR

    def python_type(self) -> type:
        """The type of the iterator."""
        return self.cls

    def iterate(self, tracer):
        """The values to come."""
        return self.items

    def next(self, tracer) -> Value | None:
        """The next value; None at the end."""
        return next(self.items, None)

    def contains(self, tracer, item) -> bool:
        """Consumes the iterator up to the item."""
        return any(tracer.equal(item, own) for own in self.items)

    def method___next__(self, tracer):
        """``self.__next__()``."""
        found = self.next(tracer)
        if found is None:
            tracer.throw(StopIteration)
        return found

    def method___iter__(self, tracer):
        """An iterator is its own iterator."""
        return self


class GeneratorValue(IteratorValue):
    """A generator: a frame that is suspended.

    Attributes:
        frame: The frame.
        result: What it returned, once it did.
    """

    def __init__(self, frame):
        super().__init__(iter(()), type(x for x in ()))
        self.frame = frame
        self.result: Value | None = None
        self.is_finished = False
        self.is_started = False

    def iterate(self, tracer):
        """Runs it from yield to yield."""
        while (item := self.next(tracer)) is not None:
            yield item

    def next(self, tracer):
        """Runs it to the next yield; None when it returns."""
        return self.resume(tracer, tracer.constant(None))

    def resume(self, tracer, sent: Value) -> Value | None:
        """Runs it on with the value of its ``yield`` expression."""
        if self.is_finished:
            return None
        self.frame.push(sent)
        self.is_started = True
        return self._run(tracer)

    def throw_into(self, tracer, raised: Raised) -> Value | None:
        """Raises at its ``yield``."""
        if self.is_finished or not self.is_started:
            self.is_finished = True
            raise raised
        return self._run(tracer, raised)

    def _run(self, tracer, raised: Raised | None = None) -> Value | None:
        try:
            kind, value = tracer.run(self.frame, raised)
        except Raised:
            self.is_finished = True
            raise
        if kind == "yield":
            return value
        self.is_finished = True
        self.result = value
        return None

    def _value_or_stop(self, tracer, found: Value | None) -> Value:
        if found is None:
            result = self.result
            empty = result is None or tracer.is_none(result)
            tracer.throw_value(StopIteration, [] if empty else [result])
        return found

    def method___next__(self, tracer):
        """``next(self)``."""
        return self._value_or_stop(tracer, self.next(tracer))

    def method_send(self, tracer, value):
        """``self.send(value)``."""
        return self._value_or_stop(tracer, self.resume(tracer, value))

    def method_throw(self, tracer, *args):
        """``self.throw(exception)``."""
        value = tracer.exception_of(args[1] if len(args) > 1 else args[0])
        return self._value_or_stop(tracer, self.throw_into(tracer, Raised(value)))

    def method_close(self, tracer):
        """``self.close()``."""
        if not self.is_finished and self.is_started:
            try:
                self.throw_into(tracer, Raised(tracer.make_exception(GeneratorExit)))
            except Raised as raised:
                kind = raised.value.python_type()
                if not issubclass(kind, (GeneratorExit, StopIteration)):
                    raise
            if not self.is_finished:
                unsupported(
                    kind="generator that ignores close()",
                    explanation="It yields again after GeneratorExit.",
                )
        self.is_finished = True
        return tracer.constant(None)
