"""Generators: frames that are suspended."""

from __future__ import annotations

from girih.frontend.capture.bytecode.table import VERSION
from girih.frontend.capture.values.base import Raised, Value
from girih.frontend.capture.values.iterator.base import IteratorValue
from girih.frontend.capture.values.iterator.closing import runs_code_when_closed

# https://docs.python.org/3.13/reference/expressions.html#generator.close
_CLOSE_GIVES_THE_RESULT = VERSION >= (3, 13)
_YIELD_FROM = 2  # in the low bits of RESUME's argument


class GeneratorValue(IteratorValue):
    """A generator.

    Attributes:
        frame: The frame.
        result: What it returned, once it did.
        is_started: Whether it ran at all.
        is_running: Whether it is being run.
        is_finished: Whether it returned, or raised.
    """

    cls = type(x for x in ())

    def __init__(self, frame):
        self.frame = frame
        self.result: Value | None = None
        self.is_started = False
        self.is_running = False
        self.is_finished = False

    # Running

    def next(self, tracer):
        """Runs it to the next yield; None when it returns."""
        return self.resume(tracer, tracer.constant(None))

    def resume(self, tracer, sent: Value) -> Value | None:
        """Runs it on with the value of its ``yield`` expression."""
        self._check_not_running(tracer)
        if self.is_finished:
            self.result = None
            return None
        if not self.is_started and not tracer.is_none(sent):
            message = "can't send non-None value to a just-started generator"
            tracer.throw(TypeError, message)
        self.frame.push(sent)
        return self._run(tracer)

    def throw_into(self, tracer, raised: Raised) -> Value | None:
        """Raises where it stands; None when it returns."""
        self._check_not_running(tracer)
        self._chain(tracer, raised)
        if self.is_finished or not self.is_started:
            self._finish(None)
            raise raised
        part = self.delegate()
        if part is None:
            return self._run(tracer, raised)
        return self._throw_into_part(tracer, part, raised)

    def _chain(self, tracer, raised: Raised) -> None:
        """Sets the context: what the generator itself is handling.

        What its caller handles is none of the context, as in CPython's ``gen_throw``.
        """
        if raised.is_new:
            raised.is_new, raised.frame = False, self
            handled = self.frame.handled[-1] if self.frame.handled else None
            raised.value.raised_while(tracer, handled)

    def _run(self, tracer, raised: Raised | None = None) -> Value | None:
        if not self.is_started:
            tracer.generators.append(self)
        self.is_started = self.is_running = True
        if raised is not None:  # what is sent is None, and the handlers count it
            self.frame.push(tracer.constant(None))
        try:
            kind, value = tracer.run(self.frame, raised)
        except Raised as error:
            self._finish(None)
            if not issubclass(error.value.python_type(), StopIteration):
                raise
            # It leaves a generator as a RuntimeError (PEP 479).
            value = stop_iteration_as_error(tracer, error.value)
            raise Raised(value, is_new=False) from None
        finally:
            self.is_running = False
        if kind == "yield":
            return value
        self._finish(value)
        return None

    def _finish(self, result: Value | None) -> None:
        self.is_finished = True
        self.result = result

    def _check_not_running(self, tracer) -> None:
        if self.is_running:
            tracer.throw(ValueError, "generator already executing")

    # yield from

    def delegate(self) -> Value | None:
        """The iterator that it stands in a ``yield from`` of, or None."""
        frame = self.frame
        if self.is_finished or not self.is_started:
            return None
        following = frame.plan.instructions[frame.next]
        is_inside = following.opname == "RESUME" and following.arg & 3 == _YIELD_FROM
        return frame.stack[-1] if is_inside else None

    @property
    def needs_closing(self) -> bool:
        """Whether closing it runs code of the program: handlers, or another ``close``.

        Python closes a generator when it is freed.
        """
        if self.is_finished or not self.is_started:
            return False
        part = self.delegate()
        if part is not None and not isinstance(part, IteratorValue):
            return True
        return runs_code_when_closed(self.frame)

    def _throw_into_part(self, tracer, part: Value, raised: Raised) -> Value | None:
        """Throws into the iterator that a ``yield from`` stands in."""
        self.is_running = True
        try:
            found = _throw_into(tracer, part, raised)
        except Raised as inner:
            self.is_running = False
            return self._leave_part(tracer, inner)
        self.is_running = False
        return found

    def _leave_part(self, tracer, raised: Raised) -> Value | None:
        """Goes on where the ``yield from`` ends, or raises there."""
        frame = self.frame
        handler = frame.plan.handler_of(frame.next - 1)
        target = handler and frame.plan.instructions[handler.target].opname
        if target == "CLEANUP_THROW":
            return self._run(tracer, raised)
        # CPython 3.11 has no code for it: the loop of SEND ends here.
        frame.pop()
        if not issubclass(raised.value.python_type(), StopIteration):
            return self._run(tracer, raised)
        send = frame.plan.instructions[frame.next - 2]
        frame.jump(send.argval)
        frame.push(tracer.get_attr(raised.value, "value"))
        return self._run(tracer)

    # Methods

    def _value_or_stop(self, tracer, found: Value | None) -> Value:
        if found is None:
            result, self.result = self.result, None
            empty = result is None or tracer.is_none(result)
            tracer.throw_value(StopIteration, [] if empty else [result])
        return found

    def method___next__(self, tracer):
        """``next(self)``."""
        return self._value_or_stop(tracer, self.next(tracer))

    def method_send(self, tracer, value):
        """``self.send(value)``."""
        return self._value_or_stop(tracer, self.resume(tracer, value))

    def method_throw(self, tracer, kind, value=None, traceback=None):
        """``self.throw(exception)``, or its parts."""
        thrown = kind
        if value is not None and not tracer.is_none(value):
            is_exception = issubclass(value.python_type(), BaseException)
            thrown = value if is_exception else tracer.call(kind, [value], {})
        raised = Raised(tracer.exception_of(thrown))
        return self._value_or_stop(tracer, self.throw_into(tracer, raised))

    def method_close(self, tracer):
        """``self.close()``."""
        self._check_not_running(tracer)
        if self.is_finished or not self.is_started:
            self._finish(None)
            return tracer.constant(None)
        try:
            found = self.throw_into(
                tracer, Raised(tracer.make_exception(GeneratorExit))
            )
        except Raised as raised:
            kind = raised.value.python_type()
            if not issubclass(kind, (GeneratorExit, StopIteration)):
                raise
            return tracer.constant(None)
        if found is not None:
            tracer.throw(RuntimeError, "generator ignored GeneratorExit")
        has_result = _CLOSE_GIVES_THE_RESULT and self.result is not None
        return self.result if has_result else tracer.constant(None)

    def get_attr(self, tracer, name):
        """The names, ``gi_running`` and the like."""
        if name in ("__name__", "__qualname__"):
            return tracer.constant(getattr(self.frame.function, name.strip("_")))
        if name == "gi_code":
            return tracer.constant(self.frame.code)
        if name == "gi_running":
            return tracer.constant(self.is_running)
        if name == "gi_suspended":
            is_suspended = self.is_started and not (self.is_running or self.is_finished)
            return tracer.constant(is_suspended)
        if name == "gi_yieldfrom":
            return self.delegate() or tracer.constant(None)
        if name == "gi_frame" and self.is_finished:
            return tracer.constant(None)
        return super().get_attr(tracer, name)


def stop_iteration_as_error(tracer, value: Value) -> Value:
    """The RuntimeError in place of a StopIteration that leaves a generator."""
    if not issubclass(value.python_type(), StopIteration):
        return value  # CPython 3.12 asks for any exception
    error = tracer.make_exception(RuntimeError, "generator raised StopIteration")
    error.set_attr(tracer, "__cause__", value)
    error.set_attr(tracer, "__context__", value)
    return error


def _throw_into(tracer, part: Value, raised: Raised) -> Value:
    """``part.throw(...)`` as ``yield from`` does it.

    Raises:
        Raised: What the generator around it has to raise, or StopIteration.
    """
    if issubclass(raised.value.python_type(), GeneratorExit):
        closer = tracer.find_attr(part, "close")
        if closer is not None:
            tracer.call(closer, [], {})
        raise raised
    thrower = tracer.find_attr(part, "throw")
    if thrower is None:
        raise raised
    return tracer.call(thrower, [raised.value], {})


def send_to(tracer, part: Value, sent: Value) -> tuple[Value | None, Value]:
    """``part.send(sent)``, or ``next(part)``.

    Returns:
        What it yields, or None at its end; and then its result.
    """
    none = tracer.constant(None)
    if isinstance(part, GeneratorValue):
        item = part.resume(tracer, sent)
        return item, part.result or none
    try:
        if tracer.is_none(sent):
            return _next_of(tracer, part), none
        return tracer.call_method(part, "send", [sent]), none
    except Raised as raised:
        if not issubclass(raised.value.python_type(), StopIteration):
            raise
        return None, tracer.get_attr(raised.value, "value")


def _next_of(tracer, part: Value) -> Value | None:
    if isinstance(part, IteratorValue):
        return part.next(tracer)
    return tracer.call_method(part, "__next__", [])
