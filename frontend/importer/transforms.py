"""Runs what programs say about gradients: ``autograd.grad``, functions, checkpoints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

from girih.errors import unsupported
from girih.frontend.capture.models.torch_functions import ApplyFunction
from girih.frontend.checkpoint import Checkpoint
from girih.frontend.fake import fake_like
from girih.frontend.importer.builder import Operand
from girih.frontend.importer.differentiation import depends, origin_of
from girih.frontend.importer.execution import execute
from girih.frontend.importer.functions import apply_function
from girih.frontend.importer.levels import is_wrapped
from girih.frontend.importer.nodes import value_of
from girih.frontend.importer.opaque import Autograd, is_opaque
from girih.frontend.importer.recorder import Recorder, tensors_of

# Each entry of a batch of gradients has a backward pass of its own in the program.
MOST_BATCHED = 32


class _Request(NamedTuple):
    """The arguments of ``torch.autograd.grad``."""

    outputs: Any
    inputs: Any
    grad_outputs: Any = None
    retain_graph: bool | None = None
    create_graph: bool = False
    only_inputs: bool = True
    allow_unused: bool | None = None
    is_grads_batched: bool = False
    materialize_grads: bool = False


class Transforms:
    """Takes the place of torch for calls that have to do with gradients."""

    def __init__(self, recorder: Recorder):
        self._recorder = recorder
        self._derivatives = recorder.derivatives
        self._asked: set[torch.fx.Node] = set()
        self._checkpoints = 0
        # autograd does them alone: no call of ATen shows them.
        self._methods = {
            "detach_": self._detach,
            "requires_grad_": self._require_gradient,
        }

    def enter(self, gm: torch.fx.GraphModule) -> None:
        """Notes by which values a graph asks for gradients."""
        grad = torch.autograd.grad
        for node in gm.graph.find_nodes(op="call_function", target=grad):
            asked = _Request(*node.args, **node.kwargs).inputs
            self._asked.update(_listed(asked))

    def call(self, node: torch.fx.Node, args: tuple, kwargs: dict) -> Any:
        """The result of a node, or ``NotImplemented`` where torch's own is right."""
        target = node.target
        is_alone = node.op == "call_method" and target in self._methods
        if is_alone and not is_wrapped(args[0]):
            return self._methods[target](*args, **kwargs)
        if target is torch.autograd.grad:
            return self._gradient(node, _Request(*args, **kwargs))
        if isinstance(target, ApplyFunction):
            with Autograd(self._recorder, self._methods):
                return apply_function(self._recorder, target.cls, args)
        if isinstance(target, Checkpoint):
            return self._checkpoint(*args)
        if node.op == "call_function" and is_opaque(target):
            with Autograd(self._recorder, self._methods):
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

    # torch.autograd.grad ------------------------------------------------------------

    def _gradient(self, node: torch.fx.Node, request: _Request) -> tuple:
        outputs, inputs = _listed(request.outputs), _listed(request.inputs)
        seeds = self._seeds(outputs, _listed(request.grad_outputs, len(outputs)))
        sources = [self._source(tensor) for tensor in inputs]
        known = value_of(node)
        if request.is_grads_batched:
            values = self._batched(seeds, sources, request, known)
        else:
            values = self._gradients(seeds, sources, request)
        if known is None:
            known = self._like_inputs(seeds, sources, inputs, request)
        return tuple(map(self._result, known, values))

    def _gradients(self, seeds, sources, request: _Request) -> Sequence[Operand]:
        return self._recorder.builder.multi_op(
            "gradient",
            [[seed for seed, _ in seeds], sources, [given for _, given in seeds]],
            {"create_graph": True} if request.create_graph else {},
            *[(source.shape, source.dtype) for source in sources],
        )

    def _batched(self, seeds, sources, request: _Request, known) -> list[Operand]:
        """Gradients for each entry of a batch of cotangents, stacked."""
        b, sizes = self._recorder.builder, {given.shape[:1] for _, given in seeds}
        count = next(iter(sizes), (None,))[0] if len(sizes) < 2 else None
        if known is None or type(count) is not int or not 0 < count <= MOST_BATCHED:
            unsupported(
                kind="batched gradients",
                context=f"is_grads_batched=True, with a batch of {count}",
                explanation="A graph computes the gradients of one entry after the "
                f"other: of {MOST_BATCHED} at most, whose number is known.",
                hints=("Call torch.func.vjp and torch.vmap.",),
            )
        rows: list[Sequence[Operand]] = []
        for index in range(count):
            pairs = [
                (value, b.reshape(b.slice(given, 0, index, 1), given.shape[1:]))
                for value, given in seeds
            ]
            rows.append(self._gradients(pairs, sources, request))
        return [
            b.concat([b.reshape(x, (1, *x.shape)) for x in of_input], 0)
            for of_input in zip(*rows, strict=True)
        ]

    def _seeds(self, outputs, cotangents) -> list[tuple[Operand, Operand]]:
        """The outputs that have a derivative, each with its cotangent."""
        seeds, recorder = [], self._recorder
        for tensor, cotangent in zip(outputs, cotangents, strict=True):
            value = recorder.operand(tensor)
            if not self._derivatives.is_active(value.value):
                continue
            if cotangent is None:
                ones = recorder.builder.full(value.shape, 1.0, value.dtype)
                seeds.append((value, ones))
            else:
                seeds.append((value, recorder.operand(cotangent)))
        return seeds

    def _source(self, tensor: Any) -> Operand:
        if not isinstance(tensor, torch.Tensor):
            unsupported(
                kind="input of torch.autograd.grad",
                context=type(tensor).__name__,
                explanation="A graph computes gradients with respect to tensors only.",
            )
        operand = self._recorder.operand(tensor)
        return operand._replace(value=origin_of(operand.value))

    def _like_inputs(self, seeds, sources, inputs, request: _Request) -> list:
        """What stands for the gradients where no capture has seen them."""
        outputs = [value.value for value, _ in seeds]
        known = []
        for tensor, source in zip(inputs, sources, strict=True):
            is_used = depends(outputs, source.value)
            known.append(tensor if is_used or request.materialize_grads else None)
        return known

    def _result(self, known: torch.Tensor | None, value: Operand):
        """A tensor like the one that eager gives; None where it gives none."""
        if known is None:
            return None
        recorder = self._recorder
        fake = fake_like(recorder.fake_mode, known)
        recorder.table.add_base(fake, value)
        return fake

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


def _listed(value: Any, count: int = 0) -> Sequence:
    """A tensor or node, or a sequence of them, as a sequence."""
    if value is None:
        return [None] * count
    return value if isinstance(value, (list, tuple)) else [value]
