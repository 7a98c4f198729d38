"""Random programs of views, writes and regions without grad mode, for derivatives.

A program is a list of steps over a pool of tensors. Steps that eager refuses (writes to
leaves, or to views that were made without grad mode) are left out: the others run.
``x.data`` is not among them: autograd does not notice that a saved tensor was written
through it, and computes with what is there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import NamedTuple

import torch
from hypothesis import strategies as st
from torch import Tensor

COMPUTED = [
    lambda t, s: t.sin(),
    lambda t, s: t * s.sum(),
    lambda t, s: t + s.reshape(-1)[:1],
    lambda t, s: t.tanh() * 2,
    lambda t, s: t.relu(),
    lambda t, s: t - s.mean(),
    lambda t, s: torch.where(t > 0, t, s.sum()),
    lambda t, s: t.clone(),
    lambda t, s: t.sum(0, keepdim=True) if t.dim() else t.exp(),
    lambda t, s: t.sign() * s.amax(),
]

VIEWED = [
    lambda t, s: t[-1] if t.dim() else t.view_as(t),
    lambda t, s: t[1:] if t.dim() else t[None],
    lambda t, s: t[..., ::2] if t.dim() else t.view_as(t),
    lambda t, s: t.transpose(0, -1) if t.dim() else t.unsqueeze(0),
    lambda t, s: t.unsqueeze(-1),
    lambda t, s: t.squeeze(),
    lambda t, s: t.reshape(-1),
    lambda t, s: t.diagonal() if t.dim() == 2 else t.view_as(t),
    lambda t, s: t.detach(),
    lambda t, s: t.detach()[:1] if t.dim() else t.detach(),
    lambda t, s: t.split(2, 0)[0] if t.dim() else t,
    lambda t, s: t.unbind(0)[-1] if t.dim() else t,
]

WRITTEN = [
    lambda t, s: t.add_(1),
    lambda t, s: t.mul_(2),
    lambda t, s: t.zero_(),
    lambda t, s: t.copy_(s.sum()),
    lambda t, s: t.sub_(s.reshape(-1)[:1].sum()),
    lambda t, s: t.mul_(s.mean()),
    lambda t, s: t.fill_(0.5),
    lambda t, s: t.clamp_(-2, 2),
    lambda t, s: t.masked_fill_(t > 0.5, 0),
    lambda t, s: t.sin_(),
    lambda t, s: t.detach().add_(s.detach().sum()),
    lambda t, s: t.index_fill_(0, torch.tensor([0]), 1.5),
]

KINDS = (COMPUTED, VIEWED, WRITTEN)
MAX_ELEMENTS = 200


class Step(NamedTuple):
    """One line of a program.

    Attributes:
        kind: Which of ``KINDS``.
        choice: Which operation of it.
        target: Which tensor of the pool it applies to.
        source: Which other tensor it takes.
        has_grad: Whether it runs with grad mode.
    """

    kind: int
    choice: int
    target: int
    source: int
    has_grad: bool

    def run(self, pool: list[Tensor]) -> None:
        """Runs it; what it gives is in the pool then."""
        operations = KINDS[self.kind]
        operation = operations[self.choice % len(operations)]
        target, source = (pool[i % len(pool)] for i in (self.target, self.source))
        with nullcontext() if self.has_grad else torch.no_grad():
            result = operation(target, source)
        if self.kind < 2:
            pool.append(result)


_numbers = st.integers(0, 12)
STEPS = st.lists(
    st.builds(
        Step,
        kind=st.sampled_from([0, 0, 1, 1, 2, 2]),
        choice=_numbers,
        target=_numbers,
        source=_numbers,
        has_grad=st.sampled_from([True, True, True, False]),
    ),
    min_size=1,
    max_size=10,
)
RETURNED = st.lists(st.integers(0, 20), min_size=1, max_size=4)


def program(steps: Sequence[Step], returned: Sequence[int]) -> Callable:
    """The function of two tensors that the steps are."""

    def run(x, y):
        pool = [x, y, x * 2, y.sin()]
        for step in steps:
            step.run(pool)
        return tuple(pool[-1 - index % len(pool)] for index in returned)

    return run


def without_refused(steps: Sequence[Step], inputs: Sequence[Tensor]) -> list[Step]:
    """The steps that eager takes."""
    taken: list[Step] = []
    for step in steps:
        leaves = [x.detach().clone().requires_grad_(x.requires_grad) for x in inputs]
        try:
            results = program([*taken, step], [0])(*leaves)
        except (RuntimeError, IndexError):
            continue
        if results[0].numel() <= MAX_ELEMENTS:
            taken.append(step)
    return taken
