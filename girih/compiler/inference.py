"""Writes to inference tensors, which eager allows in inference mode alone.

TorchDynamo leaves inference mode while it captures, so neither its fake tensors nor the
backend know in which mode the graph will be called. Programs that write such a tensor
look at each call; outside of the mode the graph itself runs, and raises eager's error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.autograd.grad_mode import _enter_inference_mode

from girih.errors import UnsupportedError
from girih.fallbacks import KINDS, Site
from girih.frontend.importer import ImportedGraph

KIND = "inference mode"


def writes_inference_tensors(
    imported: ImportedGraph, example_inputs: Sequence[Any]
) -> bool:
    """Whether a graph, as it was imported, writes inference tensors that it is given.

    Args:
        imported: The graph.
        example_inputs: Those of the backend: real ones, or fakes of girih's capture.
    """
    tensors = [example_inputs[index] for index in imported.input_indices]
    tensors += imported.lifted
    return any(tensors[number].is_inference() for number in imported.writes)


def inside_inference_mode(
    program: Callable, gm: torch.fx.GraphModule, eager: Callable, site: Site
) -> Callable:
    """A program that runs where inference mode is on, and eager elsewhere."""
    stays = all(
        node.args[0]
        for node in gm.graph.find_nodes(
            op="call_function", target=_enter_inference_mode
        )
    )

    def call(*inputs):
        if stays and torch.is_inference_mode_enabled():
            return program(*inputs)
        results = eager(*inputs)  # as a rule it raises
        site.ran(KIND, UnsupportedError(KIND, KINDS[KIND], location=site.place))
        return results

    return call
