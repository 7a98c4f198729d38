"""Imports Python functions and compares what the graph computes with eager."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from girih.dialects.verifier import verify
from girih.evaluation.reference import run
from girih.frontend.importer import ImportedGraph, import_graph
from girih.passes.registry import run_pipeline


def graph_of(function: Callable, count: int) -> torch.fx.GraphModule:
    """A graph module that calls the function with ``count`` placeholders."""
    graph = torch.fx.Graph()
    inputs = [graph.placeholder(f"x{i}") for i in range(count)]
    graph.output(graph.call_function(function, tuple(inputs)))
    return torch.fx.GraphModule({}, graph)


def import_function(function: Callable, *inputs: Any) -> ImportedGraph:
    """Imports a function of tensors and other values; the module verifies."""
    imported = import_graph(graph_of(function, len(inputs)), inputs)
    verify(imported.module)
    return imported


def op_names(imported: ImportedGraph) -> list[str]:
    """The names of the graph ops, without the dialect's."""
    block = imported.module.body.operations[0].regions[0].blocks[0]
    names = [op.operation.name for op in block.operations]
    return [n.removeprefix("graph.") for n in names if n.startswith("graph.")]


def cloned(inputs: Sequence) -> list:
    """Copies with the same layouts."""
    return copy.deepcopy(list(inputs))


def flat(output: Any) -> list:
    return pytree.tree_leaves(output, is_leaf=lambda value: value is None)


def assert_imports(
    function: Callable, *inputs: Any, exact: bool = False, native: bool = False
) -> ImportedGraph:
    """Asserts that the imported function gives eager's results and mutations.

    Args:
        function: What to import.
        *inputs: Its arguments.
        exact: Whether all bits must agree.
        native: Whether no ``graph.extern`` may be left.
    """
    for_eager, for_graph = cloned(inputs), cloned(inputs)
    imported = import_function(function, *cloned(inputs))
    if native:
        assert "extern" not in op_names(imported), imported.module
    torch.manual_seed(0)
    with torch.no_grad():
        expected = flat(function(*for_eager))
    check_promises(imported, for_eager, expected)
    if "gradient" in op_names(imported):
        run_pipeline(imported.module, "autograd")
    torch.manual_seed(0)
    actual = run(imported, for_graph)
    _assert_same(actual, expected, exact)
    _assert_same(for_graph, for_eager, exact)
    return imported


def check_promises(imported: ImportedGraph, inputs: list, expected: list) -> None:
    """Strides, aliasing and identity of eager's results are what the graph says."""
    function = imported.module.body.operations[0]
    given = list(function.attributes["res_attrs"])
    arguments = [inputs[i] for i in imported.input_indices] + list(imported.lifted)
    for slot, tensor in zip(imported.outputs, expected, strict=True):
        if slot.kind == "input":
            assert tensor is inputs[slot.value]
        elif slot.kind == "result" and isinstance(tensor, Tensor):
            _check_result(given[slot.value], tensor, arguments)
    _check_shared_results(imported.outputs, given, expected)


def _check_shared_results(slots: list, given: list, expected: list) -> None:
    """Eager's results share memory exactly where the graph says so."""
    results = [
        (_owner(slot.value, given), _storage(tensor))
        for slot, tensor in zip(slots, expected, strict=True)
        if slot.kind == "result" and isinstance(tensor, Tensor) and tensor.numel()
    ]
    for owner, storage in results:
        for other_owner, other_storage in results:
            assert (owner == other_owner) == (storage == other_storage)


def _owner(index: int, given: list) -> str:
    if "graph.storage" in given[index]:
        return given[index]["graph.storage"].value
    return f"out{index}"


def _check_result(attributes: Any, tensor: Tensor, arguments: list) -> None:
    strides = tensor.contiguous().stride()
    if "graph.strides" in attributes:
        strides = tuple(entry.value for entry in attributes["graph.strides"])
    if tensor.numel():
        kept = [n for n, size in enumerate(tensor.shape) if size != 1]
        mine, theirs = [[s[n] for n in kept] for s in (strides, tensor.stride())]
        assert mine == theirs, (attributes, tensor.shape, tensor.stride())
    shared = [
        number
        for number, argument in enumerate(arguments)
        if isinstance(argument, Tensor) and _storage(argument) == _storage(tensor) != 0
    ]
    promised = (
        attributes["graph.storage"].value if "graph.storage" in attributes else ""
    )
    assert bool(shared) == promised.startswith("arg"), (attributes, shared)
    if shared:
        assert promised in [f"arg{number}" for number in shared]
        owner = arguments[int(promised.removeprefix("arg"))]
        offset = tensor.storage_offset() - owner.storage_offset()
        assert attributes["graph.offset"].value == offset


def _storage(tensor: Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def _assert_same(actual: list, expected: list, exact: bool) -> None:
    assert len(actual) == len(expected)
    for mine, theirs in zip(actual, expected, strict=True):
        if not isinstance(theirs, Tensor):
            assert mine == theirs
            continue
        tolerance = {"rtol": 0, "atol": 0} if exact else {}
        torch.testing.assert_close(mine, theirs, equal_nan=True, **tolerance)
