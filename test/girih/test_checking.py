"""``girih.check`` and the option ``check``: what is found, and what is left alone."""

import warnings

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import girih
from girih.checking import checked as checked_graphs
from girih.checking import closeness, copies
from girih.passes.autograd import rules


def turned_sub(op, cotangents, b):
    """The derivative of a difference without the sign of its second operand."""
    (gradient,) = cotangents
    return [b.unbroadcast(gradient, op.lhs), b.unbroadcast(gradient, op.rhs)]


def of_difference(x, y):
    scaled = torch.tanh(x * 2)
    apart = scaled - y.sigmoid()
    return (apart * apart).mean()


@pytest.fixture
def wrong_sub(monkeypatch):
    # Keys of what is kept know girih's sources, not what a test puts in their place.
    monkeypatch.setenv("GIRIH_NO_CACHE", "1")
    monkeypatch.setitem(rules.RULES, "sub", turned_sub)


def operands(count=10):
    return [torch.randn(count, requires_grad=True) for _ in range(2)]


def test_finds_a_wrong_gradient_and_its_operation(wrong_sub):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check = girih.check(of_difference)(*operands())
    assert not check.ok
    (graph,) = check.graphs
    assert [text.split(":")[0] for text in graph.differences] == ["gradient of L['y']"]
    assert len(graph.operations) == 1
    assert "sub" in graph.operations[0] and "test_checking.py" in graph.operations[0]
    assert "differs from eager" in str(check)


def scaled(factor):
    """The derivative of a product, wrong by a factor."""
    right = rules.RULES["mul"]

    def rule(op, cotangents, b):
        return [
            gradient and b.mul(gradient, factor)
            for gradient in right(op, cotangents, b)
        ]

    return rule


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("program", [lambda x: x * 3, lambda x: (x * 3).sum()])
def test_finds_gradients_that_are_wrong_by_little(monkeypatch, program, dtype):
    x = torch.randn(4, 8, dtype=dtype, requires_grad=True)
    assert girih.check(program)(x).ok
    monkeypatch.setenv("GIRIH_NO_CACHE", "1")
    monkeypatch.setitem(rules.RULES, "mul", scaled(1.0001))
    assert not girih.check(program)(x).ok


def test_a_difference_is_told_where_its_operation_is_not_found(monkeypatch, wrong_sub):
    def fails(*_):
        raise girih.CompileError("fuse", "the pass failed")

    monkeypatch.setattr(checked_graphs, "parting_operations", fails)
    check = girih.check(of_difference)(*operands())
    assert not check.ok
    assert "gradient of L['y']" in str(check)
    assert "the operation could not be found: girih bug in fuse" in str(check)


def test_what_ran_eager_is_not_checked():
    def views(x):
        y = x.sin()
        return y[:1], y[1:].view(torch.int32)

    with pytest.warns(girih.FallbackWarning):
        check = girih.check(views)(torch.ones(3))
    assert str(check) == "graph0: not checked: the graph runs in eager mode"
    assert check.graphs[0].calls == 0


def test_the_option_warns_once(wrong_sub):
    compiled = girih.compile(of_difference, options={"check": 3})
    x, y = operands()
    with pytest.warns(
        girih.DifferenceWarning, match="gradient of L\\['y'\\]"
    ) as caught:
        result = compiled(x, y)
        compiled(x, y)
    assert len(caught) == 1
    torch.testing.assert_close(result, of_difference(x, y))
    (graph,) = girih.report(compiled).graphs
    assert graph.check.calls == 1 and not graph.check.ok


def programs():
    """Programs of all kinds with their arguments; the float type is the last one."""

    def normalized(x, weight):
        rows = F.layer_norm(x @ weight, (weight.shape[1],))
        return rows.softmax(-1), rows.argmax(-1), rows.amax(0) > 0

    def written(x, total):
        total.add_(x.sum(0))
        x = x * 2
        return x[:, ::2].cumsum(1), total

    def dropped(x, weight):
        return F.dropout(x @ weight, 0.3, True), torch.rand_like(x)

    def amplified(x, weight):
        return ((x @ weight).exp() * 1e3).sin().sum()

    shapes = [(33, 30), (30,)], [(33, 30), (30, 17)]
    return [
        (normalized, shapes[1]),
        (written, shapes[0]),
        (dropped, shapes[1]),
        (amplified, shapes[1]),
    ]


@pytest.mark.parametrize("program, shapes", programs())
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_rounding_is_no_difference(program, shapes, dtype):
    arguments = [torch.randn(shape).to(dtype) for shape in shapes]
    check = girih.check(program, dynamic=dtype == torch.float64)(*arguments)
    assert check.ok, check
    assert [graph.calls for graph in check.graphs] == [1]


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3)
        self.norm = nn.BatchNorm2d(8)
        self.out = nn.Linear(8, 4)

    def forward(self, x):
        images = F.relu(self.norm(self.conv(x)))
        return F.dropout(self.out(images.mean((2, 3))), 0.5, self.training)


def test_the_program_is_as_without_the_check():
    """Results, gradients, buffers, random numbers."""
    found = []
    for options in ({}, {"check": 2}):
        torch.manual_seed(0)
        network = Network()
        compiled = girih.compile(network, options=options)
        results = [compiled(torch.randn(4, 3, 9, 9)) for _ in range(3)]
        sum(results).sum().backward()
        state = [p.grad for p in network.parameters()] + list(network.buffers())
        found.append([*results, *state, torch.get_rng_state()])
    for without, beside in zip(*found, strict=True):
        assert torch.equal(without, beside)


def test_reports_calls():
    compiled = girih.compile(torch.sin, options={"check": 2})
    for _ in range(4):
        compiled(torch.ones(3))
    (graph,) = girih.report(compiled).graphs
    assert graph.check.calls == 2 and graph.check.ok
    assert "eager gives the same results in 2 calls" in str(girih.report(compiled))


def test_returns_the_result():
    x = torch.randn(5)
    check = girih.check(lambda x: (x * 2, "text"))(x)
    assert torch.equal(check.result[0], x * 2) and check.result[1] == "text"


def test_errors_of_the_data_are_compared():
    def look_up(x, index):
        return x[index] * 2

    check = girih.check(look_up)
    with pytest.raises(IndexError):
        check(torch.ones(3), torch.tensor([5]))


def test_what_is_no_plain_tensor_is_said():
    compiled = girih.compile(lambda x: x.conj() * 2, options={"check": 1})
    compiled(torch.ones(3, dtype=torch.complex64).conj())
    (graph,) = girih.report(compiled).graphs
    assert graph.check.not_checked is not None


@pytest.mark.parametrize("value", [-1, True, "all"])
def test_wrong_numbers_of_calls_are_refused(value):
    with pytest.raises((TypeError, ValueError), match="check"):
        girih.compile(torch.sin, options={"check": value})


def test_only_callables_are_checked():
    with pytest.raises(TypeError, match="expects a callable"):
        girih.check(3)


# Parts ------------------------------------------------------------------------------


def test_copies_share_memory_as_the_originals():
    base = torch.arange(12.0)
    first, second = base.view(3, 4).t(), base[5:]
    one, other, number = copies.copied([first, second, 7])
    assert number == 7
    assert one.stride() == first.stride()
    assert other.storage_offset() == second.storage_offset()
    other[0] = -1
    assert one[1, 1] == -1 and base[5] == 5


def test_copies_of_results_may_be_written():
    leaf = torch.ones(3, requires_grad=True)
    one, other = copies.copied([leaf, leaf * 2])
    assert one.is_leaf and not other.is_leaf
    other.mul_(3).sum().backward()
    assert leaf.grad is None
    with pytest.raises(RuntimeError, match="leaf"):
        one.mul_(3)


SAMPLES = {
    "rounded": (1 + 1e-7, 1.0, [1.0], False),
    "wrong": (1.001, 1.0, [1.0], True),
    "unstable": (1.001, 1.0, [1.0003], False),
    "nan": (float("nan"), 1.0, [1.0], True),
    "both nan": (float("nan"), float("nan"), [], False),
    "infinite": (float("inf"), 3e38, [3e38], True),
    "overflow": (3e38, float("inf"), [3e38], False),
    "other sign": (float("-inf"), float("inf"), [float("inf")], True),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_closeness(name):
    actual, expected, samples, differs = SAMPLES[name]
    values = [torch.full((3,), value) for value in (actual, expected, *samples)]
    found = closeness.difference(values[0], values[1], values[2:])
    assert (found is not None) == differs, found


def test_whole_numbers_are_exact():
    one, other = torch.tensor([1, 2]), torch.tensor([1, 3])
    assert "first [1]: 2 instead of 3" in closeness.difference(one, other, [other])
    assert closeness.difference(one, other, [one]) is None


def test_kinds_of_results_are_compared():
    x = torch.ones(2, 3)
    assert "dtype" in closeness.difference(x, x.double(), [])
    assert "sizes" in closeness.difference(x, x[:1], [])
    assert "strides" in closeness.difference(x, torch.ones(3, 2).t(), [])
    assert "requires_grad" in closeness.difference(x, x.clone().requires_grad_(), [])
    assert closeness.difference(2, 3, []) == "is 2 instead of 3"


def test_ties_that_rounding_breaks_are_no_difference():
    """Groups of one element: what eager normalises is zero but for rounding."""
    torch.manual_seed(53958)
    norm = torch.nn.GroupNorm(5, 5, dtype=torch.float64)
    x = torch.randn(15, 5, dtype=torch.float64)
    check = girih.check(lambda x: norm(x).amax(1))(x)
    assert check.ok, str(check)
