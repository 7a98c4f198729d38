"""Types of arguments that TorchDynamo's graphs no longer tell.

Dynamo takes a number of NumPy for a tensor without dims, which promotes in another
way, and a ``torch.Size`` of known sizes for a tuple, which constructors of old take
for data. A graph where that may matter is none of the program's: Python has to run
the function.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

import torch
from torch.fx import GraphModule, Node

from girih.errors import UnsupportedError
from girih.frontend.importer.execution import source_of
from girih.frontend.importer.nodes import value_of
from girih.frontend.importer.random_numbers import is_rounded, random_numbers

# Dynamo's stand-ins for functions, methods and operators of NumPy.
_OF_NUMPY = (
    "numpy_to_tensor_wrapper",
    "numpy_operator_wrapper",
    "numpy_method_wrapper",
)

# The classes of `torch.FloatTensor` and of `torch.Tensor`.
_CONSTRUCTORS = (type(torch.FloatTensor), type(torch.Tensor))
# Element types of numbers that torch takes for the Python number of the same value.
_LIKE_PYTHON = (
    *(torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8, torch.uint16),
    *(torch.uint32, torch.uint64, torch.float16, torch.float32, torch.float64),
    torch.complex128,
)


def lost_type(gm: GraphModule) -> UnsupportedError | None:
    """Why a graph of TorchDynamo may not be the program's; None where it is."""
    numbers = {node for node in gm.graph.nodes if _is_number(node)}
    drawn = random_numbers(gm)
    for node in gm.graph.nodes:
        # It may be a number or an array, which eager keeps apart.
        if node in numbers and node.op == "placeholder":
            return _number_is_lost(node)
        if node.op not in ("call_function", "call_method"):
            continue
        given = [read for read in node.all_input_nodes if read in numbers]
        if given and not _is_of_numpy(node) and not _is_harmless(node, given):
            return _number_is_lost(node)
        given = [read for read in node.all_input_nodes if read in drawn]
        if node in drawn and is_rounded(node):
            return _number_is_lost(node, "random")
        if given and node not in drawn and not _is_harmless(node, given):
            return _number_is_lost(node, "random")
        if _may_have_had_a_size(node):
            return _size_is_lost(node)
    return None


def _is_number(node: Node) -> bool:
    """Whether a node is a number of NumPy, or an array without dims, to the program."""
    value = value_of(node)
    if not isinstance(value, torch.Tensor) or value.dim() != 0:
        return False
    return _is_of_numpy(node) or _is_input_of_numpy(node)


def _is_of_numpy(node: Node) -> bool:
    return type(node.target).__name__ in _OF_NUMPY


def _is_input_of_numpy(node: Node) -> bool:
    given = node.meta.get("grapharg")
    return type(getattr(given, "source", None)).__name__ == "NumpyTensorSource"


def _is_harmless(node: Node, numbers: list[Node]) -> bool:
    """Whether a tensor without dims does there what the number would do.

    Next to a tensor with dims whose elements are of as wide a kind.
    """
    if any(value_of(number).dtype not in _LIKE_PYTHON for number in numbers):
        return False
    if node.target is operator.getitem:
        return True
    if node.target is operator.setitem:
        return False
    ranks = [_rank(value) for value in _tensors_beside(node, numbers)]
    return bool(ranks) and max(ranks) >= max(_rank(value_of(k)) for k in numbers)


def _tensors_beside(node: Node, numbers: list[Node]) -> Iterator[torch.Tensor]:
    for read in node.all_input_nodes:
        value = value_of(read)
        if read not in numbers and isinstance(value, torch.Tensor) and value.dim():
            yield value


def _rank(value: torch.Tensor) -> int:
    """The kind of a tensor's elements: bools, ints, floats, complex numbers."""
    if value.is_complex():
        return 3
    if value.is_floating_point():
        return 2
    return int(value.dtype != torch.bool)


def _may_have_had_a_size(node: Node) -> bool:
    """Whether a constructor of old is given a tuple that may have been a size."""
    if not isinstance(node.target, _CONSTRUCTORS):
        return False
    return any(_is_tuple_of_ints(arg) for arg in node.args)


def _is_tuple_of_ints(value: Any) -> bool:
    return isinstance(value, tuple) and all(type(item) is int for item in value)


def _number_is_lost(node: Node, kind: str = "NumPy") -> UnsupportedError:
    return UnsupportedError(
        f"{kind} number that TorchDynamo makes a tensor of",
        str(node.target),
        f"TorchDynamo passes the {kind} number to the graph as a 0-d tensor. Eager may "
        "compute another result from the number than from that tensor.",
        ("Pass a Python number (number.item()), or use girih.compile.",),
        source_of(node),
    )


def _size_is_lost(node: Node) -> UnsupportedError:
    return UnsupportedError(
        "torch.Size that TorchDynamo may have made a tuple of",
        str(node.target),
        "The constructor makes a tensor of a size, and of a tuple's items.",
        ("Use torch.empty or torch.tensor, or girih.compile.",),
        source_of(node),
    )
