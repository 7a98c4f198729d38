"""What eager keeps for its backward passes, read from the graph that it makes.

Programs are captured on fake tensors, under the grad mode of the program: the
``grad_fn`` of a fake result leads to the very nodes that eager's own result has, and
these show what they keep. So there is no table of what each op of torch saves.

A node that keeps a tensor can be visited once, unless the graph is retained. Fake
tensors that share a storage stand for tensors that share a counter of versions.
"""

from __future__ import annotations

import sys
from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from threading import get_ident
from types import MappingProxyType
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import torch
from torch.utils import _pytree as pytree

from girih.codegen.runtime.interface import Keeper, Saved
from girih.compiler.convention import owners_of
from girih.compiler.passed import equal_of, passed_of
from girih.compiler.written_views import is_written_view, kept_inside
from girih.dialects import keys
from girih.dialects.bindings import ir
from girih.frontend.importer import ImportedGraph
from girih.frontend.importer.edges import Edge, edge_of, tells_of_a_write
from girih.frontend.importer.lazy_bits import NONE, Bits
from girih.frontend.importer.nodes import value_of
from girih.passes.autograd.joint import Signature

# What functions in Python keep; those in C++ have it by its own name.
_CHECKED = {"_raw_saved_tensors": "saved_tensors"}


class Kept(NamedTuple):
    """What nodes of eager's graph keep.

    Attributes:
        storages: Names of the storages of the tensors.
        error: What eager raises where it comes to them, as the program itself has
            written one since; None as a rule.
    """

    storages: frozenset[int] = frozenset()
    error: str | None = None


class EagerGraph(NamedTuple):
    """Eager's graph of derivatives.

    Attributes:
        roots: The results that have a node, and the arguments that the program writes.
        leaves: The arguments that are found in it.
        kept: From a bit for each root that leads to a node, one for each leaf that the
            node leads to, and one for each such root, to what such nodes keep; None
            where that is not known.
        storages: For each argument and result the name of its storage.
        inner: For each root those that its backward pass comes to next.
        read: The roots whose own values their nodes keep, as that of ``tanh`` does:
            gradients are computed of them.
        passed: For leaves what their gradients are of the cotangents of roots: see
            ``passed_of``.
        equal: The leaves whose gradients are one tensor: see ``equal_of``.
    """

    roots: tuple[Saved, ...]
    leaves: tuple[Saved, ...]
    kept: Mapping[tuple[int, int, int], Kept] | None
    storages: Mapping[Saved, int]
    inner: Mapping[Saved, tuple[Saved, ...]]
    read: frozenset[Saved] = frozenset()
    passed: Mapping[Saved, Mapping[Saved, str]] = MappingProxyType({})
    equal: Mapping[Saved, int] = MappingProxyType({})


class Eager(NamedTuple):
    """A program as torch computes and derives it.

    Attributes:
        function: From its arguments to its results, watched by autograd.
        graph: What is kept for backward passes, where that is known.
        is_derivable: Whether its gradients can be derived again, or are wrong then.
    """

    function: Callable
    graph: EagerGraph | None = None
    is_derivable: bool = True


def read_eager_graph(
    gm: torch.fx.GraphModule, imported: ImportedGraph
) -> EagerGraph | None:
    """Eager's graph of a program; None where what was captured does not show it."""
    examples = _examples(gm, imported)
    if examples is None:
        return None
    found = {saved: edge_of(tensor) for saved, tensor in examples.items()}
    roots = {saved: edge for saved, edge in found.items() if edge.node is not None}
    nodes = {saved: edge.node for saved, edge in roots.items()}
    order = _in_order(nodes.values())
    leaves = _leaves(examples, found, order)
    # What is in a checkpoint keeps nothing, and is computed again.
    is_known = not _has_checkpoints(imported.module)
    return EagerGraph(
        tuple(roots),
        tuple(leaves),
        _kept(order, nodes, leaves.values(), examples) if is_known else None,
        {saved: _storage(tensor) for saved, tensor in examples.items()},
        _inner(roots, {Saved("result", number) for number in owners_of(imported)}),
        frozenset(saved for saved, node in nodes.items() if _keeps_result(node)),
        passed_of(roots, leaves, examples, _keeps) if is_known else {},
        equal_of(order, roots, leaves, examples, _keeps) if is_known else {},
    )


def _keeps(node: Any) -> bool:
    return bool(_names(type(node)))


def _keeps_result(node: Any) -> bool:
    names = (f"_saved_{name}" for name in ("result", "output"))
    return any(hasattr(type(node), name) for name in names)


def _kept(
    order: Sequence,
    nodes: Mapping[Saved, Any],
    leaves: Iterable,
    examples: Mapping[Saved, torch.Tensor],
) -> dict[tuple[int, int, int], Kept]:
    """What nodes keep: see ``EagerGraph.kept``."""
    roots = list(nodes.values())
    above = _above(order, roots)
    below, inner = _below(order, leaves), _below(order, roots)
    kept: dict[tuple[int, int, int], Kept] = {}
    # The node that was made last comes first in a backward pass: it raises.
    for node in sorted(order, key=lambda node: node._sequence_nr(), reverse=True):
        if is_written_view(node):
            tensors, error = kept_inside(node, examples[next(iter(nodes))])
        elif tensors := _kept_by(node):
            with _without_distributed_tensors():
                error = _error_of(node)
        else:
            continue
        key = above[node], below[node], inner[node]
        before = kept.get(key, Kept())
        names = before.storages.union(map(_storage, tensors))
        kept[key] = Kept(names, before.error or error)
    return kept


def _inner(
    roots: Mapping[Saved, Edge], unreturned: Collection[Saved]
) -> dict[Saved, tuple[Saved, ...]]:
    """For roots those that are found behind them, and not behind one another.

    What is not returned is found behind none, as nobody asks about it: its views are.
    """
    edges: dict[tuple[Any, int], Saved] = {}
    for saved, edge in roots.items():
        if saved not in unreturned:
            edges.setdefault(edge, saved)
    found = {}
    for saved, root in roots.items():
        inner, seen = [], set()
        pending = list(root.node.next_functions)
        while pending:
            edge = pending.pop()
            if edge in edges and edge not in seen:
                inner.append(edges[edge])
            elif edge[0] is not None and edge not in seen:
                pending += edge[0].next_functions
            seen.add(edge)
        found[saved] = tuple(inner)
    return found


def inner_of(
    eager: EagerGraph | None, numbers: Mapping[Saved, int]
) -> dict[int, tuple[int, ...]]:
    """For results those that eager's backward pass comes to next.

    Args:
        eager: Eager's graph, where that is known.
        numbers: For results, or the arguments that become them, their numbers.
    """
    if eager is None:
        return {}
    found = {}
    for saved, number in numbers.items():
        pending = list(eager.inner.get(saved, ()))
        inner, seen = [], set()
        while pending:
            other = pending.pop()
            if other in numbers and other not in seen:
                inner.append(numbers[other])
            elif other not in seen:
                pending += eager.inner[other]
            seen.add(other)
        if inner:
            found[number] = tuple(sorted(inner))
    return found


def mark_unkept(function: ir.OpView, eager: EagerGraph | None) -> None:
    """Marks the arguments that eager keeps, and those that users may write.

    And results that are views of the latter. Other results may be written, too, but can
    be computed again then: they are kept as they are, without a copy.

    Args:
        function: From arguments to results.
        eager: Eager's graph of it, where that is known.
    """
    if eager is None or eager.kept is None:
        return
    kept = frozenset().union(*(kept.storages for kept in eager.kept.values()))
    given = {name for saved, name in eager.storages.items() if saved.kind == "argument"}
    signature = Signature.of(function)
    groups = {"argument": signature.arguments, "result": signature.results}
    for saved, name in eager.storages.items():
        if name in given - kept:
            groups[saved.kind][saved.index][keys.UNKEPT] = ir.UnitAttr.get()
        elif saved.kind == "argument" and name in kept:
            groups["argument"][saved.index][keys.KEPT] = ir.UnitAttr.get()
    signature.apply(function)


def keepers_of(
    eager: EagerGraph | None,
    derived: Sequence[Saved],
    wanted: Sequence[int],
    owners: Iterable[Saved],
    inner: Mapping[Saved, int],
) -> tuple[Keeper, ...]:
    """What eager keeps for the backward passes of a program.

    Args:
        eager: Eager's graph, where that is known.
        derived: The results with a cotangent, or the arguments that become them.
        wanted: Numbers of the arguments with a gradient.
        owners: The user's tensors, one for each memory.
        inner: The results that lie behind others, with their numbers.
    """
    leaves = {Saved("argument", number) for number in wanted}
    known = eager is not None and eager.kept is not None
    known = known and leaves <= set(eager.leaves)
    if not known or not set(derived) <= set(eager.roots):
        places, numbers = frozenset(range(len(derived))), frozenset(inner.values())
        return (Keeper(places, frozenset(wanted), (), numbers, numbers),)
    names = {
        eager.storages[saved]: saved for saved in owners if saved in eager.storages
    }
    places = [(n, eager.roots.index(saved)) for n, saved in enumerate(derived)]
    numbers = [
        (saved.index, n) for n, saved in enumerate(eager.leaves) if saved in leaves
    ]
    others = [(number, eager.roots.index(saved)) for saved, number in inner.items()]
    return tuple(
        Keeper(
            _chosen(places, above),
            _chosen(numbers, below),
            tuple(saved for name, saved in names.items() if name in kept.storages),
            _chosen(others, above),
            _chosen(others, within),
            kept.error,
        )
        for (above, below, within), kept in eager.kept.items()
    )


def _chosen(pairs: Iterable[tuple[int, int]], bits: int) -> frozenset[int]:
    """The first of each pair whose second is the number of a bit that is set."""
    return frozenset(first for first, bit in pairs if bits >> bit & 1)


def _has_checkpoints(module: ir.Module) -> bool:
    functions = module.body.operations
    return any(
        keys.CHECKPOINT in op.attributes
        for function in functions
        for block in function.regions[0].blocks
        for op in block.operations
    )


def _examples(
    gm: torch.fx.GraphModule, imported: ImportedGraph
) -> dict[Saved, torch.Tensor] | None:
    """The fake tensors that stand for arguments and results, results first.

    Among the results are those that own the memory of others and are not returned.
    """
    (output,) = gm.graph.find_nodes(op="output")
    outputs, _ = pytree.tree_flatten(output.args[0])
    if len(outputs) != len(imported.outputs):
        return None
    inputs = gm.graph.find_nodes(op="placeholder")
    found_at = [
        (Saved("result", slot.value), node, slot.bits)
        for slot, node in zip(imported.outputs, outputs, strict=True)
        if slot.kind == "result"
    ]
    found: dict[Saved, torch.Tensor] = {}
    _add_examples(found, found_at)
    for owner, views in owners_of(imported).items():
        tensors = (found.get(Saved("result", view)) for view in views)
        bases = (tensor._base for tensor in tensors if tensor is not None)
        if (
            base := next((base for base in bases if base is not None), None)
        ) is not None:
            found[Saved("result", owner)] = base
    _add_examples(
        found,
        [
            (Saved("argument", number), inputs[index], NONE)
            for number, index in enumerate(imported.input_indices)
        ],
    )
    return found


def _add_examples(
    found: dict[Saved, torch.Tensor], found_at: Iterable[tuple[Saved, Any, Bits]]
) -> None:
    """Adds the fake tensors of nodes."""
    for saved, node, bits in found_at:
        value = value_of(node) if isinstance(node, torch.fx.Node) else None
        if isinstance(value, torch.Tensor) and value.layout is torch.strided:
            found.setdefault(saved, value if bits is NONE else bits.toggled(value))


def _in_order(roots: Iterable[Any]) -> list:
    """The nodes that roots lead to, each behind those that it leads to."""
    order: list = []
    seen, pending = set(), [(root, False) for root in roots]
    while pending:
        node, is_done = pending.pop()
        if is_done:
            order.append(node)
        elif node not in seen:
            seen.add(node)
            pending.append((node, True))
            pending += [(other, False) for other in _behind(node)]
    return order


def _behind(node: Any) -> list:
    return [other for other, _ in node.next_functions if other is not None]


def _leaves(
    examples: Mapping[Saved, torch.Tensor],
    edges: Mapping[Saved, Edge],
    order: Sequence,
) -> dict[Saved, Any]:
    """The nodes of arguments, as they are before the program writes them."""
    accumulated = {
        id(node.variable): node for node in order if hasattr(node, "variable")
    }
    found = {}
    for saved, tensor in examples.items():
        if saved.kind == "argument":
            node = accumulated.get(id(tensor), edges[saved].node)
            if node is not None:
                found[saved] = node
    return found


def _above(order: Sequence, roots: Iterable[Any]) -> dict[Any, int]:
    """For each node a bit for each root that leads to it."""
    above = dict.fromkeys(order, 0)
    for number, root in enumerate(roots):
        above[root] |= 1 << number
    for node in reversed(order):
        for other in _behind(node):
            above[other] |= above[node]
    return above


def _below(order: Sequence, targets: Iterable[Any]) -> dict[Any, int]:
    """For each node a bit for each of some others that it leads to, or is."""
    below = dict.fromkeys(order, 0)
    for number, node in enumerate(targets):
        below[node] = below.get(node, 0) | 1 << number
    for node in order:
        for other in _behind(node):
            below[node] |= below[other]
    return below


def _kept_by(node: Any) -> list[torch.Tensor]:
    """The tensors that a node of autograd keeps, and whose versions it checks.

    A batch norm in training keeps its statistics, too, although it does not read them.
    It gives them no new version, so several calls may come before the backward pass.
    """
    found = []
    for name in _names(type(node)):
        values = getattr(node, name)
        values = values if isinstance(values, (tuple, list)) else (values,)
        found += [value.data for value in values]
    return [tensor for tensor in found if tensor is not None]


def _error_of(node: Any) -> str | None:
    """What autograd says of a node that keeps what was written since."""
    for name in _names(type(node)):
        try:
            getattr(node, _CHECKED.get(name) or name.removeprefix("_raw"))
        except _NotImported:
            continue  # it was about to show a result that was not written
        except RuntimeError as error:
            if tells_of_a_write(error):
                return str(error)
    return None


_DISTRIBUTED = "torch.distributed.tensor"


class _NotImported(ImportError):
    """torch wanted to import its distributed tensors."""


class _Refusal(MetaPathFinder):
    """Refuses this thread the distributed tensors.

    torch asks whether a tensor without data is one when it shows what a node keeps of
    its results. To import them, and sympy with them, takes a second.
    """

    def __init__(self) -> None:
        self._thread = get_ident()

    def find_spec(self, name: str, path: Any, target: Any = None) -> None:
        """Finds nothing; others may find it for other threads."""
        if name == _DISTRIBUTED and get_ident() == self._thread:
            raise _NotImported(name)


@contextmanager
def _without_distributed_tensors() -> Iterator[None]:
    finder = _Refusal()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


# An autograd.Function of the program has a class of nodes, which refers to it.
_known_names: WeakKeyDictionary[type, tuple[str, ...]] = WeakKeyDictionary()


def _names(type_: type) -> tuple[str, ...]:
    found = _known_names.get(type_)
    if found is None:
        names = (name for name in dir(type_) if name.startswith("_raw_saved_"))
        found = _known_names[type_] = tuple(names)
    return found


def _storage(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage()._cdata
