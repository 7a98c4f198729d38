"""Derivatives by all floating-point operands of all operators, against eager.

Samples of torch's table require gradients where their authors know of a derivative.
Here every operand requires one, of operators that have no derivative or no second one,
too: what eager refuses, a compiled function refuses with an error of the same class.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from operator_calls import Call, calls, compiled
from torch import Tensor
from torch.utils import _pytree as pytree
from varied_numbers import compared, observed

# Operators whose derivatives differ from eager, and why.
KNOWN = {
    "nn.functional.hardsigmoid": "eager lacks the second derivative, girih has it",
    "linalg.norm.subgradients_at_zero": "the second derivative at zero is NaN in eager",
    "as_strided_scatter": "torch's own derivative keeps what was overwritten",
}


@dataclass(frozen=True)
class Derived:
    """A call as a function of its tensors, of which each may require a gradient."""

    label: str
    call: Call
    places: tuple[int, ...]
    tensors: tuple[Tensor, ...]

    def function(self, *tensors: Tensor) -> list:
        """The call; its results that are tensors."""
        filled = list(self.call.leaves)
        for place, tensor in zip(self.places, tensors, strict=True):
            filled[place] = tensor
        args, kwargs = self.call.arguments(filled)
        return pytree.tree_leaves(self.call.op.op(*args, **kwargs))


def derived(name: str, op: Any, limit: int) -> Iterator[Derived]:
    """Samples of an operator; all operands require gradients, then each alone."""
    dtypes = (torch.float64, torch.float32, torch.complex128, torch.int64, torch.bool)
    for call in calls(name, op, limit, dtypes):
        places = [n for n, x in enumerate(call.leaves) if isinstance(x, Tensor)]
        floats = [n for n in places if _may_require(call.leaves[n])]
        chosen = [tuple(floats), *((n,) for n in floats)]
        for wanted in dict.fromkeys(chosen):
            if wanted:
                tensors = tuple(
                    call.leaves[n].detach().clone().requires_grad_(n in wanted)
                    for n in places
                )
                yield Derived(f"{call.label} by {wanted}", call, tuple(places), tensors)


def _may_require(tensor: Tensor) -> bool:
    return tensor.is_floating_point() or tensor.is_complex()


def difference(case: Derived, entrance: str, dynamic: bool | None) -> str:
    """How a compiled call differs from eager, or ""."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = observed(case.function, list(case.tensors))
        again = observed(case.function, list(case.tensors))
        if compared(expected, again)[0]:
            return ""  # eager itself gives something else each time
        candidate = compiled(case.function, entrance, dynamic)
        actual = observed(candidate, list(case.tensors))
    kind, detail = compared(expected, actual)
    return kind and f"{kind}: {detail}"
