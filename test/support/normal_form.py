"""Checks that fusions are in the normal form of docs/inside/graph.md."""

from __future__ import annotations

from girih.dialects import graph
from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.dialects.definition import has
from girih.dialects.traits import SCANS
from girih.passes.kernel_scans import is_left_to_library

CHAIN_OPS = frozenset(
    {
        "broadcast_to",
        "flip",
        "gather",
        "pad",
        "permute",
        "reshape",
        "slice",
        "take",
        "window",
    }
)
STAYS_OUTSIDE = frozenset(
    {
        "broadcast_to",
        "concat",
        "constant",
        "flip",
        "full",
        "permute",
        "reshape",
        "slice",
        "window",
    }
)


def fusions_of(module: ir.Module) -> list:
    """The fusions of all functions of a module."""
    return [
        op
        for function in module.body.operations
        for op in function.regions[0].blocks[0].operations
        if op.operation.name == "graph.fusion"
    ]


def check_module(module: ir.Module) -> None:
    """Asserts that what computes stands in fusions, and checks these."""
    for function in module.body.operations:
        for op in function.regions[0].blocks[0].operations:
            name = op.operation.name
            is_primitive = name in graph.PRIMITIVES
            allowed = name.removeprefix("graph.") in STAYS_OUTSIDE
            allowed = allowed or is_left_to_library(op)
            assert allowed or not is_primitive, f"outside of a fusion: {op}"
    for fusion in fusions_of(module):
        check_fusion(fusion)


def check_fusion(fusion) -> None:
    """Asserts the rules of the normal form."""
    block = fusion.regions[0].blocks[0]
    domain, reduced = tuple(fusion.domain), set(fusion.reduced)
    kept = _without(domain, reduced)
    closing = set(fusion.closing or ())
    closed = _without(domain, closing) if closing else kept
    chains = set(block.arguments)
    indices = _index_values(block)
    for op in block.operations:
        name = op.operation.name.removeprefix("graph.")
        if name == "yield":
            shapes = [ty.shape_of(value.type) for value in op.operands]
            assert all(shape in (domain, kept, closed) for shape in shapes), f"{op}"
        elif name in CHAIN_OPS or name == "iota":
            assert op.operands[0] in chains if len(op.operands) else True, f"{op}"
            chains.add(op.results[0])
        elif name in ("constant", "full", "size"):
            shape = ty.shape_of(op.results[0].type)
            assert shape == () or name == "full", f"{op}"
        elif op.results[0] in indices:
            # Computed at the index's own coordinates, whatever the domain is.
            assert "reduce" not in name and not name.startswith("arg"), f"{op}"
            assert not has(op, SCANS), f"{op}"
        else:
            allowed = {tuple(sorted(reduced)): kept, tuple(sorted(closing)): closed}
            _check_computation(op, name, domain, allowed)


def _without(domain: tuple, dims: set) -> tuple:
    return tuple(1 if dim in dims else size for dim, size in enumerate(domain))


def _index_values(block) -> set:
    """The values from which the indices of take and gather are computed."""
    found: set = set()
    for op in reversed(list(block.operations)):
        name = op.operation.name.removeprefix("graph.")
        if name in ("take", "gather"):
            found.add(op.operands[1])
        if len(op.results) and op.results[0] in found:
            found.update(op.operands)
    return found


def _check_computation(op, name: str, domain: tuple, allowed: dict) -> None:
    """Args: allowed: the shape of a reduction's result, by the dims that it reduces."""
    assert f"graph.{name}" in graph.PRIMITIVES and name != "concat", f"{op}"
    if name.startswith("reduce_") or name in ("argmax", "argmin"):
        dims = (op.dim,) if name.startswith("arg") else tuple(sorted(op.dims))
        shapes = [ty.shape_of(value.type) for value in (*op.operands, *op.results)]
        assert dims in allowed, f"{op}"
        assert shapes == [domain, allowed[dims]], f"{op}"
        return
    if has(op, SCANS):
        shapes = [ty.shape_of(value.type) for value in (*op.operands, *op.results)]
        assert (op.dim,) in allowed and shapes == [domain, domain], f"{op}"
        return
    for value in (*op.operands, *op.results):
        shape = ty.shape_of(value.type)
        assert len(shape) <= len(domain), f"{op}"
        pairs = zip(reversed(shape), reversed(domain), strict=False)
        assert all(size in (1, whole) for size, whole in pairs), f"{op}"
