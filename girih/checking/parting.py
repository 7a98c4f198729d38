"""The operations at which a compiled graph and eager part."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.fx import Graph, GraphModule, Node

from girih.checking.comparison import Difference, compare
from girih.frontend.importer.execution import source_of

Compile = Callable[[GraphModule], Callable]
"""Compiles a graph with the same inputs."""


def parting_operations(
    gm: GraphModule, inputs: Sequence[Any], compile_graph: Compile
) -> list[Node]:
    """The operations whose results differ though those that they read do not.

    The graph is compiled once more with all of its values as results. Where that makes
    the difference go away, as other fusions do, the shortest beginning of the graph
    whose last value, or gradients of it, differ is looked for, and its last
    operation is returned.

    Args:
        gm: The graph.
        inputs: What it differs for.
        compile_graph: Compiles a graph that begins like this one.

    Returns:
        Nodes of ``gm``; none where no beginning of it differs.
    """
    nodes = [node for node in gm.graph.nodes if _is_tensor_of_a_call(node)]
    if not nodes:
        return []

    def differences(results: list[Node]) -> list[Difference]:
        part = returning(gm, results)
        return compare(part.forward, compile_graph(part), inputs)

    wrong = {nodes[d.number] for d in differences(nodes) if d.what == "result"}
    if first := [node for node in nodes if node in wrong and not _reads(node, wrong)]:
        return first
    position = bisect.bisect_left(
        range(len(nodes)), True, key=lambda i: bool(differences([nodes[i]]))
    )
    return nodes[position : position + 1]


def described(node: Node) -> str:
    """An operation with the user's line."""
    source = source_of(node)
    name = getattr(node.target, "__name__", str(node.target))
    return f"{name} ({node.name})" + (f" at {source}" if source else "")


def returning(gm: GraphModule, results: list[Node]) -> GraphModule:
    """The beginning of a graph, up to the last of some values, which it returns."""
    graph, made = Graph(), {}
    last = results[-1]
    is_before = True
    for node in gm.graph.nodes:
        if node.op != "output" and (is_before or node.op == "placeholder"):
            made[node] = graph.node_copy(node, made.__getitem__)
        is_before = is_before and node is not last
    graph.output(tuple(made[node] for node in results))
    return GraphModule(gm, graph)


def _is_tensor_of_a_call(node: Node) -> bool:
    value = node.meta.get("val", node.meta.get("example_value"))
    return node.op.startswith("call_") and isinstance(value, torch.Tensor)


def _reads(node: Node, wrong: set[Node]) -> bool:
    """Whether an operation reads a value that differs, directly or in a tuple."""
    return any(
        source in wrong or (not _is_tensor_of_a_call(source) and _reads(source, wrong))
        for source in node.all_input_nodes
    )
