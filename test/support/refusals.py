"""Calls of PyTorch's own table of functions that eager refuses, after a change."""

import itertools
from collections.abc import Callable, Iterator

import torch
from operator_table import op_db
from torch.fx.experimental.symbolic_shapes import ShapeEnv
from torch.utils._pytree import tree_flatten, tree_unflatten

from girih.frontend.fake import fake_like, make_fake_mode
from girih.frontend.fake.mode import python_dispatcher

# They draw random numbers, or give sizes that depend on data.
LEFT_OUT = (
    *("rand", "normal", "bernoulli", "dropout", "uniform", "exponential", "cauchy"),
    *("geometric", "rrelu", "fractional", "empty", "resize", "nonzero", "unique"),
    *("masked_select", "argwhere", "to_sparse", "jiterator", "multinomial", "item"),
)
# Errors of the data, which calls that give no data to look at do not show.
OF_DATA = (
    *("out of range", "out of bounds", "invalid max index", "singular"),
    *("positive-definite", "converge"),
)
DTYPES = (torch.float64, torch.float32, torch.int64, torch.bool, torch.complex128)
SAMPLES = 3
FUNCTIONS = {
    f"{op.name} {op.variant_test_name}".strip(): op
    for op in op_db
    if not any(part in op.name for part in LEFT_OUT)
    and not op.name.startswith(("sparse.", "svd", "linalg.svd"))
}

Leaves = tuple
Changes = Callable[[Leaves], Iterator[Leaves]]


def samples_of(op, count: int = SAMPLES) -> list:
    """Some sample calls of a function; none where they need what is not here."""
    dtype = next((dtype for dtype in DTYPES if dtype in op.dtypes), None)
    if dtype is None:
        return []
    try:
        samples = op.sample_inputs("cpu", dtype, requires_grad=False)
        return list(itertools.islice(samples, count))
    except Exception:  # some samples need libraries that are not here
        return []


def error_of(function: Callable, leaves: Leaves) -> str | None:
    """Class and text of what a call raises; its operands stay as they are."""
    copies = [x.clone() if isinstance(x, torch.Tensor) else x for x in leaves]
    try:
        function(*copies)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def is_taken(function: Callable, leaves: Leaves, dynamic: bool) -> bool:
    """Whether a call of fake tensors raises nothing."""

    def evaluated(*leaves):
        mode = make_fake_mode(ShapeEnv() if dynamic else None)
        fakes = [
            fake_like(mode, x) if isinstance(x, torch.Tensor) else x for x in leaves
        ]
        with mode, python_dispatcher(mode):
            function(*fakes)

    return error_of(evaluated, leaves) is None


def refused_calls(names, changes: Changes, count: int = SAMPLES):
    """Calls that eager refuses after a change: label, function, leaves, error."""
    for name in names:
        for sample in samples_of(FUNCTIONS[name], count):
            given = (sample.input, sample.args, sample.kwargs)
            leaves, form = tree_flatten(given)

            def function(*leaves, op=FUNCTIONS[name].op, form=form):
                operand, args, kwargs = tree_unflatten(leaves, form)
                return op(operand, *args, **kwargs)

            for changed in changes(tuple(leaves)):
                expected = error_of(function, changed)
                if expected and not any(text in expected for text in OF_DATA):
                    shown = [getattr(leaf, "shape", leaf) for leaf in changed]
                    yield f"{name} of {shown}", function, changed, expected
