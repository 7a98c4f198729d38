"""searchsorted and bucketize: kernels where the size of a row is known."""

import pytest
import torch
from extent import spread

import girih

DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.uint8)
WAYS = ({}, {"right": True}, {"side": "right"}, {"side": "left"}, {"out_int32": True})


def draw(shape, dtype):
    made = (torch.randn(shape) * 3).to(dtype)
    if dtype.is_floating_point and made.numel() > 2:
        made.view(-1)[1] = float("nan")
    return made


def compiled(function, *args, dynamic=False):
    made = girih.compile(function, dynamic=dynamic, options={"fallback": False})
    return made(*args), girih.report(made).graphs[0].externs


@pytest.mark.parametrize(
    ("dtype", "size", "way"),
    spread(DTYPES, [1, 2, 3, 7, 16, 101], WAYS, every=6),
    ids=str,
)
def test_equals_eager(dtype, size, way):
    values = draw((3, 11), dtype)
    row = draw((size,), dtype).sort().values
    for sorted_rows in (row, draw((3, size), dtype).sort(1).values):

        def function(rows, values):
            return torch.searchsorted(rows, values, **way)

        actual, externs = compiled(function, sorted_rows, values)
        expected = function(sorted_rows, values)
        assert actual.dtype == expected.dtype and torch.equal(actual, expected)
        assert externs == 0


@pytest.mark.parametrize("right", [False, True])
def test_rows_that_are_not_sorted(right):
    for seed in range(4):
        torch.manual_seed(seed)
        row, values = draw((13 + seed,), torch.float32), torch.randn(4, 50)
        actual, externs = compiled(
            lambda row, values: torch.bucketize(values, row, right=right), row, values
        )
        assert torch.equal(actual, torch.bucketize(values, row, right=right))
        assert externs == 0


def test_no_elements():
    for size, shape in ((0, (5,)), (4, (0, 3))):
        row, values = torch.randn(size), torch.randn(shape)
        actual, _ = compiled(torch.searchsorted, row, values)
        assert torch.equal(actual, torch.searchsorted(row, values))


def test_two_dtypes():
    row, values = torch.arange(5.0), torch.randn(7).double() * 3
    actual, _ = compiled(torch.searchsorted, row, values)
    assert torch.equal(actual, torch.searchsorted(row, values))


def test_sizes_that_are_not_known_and_a_sorter_are_left_to_aten():
    row, values = torch.randn(9), torch.randn(3, 7)
    places = row.argsort()
    actual, externs = compiled(
        lambda r, v, p: torch.searchsorted(r, v, sorter=p), row, values, places
    )
    assert torch.equal(actual, torch.searchsorted(row, values, sorter=places))
    assert externs == 1
    function = girih.compile(torch.searchsorted, dynamic=True)
    for size in (9, 12, 31):
        row = torch.randn(size).sort().values
        assert torch.equal(function(row, values), torch.searchsorted(row, values))


def test_sizes_of_values_may_change():
    row = torch.linspace(-2, 2, 21)
    function = girih.compile(lambda v: torch.bucketize(v * 1.5, row) + 1, dynamic=True)
    for size in (2, 5, 1009):
        values = torch.randn(size, 3)
        assert torch.equal(function(values), torch.bucketize(values * 1.5, row) + 1)


@pytest.mark.parametrize(
    ("row", "values", "way"),
    [
        (torch.randn(2, 4), torch.randn(3, 5), {}),
        (torch.randn(4), torch.randn(3), {"side": "left", "right": True}),
        (torch.randn(4), torch.randn(3), {"side": "middle"}),
    ],
)
def test_eagers_errors(row, values, way):
    def function(row, values):
        return torch.searchsorted(row, values, **way)

    with pytest.raises(RuntimeError) as expected:
        function(row, values)
    with pytest.raises(RuntimeError) as actual:
        girih.compile(function)(row, values)
    assert str(actual.value).splitlines()[0] == str(expected.value).splitlines()[0]
