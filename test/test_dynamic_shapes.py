"""One compilation serves all sizes."""

import pytest
import torch
from torch import nn
from torch.nn import functional

import girih

SIZES = (2, 3, 7, 16, 31, 64, 257, 1000)


def pointwise(x):
    return torch.relu(x * 2 + 1)


def row_reduction(x):
    return torch.softmax(x, -1), x.mean(-1)


def column_reduction(x):
    return x.sum(0), x.amax(0)


def full_reduction(x):
    return (x * x).sum()


def sizes_as_values(x):
    return x * x.shape[0] + x.numel()


def views(x):
    halves = torch.cat([x[:, 8:], -x[:, :8]], 1)
    return halves.reshape(-1, 4), x.t().contiguous()


class MatmulModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(16, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 8)
        )

    def forward(self, x):
        return torch.log_softmax(self.layers(x), -1)


FUNCTIONS = (
    pointwise,
    row_reduction,
    column_reduction,
    full_reduction,
    sizes_as_values,
    views,
)


def compilations(compiled):
    graphs = girih.report(compiled).graphs
    assert all(graph.fallback is None for graph in graphs), girih.report(compiled)
    return len(graphs)


def assert_serves(compiled, model, sizes, columns=16):
    with torch.no_grad():
        for size in sizes:
            x = torch.randn(size, columns)
            torch.testing.assert_close(compiled(x), model(x), rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_one_compilation_serves_all_batches(function):
    compiled = girih.compile(function, dynamic=True)
    assert_serves(compiled, function, SIZES)
    assert compilations(compiled) == 1


def test_one_compilation_of_a_matmul_model_serves_all_batches():
    model = MatmulModel().eval()
    compiled = girih.compile(model, dynamic=True)
    assert_serves(compiled, model, SIZES)
    assert compilations(compiled) == 1


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_sizes_0_and_1(function):
    if function is column_reduction:
        sizes = (1,)  # amax has no value for no rows
    else:
        sizes = (0, 1)
    assert_serves(girih.compile(function, dynamic=True), function, (5, *sizes, 9))
    assert_serves(girih.compile(function, dynamic=False), function, sizes)


def test_both_dims_symbolic():
    compiled = girih.compile(row_reduction, dynamic=True)
    for columns in (2, 17, 300):
        assert_serves(compiled, row_reduction, (2, 5, 100), columns)
    assert compilations(compiled) == 1


def test_a_size_that_changes_becomes_symbolic():
    compiled = girih.compile(pointwise)
    assert_serves(compiled, pointwise, SIZES)
    assert compilations(compiled) == 2


def test_dynamic_false_compiles_each_size():
    compiled = girih.compile(pointwise, dynamic=False)
    assert_serves(compiled, pointwise, (4, 5, 6, 4, 5, 6))
    assert compilations(compiled) == 3


def test_equal_sizes_are_one_symbol():
    def add_transposed(x):
        return x + x.t()

    compiled = girih.compile(add_transposed, dynamic=True)
    with torch.no_grad():
        for size in (3, 8, 33):
            x = torch.randn(size, size)
            torch.testing.assert_close(compiled(x), add_transposed(x))
    assert compilations(compiled) == 1


def _half(x):
    return x.narrow(0, 0, x.shape[0] // 2)


def _odd(x):
    return x.narrow(0, 0, x.shape[0] // 2 * 2 - 1)


# At size 3 the half has size 1, which guards say of an expression, not of a symbol.
REPEATED_HALVES = {
    "first": lambda x: _half(x) + x,
    "second": lambda x: x + _half(x),
    "both": lambda x: _half(x) + _half(x),
    "then_halves": lambda x: (_half(x) + x)[:1] + _half(x),
    "first_of_three": lambda x: torch.where(_half(x) >= 0, x, x * 2),
    "second_of_three": lambda x: torch.where(x > 0, _half(x), x[:1] * 2),
    "two_of_three": lambda x: torch.where(_half(x) >= 0, _half(x), x),
    "last_of_three": lambda x: torch.clamp(x * 2, x, _half(x)),
    "in_place": lambda x: (x * 1).mul_(_half(x) + 2),
    "written": lambda x: torch.empty_like(x).copy_(_half(x)),
    "expanded": lambda x: _half(x).exp().expand(x.shape[0]),
    "concatenated": lambda x: torch.cat([_half(x), x, x + _half(x)]),
    "outer": lambda x: _half(x)[:, None] + x,
    "reduced": lambda x: functional.mse_loss(_half(x), x),
    "weights": lambda x: functional.binary_cross_entropy_with_logits(
        x, x, weight=_half(x) + 2, pos_weight=_half(x) + 3
    ),
    "odd": lambda x: x + _odd(x)[:1] + _odd(x)[: x.shape[0] // 2],
}


@pytest.mark.parametrize("name", REPEATED_HALVES)
def test_a_computed_size_that_is_one(name):
    function = REPEATED_HALVES[name]
    compiled = girih.compile(function, dynamic=True)
    x = torch.arange(3.0)
    torch.testing.assert_close(compiled(x), function(x), rtol=1e-6, atol=0)
    assert compilations(compiled) == 1


def test_a_computed_size_is_one_or_the_other():
    compiled = girih.compile(lambda x, y: _half(x) + y, dynamic=True)
    for sizes in ((3, 4), (8, 4), (2, 6), (12, 6), (3, 1)):
        x, y = map(torch.randn, sizes)
        torch.testing.assert_close(compiled(x, y), _half(x) + y)
    compilations(compiled)


def test_gradient_of_a_computed_size_that_is_one():
    compiled = girih.compile(lambda x: (_half(x) * x).sum(), dynamic=True)
    x = torch.randn(3, requires_grad=True)
    (gradient,) = torch.autograd.grad(compiled(x), x)
    (expected,) = torch.autograd.grad((_half(x) * x).sum(), x)
    torch.testing.assert_close(gradient, expected)
    compilations(compiled)


def test_padding_by_remainders():
    def padded(x):
        columns = x.shape[-1]
        blocks = functional.pad(x, (0, -columns % 8))
        return blocks * 2, functional.pad(x, (0, (-columns // 8) % 3)) * 2

    compiled = girih.compile(padded, dynamic=True)
    for columns in (3, 9, 16, 17, 40):
        assert_serves(compiled, padded, (4,), columns)


def test_dynamic_behind_torch_compile():
    torch.compiler.reset()
    before = len(girih.report().graphs)
    model = MatmulModel().eval()
    compiled = torch.compile(model, backend="girih", dynamic=True)
    assert_serves(compiled, model, SIZES)
    assert len(girih.report().graphs) == before + 1


def halves(x, y):
    left, right = x[:, : x.shape[1] // 2], y[:, 1 : 1 + y.shape[1] // 3]
    return (left * right).sum(-1) + torch.cat([left, right], 0).amax()


def flattened(x, weight):
    return functional.linear(x.flatten(1), weight)


def pooled(x, weight):
    images = functional.max_pool2d(
        functional.conv2d(x, torch.ones(8, 3, 3, 3, dtype=x.dtype)), 2
    )
    return functional.linear(images.flatten(1), weight)


def tokens(x, position):
    """Patches behind a token for the class: one more than what a guard fixes."""
    patches = functional.avg_pool2d(x, 4)
    height, width = patches.shape[2:]
    tokens = patches.flatten(2).transpose(1, 2)
    tokens = torch.cat((x.mean((2, 3)).unsqueeze(1), tokens), 1)
    if height * width == position.shape[0] - 1:
        tokens = tokens + position
    return tokens.sin().flatten(1) @ tokens.flatten(1).t()


def padded(x, y):
    """Two sums of sizes, of which a guard says that they are equal without padding."""
    left, right = x[: 2 * (x.shape[0] // 2)], y[: 3 * (y.shape[0] // 3)]
    if left.shape[0] != right.shape[0]:
        return left.sum() + right.sum()
    left, right = (functional.pad(side, (0, 0, 1, 2)) for side in (left, right))
    return torch.cat((left * right, right), 0).sin()


def last_of_pieces(x, y):
    """The last piece has one row, by the number of pieces and what else is asked."""
    last = x.chunk(2)[-1].split(2)[-1]
    return torch.cat((last, x, last * y), 0).sin()


def diagonals(x, scale):
    """As long as rows of the weight, by the range of a symbol, without a guard."""
    weight = torch.ones(4, 2, dtype=x.dtype)
    return functional.linear(x[:2].diagonal(), weight) * scale


EQUAL_SIZES = {
    diagonals: [((2, 3, 5), (4,)), ((2, 5, 5), (1,))],
    last_of_pieces: [((10, 3), (1, 3)), ((11, 2), (1, 2))],
    halves: [((4, 12), (4, 18)), ((5, 14), (5, 21))],
    flattened: [((3, 4, 6), (7, 24)), ((5, 6, 5), (8, 30))],
    padded: [((13, 2), (12, 2)), ((18, 3), (20, 3))],
    pooled: [((4, 3, 16, 16), (10, 392)), ((5, 3, 16, 16), (7, 392))],
    tokens: [((2, 3, 8, 12), (7, 3)), ((5, 3, 16, 9), (9, 3))],
}


@pytest.mark.parametrize("program", EQUAL_SIZES, ids=lambda f: f.__name__)
def test_sizes_that_guards_say_are_equal(program):
    """Computed ones, which PyTorch leaves as they are: types of operands agree."""
    compiled = girih.compile(program, dynamic=True, options={"fallback": False})
    for shapes in EQUAL_SIZES[program]:
        found = []
        for function in (program, compiled):
            torch.manual_seed(0)
            inputs = [torch.randn(s).double().requires_grad_() for s in shapes]
            result = function(*inputs)
            found.append([result, *torch.autograd.grad(result.sum(), inputs)])
        torch.testing.assert_close(found[1], found[0])


def test_a_size_without_a_value_for_the_hint_of_symbols():
    """What is saved is weighed at sizes of 64, where this divides by zero."""

    def program(x):
        y = x.view(-1, x.shape[0] - 64, x.shape[0])
        return (torch.cat((y.sin(), y.cos())).exp() * x.sum()).sum(0)

    compiled = girih.compile(program, dynamic=True, options={"fallback": False})
    for shape in ((66, 6), (68, 12)):
        x = torch.randn(shape, dtype=torch.float64, requires_grad=True)
        result, expected = compiled(x), program(x)
        torch.testing.assert_close(result, expected)
        gradients = [torch.autograd.grad(y.sum(), x)[0] for y in (result, expected)]
        torch.testing.assert_close(*gradients)


def test_attention_with_heads_of_a_symbolic_size():
    """The size of a head becomes a guard; others stay symbols."""
    attention = functional.scaled_dot_product_attention
    compiled = girih.compile(attention, dynamic=True, options={"fallback": False})
    for shape in ((2, 4, 6, 8), (3, 4, 7, 8), (2, 4, 6, 16), (5, 2, 9, 16)):
        inputs = [torch.randn(shape).double().requires_grad_() for _ in range(3)]
        expected, actual = attention(*inputs), compiled(*inputs)
        torch.testing.assert_close(actual, expected)
        mine = torch.autograd.grad(actual.sin().sum(), inputs)
        theirs = torch.autograd.grad(expected.sin().sum(), inputs)
        torch.testing.assert_close(mine, theirs)
    assert compilations(compiled) == 2


def _halves(x):
    first, second = x.chunk(2)
    first.copy_(second)
    return x


def _half_of_the_rest(x):
    count = x.shape[0] // 2
    x[:count] = x[count:]
    return x


def _half_into_a_row(x):
    count = x.shape[0] // 2
    rows = torch.zeros(3, count)
    rows[1] = x[count:]
    return rows


def _half_repeated(x):
    count = x.shape[0] // 2
    return torch.zeros(3, count) + x[count:]


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize(
    "program", [_halves, _half_of_the_rest, _half_into_a_row, _half_repeated]
)
def test_two_expressions_that_are_one_size_are_written_whole(program, dynamic):
    compiled = girih.compile(program, dynamic=dynamic)
    for size in (6, 8, 10, 2):
        x = torch.arange(float(size))
        assert torch.equal(compiled(x.clone()), program(x.clone()))
