"""Ints in lists that are other ones at each call, 0 and 1 among them."""

from __future__ import annotations

import pytest
import torch

import girih

GENERATOR = torch.Generator().manual_seed(0)
X = torch.linspace(-2, 2, 32).view(8, 4).cos()
KEPT = [torch.randperm(8, generator=GENERATOR)[:3].tolist() for _ in range(30)]


def written(x, keep):
    x = x.clone()
    x[keep] = 3.0
    x[keep[:2], 1:] += 1
    return x


PROGRAMS = {
    "index of rows": lambda x, keep: x[keep] * 2,
    "index beside a slice": lambda x, keep: x[keep, 1:] * 2,
    "index of columns": lambda x, keep: x.t()[:, keep] * 2,
    "indices of both": lambda x, keep: x[keep, [0, 1, 3]] + x[[0, 1, 2], keep[0] // 2],
    "with a known number": lambda x, keep: x[[*keep, 5, -1]] * 2,
    "single rows": lambda x, keep: sum(x[i] for i in keep),
    "written": written,
    "tensor": lambda x, keep: torch.tensor(keep) + x[:3, 0],
    "tensor of lists": lambda x, keep: torch.tensor([keep, [1, 2, 3]]),
    "tensor of floats": lambda x, keep: torch.tensor(keep, dtype=torch.float64),
    "factors": lambda x, keep: x * keep[0] + keep[1] - x / (1 + keep[2]),
    "counters": lambda x, keep: x * (keep[0] == 0) + (1 if keep[1] else 2),
    "from the end": lambda x, keep: x[-keep[0] - 1] * 2,
}


def same(value: torch.Tensor, expected: torch.Tensor) -> None:
    assert value.dtype is expected.dtype
    torch.testing.assert_close(value, expected)


@pytest.mark.parametrize("name", PROGRAMS)
def test_numbers_in_lists_are_inputs(name):
    girih.reset()
    program = PROGRAMS[name]
    compiled = girih.compile(program, options={"fallback": False})
    for keep in KEPT:
        same(compiled(X, keep), program(X, keep))
    assert girih.counters()["graphs"] <= 8


def test_an_index_that_is_out_of_range_is_eagers_error():
    compiled = girih.compile(PROGRAMS["index of rows"])
    for keep in KEPT[:6]:
        compiled(X, keep)
    with pytest.raises(IndexError, match="out of bounds"):
        compiled(X, [0, 8, 1])


SIZES = {
    "slice": lambda x, n: x[:n] * 2,
    "repeat": lambda x, n: x.repeat(n, 2) + 1,
    "expand": lambda x, n: x[:1].expand(n, 4) * 2,
    "constructor": lambda x, n: torch.ones(n, 4) + x[:1],
    "sum": lambda x, n: x[:n].sum(0) + torch.zeros(n, 3).mean(),
    "largest": lambda x, n: x[: n + 1].amax(0),
    "reshaped": lambda x, n: x.reshape(max(n, 1), -1) if n != 3 else x,
    "index too": lambda x, n: x[n] + x[:n].sum(),
}


@pytest.mark.parametrize("values", [(0, 1, 2, 4, 0, 1, 2), (2, 0, 4, 1, 2)])
@pytest.mark.parametrize("name", SIZES)
def test_sizes_of_0_and_1_have_entries_of_their_own(name, values):
    girih.reset()
    program = SIZES[name]
    compiled = girih.compile(program, options={"fallback": False})
    for n in values:
        expected = program(X, n)
        value = compiled(X, n)
        assert value.shape == expected.shape
        torch.testing.assert_close(value, expected, equal_nan=True)


def test_flags_and_types_are_told_apart():
    def program(x, n):
        return x * n if n else x.int()

    compiled = girih.compile(program)
    for n in (0, 1, 2, True, 0.0, -0.0, False, 3, 1, 0, 1.0, float("nan"), -1, 2**40):
        value, expected = compiled(X, n), program(X, n)
        assert value.dtype is expected.dtype
        torch.testing.assert_close(value, expected, equal_nan=True)


def test_the_first_of_overlapping_boxes_are_kept():
    def suppressed(boxes, scores):
        keep = []
        for i in scores.argsort(descending=True).tolist():
            if all((boxes[i] - boxes[k]).abs().sum() > 2.5 for k in keep):
                keep.append(i)
        return boxes[keep]

    girih.reset()
    compiled = girih.compile(suppressed)
    graphs = []
    for _ in range(40):
        boxes, scores = torch.rand(5, 4, generator=GENERATOR), torch.rand(5)
        same(compiled(boxes, scores), suppressed(boxes, scores))
        graphs.append(girih.counters()["graphs"])
    assert graphs[-1] == graphs[20]
