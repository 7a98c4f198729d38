"""Numbers of Python's ``random`` in TorchDynamo's graphs: inputs without dims.

Dynamo notes such a float as a tensor of float32, and gives one of float64 at each call.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch._guards import detect_fake_mode
from torch.fx import GraphModule, Node

from girih.frontend.importer.nodes import value_of


def random_numbers(gm: GraphModule) -> set[Node]:
    """The inputs that are such numbers, and what is computed of them alone."""
    found: set[Node] = set()
    for node in gm.graph.nodes:
        if node.op == "placeholder":
            given = node.meta.get("grapharg")
            if type(getattr(given, "source", None)).__name__ == "RandomValueSource":
                found.add(node)
        elif node.op == "call_function" and node.all_input_nodes:
            value = value_of(node)
            is_number = isinstance(value, torch.Tensor) and value.dim() == 0
            if is_number and found.issuperset(node.all_input_nodes):
                found.add(node)
    return found


def is_rounded(node: Node) -> bool:
    """Whether a number is computed of integers, as float32 and not as a double."""
    is_float = value_of(node).is_floating_point()
    return is_float and not any(
        value_of(read).is_floating_point() for read in node.all_input_nodes
    )


def as_given(gm: GraphModule, example_inputs: Sequence[Any]) -> list[Any]:
    """Example inputs with the element types that the calls will have."""
    examples = list(example_inputs)
    placeholders = [node for node in gm.graph.nodes if node.op == "placeholder"]
    numbers = random_numbers(gm)
    for index, node in enumerate(placeholders):
        if node in numbers and examples[index].dtype == torch.float32:
            mode = detect_fake_mode([examples[index]])
            if mode is None:
                examples[index] = examples[index].double()
                continue
            with mode:
                examples[index] = torch.empty((), dtype=torch.float64)
    return examples
