"""Control flow that is an operation, as Python over functions: ``torch.cond``.

A graph with such an operation is no single program. ``in_python`` gives it as a graph
that Python runs: each operation is a function that calls its bodies, which are compiled
apart. What decides on data, or works with a generator of random numbers, is Python, as
are layers of cuDNN (``fake/recurrent.py``); all that is between is compiled
(``girih/compiler/pieces.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch.fx import GraphModule, Node

from girih.frontend.capture.generated import note_places
from girih.frontend.capture.models.torch_control import Operation
from girih.frontend.checkpoint import Checkpoint
from girih.frontend.control_flow import choose, map_rows, repeat, scan_rows
from girih.frontend.fake.recurrent import runs_in_cudnn
from girih.frontend.importer.execution import source_of
from girih.frontend.importer.nodes import value_of
from girih.frontend.importer.schema import op_info
from girih.marks import DISABLED, RECURSIVE

Compile = Callable[[GraphModule], Callable]
"""Makes a callable of the body of an operation."""

_OPERATORS = {
    "cond": choose,
    "while_loop": repeat,
    "map_impl": map_rows,
    "scan": scan_rows,
}


def is_decided_in_python(gm: GraphModule) -> bool:
    """Whether a graph, or a body in it, has a node that no program has."""
    return any(_is_outside(node, gm) for node in gm.graph.nodes)


def writes_its_own_way(node: Node) -> bool:
    """Whether a node calls an operator of a program that writes what it is given."""
    packet = node.target
    if isinstance(packet, torch._ops.OpOverload):
        overloads = [packet]
    elif isinstance(packet, torch._ops.OpOverloadPacket):
        overloads = [getattr(packet, name) for name in packet.overloads()]
    else:
        return False
    known = [op_info(overload) for overload in overloads]
    return any(info.writes and info.functional is None for info in known)


def in_python(
    gm: GraphModule,
    compile_body: Compile,
    is_left_out: Callable[[Node], bool] = lambda node: False,
) -> GraphModule:
    """The graph with functions in place of its operations that Python decides.

    Args:
        gm: The graph, which stays as it is.
        compile_body: Makes a callable of each body.
        is_left_out: Which other nodes Python shall call.
    """
    copies: dict[Node, Node] = {}
    graph = torch.fx.Graph()
    graph.output(graph.graph_copy(gm.graph, copies))
    made = GraphModule(gm, graph)
    made.meta.update(gm.meta)
    for node in gm.graph.nodes:
        if _is_outside(node, gm) or is_left_out(node):
            _replace(copies[node], gm, compile_body)
    graph.eliminate_dead_code(lambda node: node.op != "get_attr")
    made.recompile()
    sources = {n: source_of(node) for n, node in enumerate(graph.nodes)}
    places = {n: (s.filename, s.line, s.function) for n, s in sources.items() if s}
    note_places(made, places)
    return made


def _is_outside(node: Node, gm: GraphModule) -> bool:
    if "girih_eager" in node.meta or _chooses(node) or _is_of_cudnn(node):
        return True
    is_checkpoint = isinstance(node.target, Checkpoint)
    return is_checkpoint and any(map(is_decided_in_python, _bodies(node, gm)))


def _is_of_cudnn(node: Node) -> bool:
    given = node.args[:1]
    if node.op != "call_function" or not given or not isinstance(given[0], Node):
        return False
    return runs_in_cudnn(node.target, [value_of(given[0])])


def _chooses(node: Node) -> bool:
    if isinstance(node.target, Operation):
        return True
    is_operator = isinstance(node.target, torch._ops.HigherOrderOperator)
    return is_operator and node.target.name() in _OPERATORS


def _bodies(node: Node, gm: GraphModule) -> list[GraphModule]:
    names = [arg.target for arg in _body_nodes(node)]
    return [gm.get_submodule(name) for name in names]


def _body_nodes(node: Node) -> list[Node]:
    return [a for a in node.args if isinstance(a, Node) and a.op == "get_attr"]


def _replace(node: Node, gm: GraphModule, compile_body: Compile) -> None:
    """Has a node call a function, which has the bodies that were arguments."""
    bodies = [compile_body(body) for body in _bodies(node, gm)]
    function = _in_place_of(node, bodies)
    node.op = "call_function"
    given = _body_nodes(node)
    node.args = tuple(arg for arg in node.args if arg not in given)
    node.target = _outside(function)


def _in_place_of(node: Node, bodies: list[Callable]) -> Callable:
    target = node.target
    if node.op == "call_method":
        return partial(_call_method, target)
    if isinstance(target, torch._ops.HigherOrderOperator):
        return partial(_OPERATORS[target.name()], *bodies)
    return partial(target, *bodies)


def _call_method(name: str, tensor: Any, *args: Any, **kwargs: Any) -> Any:
    return getattr(tensor, name)(*args, **kwargs)


def _outside(function: Callable) -> Callable:
    """A function that capture leaves alone; a node can call it."""

    def outside(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    outside.__dict__.update({DISABLED: True, RECURSIVE: True})
    return outside
