"""Numbers of the traced program that may be others at the next call.

A ``SymbolValue`` is a size, known to torch's ``ShapeEnv``. A ``NumberValue`` is a
Python number that existed before the call, or what Python computes from such numbers.
It has no node and takes no guard before something asks for one: arithmetic is repeated
by the surrounding code, a decision becomes a guard, an operation on tensors makes it an
input of the graph, and what needs to know it fixes it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from girih.errors import unsupported
from girih.frontend.capture.values.base import Value

_KINDS = {torch.SymInt: int, torch.SymFloat: float, torch.SymBool: bool}


class SymbolValue(Value):
    """An int, float or bool that is known only when the graph runs: a size.

    Attributes:
        node: Its node in the graph.
        fake: The ``SymInt``, ``SymFloat`` or ``SymBool``.
    """

    def __init__(self, node, fake, source=None):
        self.node = node
        self.fake = fake
        self.source = source

    @property
    def real(self) -> int | float | bool | None:
        """The value at this call; None where only the graph computes it."""
        node = self.fake.node
        return self.python_type()(node.hint) if node.has_hint() else None

    def python_type(self) -> type:
        """``int``, ``float`` or ``bool``."""
        return _KINDS[type(self.fake)]

    def as_python(self) -> int | float | bool:
        """The value at this call, which is fixed for this entry."""
        return self.specialize()

    def specialize(self) -> int | float | bool:
        """The value at this call; the choice becomes a guard on the sizes."""
        self._check_known()
        return self.python_type()(self.fake)

    def _check_known(self) -> None:
        if self.real is None:
            unsupported(
                kind="size that depends on data",
                context=str(self.fake),
                explanation="Python has to know the value while tracing.",
                hints=("Keep the value a tensor, or move this line out.",),
            )

    def truth(self, tracer) -> bool:
        """Fixes whether it is zero, which becomes a guard on the sizes."""
        self._check_known()
        return bool(self.fake)

    def get_attr(self, tracer, name):
        """Methods of ints and floats, on the value fixed for this entry."""
        return tracer.constant(self.specialize()).get_attr(tracer, name)

    def call_method(self, tracer, name, args, kwargs):
        """The same, called."""
        return tracer.constant(self.specialize()).call_method(
            tracer, name, args, kwargs
        )


class NumberValue(SymbolValue):
    """An int or a float that Python has, or computes, at each call.

    Attributes:
        real: The value at this call.
        function: What computes it, for a number that is computed.
        args: The numbers that it is computed from, as traced values.
        is_fixed: The entry holds for this value only.
    """

    real: int | float | None = None  # in place of the property

    def __init__(
        self,
        tracer,
        real: int | float,
        source=None,
        function: Callable | None = None,
        args: tuple[Value, ...] = (),
    ):
        self.tracer = tracer
        self.real = real
        self.source = source
        self.function = function
        self.args = args
        self.is_fixed = False
        self._placed: Value | None = None

    @property
    def placed(self) -> Value:
        """What stands for it in the graph: a ``SymbolValue``, or a constant."""
        if self._placed is None:
            self._placed = self.tracer.graph.place_number(self)
        return self._placed

    @property
    def node(self):
        """The node that holds it in the graph."""
        return self.placed.node

    @property
    def fake(self) -> torch.SymInt | torch.SymFloat:
        """What stands for it in operations on tensors without data."""
        return self.placed.fake

    def python_type(self) -> type:
        """``int`` or ``float``; guarded without the value."""
        if self.source is not None:
            self.tracer.guards.add(self.source, "type", type(self.real))
        return type(self.real)

    def specialize(self) -> int | float:
        """The value at this call, which is fixed for this entry."""
        if not self.is_fixed:
            self._fix()
            self.is_fixed = True
        return self.real

    def _fix(self) -> None:
        sizes = self.tracer.sizes
        if sizes.log.is_on():
            text = repr(self).removeprefix("a number, ")
            sizes.log.fixed(text, self.real, self.tracer.location())
        if self.source is None:
            sizes.check_computed(repr(self))
            self.tracer.graph.decide(is_same, (self, self.real), True)
            return
        sizes.check_value(self.source)
        self.tracer.guards.add(self.source, "equals", self.real)
        sizes.fix(self.real, self.source)

    def truth(self, tracer) -> bool:
        """Whether it is not zero, which becomes a guard."""
        if not self.is_fixed:
            tracer.graph.decide(bool, (self,), bool(self.real))
        return bool(self.real)

    def __repr__(self) -> str:
        if self.source is not None:
            return f"a number, {self.source}"
        name = getattr(self.function, "__name__", repr(self.function))
        return f"a number, {name}{self.args}"


def is_same(value: Any, expected: int | float) -> bool:
    """Whether a number is the one expected: in type, value and sign."""
    if type(value) is not type(expected):
        return False
    return (
        value == expected
        and repr(value) == repr(expected)
        or (value != value and expected != expected)
    )
