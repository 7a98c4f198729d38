"""Results of which not all is used: eager looks at all data that they are made of."""

import pytest
import torch
from torch.nn import functional as F

import girih

WEIGHT = torch.linspace(-1, 1, 15).reshape(5, 3)
ROWS = torch.zeros(4, 3)

# Given 4 rows of 3 columns and numbers that are to be rows: two of them.
PROGRAMS = {
    "index": lambda x, i: x[i],
    "its results": lambda x, i: (x[i].sin() * 2).sum(),
    "select": lambda x, i: x.index_select(0, i),
    "take": lambda x, i: x.take(i * 3),
    "gather": lambda x, i: x.gather(0, i[None]),
    "embedding": lambda x, i: F.embedding(i, WEIGHT[:4]),
    "bags": lambda x, i: F.embedding_bag(i, WEIGHT[:4], torch.tensor([0])),
    "one hot": lambda x, i: F.one_hot(i, 4),
    "scatter": lambda x, i: ROWS.scatter(0, i[None], 1.0),
    "scatter and add": lambda x, i: ROWS.scatter_add(0, i[None], x),
    "add": lambda x, i: ROWS.index_add(0, i, x[:2]),
    "put": lambda x, i: ROWS.index_put((i,), torch.ones(3)),
    "written": lambda x, i: ROWS.clone().__setitem__(i, 1.0),
    "loss": lambda x, i: F.cross_entropy(x[:2] @ WEIGHT[:4].t(), i),
    "margins": lambda x, i: F.multi_margin_loss(x[:2] @ WEIGHT[:4].t(), i),
    "probabilities": lambda x, i: F.binary_cross_entropy(i / 3.0, torch.ones(2)),
    "quotients": lambda x, i: 7 // (i - 9),
    "remainders": lambda x, i: i % (i - 9),
    "in a product": lambda x, i: (x * 2)[i] @ WEIGHT.t(),
}


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_data_is_looked_at_where_nobody_uses_the_result(name, requires_grad):
    def function(x, i):
        PROGRAMS[name](x, i)
        return x + 1

    compiled = girih.compile(function, fullgraph=True)
    x = torch.randn(4, 3, requires_grad=requires_grad)
    good, bad = torch.tensor([0, 3]), torch.tensor([0, 9])
    girih.reset()
    for _ in range(2):
        result = compiled(x, good)
        torch.testing.assert_close(result, x + 1)
        if requires_grad:
            result.sum().backward()
            assert torch.equal(x.grad, torch.ones(4, 3))
            x.grad = None
        with pytest.raises((RuntimeError, IndexError)) as expected:
            function(x, bad)
        with pytest.raises(expected.type) as found:
            compiled(x, bad)
        assert str(found.value) == str(expected.value)
    assert not girih.counters()["fallbacks"]


# Some elements of a lookup of two rows are used, or none.
PARTS = {
    "a slice": lambda x, i: x[i][:1] * 2,
    "a slice of a sum": lambda x, i: (x[i] + x[:2]).sin()[:1] * 2,
    "a row": lambda x, i: (x[i] * 2)[0] + 1,
    "none": lambda x, i: x[i][:0].sum(),
    "concatenated": lambda x, i: torch.cat([x[i], x])[2:],
    "split": lambda x, i: torch.cat([x[i], x]).split([2, 4])[1],
    "stacked": lambda x, i: torch.stack([x[i], x[:2]])[1],
    "padded": lambda x, i: F.pad(x[i], (0, 0, -2, 3)),
    "looked up again": lambda x, i: (x[i] * 2)[torch.tensor([0])],
    "no columns": lambda x, i: x[i][:, :, None].expand(2, 3, 0) * 2,
    "no rows": lambda x, i: x[i].expand(0, 2, 3) * 2,
    "by a constant": lambda x, i: torch.where(torch.zeros(2, 1) > 0, x[i], x[:2]),
    "filled": lambda x, i: x[i].masked_fill(torch.tensor(True), 1.0),
    "no classes": lambda x, i: F.one_hot(i - i + 3, 0) + F.one_hot(i, 4)[:, :0],
    "gathered": lambda x, i: x.gather(0, i[:, None])[:1] + 1,
    "quotients": lambda x, i: torch.cat([7 // (i - 9), i])[2:],
}


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("door", ["girih", "torch"])
@pytest.mark.parametrize("name", PARTS)
def test_data_is_looked_at_where_a_part_of_the_result_is_used(name, door, dynamic):
    function, x = PARTS[name], torch.randn(4, 3)
    girih.reset()
    torch.compiler.reset()
    if door == "girih":
        compiled = girih.compile(function, dynamic=dynamic)
    else:
        compiled = torch.compile(function, backend="girih", dynamic=dynamic)
    for index in ([0, 3], [0, 9], [0, 3]):
        expected, found = (_outcome(f, x, index) for f in (function, compiled))
        assert type(found) is type(expected)
        if isinstance(expected, torch.Tensor):
            torch.testing.assert_close(found, expected)
        else:
            assert str(found) == str(expected)
    assert not girih.counters()["eager_calls"]


def _outcome(function, x, index):
    try:
        return function(x, torch.tensor(index))
    except (RuntimeError, IndexError) as error:
        return error


def test_what_is_cut_into_pieces_is_looked_at_by_them():
    """The pieces of a lookup need all of it, and a product needs all of its factors."""

    def function(x, i):
        first, second = (x[i] * 2).chunk(2, 1)
        return first.sin() + second.cos(), (x[i] @ x.t())[:1] + 1

    compiled = girih.compile(function)
    compiled(torch.ones(3, 4), torch.tensor([0, 1, 2]))
    (graph,) = girih.report(compiled).graphs
    assert graph.launches == 4


def test_only_what_may_raise_is_computed():
    def function(x, i):
        unused = (x.exp() * 3) @ x
        F.softmax(unused, -1), x / 0, x[0], x.sum().sqrt()
        return x + 1

    compiled = girih.compile(function)
    compiled(torch.ones(3, 3), torch.tensor([0]))
    (graph,) = girih.report(compiled).graphs
    assert graph.launches == 1


KNOWN = {
    "a clamp": (lambda x: x[(torch.arange(9) - 3).clamp(0, 3)][:2], 1),
    "borders": (lambda x: F.pad(x, (1, 1), mode="replicate")[:, :2], 1),
    "from the end": (lambda x: x[torch.arange(8) - 4][:2], 1),
    "data": (lambda x: x[torch.zeros(9, dtype=torch.int64) + x[0, 0].long()][:2], 2),
}


@pytest.mark.parametrize("name", KNOWN)
def test_what_cannot_be_out_of_range_is_not_looked_at(name, tmp_path):
    """Rows of indices that are known are not computed for their sake."""
    function, results = KNOWN[name]
    options = {"dump_dir": str(tmp_path), "cache": False}
    x = torch.zeros(4, 3)
    compiled = girih.compile(function, options=options)
    torch.testing.assert_close(compiled(x), function(x))
    (path,) = tmp_path.glob("*/1-graph.mlir")
    (line,) = [
        s for s in path.read_text().splitlines() if s.strip().startswith("return")
    ]
    assert line.partition(":")[0].count("%") == results


@pytest.mark.parametrize("start", [-5, 1, 2**62])
def test_what_may_be_out_of_range_is_looked_at(start):
    """Also where the numbers wrap around."""

    def function(x):
        return (x[(torch.arange(4) + start) * 2 // 2], x + 1)[1]

    with pytest.raises(IndexError) as wanted:
        function(torch.zeros(4, 3))
    with pytest.raises(IndexError) as found:
        girih.compile(function)(torch.zeros(4, 3))
    assert str(found.value) == str(wanted.value)
