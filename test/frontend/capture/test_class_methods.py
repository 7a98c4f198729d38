"""Descriptors under ``classmethod`` and ``staticmethod``, against eager.

CPython 3.9 to 3.12 ask a descriptor under ``classmethod`` what it gives for the class;
later versions take it for a function.
"""

import functools
import sys

import pytest
import torch

import girih
from girih.errors import UnsupportedError


class Gives:
    """A descriptor in Python."""

    def __get__(self, owner, cls=None):
        return getattr(owner, "__name__", "an object"), cls.__name__

    def __call__(self, *args):
        return len(args)


class Called:
    """A callable object that is no descriptor."""

    def __call__(self, *args):
        return [getattr(arg, "__name__", arg) for arg in args]


class Base:
    """Members of all kinds below the two."""

    @property
    def _shown(self):
        return self.__name__

    @functools.singledispatchmethod
    def _dispatched(self, value):
        return "any", value

    def _two(self, one, two):
        return self.__name__, one, two

    def _plain(cls, *args):
        return getattr(cls, "__name__", cls), args

    c_plain = classmethod(_plain)
    c_property = classmethod(_shown)
    c_without = classmethod(property())
    c_cached = classmethod(functools.cached_property(lambda cls: cls.__name__))
    c_gives = classmethod(Gives())
    c_called = classmethod(Called())
    c_builtin = classmethod(isinstance)
    c_partial = classmethod(functools.partialmethod(_two, 1))
    c_dispatched = classmethod(_dispatched)
    c_remembered = classmethod(functools.lru_cache(_plain))
    c_static = classmethod(staticmethod(_plain))
    c_class = classmethod(classmethod(_plain))
    s_plain = staticmethod(_plain)
    s_property = staticmethod(_shown)
    s_gives = staticmethod(Gives())
    s_called = staticmethod(Called())
    s_remembered = staticmethod(functools.lru_cache(_plain))
    s_class = staticmethod(classmethod(_plain))


class Derived(Base):
    """What ``super()`` finds."""

    def above(self, name):
        """The attribute of the base."""
        return getattr(super(), name)


def _of_class(name, *args):
    found = getattr(Derived, name)
    return found(*args) if args else found


def _of_object(name, *args):
    found = getattr(Derived(), name)
    return found(*args) if args else found


def _of_super(name, *args):
    found = Derived().above(name)
    return found(*args) if args else found


def _read(x, ask, name, args):
    try:
        found = ask(name, *args)
    except (TypeError, AttributeError) as error:
        return x, type(error).__name__
    if callable(found):
        return x, "callable"
    if isinstance(found, property):
        return x, "property"
    return x + 1, found


_MEMBERS = [name for name in vars(Base) if name.startswith(("c_", "s_"))]


@pytest.mark.parametrize("ask", [_of_class, _of_object, _of_super])
@pytest.mark.parametrize("name", _MEMBERS)
def test_what_is_below_classmethod_and_staticmethod(name, ask):
    """Read, and called, from the class, an object and ``super()``."""
    for args in ((), (2,)):
        expected = _read(torch.zeros(1), ask, name, args)
        girih.reset()
        try:
            found = girih.compile(_read, fullgraph=True)(
                torch.zeros(1), ask, name, args
            )
        except UnsupportedError:
            girih.reset()
            found = girih.compile(_read)(torch.zeros(1), ask, name, args)
        assert str(found) == str(expected)


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="no descriptor is asked")
def test_a_descriptor_written_in_c_is_left_to_python():
    """What it gives for a class is not modelled."""

    def read(x):
        return x, Base.c_static

    with pytest.raises(UnsupportedError, match="descriptor under classmethod"):
        girih.compile(read, fullgraph=True)(torch.zeros(1))


class Named(dict):
    @classmethod
    def of(cls, x):
        make = super().fromkeys
        girih.graph_break()
        return make(["a", "b"], x * 2)

    def again(self, x):
        make = super().fromkeys
        girih.graph_break()
        return make(self, x * 3)

    def by_itself(self, x):
        make = self.fromkeys
        girih.graph_break()
        return make(self, x * 4)


@pytest.mark.parametrize("name", ["of", "again", "by_itself"])
def test_class_methods_of_c_classes_over_a_break(name):
    def function(x):
        named = Named(c=x)
        made = named.of(x) if name == "of" else getattr(named, name)(x)
        return type(made).__name__, list(made), sum(made.values())

    x = torch.ones(2)
    kind, keys, total = function(x)
    found = girih.compile(function)(x)
    assert found[:2] == (kind, keys)
    torch.testing.assert_close(found[2], total)
