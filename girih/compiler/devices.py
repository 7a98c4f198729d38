"""On which device a captured graph computes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from girih.compiler.gpu_code import why_unavailable
from girih.frontend.importer.nodes import value_of

CPU = torch.device("cpu")


def device_of(gm: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> torch.device:
    """The device of the inputs that a graph reads, or of its results.

    Where there are several it is a GPU; the importer refuses what does not fit.
    """
    placeholders = gm.graph.find_nodes(op="placeholder")
    tensors = [
        value
        for node, value in zip(placeholders, example_inputs, strict=True)
        if node.users and isinstance(value, torch.Tensor)
    ]
    devices = [tensor.device for tensor in tensors or example_results(gm)]
    others = [device for device in devices if device != CPU]
    return others[0] if others else CPU


def why_not_on(device: torch.device) -> str | None:
    """Why girih makes no code for a device, or None."""
    if device.type == "cpu":
        return None
    if device.type != "cuda":
        return f"girih compiles for the CPU and for GPUs, got {device}"
    return why_unavailable()


def example_results(gm: torch.fx.GraphModule) -> list[torch.Tensor]:
    """The tensors that stand for the graph's results, where capture left them.

    Results may need gradients although no input does: ``ones(requires_grad=True)``.
    """
    results = []
    for node in gm.graph.find_nodes(op="output"):
        for result in node.all_input_nodes:
            value = value_of(result)
            results.extend([value] if isinstance(value, torch.Tensor) else [])
    return results
