"""What programs of a package need of weights alone, with the option ``freezing``.

::

    graph ── "constants" ──► @main ──────► a program of the package
                        └──► @constants ──► runs where the package is made
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from girih.compiler.lowering import Lowering
from girih.compiler.modules import alone, functions_of
from girih.compiler.runner import Runner
from girih.dialects import attributes as attr
from girih.dialects import keys
from girih.dialects.attributes import OperandRef
from girih.dialects.bindings import ir
from girih.passes.autograd.joint import Signature
from girih.passes.pack_convolutions import PACK
from girih.passes.split_constants import NAME
from girih.reports import Report


@dataclass(frozen=True)
class PackagedConstants:
    """The constants of a program: its last arguments, behind those of its graph.

    Attributes:
        compute: Takes weights, and returns the constants.
        places: The numbers of these weights among the arguments.
        packed: For each constant what oneDNN packs it with when the package is loaded:
            arguments of ``PACK`` behind the weight; None for the others.
        unread: Numbers of the weights that the program itself does not read.
    """

    compute: Callable[..., Sequence[torch.Tensor]]
    places: Sequence[int]
    packed: Sequence[tuple | None]
    unread: frozenset[int]


def split(lowering: Runner, module: ir.Module) -> PackagedConstants | None:
    """Takes what depends on weights alone out of a module.

    Args:
        lowering: Of ``@main``.
        module: A module of ``graph``; it is changed.

    Returns:
        None where there is nothing such.
    """
    with module.context, ir.Location.unknown():
        operation = module.operation
        lowering.dump("whole", operation, lambda: lowering.steps("constants"))
        lowering.run("constants", operation)
        functions = functions_of(module)
        if (function := functions.get(NAME)) is None:
            return None
        given = function.attributes["arg_attrs"]
        places = [attr.INT.decode(each[keys.ARGUMENT]) for each in given]
        constants = alone(function)
        function.operation.erase()
        packed = _unpack(functions_of(constants)["main"])
        unread = frozenset(_unread(functions["main"]))
    options, report = lowering.options, lowering.report
    report.constants = Report(name=f"{report.name}.constants")
    here = Lowering(options, report.constants, lowering.target.device, "constants")
    compute = here.program(constants, "graph", None)
    return PackagedConstants(compute, places, packed, unread)


def _unpack(function: ir.OpView) -> list[tuple | None]:
    """Has the function return weights in place of what oneDNN packs them to.

    No file can hold that: it is an object of oneDNN.
    """
    signature = Signature.of(function)
    packed: list[tuple | None] = []
    for number, value in enumerate(signature.values):
        arguments = None
        if not isinstance(value.owner, ir.Block):
            arguments = _packing(value.owner.opview)
        if arguments is not None:
            signature.values[number] = value.owner.operands[0]
        packed.append(arguments)
    signature.apply(function)
    return packed


def _packing(op: ir.OpView) -> tuple | None:
    if op.operation.name != "graph.extern" or op.op != PACK:
        return None
    weight, *others = op.args
    assert weight == OperandRef(0), "girih bug: a weight is packed that is no operand"
    return tuple(others)


def _unread(function: ir.OpView) -> Iterator[int]:
    """Weights that nothing in the function reads, and that are none of its results."""
    signature = Signature.of(function)
    results: set[Any] = set()
    for given in signature.results:
        results.update(str(x) for x in given.values() if isinstance(x, ir.StringAttr))
        for key in (keys.WRITES, keys.UPDATE):
            if key in given:
                results.add(f'"arg{attr.INT.decode(given[key])}"')
    for number, argument in enumerate(function.regions[0].blocks[0].arguments):
        is_weight = keys.STATIC in signature.arguments[number]
        is_read = any(True for _ in argument.uses) or f'"arg{number}"' in results
        if is_weight and not is_read:
            yield number
