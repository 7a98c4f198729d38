"""What is packaged: functions, each with the arguments of one call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils import _pytree as pytree

from girih import marks
from girih.packaging import capturing
from girih.packaging.describing import ExampleArguments
from girih.packaging.exported import Exported
from girih.packaging.loading import MAIN, check_name


@dataclass
class Example:
    """A function with the arguments of one call.

    Attributes:
        target: The function, method or module.
        args: Its arguments.
        kwargs: Likewise.
        arguments: Their leaves, and which sizes are symbolic.
    """

    target: Any
    args: tuple
    kwargs: dict[str, Any]
    arguments: ExampleArguments

    @property
    def name(self) -> str:
        """What the function is called."""
        if isinstance(self.target, torch.nn.Module):
            return type(self.target).__name__
        return getattr(self.target, "__name__", type(self.target).__name__)


def examples_of(
    model: Any, args: Any, kwargs: Mapping | None, dynamic_shapes: Any
) -> dict[str, Example]:
    """The entry points of a call of ``girih.package``, by name.

    Raises:
        TypeError: An argument has the wrong type, or can't be described in a file.
        ValueError: A size does not fit its ``Dim``, or a name can't be one.
    """
    if not isinstance(model, Mapping):
        return {MAIN: _example(model, args, kwargs, dynamic_shapes)}
    if args or kwargs:
        raise TypeError(
            "args and kwargs must be left out for several entry points: give "
            '{"name": (function, args, kwargs)}'
        )
    if not model:
        raise ValueError("girih.package expects an entry point, got an empty dict")
    shapes = {} if dynamic_shapes is None else dynamic_shapes
    if not isinstance(shapes, Mapping) or not shapes.keys() <= model.keys():
        names = ", ".join(map(repr, model))
        raise TypeError(
            f"dynamic_shapes must be a dict by entry point ({names}), got {shapes!r}"
        )
    found = {}
    for name, given in model.items():
        check_name(name)
        try:
            found[name] = _example(*_call_of(given), shapes.get(name))
        except (TypeError, ValueError) as error:
            raise type(error)(f"entry point {name!r}: {error}") from error
    return found


def _call_of(given: Any) -> tuple[Any, Any, Any]:
    if not isinstance(given, tuple):
        given = (given,)
    if not 1 <= len(given) <= 3:
        raise TypeError(
            f"expected (function, args) or (function, args, kwargs), got {len(given)} "
            "items"
        )
    return (*given, *((), None)[len(given) - 1 :])


def _example(
    model: Callable, args: Any, kwargs: Mapping | None, dynamic_shapes: Any
) -> Example:
    dims: Mapping[int, Mapping[int, Any]] = {}
    if is_exported := isinstance(model, torch.export.ExportedProgram):
        if dynamic_shapes is not None:
            raise TypeError(
                "dynamic_shapes must be left out for an exported program, which has "
                "its own"
            )
        exported = Exported.of(model, args, kwargs or {})
        model, args, kwargs = exported.module, exported.args, exported.kwargs
        dims = exported.dims
    if not callable(model):
        kind = type(model).__name__
        raise TypeError(f"girih.package expects a callable or a module, got {kind}")
    if not isinstance(args, (tuple, list)):
        raise TypeError(f"args must be a tuple, got {type(args).__name__}")
    target, args, kwargs = marks.innermost(model), tuple(args), dict(kwargs or {})
    parameters = capturing.parameters_of(target, len(args))
    names = capturing.names_of_leaves(args, kwargs, parameters)
    conditions = exported.conditions(names) if is_exported else ()
    leaves, tree = pytree.tree_flatten((args, kwargs))
    capturing.check_leaves(leaves, names)
    if not is_exported:
        dims = capturing.dims_of(dynamic_shapes, args, kwargs, parameters)
    _check_dims(leaves, names, dims)
    arguments = ExampleArguments(leaves, names, dims, tree, parameters, conditions)
    return Example(target, args, kwargs, arguments)


def _check_dims(
    leaves: Sequence[Any], names: Sequence[str], dims: Mapping[int, Mapping[int, Any]]
) -> None:
    for value, name in zip(leaves, names, strict=True):
        for dim, size in dims.get(id(value), {}).items():
            least, most = capturing.range_of(size)
            now = value.shape[dim]
            if now < least or (most is not None and now > most):
                limit = "" if most is None else f" to {most}"
                raise ValueError(
                    f"{name}.size({dim}) is {now}, and its Dim allows sizes from "
                    f"{least}{limit}. girih compiles sizes 0 and 1 for themselves, so "
                    "give an example of another size."
                )
