"""Checkpoints as TorchDynamo writes them become operations of the graph."""

from __future__ import annotations

import torch
from torch._higher_order_ops.wrap import TagActivationCheckpoint

from girih.frontend.checkpoint import Checkpoint
from girih.frontend.importer.levels import enters_levels

# Where TorchDynamo leaves what a selective checkpoint is given.
_CONTEXTS = "_checkpoint_context_fn"


def restore_checkpoints(gm: torch.fx.GraphModule) -> None:
    """Makes checkpoints of what TorchDynamo writes for them, in place.

    Run as it is, that draws other random numbers in the backward pass: it leaves them
    to a partitioner.
    """
    for module in [m for m in gm.modules() if isinstance(m, torch.fx.GraphModule)]:
        found = [n for n in module.graph.nodes if _is_tagged(n)]
        for node in found:
            _restore(module, node)
        if found:
            module.recompile()


def _is_tagged(node: torch.fx.Node) -> bool:
    return isinstance(node.target, TagActivationCheckpoint)


def _restore(gm: torch.fx.GraphModule, node: torch.fx.Node) -> None:
    options, keywords = TagActivationCheckpoint.divide_kwargs(dict(node.kwargs))
    body = gm.get_submodule(node.args[0].target)
    options.pop("use_reentrant", None)
    if _CONTEXTS in body.meta:
        options["context_fn"] = body.meta[_CONTEXTS]
    if enters_levels(body):  # which stopping early would leave open
        options["early_stop"] = False
    node.target = Checkpoint(options)
    node.args = (*node.args, *keywords.values())
    node.kwargs = {}
