"""Sizes that programs compute, of sizes and of ints, are eager's by both entrances.

Each program is called with several sizes, once with the sizes that vary found out and
once with all of them symbolic. Values, gradients and errors are eager's, and girih
never takes its own rules for wrong, which would run the program eager.
"""

import math
import os
import warnings

import pytest
import torch
import torch.nn.functional as F

import girih

CALLS = [((4, 6), 1), ((5, 7), 2), ((6, 8), -1), ((4, 7), 3), ((3, 9), -2), ((7, 4), 0)]


def parts_of(x, n):
    """Chunks of a size that need not divide, the last one padded."""
    size = max(abs(n), 1) + 1
    rest = -x.shape[1] % size
    return F.pad(x, (0, rest)).view(x.shape[0], -1, size).sum(1)


def windows(x, n):
    """Windows that overlap by half."""
    size = min(x.shape[1], abs(n) + 2)
    return x.unfold(1, size, max(size // 2, 1)).mean(-1)


def masked(x, n):
    """An assignment to where a mask holds."""
    y = x * 1
    y[x > n] = 8
    return y


def masked_rows(x, n):
    """A mask of fewer dims than what it writes to."""
    y = x * 1
    y[x.sum(1) > n] = 0
    return y


def masked_columns(x, n):
    """A mask that stands behind a slice."""
    y = x * 1
    y[:, x.detach().sum(0) > n] = 2.5
    return y


def masked_blocks(x, n):
    """A mask of two dims for three."""
    y = torch.stack([x, x + 1, x * 2], 2)
    y[x > 0] = float(n)
    return y


def masked_by_tensor(x, n):
    """A value that is a tensor."""
    y = x * 1
    y[x > 0] = x.sum()
    return y


def divided(x, n):
    """Both results of divmod."""
    rows, rest = divmod(x.numel(), x.shape[1] + abs(n))
    return x.flatten()[: rows * (x.shape[1] + abs(n))].view(rows, -1) * rest


def chunk_counts(x, n):
    """As many chunks as the int says."""
    return [chunk.sum(-1) for chunk in x.chunk(abs(n) + 1, 1)]


def scaled(x, n):
    """Sizes of images by a quotient."""
    image = x[None, None]
    size = (x.shape[0] * 2, x.shape[1] // 2 + abs(n))
    return F.interpolate(image, size=size, mode="bilinear", align_corners=False)


def condition(x, n):
    """A branch whose result takes part of the operand."""
    half = x.shape[0] // 2
    return torch.cond(x.sum() > 0, lambda x: x[:half] * n, lambda x: x[:half] - n, (x,))


PROGRAMS = {
    "abs": lambda x, n: torch.cat([x[:, : abs(n)], x], 1),
    "abs of a difference": lambda x, n: x.new_ones(abs(x.shape[0] - x.shape[1])) * n,
    "arange": lambda x, n: x * torch.arange(x.shape[0] + abs(n))[abs(n) :, None],
    "arange of two": lambda x, n: torch.arange(n, n + x.shape[1]) + x,
    "bytes": lambda x, n: (x * 2, x.nbytes, x[:, 1:].nbytes // 3),
    "bytes as a size": lambda x, n: x.flatten()[: x.nbytes // 8 + abs(n)] * 2,
    "ceil": lambda x, n: x[: math.ceil(x.shape[0] / 2)] * n,
    "chunk counts": chunk_counts,
    "circular pad": lambda x, n: F.pad(x[None], (abs(n), 1), mode="circular"),
    "condition": condition,
    "cumulative": lambda x, n: x[:, : x.shape[1] - abs(n)].cumsum(1),
    "diagonal": lambda x, n: x.tril(n) + x.triu(n + 1) * 2,
    "diagonal of half": lambda x, n: x.tril(x.shape[1] // 2 - 1) * n,
    "divmod": divided,
    "expand": lambda x, n: x[:, :1].expand(-1, x.shape[1] + abs(n)) * 2,
    "gradient": lambda x, n: torch.gradient(x, dim=1)[0] * n,
    "index": lambda x, n: x[torch.arange(abs(n) + 1)] * 2,
    "indices put": lambda x, n: x.index_put((torch.arange(2),), x.sum(0) * n),
    "kron": lambda x, n: torch.kron(x, x[:2, :2]) * n,
    "length": lambda x, n: x.view(len(x), -1)[: len(x) - 1] * n,
    "linspace": lambda x, n: (
        torch.linspace(0, 1, x.shape[1] + abs(n))[: x.shape[1]] * x
    ),
    "mask": masked,
    "mask by a tensor": masked_by_tensor,
    "mask of blocks": masked_blocks,
    "mask of columns": masked_columns,
    "mask of rows": masked_rows,
    "masked_fill": lambda x, n: x.masked_fill(x > n, 0.5),
    "max": lambda x, n: F.pad(x, (0, max(x.shape) - x.shape[1])) * n,
    "max of an int": lambda x, n: F.pad(x, (max(n, 0), max(-n, 0))),
    "min": lambda x, n: x[: min(x.shape), : min(x.shape)] @ x[: min(x.shape)],
    "mod": lambda x, n: F.pad(x, (0, -x.shape[1] % 4)).view(x.shape[0], -1, 4).sum(-1),
    "mod of an int": lambda x, n: x.roll(n % x.shape[1], 1),
    "numel": lambda x, n: x.reshape(x.numel() // x.shape[1], -1) / x.numel(),
    "one hot": lambda x, n: (
        F.one_hot(torch.arange(len(x)), len(x) + abs(n))
        @ F.pad(x, (0, 0, 0, abs(n))).long()
    ),
    "parts": parts_of,
    "pool": lambda x, n: F.adaptive_avg_pool1d(x[None], x.shape[1] // 2 + abs(n)),
    "product": lambda x, n: x.view(math.prod(x.shape)).repeat(2) * n,
    "reflection pad": lambda x, n: F.pad(x[None], (abs(n), 1), mode="reflect"),
    "repeat": lambda x, n: x.repeat(abs(n) + 1, 2),
    "repeat_interleave": lambda x, n: x.repeat_interleave(abs(n) + 1, 1),
    "rfft": lambda x, n: torch.fft.rfft(x, n=abs(n) + 2).abs(),
    "round": lambda x, n: x[:, : round(x.shape[1] / 3)] * n,
    "scaled": scaled,
    "slices": lambda x, n: torch.cat([x[:, n:], x[:, :n]], 1),
    "split": lambda x, n: x.split([x.shape[1] - abs(n), abs(n)], 1)[0] * 2,
    "sum of sizes": lambda x, n: x.new_zeros(sum(x.shape)) + x.sum(),
    "tuple of sizes": lambda x, n: x.new_full((*x.shape[:1], *x.shape), n) * x,
    "unflatten": lambda x, n: F.pad(x, (0, x.shape[1])).unflatten(1, (2, -1)).sum(1),
    "where": lambda x, n: torch.where(x > n, x, x.new_zeros(x.shape[-1])),
    "windows": windows,
}


# TorchDynamo itself asks C++ for the bytes of a tensor whose sizes are symbols.
NOT_BY_TORCH = ("bytes", "bytes as a size")
LONG = bool(os.environ.get("GIRIH_TEST_LONG"))
CASES = [
    (name, entrance, dynamic)
    for name in PROGRAMS
    for entrance in ("girih", "torch")
    for dynamic in (None, True)
    if entrance == "girih" or name not in NOT_BY_TORCH
]
# Those of each cause that was found, for one entrance that had it.
SHORT = [
    ("abs", "torch", None),
    ("arange of two", "girih", True),
    ("bytes", "girih", True),
    ("kron", "girih", True),
    ("mask of blocks", "girih", True),
    ("mask of rows", "torch", None),
    ("reflection pad", "torch", None),
]


@pytest.fixture(autouse=True)
def no_compiled_code():
    yield
    girih.reset()
    torch._dynamo.reset()


def outcome_of(function, shape, number):
    """What a call gives, and the gradient; its error where it raises."""
    torch.manual_seed(3)
    x = torch.randn(shape).requires_grad_()
    try:
        result = function(x, number)
    except Exception as error:
        return type(error), str(error).split("\n")[0]
    leaves = result if isinstance(result, (tuple, list)) else [result]
    sums = [leaf.sum() for leaf in leaves if getattr(leaf, "requires_grad", False)]
    gradient = torch.autograd.grad(sum(sums), x)[0] if sums else None
    return leaves, gradient


def compiled_by(entrance, function, dynamic):
    if entrance == "girih":
        return girih.compile(function, dynamic=dynamic)
    return torch.compile(function, backend="girih", dynamic=dynamic)


@pytest.mark.parametrize(("name", "entrance", "dynamic"), CASES if LONG else SHORT)
def test_computed_sizes(name, entrance, dynamic):
    program = PROGRAMS[name]
    compiled = compiled_by(entrance, program, dynamic)
    for shape, number in CALLS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", girih.FallbackWarning)
            actual = outcome_of(compiled, shape, number)
        expected = outcome_of(program, shape, number)
        torch.testing.assert_close(actual, expected, rtol=1e-5, atol=1e-5)
    assert "bug" not in girih.counters()["fallbacks"]


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("entrance", ["girih", "torch"])
def test_mask_of_one_row(entrance, dynamic):
    def write(x, mask):
        x = x.clone()
        x[mask] = 8
        return x

    compiled = compiled_by(entrance, write, dynamic)
    x, mask = torch.zeros(3, 3, 5), torch.ones(1, 3, dtype=torch.bool)
    fits = mask.expand(3, 3).contiguous()
    torch.testing.assert_close(compiled(x, fits), write(x, fits))
    with pytest.raises(IndexError, match="The shape of the mask"):
        compiled(x, mask)
