"""Exceptions of the traced program."""

from __future__ import annotations

import types

from girih.errors import unsupported
from girih.frontend.capture.values.base import Value
from girih.frontend.capture.values.lookup import MISSING, SLOT_TYPES, static_lookup
from girih.frontend.capture.values.object import ObjectValue
from girih.frontend.capture.values.sequence import TupleValue

# Attributes that the C code of BaseException keeps outside of ``__dict__``.
CHAINING = ("__cause__", "__context__", "__suppress_context__")
# Classes whose C code takes keywords, which become attributes.
_KEYWORDS = {
    AttributeError: ("name", "obj"),
    NameError: ("name",),
    ImportError: ("name", "path", "msg"),
}
# Classes whose C code takes the arguments apart: all of them have to be known.
_STRUCTURED = (OSError, UnicodeError, SyntaxError)


class PreviousException(Value):
    """What PUSH_EXC_INFO saves on the stack, for POP_EXCEPT to restore.

    Attributes:
        previous: The exception that was being handled before, or None.
    """

    def __init__(self, previous: Value | None):
        self.previous = previous

    def python_type(self) -> type:
        """The slot is no object of the program."""
        return type(None)


class TracebackValue(Value):
    """The traceback of an exception: may be passed on, nobody looks into it.

    Attributes:
        entries: What it consists of, for an exception made while tracing.
    """

    def __init__(self, source=None, entries=()):
        self.source = source
        self.entries = list(entries)

    def python_type(self) -> type:
        """The type of tracebacks."""
        return types.TracebackType

    def get_attr(self, tracer, name):
        """Frames and lines are not modelled."""
        unsupported(
            kind="use of a traceback",
            context=name,
            explanation="girih does not make tracebacks while it traces.",
        )


class ExceptionValue(ObjectValue):
    """An exception: one made while tracing, or one from outside.

    Attributes:
        args: The arguments; of one from outside, empty until they are read.
        raising: A mark of the last ``raise``: exceptions that share it share a
            traceback. None for one that was never raised.
        is_implicit: Whether Python itself raised it, not the program.
        entries: Its traceback: the frames that it went through while tracing, outermost
            first, as ``rebuilding.tracebacks`` takes them.
    """

    def __init__(self, cls, args: list[Value], source=None, real=None):
        super().__init__(cls, source, real)
        self.args = args
        self.raising: object | None = None
        self.is_implicit = False
        self.entries: list[tuple] = []
        self._has_args = real is None

    def read_args(self, tracer) -> list[Value]:
        """The arguments, of one from outside too."""
        if not self._has_args:
            self._has_args = True
            found = tracer.wrap(self.real.args, self.source.attribute("args"))
            self.args = list(found.iterate(tracer))
        return self.args

    # Attributes

    def find_attr(self, tracer, name):
        """``args``, chaining and C attributes; others as for any object."""
        found = self.attributes.get(name)
        if found is not None:
            return found
        if name == "args":
            return TupleValue(list(self.read_args(tracer)))
        if name in CHAINING:
            return self._chained(tracer, name)
        if name == "__traceback__":
            return self._traceback(tracer)
        if self.real is None and self._is_c_attribute(name):
            return self._c_attribute(tracer, name)
        return super().find_attr(tracer, name)

    def _chained(self, tracer, name: str) -> Value:
        if self.real is None:
            return tracer.constant(False if name == CHAINING[2] else None)
        source = self.source.attribute(name)
        found = self.attributes[name] = tracer.wrap(getattr(self.real, name), source)
        return found

    def _traceback(self, tracer) -> Value:
        if self.real is not None:
            if self.raising is None and self.real.__traceback__ is None:
                return tracer.wrap(None, self.source.attribute("__traceback__"))
            source = self.source.attribute("__traceback__")
            return TracebackValue(source if self.raising is None else None)
        if self.raising is None:
            return tracer.constant(None)
        return TracebackValue(entries=self.entries)

    def _is_c_attribute(self, name: str) -> bool:
        member, _ = static_lookup(self.cls, name)
        return isinstance(member, SLOT_TYPES) and name not in ("__dict__", "__class__")

    def _c_attribute(self, tracer, name: str) -> Value:
        if self.is_implicit:
            unsupported(
                kind="attribute of an exception that Python raised",
                context=f"{self.cls.__name__}.{name}",
                explanation=(
                    "girih does not know the value that Python gives the attribute."
                ),
            )
        _check_counted(name)
        if issubclass(self.cls, (StopIteration, SystemExit)):
            return self._single_argument(tracer)
        if name == "msg" and self.args:
            return self.args[0]
        return tracer.constant(None)

    def _single_argument(self, tracer) -> Value:
        if len(self.args) > 1 and issubclass(self.cls, SystemExit):
            return TupleValue(list(self.args))
        return self.args[0] if self.args else tracer.constant(None)

    def generic_set_attr(self, tracer, name, value):
        """Sets an attribute, by the rules of BaseException."""
        if name == "__traceback__":
            _check_traceback(tracer, value)
            self._set_traceback(value)
        elif name == "args" and value is not None:
            self._set(tracer, name, TupleValue(list(value.iterate(tracer))))
            self.args, self._has_args = list(self.attributes[name].items), True
        elif name in CHAINING:
            self._set_chained(tracer, name, value)
        elif self.real is None and self._is_c_attribute(name):
            _check_counted(name)
            self._set(tracer, name, value)
        else:
            super().generic_set_attr(tracer, name, value)

    def _set(self, tracer, name: str, value: Value) -> None:
        previous = self.attributes.get(name, MISSING)
        tracer.effects.set_attr(self, name, value, previous)

    def _set_traceback(self, value: Value | None) -> None:
        """One made here gets the entries; one from outside would have to be changed."""
        if self.real is None:
            self.entries = list(getattr(value, "entries", ()))
        else:
            unsupported(
                kind="assignment to a traceback",
                context=self.cls.__name__,
                explanation="girih does not make tracebacks while it traces.",
            )

    def _set_chained(self, tracer, name: str, value: Value | None) -> None:
        label = name.strip("_")
        if value is None:
            tracer.throw(TypeError, f"{name} may not be deleted")
        if name != CHAINING[2] and not tracer.is_none(value):
            if not issubclass(value.python_type(), BaseException):
                message = "must be None or derive from BaseException"
                tracer.throw(TypeError, f"exception {label} {message}")
        self._set(tracer, name, value)
        if name == "__cause__":
            self._set(tracer, CHAINING[2], tracer.constant(True))

    # Raising

    def raised_while(self, tracer, handled: Value | None) -> None:
        """Notes that it was raised while another one was being handled.

        Source: ``_PyErr_SetObject`` in CPython's Python/errors.c.
        """
        self.raising = object()
        if handled is None or handled is self:
            return
        self._leave_chain(tracer, handled)
        self._set(tracer, "__context__", handled)

    def _leave_chain(self, tracer, handled: Value) -> None:
        """Takes itself out of the contexts of another one, which may be a cycle."""
        link: Value | None = handled
        met: set[int] = set()
        while isinstance(link, ExceptionValue) and id(link) not in met:
            met.add(id(link))
            following = link.context_met(tracer, self)
            if following is self:
                link._set(tracer, "__context__", tracer.constant(None))
                return
            link = following

    def context_met(self, tracer, sought: ExceptionValue) -> Value | None:
        """``__context__``; one from outside is asked only where that may matter."""
        if "__context__" in self.attributes:
            return self.attributes["__context__"]
        if self.real is None or sought.real is None:
            return None
        return self._chained(tracer, "__context__")

    # Methods

    def method___init__(self, tracer, /, *args, **kwargs):
        """``BaseException.__init__``: sets the arguments."""
        if _is_filled_by_new(self.cls):
            return tracer.constant(None)
        if self.real is not None:
            unsupported(
                kind="__init__ of an exception that was made outside",
                context=f"{self.cls.__name__}.__init__()",
                explanation=(
                    "girih cannot replay the changes that the exception's C code makes."
                ),
            )
        made = self._new(tracer, list(args))
        for cls, names in _KEYWORDS.items():
            for name in names if issubclass(self.cls, cls) else ():
                self.attributes.pop(name, None)
        self.args, self._has_args = made.args, True
        self.attributes.update(made.attributes)
        set_keywords(tracer, self, kwargs)
        return tracer.constant(None)

    def _new(self, tracer, args: list[Value]) -> ExceptionValue:
        """What ``__new__`` of its class gives for arguments."""
        return new_single(tracer, self.cls, args)

    def method_with_traceback(self, tracer, traceback):
        """``self.with_traceback(traceback)``."""
        if self.real is None or not tracer.is_none(traceback):
            self._set_traceback(traceback)
        return self

    def method_add_note(self, tracer, note):
        """``self.add_note(note)``."""
        if not issubclass(note.python_type(), str):
            kind = note.python_type().__name__
            tracer.throw(TypeError, f"note must be a str, not '{kind}'")
        notes = self.find_attr(tracer, "__notes__")
        if notes is None:
            notes = tracer.list_of([])
            self.set_attr(tracer, "__notes__", notes)
        return tracer.call_method(notes, "append", [note])

    def method___str__(self, tracer):
        """``str(self)``."""
        args = self.read_args(tracer)
        if issubclass(self.cls, _STRUCTURED):
            return tracer.constant(str(self._as_known(tracer)))
        if not args:
            return tracer.constant("")
        function = repr if issubclass(self.cls, KeyError) else str
        if len(args) == 1:
            return tracer.call(tracer.constant(function), args, {})
        return tracer.call(tracer.constant(str), [TupleValue(list(args))], {})

    def method___repr__(self, tracer):
        """``repr(self)``."""
        args = self.read_args(tracer)
        shown = args[0] if len(args) == 1 else TupleValue(list(args))
        text = tracer.call(tracer.constant(repr), [shown], {}).as_python()
        text = f"({text})" if len(args) == 1 else text
        return tracer.constant(self.cls.__name__ + text)

    def _as_known(self, tracer) -> BaseException:
        """An equal exception of the builtin class, where all of it is known."""
        builtin, args = builtin_base(self.cls), [arg.as_python() for arg in self.args]
        made = builtin(*args) if args else builtin.__new__(builtin)
        for name in c_attributes(type(made)):
            value = self.find_attr(tracer, name)
            if value is not None and not tracer.is_none(value):
                setattr(made, name, value.as_python())
        return made


def _check_traceback(tracer, value: Value | None) -> None:
    if value is None:
        tracer.throw(TypeError, "__traceback__ may not be deleted")
    if not isinstance(value, TracebackValue) and not tracer.is_none(value):
        tracer.throw(TypeError, "__traceback__ must be a traceback or None")


def _check_counted(name: str) -> None:
    """Leaves an attribute to Python that is a number in C, and may be missing."""
    if name == "characters_written":
        unsupported(
            kind="attribute of an exception stored in C",
            context=name,
            explanation="girih does not know whether the exception has this attribute.",
        )


def builtin_base(cls: type[BaseException]) -> type[BaseException]:
    """The builtin class of exceptions that a class derives from."""
    return next(base for base in cls.__mro__ if base.__module__ == "builtins")


def c_attributes(builtin: type[BaseException]) -> list[str]:
    """The attributes that the C code of a builtin class has, and Exception has not."""
    bases = [base for base in builtin.__mro__ if not issubclass(Exception, base)]
    return [
        name
        for base in bases
        for name, member in vars(base).items()
        if isinstance(member, SLOT_TYPES) and name != "characters_written"
    ]


def _is_filled_by_new(cls: type[BaseException]) -> bool:
    """Whether ``__new__`` takes the arguments of a class of errors, not ``__init__``.

    Source: ``oserror_use_init`` in CPython's Objects/exceptions.c.
    """
    maker, _ = static_lookup(cls, "__new__")
    return issubclass(cls, OSError) and isinstance(maker, staticmethod)


def new_single(tracer, cls, args: list[Value]) -> ExceptionValue:
    """``cls.__new__(cls, *args)`` of a class of exceptions that is none of groups."""
    if issubclass(cls, _STRUCTURED) and args:
        return _new_structured(tracer, cls, args)
    return ExceptionValue(cls, list(args))


def _new_structured(tracer, cls, args: list[Value]) -> ExceptionValue:
    builtin = builtin_base(cls)
    known = [tracer.known(arg).as_python() for arg in args]
    real = tracer.fold_raw(builtin, *known)
    made = ExceptionValue(type(real) if cls is builtin else cls, [])
    made.args = [tracer.from_python(arg) for arg in real.args]
    _copy_c_attributes(tracer, made, real)
    return made


def _copy_c_attributes(tracer, made: ExceptionValue, real: BaseException) -> None:
    for name in c_attributes(builtin_base(type(real))):
        value = getattr(real, name)
        if value is not None:
            made.attributes[name] = tracer.from_python(value)


def set_keywords(tracer, made: ExceptionValue, kwargs: dict[str, Value]) -> None:
    """What the C code of some classes does with keywords."""
    classes = [cls for cls in _KEYWORDS if issubclass(made.cls, cls)]
    for name, value in kwargs.items():
        if not any(name in _KEYWORDS[cls] for cls in classes):
            kind = made.cls.__name__
            tracer.throw(TypeError, f"{kind}() takes no keyword arguments")
        made.attributes[name] = value
