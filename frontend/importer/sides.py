"""On which side a node of a graph runs that has tensors of the CPU and of a device.

What depends on tensors of the CPU alone is the host's. Nothing of it waits for the
device, so it can run first; what reads tensors of both sides is the device's.
"""

from __future__ import annotations

from enum import Enum

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor
from torch.fx import Graph, Node
from torch.utils import _pytree as pytree

from girih.frontend.fake.foreach import takes_numbers
from girih.frontend.importer.devices import CPU
from girih.frontend.importer.nodes import may_write, name_of, value_of

_CONVERSIONS = ("to", "cpu", "cuda")


class Side(Enum):
    """Where a node runs."""

    HOST = "host"
    DEVICE = "device"
    BOTH = "both"
    """No tensor: a number, a switch of torch's state."""
    END = "end"
    """A result on its way to the CPU."""


def sides_of(graph: Graph) -> dict[Node, Side] | None:
    """The side of each node.

    Args:
        graph: Torch-level calls; its nodes know their values.

    Returns:
        None where the host would wait for the device, or more than tensors would go
        from one to the other.
    """
    of_host: set[Node] = set()
    while True:
        sides = _sides(graph, of_host)
        if sides is None:
            return None
        # Tensors of the CPU that are made of nothing: the host makes what it reads and
        # what is returned, the device the others.
        made = {n for n, side in sides.items() if side is Side.BOTH and _devices(n)}
        found = {n for n in made if any(_is_of_host(user, sides) for user in n.users)}
        if not found:
            sides.update(dict.fromkeys(made, Side.DEVICE))
            return sides if _goes_one_way(sides) else None
        of_host |= found


def is_transfer(node: Node, sides: dict[Node, Side]) -> bool:
    """Whether a node makes a tensor of the device of the host's alone."""
    read = {sides[x] for x in node.all_input_nodes} - {Side.BOTH}
    return (
        read == {Side.HOST}
        and sides[node] is Side.DEVICE
        and not is_vector_of_numbers(node)
    )


def is_vector_of_numbers(node: Node) -> bool:
    """Whether numbers are put together for operations on lists, as optimizers do.

    Compiled code takes the vector apart again, so the device has the numbers.
    """
    names = [name_of(user).removesuffix("_") for user in node.users]
    is_read = [takes_numbers(f"{name}.Tensor") for name in names]
    return node.target is torch.stack and names != [] and all(is_read)


def _sides(graph: Graph, of_host: set[Node]) -> dict[Node, Side] | None:
    sides: dict[Node, Side] = {}
    for node in graph.nodes:
        side = Side.HOST if node in of_host else _side(node, sides)
        if side is None:
            return None
        sides[node] = side
    return sides


def _is_of_host(user: Node, sides: dict[Node, Side]) -> bool:
    return user.op == "output" or sides[user] is Side.HOST


def _side(node: Node, sides: dict[Node, Side]) -> Side | None:
    if node.op in ("get_attr", "output"):
        return Side.BOTH
    devices = _devices(node)
    if node.op == "placeholder":
        return _of_devices(devices)
    read = {sides[x] for x in node.all_input_nodes} - {Side.BOTH}
    if not read:
        return _of_devices(devices - {CPU})
    if read == {Side.HOST}:
        is_moved = devices - {CPU} or is_vector_of_numbers(node)
        return Side.DEVICE if is_moved else Side.HOST
    if CPU in devices:
        is_end = read == {Side.DEVICE} and _is_conversion(node)
        return Side.END if is_end else None
    return None if _writes_to_host(node, sides) else Side.DEVICE


def _of_devices(devices: set[torch.device]) -> Side:
    if not devices:
        return Side.BOTH
    return Side.HOST if devices == {CPU} else Side.DEVICE


def _devices(node: Node) -> set[torch.device]:
    """Where the tensors of a node's value are."""
    leaves = pytree.tree_leaves(value_of(node))
    return {leaf.device for leaf in leaves if isinstance(leaf, Tensor)}


def _is_conversion(node: Node) -> bool:
    """Whether a node calls ``Tensor.to`` or the like with constants."""
    is_call = node.op == "call_method" and node.target in _CONVERSIONS
    return is_call and len(node.all_input_nodes) == 1


def _writes_to_host(node: Node, sides: dict[Node, Side]) -> bool:
    """Whether a node that reads tensors of the device writes one of the host's."""
    if not may_write(node):
        return False
    written = pytree.tree_leaves([node.args[:1], node.kwargs.get("out")])
    return any(isinstance(x, Node) and sides[x] is Side.HOST for x in written)


def _goes_one_way(sides: dict[Node, Side]) -> bool:
    """Whether tensors go from the host to the device, and nothing goes back."""
    for node, side in sides.items():
        if node.op == "output":
            continue
        for read in node.all_input_nodes:
            if sides[read] in (side, Side.BOTH):
                continue
            pair = sides[read], side
            is_tensor = isinstance(value_of(read), FakeTensor)
            if pair == (Side.HOST, Side.DEVICE) and is_tensor:
                continue
            if pair != (Side.DEVICE, Side.END):
                return False
    return True
