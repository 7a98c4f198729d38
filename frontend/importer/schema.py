"""What an ATen overload's schema says: what it writes, and its functional twin."""

from __future__ import annotations

import functools
from typing import NamedTuple

import torch


class OpInfo(NamedTuple):
    """Facts about an overload.

    Attributes:
        name: Name without namespace for ATen (``add.Tensor``), else with it.
        writes: Names of the arguments that it writes, in order.
        is_view: Whether a result shares memory with an argument it does not write.
        is_random: Whether it draws random numbers.
        functional: The overload that computes the same and writes nothing, or None;
            None also for an op that writes nothing.
    """

    name: str
    writes: tuple[str, ...]
    is_view: bool
    is_random: bool
    functional: torch._ops.OpOverload | None


@functools.cache
def op_info(func: torch._ops.OpOverload) -> OpInfo:
    """The facts about ``func``."""
    arguments = func._schema.arguments
    writes = tuple(a.name for a in arguments if a.alias_info and a.alias_info.is_write)
    returns = func._schema.returns
    return OpInfo(
        name=func.name().removeprefix("aten::"),
        writes=writes,
        is_view=any(r.alias_info and not r.alias_info.is_write for r in returns),
        is_random=torch.Tag.nondeterministic_seeded in func.tags,
        functional=_functional_twin(func, writes) if writes else None,
    )


def _functional_twin(func, writes: tuple[str, ...]) -> torch._ops.OpOverload | None:
    """The overload with the same arguments that writes none of them.

    An in-place op ``add_.Tensor`` has it under its name without the underscore, or as
    ``normal_functional``; an overload with ``out`` arguments has it beside itself.
    """
    namespace, name = func._schema.name.split("::")
    out = {a.name for a in func._schema.arguments if a.is_out}
    kept = [_argument(a) for a in func._schema.arguments if a.name not in out]
    base = name[:-1] if name.endswith("_") and not out else name
    for candidate in (base, base + "_functional"):
        packet = getattr(getattr(torch.ops, namespace), candidate, None)
        twin = None if packet is None else _matching_overload(packet, kept)
        if twin is not None:
            return twin
    return None


def _matching_overload(packet, kept: list) -> torch._ops.OpOverload | None:
    for overload_name in packet.overloads():
        twin = getattr(packet, overload_name)
        arguments = twin._schema.arguments
        if any(a.alias_info and a.alias_info.is_write for a in arguments):
            continue
        if [_argument(a) for a in arguments] == kept:
            return twin
    return None


def _argument(argument) -> tuple[str, str]:
    kind = str(argument.type)
    return argument.name, kind


def with_defaults(func: torch._ops.OpOverload, args: tuple) -> tuple:
    """The positional arguments of a call with the defaults that it leaves out.

    The twin of an op has other defaults: ``bernoulli_.float`` has p=0.5, its twin none.
    """
    missing = func._schema.arguments[len(args) :]
    defaults = []
    for argument in missing:
        if argument.kwarg_only or not argument.has_default_value():
            break
        defaults.append(argument.default_value)
    return (*args, *defaults)


@functools.cache
def size_arguments(func: torch._ops.OpOverload) -> dict[str, int]:
    """The arguments that are sizes or places, one or several, with their positions.

    Other ints are numbers to compute with, or are constants in every graph.
    """
    arguments = enumerate(func._schema.arguments)
    return {a.name: i for i, a in arguments if "SymInt" in str(a.real_type)}
