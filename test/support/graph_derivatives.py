"""Evaluation of the ops of differentiation: their values.

Where torch's autograd watches, ``detach`` is torch's; the others are not for it.
"""

from __future__ import annotations

from graph_interpreter import evaluates


@evaluates("detach")
def _detach(state, op, x):
    return x.detach()


@evaluates("alias")
def _alias(state, op, x):
    return x


@evaluates("substitute")
def _substitute(state, op, value, original):
    return value


@evaluates("custom_vjp")
def _custom_vjp(state, op, *operands):
    return list(operands[: len(op.results)])
