"""Objects that existed before the call and that nobody follows."""

from __future__ import annotations

import types
import weakref
from dataclasses import dataclass
from typing import Any

import torch

from girih.errors import unsupported
from girih.frontend.capture.values.base import Method, Value
from girih.frontend.capture.values.function import BoundMethod
from girih.frontend.capture.values.lookup import C_METHODS, MISSING, static_lookup


@dataclass(frozen=True)
class Reason:
    """Why an object is not followed.

    Attributes:
        kind: What it is; names the graph break at its use.
        explanation: Why that can't be in a graph.
        hints: What would avoid the break.
    """

    kind: str
    explanation: str
    hints: tuple[str, ...] = ()


WRITTEN_IN_C = Reason(
    "use of an object that girih does not model",
    "Its state lives in C code that girih can't follow.",
)
ITERATOR = Reason(
    "use of an iterator from outside",
    "girih cannot read the position of the iterator, so Python advances it.",
    ("Pass the iterable, and make the iterator inside of the function.",),
)
NAMESPACE = Reason(
    "use of the globals of a module as a dict",
    "Globals are traced one by one, by their names.",
    ("Name the global, or use getattr() on the module.",),
)
CACHED = Reason(
    "use of a function with a cache of its own",
    "girih does not see what the function's cache holds.",
    ("Call it outside of the compiled function, and pass its result.",),
)
COROUTINE = Reason(
    "use of a coroutine",
    "Asynchronous code is not captured.",
)
GENERATOR = Reason(
    "use of a generator of random numbers",
    "Its state lives outside of the graph.",
)
TENSOR_SUBCLASS = Reason(
    "tensor subclass",
    "Only plain tensors and parameters are captured; Python runs what their "
    "subclasses do.",
)
TENSOR_LAYOUT = Reason(
    "tensor layout",
    "Only dense tensors are captured, not sparse, nested or quantized ones.",
)
TENSOR_OF_TRANSFORM = Reason(
    "tensor of a transform",
    "The tensor belongs to a torch.func transform that is running outside.",
)


class OutsideValue(Value):
    """An object from outside that can be passed on, and no more.

    It may be passed, stored, returned, compared by identity, be a key, and asked for
    its type. Every other use is a graph break: Python does it.

    Attributes:
        real: The object.
        reason: Why it is not followed.
    """

    def __init__(self, real: Any, source, reason: Reason = WRITTEN_IN_C):
        self.real = real
        self.source = source
        self.reason = reason

    def python_type(self) -> type:
        """Its class, which is guarded."""
        return type(self.real)

    def identity(self) -> Any:
        """The object."""
        return self.real

    def used(self, how: str):
        """Raises for a use that only Python can make of the object."""
        cls = type(self.real)
        unsupported(
            kind=self.reason.kind,
            context=f"{cls.__module__}.{cls.__qualname__}{how}",
            explanation=self.reason.explanation,
            hints=self.reason.hints,
        )

    def truth(self, tracer) -> bool:
        """True for objects that can't be false."""
        for name in ("__bool__", "__len__"):
            if tracer.lookup(type(self.real), name)[0] is not MISSING:
                self.used(" is tested")
        return True

    def get_attr(self, tracer, name):
        """Methods, which are bound; nothing else is known."""
        if name == "__class__" and self._is_plain():
            return tracer.constant(type(self.real))
        member, owner = tracer.lookup(type(self.real), name)
        if self._is_plain():
            if isinstance(member, C_METHODS) and owner is not object:
                return Method(self, name)
            if isinstance(member, types.FunctionType):
                function = tracer.class_member(type(self.real), name)
                return BoundMethod(function, self)
        self.used(f".{name}")

    def has_attr(self, tracer, name: str) -> bool:
        """``hasattr``, where the class alone decides."""
        member, _ = tracer.lookup(type(self.real), name)
        if self._is_plain():
            if member is MISSING and not self._may_have_more(tracer):
                return False
            if isinstance(member, (*C_METHODS, types.FunctionType)):
                return True
        self.used(f" is asked for .{name}")

    def _is_plain(self) -> bool:
        """Whether attributes are looked up in the class, in Python's usual way."""
        cls = type(self.real)
        usual = static_lookup(cls, "__getattribute__")[1] is object
        has_own = hasattr(self.real, "__dict__") or hasattr(cls, "__torch_function__")
        return usual and not has_own

    def _may_have_more(self, tracer) -> bool:
        return tracer.lookup(type(self.real), "__getattr__")[0] is not MISSING

    def set_attr(self, tracer, name, value):
        """Left to Python."""
        self.used(f".{name} = ...")

    def call(self, tracer, args, kwargs):
        """Left to Python."""
        self.used("()")

    def call_method(self, tracer, name, args, kwargs):
        """Left to Python."""
        self.used(f".{name}()")

    def iterate(self, tracer):
        """Left to Python."""
        self.used(" is iterated")

    def length(self, tracer):
        """Left to Python."""
        self.used(" is asked for its length")

    def contains(self, tracer, item):
        """Left to Python."""
        self.used(" is searched")

    def get_item(self, tracer, key):
        """Left to Python."""
        self.used("[...]")

    def set_item(self, tracer, key, value):
        """Left to Python."""
        self.used("[...] = ...")

    def delete_item(self, tracer, key):
        """Left to Python."""
        self.used(" loses an item")

    def __repr__(self) -> str:
        return f"an object of class {type(self.real).__qualname__}"


def is_alive(reference: weakref.ref) -> bool:
    """A guard: the object of a weak reference still exists."""
    return reference() is not None


class WeakReferenceValue(OutsideValue):
    """A weak reference."""

    def call(self, tracer, args, kwargs):
        """Gives the object, where something outside holds it.

        An argument may be held by the frame alone, which Python would have dropped.
        """
        found, referent = None, self.real()
        if referent is not None:
            found = tracer.known_value(referent)
            if found is None:
                return tracer.wrap(referent, self.source.referent())
        if found is None or found.source is None or found.source.base is None:
            self.used("()")
        tracer.guards.add(self.source, "is", self.real)
        tracer.guards.add(self.source, "call", is_alive)
        return found


def is_odd_tensor(obj: torch.Tensor) -> bool:
    """A guard: a tensor that is not a dense one of its own."""
    return reason_against_tensor(obj) is not None


def reason_against_tensor(obj: torch.Tensor) -> Reason | None:
    """Why a tensor can't be an input of the graph, or None."""
    if type(obj) not in (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer):
        return TENSOR_SUBCLASS
    if obj.layout is not torch.strided or obj.is_quantized or obj.is_nested:
        return TENSOR_LAYOUT
    if obj._is_zerotensor() or any(getattr(obj, "names", ())):
        return TENSOR_LAYOUT  # no memory behind it, or names of its dims
    if torch._is_functional_tensor(obj):
        return TENSOR_OF_TRANSFORM
    if torch._C._functorch.is_functorch_wrapped_tensor(obj):
        return TENSOR_OF_TRANSFORM
    return None
