"""The samples of torch's own table of operators, as functions of tensors.

``op_db`` describes each operator of PyTorch with inputs that its authors think worth
testing. ``cases(op, dtype)`` turns them into functions whose arguments are exactly the
tensors of a sample, so that they can be derived by each of them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from operator_table import op_db
from torch import Tensor
from torch.testing._internal import common_methods_invocations as table
from torch.testing._internal.opinfo.core import OpInfo
from torch.utils import _pytree as pytree

# Operators whose samples are no functions of strided tensors.
EXCLUDED = {
    "sparse.mm.reduce": "its samples are sparse",
    "sparse.sampled_addmm": "its samples are sparse",
    "to_sparse": "its result is sparse",
}


def _without_seed(function: Callable, *args: Any, **kwargs: Any) -> Any:
    return function(*args, **kwargs)


# Operators that draw numbers seed the generator in each call, which no graph does. They
# look their wrapper up by its name in the module of the table.
table.wrapper_set_seed = _without_seed


def _is_seeding(wrapper: Callable) -> bool:
    """Whether a wrapper is torch's own, wherever it has been imported from."""
    return wrapper.__name__ == "wrapper_set_seed"


@dataclass(frozen=True)
class Case:
    """One sample of one operator.

    Attributes:
        op: The operator's name, with its variant.
        number: Which sample it is.
        function: Takes the tensors, returns the tuple of the tensors in the result.
        tensors: The arguments; those that have gradients in the sample require them.
        has_second_order: Whether eager derives the operator twice.
        nondeterminism: How far the table lets two runs of eager differ.
    """

    op: str
    number: int
    function: Callable[..., tuple[Tensor, ...]]
    tensors: tuple[Tensor, ...]
    has_second_order: bool
    nondeterminism: float

    @property
    def label(self) -> str:
        """Names the case in tables."""
        return f"{self.op}[{self.number}]"


def name_of(op: OpInfo) -> str:
    """The name of an entry of the table; operators with variants have several."""
    variant = op.variant_test_name
    return f"{op.name}.{variant}" if variant else op.name


def operators(dtype: torch.dtype = torch.float64) -> dict[str, OpInfo]:
    """The operators that have derivatives in a dtype, by name."""
    found = {
        name_of(op): op
        for op in op_db
        if op.supports_autograd and op.supports_dtype(dtype, "cpu")
    }
    return {name: found[name] for name in sorted(found) if name not in EXCLUDED}


def cases(
    name: str, op: OpInfo, dtype: torch.dtype = torch.float64, limit: int | None = None
) -> Iterator[Case]:
    """The samples of one operator.

    Args:
        name: What ``operators`` calls it.
        op: The entry of the table.
        dtype: Of its floating-point (or complex) inputs.
        limit: At most so many, spread over all samples; None for all.
    """
    table.wrapper_set_seed = _without_seed  # other users of the table may undo it
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        samples = list(op.sample_inputs("cpu", dtype, requires_grad=True))
    for number in _spread(len(samples), limit):
        case = _case(name, op, number, samples[number])
        if case is not None:
            yield case


def _spread(count: int, limit: int | None) -> list[int]:
    """At most ``limit`` numbers below ``count``, the first and the last included."""
    if limit is None or count <= limit:
        return list(range(count))
    if limit == 1:
        return [0]
    return [round(i * (count - 1) / (limit - 1)) for i in range(limit)]


def _case(name: str, op: OpInfo, number: int, sample: Any) -> Case | None:
    """A sample as a case; None where no strided tensor in it has a gradient."""
    arguments = (sample.input, sample.args, sample.kwargs)
    leaves, tree = pytree.tree_flatten(arguments)
    places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, Tensor)]
    tensors = tuple(leaves[i].detach() for i in places)
    wanted = [leaves[i].requires_grad for i in places]
    if not any(wanted) or any(t.layout != torch.strided for t in tensors):
        return None
    for tensor, is_wanted in zip(tensors, wanted, strict=True):
        tensor.requires_grad_(is_wanted)
    function = _function(op, sample, tree, leaves, places)
    return Case(
        name,
        number,
        function,
        tensors,
        op.supports_gradgrad,
        op.gradcheck_nondet_tol,
    )


def _function(op: OpInfo, sample: Any, tree: Any, leaves: list, places: list[int]):
    """The call of an operator as a function of its tensors."""
    constants = [None if isinstance(leaf, Tensor) else leaf for leaf in leaves]
    wrapper = op.gradcheck_wrapper
    wrapper = _without_seed if _is_seeding(wrapper) else wrapper

    def call(*tensors: Tensor) -> tuple[Tensor, ...]:
        filled = list(constants)
        for place, tensor in zip(places, tensors, strict=True):
            filled[place] = tensor
        value, args, kwargs = pytree.tree_unflatten(filled, tree)
        result = wrapper(op.op, value, *args, **kwargs)
        result = sample.output_process_fn_grad(result)
        found = pytree.tree_leaves(result)
        return tuple(item for item in found if isinstance(item, Tensor))

    return call
