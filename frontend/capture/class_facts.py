"""What a trace took from classes, and the guards that it still holds.

Which method a call reaches, and whether an attribute is looked up at all, follows from
what classes hold and, as often, from what they lack. Each answer that tracing took from
a class is noted here as a fact; all facts about a class are one guard, which costs one
comparison as long as the class has the version tag with which they held last.
"""

from __future__ import annotations

import abc
import reprlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from girih.frontend.capture.guard import GuardSet
from girih.frontend.capture.source import Roots
from girih.frontend.capture.values.lookup import (
    MISSING,
    has_getter,
    is_changeable,
    static_lookup,
    takes_assignment,
)

_ASKED_OF_TUPLES = frozenset(
    """__getattribute__ __getattr__ __new__ __init__ __len__ __bool__ __iter__ __hash__
    __getitem__ __contains__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__ __add__ __radd__
    __mul__ __rmul__ index count""".split()
)


@dataclass
class ClassFacts:
    """What a trace took from one class.

    Attributes:
        meta: Its class.
        members: What was found under a name.
        absent: Names under which neither the class nor a base has anything.
        plain: Names under which there is no descriptor that takes assignments, so that
            what an object holds itself comes first.
        own_absent: Names that the class itself lacks, whatever its bases have.
        mro: The order of its bases, where that mattered.
    """

    meta: type
    members: dict[str, Any] = field(default_factory=dict)
    absent: dict[str, None] = field(default_factory=dict)
    plain: dict[str, None] = field(default_factory=dict)
    own_absent: dict[str, None] = field(default_factory=dict)
    mro: tuple[type, ...] | None = None

    def spec(self) -> tuple:
        """The tuple that ``class_holds`` in ``_guards.c`` reads."""
        names = (self.members, self.absent, self.plain, self.own_absent)
        return (self.meta, self.mro, *names)

    def differences(self, cls: type) -> Iterator[str]:
        """What of it a class does not have any more, as texts."""
        if type(cls) is not self.meta:
            yield "its metaclass"
        if self.mro is not None and cls.__mro__ != self.mro:
            yield "its bases"
        for name, member in self.members.items():
            if static_lookup(cls, name)[0] is not member:
                yield name
        for name in (*self.absent, *self.plain):
            found = static_lookup(cls, name)[0]
            is_new = name in self.absent or takes_assignment(found)
            if found is not MISSING and is_new:
                yield name
        yield from (name for name in self.own_absent if name in vars(cls))

    def __str__(self) -> str:
        names = [*self.members, *self.absent, *self.plain, *self.own_absent]
        names += ["its bases"] if self.mro is not None else []
        short = reprlib.Repr()
        short.maxlist = 8
        return short.repr_list(list(dict.fromkeys(names)), 2).replace("'", "")[1:-1]


class Registrations:
    """A guard: what abstract classes said of others is what they still say.

    Only ``register`` of an abstract class, and a subclass of one, change an answer that
    was no; both change the token of ``abc.get_cache_token``.
    """

    __qualname__ = "unchanged subclass checks of "

    def __init__(self):
        self._token = abc.get_cache_token()
        self._answers: dict[tuple, Any] = {}

    def expect(self, question: Callable, *classes: type, answer: Any) -> None:
        """Guards the answer to a question about classes."""
        self._answers[question, classes] = answer

    def __call__(self, _: Any) -> bool:
        """Whether all answers are the same."""
        token = abc.get_cache_token()
        if token == self._token:
            return True
        for (question, classes), answer in self._answers.items():
            if question(*classes) != answer:
                return False
        self._token = token
        return True


class ClassLookups:
    """Mixin of the tracer: what it takes from classes, with the guards for that.

    Attributes:
        guards: What the trace depended on.
        roots: Sources of held objects.
    """

    guards: GuardSet
    roots: Roots
    _facts: dict[type, ClassFacts]
    _registrations: Registrations | None

    def _facts_of(self, cls: type) -> ClassFacts:
        facts = self._facts.get(cls)
        if facts is None:
            facts = self._facts[cls] = ClassFacts(type(cls))
            self.guards.add(self.roots.constant(cls), "class", facts)
        return facts

    def lookup(self, cls: type, name: str) -> tuple[Any, type | None]:
        """What the classes of the MRO hold under a name, and which one.

        A value that is no descriptor is left to the guards of its use.
        """
        member, owner = static_lookup(cls, name)
        if not is_changeable(cls):
            return member, owner
        facts = self._facts_of(cls)
        if member is MISSING:
            facts.absent[name] = None
        elif name.startswith("__") or has_getter(member):
            facts.members[name] = member
        else:
            facts.plain[name] = None
        return member, owner

    def guard_shadowed(self, cls: type, name: str) -> None:
        """Guards that what objects of a class hold under a name is found first."""
        if is_changeable(cls):
            self._facts_of(cls).plain[name] = None

    def super_lookup(self, cls: type, start: type, name: str):
        """What ``super(start, <object of cls>)`` finds, and in which class."""
        self.guard_bases(cls)
        mro = cls.__mro__
        for base in mro[mro.index(start) + 1 :]:
            if name in vars(base):
                self.lookup(base, name)
                return vars(base)[name], base
            if is_changeable(base):
                self._facts_of(base).own_absent[name] = None
        return MISSING, None

    def guard_bases(self, cls: type) -> None:
        """Guards the order of a class's bases."""
        if is_changeable(cls):
            self._facts_of(cls).mro = cls.__mro__

    def is_data_descriptor(self, member: Any) -> bool:
        """Whether a class member takes precedence over the instance's attributes."""
        parts = ("__set__", "__delete__")
        takes = any(self.lookup(type(member), p)[0] is not MISSING for p in parts)
        return takes and self.lookup(type(member), "__get__")[0] is not MISSING

    def guard_tuple_class(self, cls: type) -> None:
        """Guards that objects of a class of named tuples behave as tuples do."""
        if is_changeable(cls):
            for name in (*_ASKED_OF_TUPLES, *getattr(cls, "_fields", ())):
                self.lookup(cls, name)

    def is_subclass(self, cls: type, base: type) -> bool:
        """``issubclass(cls, base)`` of a class that is asked in C."""
        self.guard_bases(cls)
        if not isinstance(base, abc.ABCMeta):
            return self.fold_raw(issubclass, cls, base)
        for name in ("__instancecheck__", "__subclasscheck__"):
            self.lookup(type(base), name)
        found = self.fold_raw(issubclass, cls, base)
        if not found:
            self.registrations.expect(issubclass, cls, base, answer=False)
        return found

    @property
    def registrations(self) -> Registrations:
        """What abstract classes were asked, as one guard."""
        if self._registrations is None:
            self._registrations = Registrations()
            source = self.roots.constant(abc.get_cache_token, "abstract classes")
            self.guards.add(source, "call", self._registrations)
        return self._registrations
