"""What eager keeps for its backward passes, read from the graph that it makes.

Programs are captured on fake tensors, under the grad mode of the program: the
``grad_fn`` of a fake result leads to the very nodes that eager's own result has, and
these show what they keep. So there is no table of what each op of torch saves.

A node that keeps a tensor can be visited once, unless the graph is retained. Fake
tensors that share a storage stand for tensors that share a counter of versions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import torch
from torch.utils import _pytree as pytree

from girih.codegen.runtime.interface import Keeper, Saved
from girih.dialects.bindings import ir
from girih.frontend.importer import ImportedGraph
from girih.frontend.importer.nodes import value_of

_STATISTICS = "_raw_saved_running_"


class EagerGraph(NamedTuple):
    """Eager's graph of derivatives: what of it keeps something.

    Attributes:
        roots: The results that have a node, and the arguments that the program writes.
        leaves: The arguments that are found in it.
        kept: From a bit for each root that leads to a node, and one for each leaf that
            the node leads to, to names of the storages that such nodes keep.
        storages: For each argument and result the name of its storage.
    """

    roots: tuple[Saved, ...]
    leaves: tuple[Saved, ...]
    kept: Mapping[tuple[int, int], frozenset[int]]
    storages: Mapping[Saved, int]


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
    if _has_checkpoints(imported.module):
        return None  # what is in there keeps nothing, and is computed again
    examples = _examples(gm, imported)
    if examples is None:
        return None
    roots = {saved: t.grad_fn for saved, t in examples.items() if t.grad_fn is not None}
    order = _in_order(roots.values())
    leaves = _leaves(examples, order)
    above, below = _roots_above(order, roots.values()), _leaves_below(order, leaves)
    kept: dict[tuple[int, int], frozenset[int]] = {}
    for node in order:
        if tensors := _kept_by(node):
            key = above[node], below[node]
            names = frozenset(map(_storage, tensors))
            kept[key] = kept.get(key, frozenset()) | names
    storages = {saved: _storage(tensor) for saved, tensor in examples.items()}
    return EagerGraph(tuple(roots), tuple(leaves), kept, storages)


def keepers_of(
    eager: EagerGraph | None,
    derived: Sequence[Saved],
    wanted: Sequence[int],
    owners: Iterable[Saved],
) -> tuple[Keeper, ...]:
    """What eager keeps for the backward passes of a program.

    Args:
        eager: Eager's graph, where that is known.
        derived: The results with a cotangent, or the arguments that become them.
        wanted: Numbers of the arguments with a gradient.
        owners: The user's tensors, one for each memory.
    """
    leaves = {Saved("argument", number) for number in wanted}
    known = eager is not None and leaves <= set(eager.leaves)
    if not known or not set(derived) <= set(eager.roots):
        return (Keeper(frozenset(range(len(derived))), frozenset(wanted), ()),)
    names = {
        eager.storages[saved]: saved for saved in owners if saved in eager.storages
    }
    places = [(n, eager.roots.index(saved)) for n, saved in enumerate(derived)]
    numbers = [
        (saved.index, n) for n, saved in enumerate(eager.leaves) if saved in leaves
    ]
    return tuple(
        Keeper(
            frozenset(n for n, place in places if above >> place & 1),
            frozenset(number for number, place in numbers if below >> place & 1),
            tuple(saved for name, saved in names.items() if name in storages),
        )
        for (above, below), storages in eager.kept.items()
    )


def _has_checkpoints(module: ir.Module) -> bool:
    functions = module.body.operations
    return any(
        "graph.checkpoint" in op.attributes
        for function in functions
        for block in function.regions[0].blocks
        for op in block.operations
    )


def _examples(
    gm: torch.fx.GraphModule, imported: ImportedGraph
) -> dict[Saved, torch.Tensor] | None:
    """The fake tensors that stand for arguments and results, results first."""
    (output,) = gm.graph.find_nodes(op="output")
    outputs, _ = pytree.tree_flatten(output.args[0])
    if len(outputs) != len(imported.outputs):
        return None
    inputs = gm.graph.find_nodes(op="placeholder")
    pairs = [
        (Saved("result", slot.value), node)
        for slot, node in zip(imported.outputs, outputs, strict=True)
        if slot.kind == "result"
    ]
    pairs += [
        (Saved("argument", number), inputs[index])
        for number, index in enumerate(imported.input_indices)
    ]
    found = {}
    for saved, node in pairs:
        value = value_of(node) if isinstance(node, torch.fx.Node) else None
        if isinstance(value, torch.Tensor) and value.layout is torch.strided:
            found[saved] = value
    return found


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
    examples: Mapping[Saved, torch.Tensor], order: Sequence
) -> dict[Saved, Any]:
    """The nodes of arguments, as they are before the program writes them."""
    accumulated = {
        id(node.variable): node for node in order if hasattr(node, "variable")
    }
    found = {}
    for saved, tensor in examples.items():
        if saved.kind == "argument":
            node = accumulated.get(id(tensor), tensor.grad_fn)
            if node is not None:
                found[saved] = node
    return found


def _roots_above(order: Sequence, roots: Iterable[Any]) -> dict[Any, int]:
    """For each node a bit for each root that leads to it."""
    above = dict.fromkeys(order, 0)
    for number, root in enumerate(roots):
        above[root] |= 1 << number
    for node in reversed(order):
        for other in _behind(node):
            above[other] |= above[node]
    return above


def _leaves_below(order: Sequence, leaves: Mapping[Saved, Any]) -> dict[Any, int]:
    """For each node a bit for each leaf that it leads to."""
    below = dict.fromkeys(order, 0)
    for number, node in enumerate(leaves.values()):
        below[node] = below.get(node, 0) | 1 << number
    for node in order:
        for other in _behind(node):
            below[node] |= below[other]
    return below


def _kept_by(node: Any) -> list[torch.Tensor]:
    """The tensors that a node of autograd keeps, and whose versions it checks.

    A batch norm in training keeps its statistics, too, does not read them, and writes
    them without counting a version: several calls may come before the backward pass.
    """
    is_batch_norm = getattr(node, "_saved_training", False)
    found = []
    for name in _names(type(node)):
        if is_batch_norm and name.startswith(_STATISTICS):
            continue
        values = getattr(node, name)
        values = values if isinstance(values, (tuple, list)) else (values,)
        found += [value.data for value in values]
    return [tensor for tensor in found if tensor is not None]


@cache
def _names(type_: type) -> tuple[str, ...]:
    return tuple(name for name in dir(type_) if name.startswith("_raw_saved_"))


def _storage(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage()._cdata
