"""Runs what programs say about gradients: ``autograd.grad``, functions, checkpoints."""

from __future__ import annotations

from typing import Any

import torch

from girih.errors import unsupported
from girih.frontend.capture.models.torch_functions import ApplyFunction
from girih.frontend.checkpoint import Checkpoint
from girih.frontend.importer.asked_gradients import Gradients, Request, listed
from girih.frontend.importer.execution import execute
from girih.frontend.importer.functions import apply_function
from girih.frontend.importer.levels import is_wrapped
from girih.frontend.importer.nodes import value_of
from girih.frontend.importer.opaque import Autograd, is_opaque
from girih.frontend.importer.recorder import Recorder, tensors_of


class Transforms:
    """Takes the place of torch for calls that have to do with gradients."""

    def __init__(self, recorder: Recorder):
        self._recorder = recorder
        self._derivatives = recorder.derivatives
        self._asked: set[torch.fx.Node] = set()
        self._checkpoints = 0
        self._gradients = Gradients(recorder)
        # autograd does them alone: no call of ATen shows them.
        self._methods = {
            "detach_": self._detach,
            "requires_grad_": self._require_gradient,
        }

    def enter(self, gm: torch.fx.GraphModule) -> None:
        """Notes by which values a graph asks for gradients."""
        grad = torch.autograd.grad
        for node in gm.graph.find_nodes(op="call_function", target=grad):
            asked = Request(*node.args, **node.kwargs).inputs
            self._asked.update(listed(asked))

    def call(self, node: torch.fx.Node, args: tuple, kwargs: dict) -> Any:
        """The result of a node, or ``NotImplemented`` where torch's own is right."""
        target = node.target
        is_alone = node.op == "call_method" and target in self._methods
        if is_alone and not is_wrapped(args[0]):
            return self._methods[target](*args, **kwargs)
        if target is torch.autograd.grad:
            return self._gradients.computed(Request(*args, **kwargs), value_of(node))
        if isinstance(target, ApplyFunction):
            with Autograd(self._recorder, self._methods, self._gradients):
                return apply_function(self._recorder, target.cls, args)
        if isinstance(target, Checkpoint):
            return self._checkpoint(*args)
        if node.op == "call_function" and is_opaque(target):
            with Autograd(self._recorder, self._methods, self._gradients):
                return target(*args, **kwargs)
        return NotImplemented

    def note(self, node: torch.fx.Node, result: Any) -> Any:
        """The result of a node, whose tensors are known afterwards."""
        if node.op == "get_attr" and isinstance(result, torch.Tensor):
            return self._recorder.lift(result)
        tensors = [t for t in tensors_of(result) if _requires_gradient(t)]
        for tensor in tensors:
            self._take_over(node, tensor)
        if node in self._asked and node.op != "placeholder":
            for tensor in tensors_of(result):
                self._recorder.tracked(tensor).rename(self._derivatives.own)
        return result

    # Leaves -----------------------------------------------------------------------

    def _take_over(self, node: torch.fx.Node, tensor: torch.Tensor) -> None:
        """torch must not record anything: it is in the graph."""
        if not tensor.is_leaf:
            unsupported(
                kind="gradient inside of an operation",
                context=str(node.target),
                explanation="The operation makes tensors that require a gradient.",
            )
        tensor.requires_grad_(False)
        self._derivatives.make_leaf(self._recorder.tracked(tensor))

    def _require_gradient(self, tensor: torch.Tensor, requires_grad: bool = True):
        entry = self._recorder.tracked(tensor)
        if not requires_grad:
            return self._detach(tensor)
        if not self._derivatives.is_active(entry.read().value):
            self._derivatives.make_leaf(entry)
        return tensor

    def _detach(self, tensor: torch.Tensor) -> torch.Tensor:
        entry = self._recorder.tracked(tensor)
        entry.give_history(self._derivatives.detach(entry.read()))
        return tensor

    # torch.utils.checkpoint ---------------------------------------------------------

    def _checkpoint(self, module: torch.fx.GraphModule, *values: Any) -> tuple:
        builder = self._recorder.builder
        self._checkpoints += 1
        outer, builder.checkpoint = builder.checkpoint, self._checkpoints
        place = builder.place
        storages = [self._recorder.tracked(x).storage for x in tensors_of(values)]
        before = [storage.version for storage in storages]
        try:
            found = execute(module, values, self._recorder, self)
        finally:
            builder.checkpoint, builder.place = outer, place
        if self._derivatives is not None:
            _refuse_writes(before, [storage.version for storage in storages])
        return found


def _refuse_writes(before: list[int], after: list[int]) -> None:
    """Refuses a checkpoint that writes its inputs: its backward pass writes again.

    How often depends on where eager stops to compute it.
    """
    changed = [a != b for a, b in zip(after, before, strict=True)]
    if any(changed):
        unsupported(
            kind="checkpoint that writes",
            context=f"input {changed.index(True)}",
            explanation="Eager writes them again in the backward pass, as it computes "
            "the checkpoint again (running statistics of a batch norm, too).",
            hints=("Write outside of the checkpoint.",),
        )


def _requires_gradient(tensor: torch.Tensor) -> bool:
    """Whether torch would record what the program computes of a tensor."""
    return tensor.requires_grad and not is_wrapped(tensor)
