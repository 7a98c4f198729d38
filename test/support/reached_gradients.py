"""Which derivatives of derivatives are None, of all operators, against eager.

A gradient may depend on values in ways whose derivative is zero: where ``relu`` is 0 is
a function of its operand. Whether the second backward pass comes to that operand, and
gives it zeros, or does not, and leaves None, is decided by how eager writes the
derivative: ``relu`` does, ``clamp`` does not.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from operator_calls import Call, calls, compiled
from torch import Tensor
from torch.utils import _pytree as pytree

# Operators where some derivatives are None, or constants, in one of both; and why.
_CALLED = (
    "the derivative is a call of ATen's, which counts as a function of all operands"
)
_DRAWN = "eager's first gradient is zero and a function again, girih's is a constant"
_MARKED = "eager marks all gradients that one node computes, and the bias's is constant"
KNOWN = {
    **dict.fromkeys(
        (
            *("_unsafe_masked_index", "_unsafe_masked_index_put_accumulate", "addbmm"),
            *("addr", "alias_copy", "angle", "as_strided", "as_strided_copy"),
            *("as_strided.partial_views", "block_diag", "diagonal_copy"),
            *("diagonal_scatter", "expand_copy", "fft.irfft", "fft.irfft2"),
            *("fft.irfftn", "frexp", "index_add", "index_copy", "index_reduce.amax"),
            *("index_reduce.amin", "index_reduce.mean", "index_select", "linalg.det"),
            *("linalg.vander", "lu_unpack", "max_pool2d_with_indices_backward"),
            *("narrow_copy", "native_dropout_backward", "nextafter"),
            "nn.functional.channel_shuffle",
            "nn.functional.linear_cross_entropy.chunked_none",
            *("nn.functional.max_unpool1d", "nn.functional.max_unpool1d.grad"),
            *("nn.functional.max_unpool2d", "nn.functional.max_unpool2d.grad"),
            *("nn.functional.max_unpool3d", "nn.functional.max_unpool3d.grad"),
            *("permute_copy", "put", "round.decimals_0", "round.decimals_3"),
            *("round.decimals_neg_3", "scatter_reduce.amax", "scatter_reduce.amin"),
            *("scatter_reduce.mean", "scatter_reduce.sum", "split_with_sizes_copy"),
            *("transpose_copy", "unfold_copy", "unsqueeze_copy"),
        ),
        _CALLED,
    ),
    **dict.fromkeys(
        ("bernoulli", "cauchy", "exponential", "geometric", "log_normal"), _DRAWN
    ),
    **dict.fromkeys(("copysign", "normal", "normal.in_place"), _DRAWN),
    **dict.fromkeys(("native_layer_norm", "nn.functional.layer_norm"), _MARKED),
    "nn.functional.hardsigmoid": "eager lacks the second derivative, girih has it",
}


@dataclass(frozen=True)
class Layered:
    """An operator behind a sum, or behind a product and a sum.

    Attributes:
        label: Names the sample.
        call: The call of the operator.
        places: Where its floating-point tensors are.
        is_scaled: Whether there is a factor: then every gradient depends on that.
    """

    label: str
    call: Call
    places: tuple[int, ...]
    is_scaled: bool

    def leaves(self) -> list[Tensor]:
        """What is derived by: operands, terms, and factors."""
        operands = [self.call.leaves[place].detach().clone() for place in self.places]
        terms = [torch.zeros_like(x) for x in operands]
        factors = [torch.ones_like(x) for x in operands] if self.is_scaled else []
        return [x.requires_grad_() for x in (*operands, *terms, *factors)]

    def function(self, *leaves: Tensor) -> list[Tensor]:
        """The results that have derivatives."""
        count = len(self.places)
        given = list(leaves[:count])
        if self.is_scaled:
            pairs = zip(given, leaves[2 * count :], strict=True)
            given = [x * factor for x, factor in pairs]
        filled = list(self.call.leaves)
        terms = leaves[count : 2 * count]
        for place, x, term in zip(self.places, given, terms, strict=True):
            filled[place] = x + term
        args, kwargs = self.call.arguments(filled)
        results = pytree.tree_leaves(self.call.op.op(*args, **kwargs))
        return [x for x in results if isinstance(x, Tensor) and x.requires_grad]


def layered(name: str, op: Any, limit: int) -> Iterator[Layered]:
    """Samples of an operator, each without factors and with them."""
    for call in calls(name, op, limit, (torch.float64, torch.float32)):
        places = tuple(
            number
            for number, x in enumerate(call.leaves)
            if isinstance(x, Tensor) and x.is_floating_point()
        )
        for is_scaled in (False, True):
            if places:
                yield Layered(call.label, call, places, is_scaled)


def pattern(case: Layered, function: Callable, orders: int = 2) -> tuple:
    """For each order what the gradients are: None, constants, or functions again.

    The first ones are by the operands alone: those by the terms are the same functions
    without the factors. The last thing is the class of what a backward pass raises.
    """
    leaves = case.leaves()
    torch.manual_seed(0)
    found: list[Any] = []
    try:
        values = function(*leaves)
        for order in range(1, orders + 1):
            values = [x for x in values if x is not None and x.requires_grad]
            if not values:
                break
            total = sum((x if order == 1 else x**2).sum() for x in values)
            by = leaves if order > 1 else leaves[: len(case.places)]
            values = torch.autograd.grad(
                total, by, create_graph=True, allow_unused=True
            )
            found.append("".join(map(_letter, values)))
    except Exception as error:  # noqa: BLE001  (whatever it is, eager's is it too)
        found.append(type(error).__name__)
    return tuple(found)


def _letter(gradient: Tensor | None) -> str:
    if gradient is None:
        return "-"
    return "f" if gradient.requires_grad else "c"


def difference(case: Layered, entrance: str, dynamic: bool | None) -> str:
    """How the pattern of a compiled call differs from eager's, or ""."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = pattern(case, case.function)
        function = compiled(case.function, entrance, dynamic)
        actual = pattern(case, function)
    return "" if expected == actual else f"{actual} instead of {expected}"
