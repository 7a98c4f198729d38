"""Imports Python functions and compares what the graph computes with eager."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import torch
from graph_reference import run
from torch import Tensor
from torch.utils import _pytree as pytree

from girih.dialects.verifier import verify
from girih.frontend.importer import ImportedGraph, import_graph


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
    torch.manual_seed(0)
    actual = run(imported, for_graph)
    _assert_same(actual, expected, exact)
    _assert_same(for_graph, for_eager, exact)
    return imported


def _assert_same(actual: list, expected: list, exact: bool) -> None:
    assert len(actual) == len(expected)
    for mine, theirs in zip(actual, expected, strict=True):
        if not isinstance(theirs, Tensor):
            assert mine == theirs
            continue
        tolerance = {"rtol": 0, "atol": 0} if exact else {}
        torch.testing.assert_close(mine, theirs, equal_nan=True, **tolerance)
