"""Inference tensors: results that are such, and writes to them.

A program makes its results in the mode of the call. Those that eager makes in the other
mode are made anew, over the same memory.

Eager allows writes to inference tensors in inference mode alone. TorchDynamo leaves
inference mode while it captures, so neither its fake tensors nor the backend know in
which mode the graph will be called. Programs that write such a tensor look at each
call; outside of the mode the graph itself runs, and raises eager's error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch.autograd.grad_mode import _enter_inference_mode
from torch.fx import Node

from girih.errors import UnsupportedError
from girih.fallbacks import KINDS, Site
from girih.frontend.importer import ImportedGraph
from girih.frontend.importer.nodes import value_of

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


def made_in_another_mode(
    gm: torch.fx.GraphModule, results: Iterable[torch.Tensor]
) -> tuple[int, ...] | None:
    """The places of a graph's results that are made in another mode than the call's.

    Args:
        gm: The graph.
        results: What stands for the results whose memory is their own.

    Returns:
        None where there is one that can't be made anew.
    """
    mode = torch.is_inference_mode_enabled()
    others = {id(made): made for made in results if made.is_inference() != mode}
    returned = gm.graph.output_node().args[0]
    if not others:
        return ()
    if any(
        made.requires_grad or made.layout is not torch.strided
        for made in others.values()
    ):
        return None
    if not isinstance(returned, (tuple, list)):
        return None
    values = [value_of(node) if isinstance(node, Node) else None for node in returned]
    places = tuple(n for n, value in enumerate(values) if id(value) in others)
    return places if {id(values[n]) for n in places} == set(others) else None


def with_results_made_anew(program: Callable, places: Sequence[int]) -> Callable:
    """A program, some results of which are made in the other inference mode."""
    if not places:
        return program

    def call(*inputs):
        results = list(program(*inputs))
        known: dict[int, torch.Tensor] = {}
        mode = torch.is_inference_mode_enabled()
        with torch.inference_mode(not mode):
            for place in places:
                result = results[place]
                if result.is_inference() == mode:
                    made = known.get(id(result))
                    results[place] = _made_anew(result) if made is None else made
                    known[id(result)] = results[place]
        return tuple(results)

    return call


def _made_anew(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor of the mode that is on, over the memory of another one."""
    made = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
    where = tensor.storage_offset(), tensor.size(), tensor.stride()
    return made.set_(tensor.untyped_storage(), *where)


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
