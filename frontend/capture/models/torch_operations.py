"""Which callables of torch compute tensors, and how a call of one is traced."""

from __future__ import annotations

import types
from typing import Any

import torch
from torch.utils._device import _device_constructors

from girih.errors import unsupported
from girih.frontend.capture.values.base import Value
from girih.frontend.capture.values.constant import Constant
from girih.frontend.capture.values.function import BoundMethod, FunctionValue
from girih.frontend.capture.values.lookup import (
    MISSING,
    is_torchs_function,
    static_lookup,
)
from girih.frontend.capture.values.object import ObjectValue
from girih.frontend.capture.values.sequence import SequenceValue, TupleValue
from girih.frontend.capture.values.symbol import NumberValue
from girih.frontend.fake.floats import is_followed

# Python functions of these modules are operations; all others of torch are followed.
_OPERATION_MODULES = frozenset(
    """torch.functional torch.nn.functional torch._tensor torch.special torch.linalg
    torch.fft torch._C._nn torch._C._linalg torch._C._special torch._C._fft
    torch._lobpcg torch.signal.windows.windows torch.masked._ops""".split()
)


def is_operation(function: Any) -> bool:
    """Whether a callable computes tensors, as a node of the graph."""
    if isinstance(function, (torch._ops.OpOverload, torch._ops.OpOverloadPacket)):
        return True
    if isinstance(function, types.FunctionType):
        is_named = function.__module__ in _OPERATION_MODULES
        return is_named and is_torchs_function(function)
    if isinstance(function, types.BuiltinFunctionType):
        return _is_builtin_operation(function)
    return False


def _is_builtin_operation(function: types.BuiltinFunctionType) -> bool:
    owner = getattr(function, "__self__", None)
    if isinstance(owner, type):  # torch.relu is a static method of a class
        return owner.__module__.startswith("torch._C")
    module = getattr(function, "__module__", None) or getattr(owner, "__name__", "")
    if module in _OPERATION_MODULES:
        return True
    return module.startswith("torch") and hasattr(
        torch._C._VariableFunctions, function.__name__
    )


def is_tensor_method(function: Any) -> bool:
    """Whether a callable is a method of tensors, taken from the class."""
    owner = getattr(function, "__objclass__", None)
    return owner is not None and issubclass(torch.Tensor, owner)


class TorchCalls:
    """Mixin of the tracer: calls of torch's operations."""

    def call_operation(
        self, function: Any, args: list[Value], kwargs: dict[str, Value]
    ) -> Value | None:
        """Calls an operation: a node of the graph, or what overrides it.

        Returns:
            The result; None for a Python function that is to be followed, because an
            argument of it is a function or an object.
        """
        given = [*args, *kwargs.values()]
        owner = next(filter(None, map(_overriding, given)), None)
        if owner is not None:
            return self._call_override(owner, function, args, kwargs)
        is_python = isinstance(function, types.FunctionType)
        if is_python and any(map(_is_object, given)):
            return None
        if is_python and is_followed(function) and any(map(_is_varying_float, given)):
            return None
        device = self.state.default_device
        if device is not None and function in _device_constructors():
            kwargs = {"device": self.constant(device), **_without_none(kwargs)}
        return self.graph.call_function(function, args, kwargs)

    def _call_override(self, owner: ObjectValue, function, args, kwargs) -> Value:
        """``__torch_function__`` of an argument that is no tensor."""
        override = self.get_attr(self.constant(owner.cls), "__torch_function__")
        types_ = TupleValue([self.constant(owner.cls)])
        named = self.dict_of([(self.constant(k), v) for k, v in kwargs.items()])
        positional = TupleValue(list(args))
        args = [self.held(function), types_, positional, named]
        found = self.call(override, args, {})
        if isinstance(found, Constant) and found.value is NotImplemented:
            unsupported(
                kind="operation that an argument's __torch_function__ refuses",
                context=f"{function} of a {owner.cls.__name__}",
                explanation="Eager raises its own error for the operation.",
            )
        return found


def _is_varying_float(value: Value) -> bool:
    is_number = isinstance(value, NumberValue) and not value.is_fixed
    return is_number and issubclass(value.python_type(), float)


def _without_none(kwargs: dict[str, Value]) -> dict[str, Value]:
    """Keywords without ``device=None``, which means the default."""
    given = dict(kwargs)
    device = given.get("device")
    if device is not None and device.python_type() is type(None):
        del given["device"]
    return given


def _overriding(value: Value) -> ObjectValue | None:
    """An object among an argument whose class overrides torch's functions."""
    if isinstance(value, ObjectValue):
        found = static_lookup(value.cls, "__torch_function__")[0]
        return None if found is MISSING else value
    if isinstance(value, SequenceValue):
        return next(filter(None, map(_overriding, value.items)), None)
    return None


def _is_object(value: Value) -> bool:
    return isinstance(value, (FunctionValue, BoundMethod, ObjectValue))
