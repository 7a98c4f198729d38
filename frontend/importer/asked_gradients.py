"""Computes the gradients that a program asks for by ``torch.autograd.grad``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

from girih.errors import unsupported
from girih.frontend.fake import fake_like
from girih.frontend.importer.builder import Operand
from girih.frontend.importer.differentiation import depends, origin_of
from girih.frontend.importer.recorder import Recorder

# Each entry of a batch of gradients has a backward pass of its own in the program.
MOST_BATCHED = 32


class Request(NamedTuple):
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


class Gradients:
    """Answers ``torch.autograd.grad`` with ops of the graph."""

    def __init__(self, recorder: Recorder):
        self._recorder = recorder
        self._derivatives = recorder.derivatives

    def computed(self, request: Request, known: Any = None) -> tuple:
        """The gradients that a program asks for.

        Args:
            request: What it asks.
            known: What stands for the gradients, where a capture has seen them.
        """
        outputs, inputs = listed(request.outputs), listed(request.inputs)
        seeds = self._seeds(outputs, listed(request.grad_outputs, len(outputs)))
        sources = [self._source(tensor) for tensor in inputs]
        if request.is_grads_batched:
            values = self._batched(seeds, sources, request, known)
        else:
            values = self._gradients(seeds, sources, request)
        if known is None:
            known = self._like_inputs(seeds, sources, inputs, request)
        return tuple(map(self._result, known, values))

    def asked_inside(self, request: Request) -> tuple:
        """The gradients that Python asks for while an operation is imported.

        No capture has seen this call, so whether eager refuses it is found out here.
        """
        outputs, inputs = listed(request.outputs), listed(request.inputs)
        for tensor in outputs:
            if not self._derivatives.is_active(self._recorder.operand(tensor).value):
                _refuse_inside("An output does not require a gradient.")
        for tensor in inputs:
            if not isinstance(tensor, torch.Tensor) or not self._is_leaf(tensor):
                _refuse_inside(
                    "An input is not one that the operation detached and made require "
                    "a gradient. Which values have a derivative by another input is "
                    "not known."
                )
        known = self.computed(request)
        if any(x is None for x in known) and not request.allow_unused:
            _refuse_inside("An input is not used, which eager refuses.")
        return known

    def _is_leaf(self, tensor: torch.Tensor) -> bool:
        is_active = self._derivatives.is_active(self._recorder.operand(tensor).value)
        return is_active and self._derivatives.is_leaf(tensor)

    def _gradients(self, seeds, sources, request: Request) -> Sequence[Operand]:
        return self._recorder.builder.multi_op(
            "gradient",
            [[seed for seed, _ in seeds], sources, [given for _, given in seeds]],
            {"create_graph": True} if request.create_graph else {},
            *[(source.shape, source.dtype) for source in sources],
        )

    def _batched(self, seeds, sources, request: Request, known) -> list[Operand]:
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

    def _like_inputs(self, seeds, sources, inputs, request: Request) -> list:
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


def _refuse_inside(explanation: str) -> None:
    unsupported(
        kind="gradient asked for inside of an operation",
        context="torch.autograd.grad",
        explanation=explanation,
        hints=("Call torch.func.vjp.",),
    )


def listed(value: Any, count: int = 0) -> Sequence:
    """A tensor or node, or a sequence of them, as a sequence."""
    if value is None:
        return [None] * count
    return value if isinstance(value, (list, tuple)) else [value]
