"""Graphs with tensors of the CPU and of a device, as two graphs.

The *host part* is what depends on tensors of the CPU alone: step counters of
optimizers, numbers that are tensors, batches that the graph sends to the device. It
runs first; what the rest reads of it is moved to the device, all numbers of a dtype in
one copy::

    inputs ──► host part ──► moved ──► device part ──► results
       └───────────────────────────────────┘

Nothing goes the other way but results: ``y.cpu()`` that the graph returns is called on
what the device part gives. Graphs in which the CPU would wait for the device, or whose
derivatives go to tensors of the CPU, are not split.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.fx import Graph, GraphModule, Node
from torch.utils import _pytree as pytree

from girih.frontend.importer.devices import CPU
from girih.frontend.importer.levels import eager_run
from girih.frontend.importer.nodes import may_write, value_of
from girih.frontend.importer.sides import (
    Side,
    is_transfer,
    is_vector_of_numbers,
    sides_of,
)


@dataclass(frozen=True)
class Move:
    """How a result of the host part comes to the device.

    Attributes:
        is_packed: Whether it is a vector of numbers, each an argument of the device
            part.
        waits: Whether pinned memory is the user's again when the call returns.
    """

    is_packed: bool
    waits: bool

    def __call__(self, value: Tensor, device: torch.device) -> Sequence[Tensor]:
        """The arguments of the device part."""
        waits = self.waits and value.is_pinned()
        moved = value.to(device, non_blocking=not waits)
        return moved.unbind() if self.is_packed else (moved,)


@dataclass(frozen=True)
class Part:
    """One of the two graphs.

    Attributes:
        gm: Returns a flat tuple.
        inputs: Which of the whole graph's inputs it takes, in order.
        examples: What stands for these, and then for what is moved.
        runnable: The same graph for torch to run, where it can't run this one.
    """

    gm: GraphModule
    inputs: tuple[int, ...]
    examples: tuple[Any, ...]
    runnable: GraphModule | None = None

    @property
    def eager(self) -> Callable:
        """The graph as torch computes it."""
        return eager_run(self.gm if self.runnable is None else self.runnable)


def whole(gm: GraphModule, example_inputs: Sequence[Any]) -> Part:
    """A graph that needs no splitting, as a part."""
    return Part(gm, tuple(range(len(example_inputs))), tuple(example_inputs))


@dataclass(frozen=True)
class Result:
    """Where a result of the whole graph is found.

    Attributes:
        side: Which part gives it; BOTH where it is a constant.
        value: Its number there, or the constant.
        end: What is called on it, if anything.
    """

    side: Side
    value: Any
    end: Callable[[Tensor], Tensor] | None = None


@dataclass(frozen=True)
class Split:
    """A graph as two.

    Attributes:
        host: Gives what is moved, then its results.
        device: Takes what was moved after its inputs.
        moves: One for each of the first results of the host part.
        results: The leaves of what the whole graph returns.
        tree: Its structure.
        there: The device.
    """

    host: Part
    device: Part
    moves: tuple[Move, ...]
    results: tuple[Result, ...]
    tree: pytree.TreeSpec
    there: torch.device

    def joined(self, host: Callable, device: Callable) -> Callable:
        """The whole graph as a callable, made of those of its parts."""
        host_inputs, device_inputs = self.host.inputs, self.device.inputs
        moves, results, tree, there = self.moves, self.results, self.tree, self.there

        def call(*inputs):
            given = host(*[inputs[i] for i in host_inputs])
            arguments = [inputs[i] for i in device_inputs]
            for move, value in zip(moves, given, strict=False):
                arguments.extend(move(value, there))
            made = device(*arguments)
            leaves = [_found(result, given, made) for result in results]
            return pytree.tree_unflatten(leaves, tree)

        return call


def _found(result: Result, given: Sequence, made: Sequence) -> Any:
    if result.side is Side.BOTH:
        return result.value
    value = (given if result.side is Side.HOST else made)[result.value]
    return value if result.end is None else result.end(value)


def split_host_part(
    gm: GraphModule, example_inputs: Sequence[Any], device: torch.device
) -> Split | None:
    """Splits a graph that has tensors of the CPU among its inputs or results.

    Args:
        gm: Torch-level calls; its nodes know their values.
        example_inputs: One value for each placeholder.
        device: Where the other tensors are.

    Returns:
        None where all of them are on the device, or the graph can't be split.
    """
    if device == CPU:
        return None
    inputs = _of_cpu(example_inputs)
    if any(tensor.requires_grad for tensor in inputs):
        return None
    (output,) = gm.graph.find_nodes(op="output")
    if not inputs and not _of_cpu(map(value_of, output.all_input_nodes)):
        return None
    sides = sides_of(gm.graph)
    if sides is None:
        return None
    return _Splitter(gm, example_inputs, device, sides).split()


def _of_cpu(values: Iterable[Any]) -> list[Tensor]:
    return [x for x in values if isinstance(x, Tensor) and x.device == CPU]


class _Key(NamedTuple):
    """What the device part reads of the host part.

    Attributes:
        value: Of the whole graph.
        writes: How many writes the host part has done by then.
        own: The node that makes a tensor of the device of it: each has its own.
    """

    value: Node
    writes: int
    own: Node | None

    @property
    def dtype(self) -> torch.dtype:
        return value_of(self.value).dtype

    @property
    def is_packed(self) -> bool:
        """Whether it goes to the device with others."""
        return self.own is None and value_of(self.value).dim() == 0

    @property
    def waits(self) -> bool:
        return self.own is None or not self.own.kwargs.get("non_blocking", False)


@dataclass
class _Half:
    """A graph that is being made.

    Attributes:
        graph: What there is of it.
        copies: For nodes of the whole graph what they are in it.
        inputs: Numbers of its inputs.
        results: What it returns.
    """

    graph: Graph = field(default_factory=Graph)
    copies: dict[Node, Node] = field(default_factory=dict)
    inputs: list[int] = field(default_factory=list)
    results: list[Node] = field(default_factory=list)

    def copy(self, node: Node) -> None:
        self.copies[node] = self.graph.node_copy(node, self.copies.__getitem__)

    def add_result(self, node: Node) -> int:
        """Returns a node; gives its number among the results."""
        self.results.append(node)
        return len(self.results) - 1

    def finished(self, gm: GraphModule) -> GraphModule:
        """A module of the graph, without numbers that nothing reads."""
        self.graph.output(tuple(self.results))
        for node in reversed(self.graph.nodes):
            is_number = isinstance(value_of(node), _NUMBERS)
            if is_number and node.op.startswith("call_") and not node.users:
                self.graph.erase_node(node)
        made = GraphModule(gm, self.graph)
        made.meta.update(gm.meta)
        static = gm.meta.get("static_input_indices", ())
        own = [n for n, i in enumerate(self.inputs) if i in static]
        made.meta["static_input_indices"] = own
        return made


_NUMBERS = (int, float, torch.SymInt, torch.SymFloat, torch.SymBool)


class _Splitter:
    """Makes the two graphs of one."""

    def __init__(
        self,
        gm: GraphModule,
        examples: Sequence[Any],
        device: torch.device,
        sides: dict[Node, Side],
    ):
        self._gm, self._examples = gm, examples
        self._device = device
        self._sides = sides
        self._host, self._there = _Half(), _Half()
        self._halves = {Side.HOST: self._host, Side.DEVICE: self._there}
        self._writes = 0
        self._all_writes = sum(self._is_write(node) for node in sides)
        # What is read, as it is in the host part and in the device part.
        self._read: dict[_Key, tuple[Node, Node]] = {}

    def split(self) -> Split:
        """Walks the whole graph once, in order."""
        nodes = list(self._gm.graph.nodes)
        inputs = [node for node in nodes if node.op == "placeholder"]
        for number, node in enumerate(inputs):
            self._add_input(node, number)
        for node in nodes[:-1]:
            if node.op != "placeholder" and self._sides[node] is not Side.END:
                self._add(node)
        moves, moved = self._moves()
        self._order(moved)
        leaves, tree = pytree.tree_flatten(_plain(nodes[-1].args[0]))
        results = tuple(self._result(leaf) for leaf in leaves)
        host = self._part(self._host, [])
        device = self._part(self._there, moved)
        return Split(host, device, moves, results, tree, self._device)

    def _add_input(self, node: Node, number: int) -> None:
        for side, half in self._halves.items():
            if self._sides[node] in (side, Side.BOTH):
                half.copy(node)
                half.inputs.append(number)

    def _add(self, node: Node) -> None:
        if self._sides[node] is Side.DEVICE:
            own = node if is_transfer(node, self._sides) else None
            for value in node.all_input_nodes:
                if self._sides[value] is Side.HOST:
                    key = _Key(value, self._writes, own)
                    self._there.copies[value] = self._moved(key)
        for side, half in self._halves.items():
            if self._sides[node] in (side, Side.BOTH):
                half.copy(node)
        self._writes += self._is_write(node)

    def _is_write(self, node: Node) -> bool:
        return self._sides[node] is Side.HOST and may_write(node)

    def _moved(self, key: _Key) -> Node:
        """What the device part reads instead of a value of the host part."""
        if key not in self._read:
            value = self._host.copies[key.value]
            if self._writes < self._all_writes:  # it may be written before it is moved
                value = self._host.graph.call_method("clone", (value,))
                _note(value, value_of(key.value))
            moved = self._there.graph.placeholder(f"moved_{len(self._read)}")
            _note(moved, _like(value_of(key.value), self._device))
            self._read[key] = value, moved
        return self._read[key][1]

    def _moves(self) -> tuple[tuple[Move, ...], list[Node]]:
        """How all that is read is moved, and what it is in the device part."""
        moves, moved = [], []
        packed = [key for key in self._read if key.is_packed]
        for dtype in dict.fromkeys(key.dtype for key in packed):
            values, there = zip(
                *[self._read[key] for key in packed if key.dtype == dtype], strict=True
            )
            self._host.add_result(self._pack(values))
            moves.append(Move(is_packed=True, waits=False))
            moved += there
        for key, (value, there) in self._read.items():
            if not key.is_packed:
                self._host.add_result(value)
                moves.append(Move(is_packed=False, waits=key.waits))
                moved.append(there)
        return tuple(moves), moved

    def _pack(self, values: Sequence[Node]) -> Node:
        """Numbers as a vector."""
        first = value_of(values[0])
        packed = self._host.graph.call_function(torch.stack, (list(values),))
        with first.fake_mode:
            _note(packed, torch.empty(len(values), dtype=first.dtype))
        return packed

    def _order(self, moved: Sequence[Node]) -> None:
        """Has the device part take what was moved after its inputs."""
        if moved:
            nodes = self._there.graph.nodes
            first = next(node for node in nodes if node.op != "placeholder")
            for node in moved:
                first.prepend(node)

    def _result(self, leaf: Any) -> Result:
        if not isinstance(leaf, Node):
            return Result(Side.BOTH, leaf)
        side = self._sides[leaf]
        if side is Side.HOST:
            return Result(side, self._host.add_result(self._host.copies[leaf]))
        source, end = leaf, None
        if side is Side.END:
            source, end = leaf.all_input_nodes[0], _method(leaf)
        number = self._there.add_result(self._there.copies[source])
        return Result(Side.DEVICE, number, end)

    def _part(self, half: _Half, moved: Sequence[Node]) -> Part:
        examples = [self._examples[i] for i in half.inputs]
        examples += [value_of(node) for node in moved]
        made = half.finished(self._gm)
        return Part(made, tuple(half.inputs), tuple(examples), _runnable(made))


def _runnable(gm: GraphModule) -> GraphModule | None:
    """A part with its vectors of numbers on the CPU, where torch wants them."""
    stacks = [node for node in gm.graph.nodes if is_vector_of_numbers(node)]
    if not stacks:
        return None
    copies: dict[Node, Node] = {}
    graph = Graph()
    graph.output(graph.graph_copy(gm.graph, copies))
    for node in stacks:
        made = copies[node]
        with graph.inserting_after(made):
            here = graph.call_method("cpu", (made,))
        made.replace_all_uses_with(here, lambda user, here=here: user is not here)
    return GraphModule(gm, graph)


def _plain(value: Any) -> Any:
    """Lists and dictionaries of a graph as those that its code makes."""
    if isinstance(value, (tuple, list)):
        return (tuple if isinstance(value, tuple) else list)(map(_plain, value))
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value


def _note(node: Node, value: Any) -> None:
    node.meta["val"] = node.meta["example_value"] = value


def _like(fake: Tensor, device: torch.device) -> Tensor:
    """What stands for a tensor when it was moved to a device."""
    with fake.fake_mode:
        return torch.empty_strided(
            fake.size(), fake.stride(), dtype=fake.dtype, device=device
        )


def _method(node: Node) -> Callable[[Tensor], Tensor]:
    """The call of a method with constants, as a function of the tensor."""
    name, args, kwargs = node.target, node.args[1:], node.kwargs
    return lambda tensor: getattr(tensor, name)(*args, **kwargs)
