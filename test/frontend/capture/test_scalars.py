"""Numbers that vary: inputs of graphs, formulas of the surrounding code, guards."""

from __future__ import annotations

import linecache
import math

import pytest
import torch
import torch.nn.functional as F

import girih

BACKENDS = ("eager", "girih")
FEW = 2  # captures: with the first value, and with any


@pytest.fixture(params=BACKENDS)
def backend(request):
    return request.param


def compiled(function, backend, **options):
    # Numbers that are too large for float32 run eager.
    options.setdefault("fullgraph", backend == "eager")
    return girih.compile(function, backend=backend, **options)


def captures(function) -> int:
    return getattr(function, "girih_call", function).cache_statistics()["captures"]


def outcome_of(function, *args):
    try:
        return function(*args)
    except Exception as error:
        return type(error), str(error)


def assert_same(actual, expected):
    if isinstance(expected, torch.Tensor):
        torch.testing.assert_close(actual, expected, equal_nan=True)
    elif isinstance(expected, (tuple, list)):
        assert type(actual) is type(expected) and len(actual) == len(expected)
        for mine, theirs in zip(actual, expected, strict=True):
            assert_same(mine, theirs)
    else:
        assert repr(actual) == repr(expected)


def check(function, backend, values, expected_captures=None, **options):
    """Calls a function with a tensor and each of the values; returns the captures."""
    compiled_function, x = compiled(function, backend, **options), torch.randn(6, 4)
    for value in values:
        values_given = value if isinstance(value, tuple) else (value,)
        assert_same(
            outcome_of(compiled_function, x, *values_given),
            outcome_of(function, x, *values_given),
        )
    if expected_captures is not None:
        assert captures(compiled_function) == expected_captures
    return compiled_function


# Inputs of the graph ------------------------------------------------------------

RATES = (0.1, 0.01, 0.35, 1e-9, -2.5, 0.0, 1.0, math.inf, math.nan, 1e300)
COUNTS = (3, 4, 2, 6, 12)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, lr: x * lr,
        lambda x, lr: x.clone().add_(x, alpha=-lr),
        lambda x, lr: x * (1 - lr) + lr * 2,
        lambda x, lr: torch.clamp(x, lr, 3.0) ** 2,
        lambda x, lr: torch.full((3,), lr) + torch.full_like(x[:1, :3], lr),
        lambda x, lr: torch.addcmul(x, x, x, value=lr),
        lambda x, lr: torch.where(x > lr, x, lr),
        lambda x, lr: F.leaky_relu(x, lr),
        lambda x, lr: (x.double() * lr, x.to(torch.int32) * lr),
        lambda x, lr: [x + value for value in (lr, lr + lr)],
    ],
)
def test_a_float_is_captured_twice(backend, function):
    check(function, backend, RATES, FEW)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, n: x + n,
        lambda x, n: torch.full((n,), 2.0) * n,
        lambda x, n: torch.arange(n) - n,
        lambda x, n: x.view(n, -1).sum(0),
        lambda x, n: x.reshape(-1, n),
        lambda x, n: x.to(torch.int32) // n,
        lambda x, n: (x.to(torch.int8) + n, x % n, x / n),
        lambda x, n: torch.zeros(n, n + 1).sum(1) * (n / 2),
        lambda x, n: x * n**2 + (n << 1),
        lambda x, n: x * min(n, 5) + max(n, 1.5),
        lambda x, n: x + max(n - 3, 0) - min(n, 3),
        lambda x, n: torch.arange(n) + max(n - 3, 0),
    ],
)
def test_an_int_is_captured_twice(backend, function):
    check(function, backend, COUNTS, FEW)


@pytest.mark.parametrize("n", [-3, -2, 0, 1, 2**31, 2**40, True])
def test_other_ints_have_entries_of_their_own(backend, n):
    check(lambda x, n: x + n, backend, (5, 6, n, 7), FEW + 1)


def test_ints_that_no_tensor_takes(backend):
    check(lambda x, n: x + n, backend, (5, 6, 2**70, 7))


def test_a_number_that_an_operation_fixed_is_tried_again(backend):
    """At the second call, ``n`` meets a size that is not known to vary yet."""

    def f(x, n):
        return x + torch.arange(n)

    function = compiled(f, backend)
    for x, n in ((torch.zeros(()), 5), *((torch.zeros(n), n) for n in range(6, 12))):
        assert_same(function(x, n), f(x, n))
    assert captures(function) == FEW + 1


def test_slices(backend):
    check(lambda x, n: x[:n].sum(0), backend, (3, 4, 2, 9, 0, 1, -1, -2, -9, 5))
    check(lambda x, n: x[n : n + 2] * 2, backend, (2, 3, 4, 5, 0, 7, -3, -2))


def test_static_means_never(backend):
    check(lambda x, n: x * n, backend, (5, 6, 7, 0.5, 0.6), 5, dynamic=False)


def test_dynamic_means_at_once(backend):
    check(lambda x, n: x * n, backend, (5, 6, 0.5, 0.6), 2, dynamic=True)
    check(
        lambda x, n: x * n["a"][0],
        backend,
        [{"a": [v]} for v in (5, 6)],
        1,
        dynamic=True,
    )


def test_types_are_guarded(backend):
    check(lambda x, n: x * n, backend, (5, 6, 0.5, 0.6, 7, 0.7), 3)


# What Python computes -----------------------------------------------------------


def test_results_are_computed_by_python(backend):
    check(
        lambda x, n: (x + 1, n * 2, n / 3, (n, [n + 1]), {"n": -n}, n**2),
        backend,
        (5, 6, 7, 2**20),
        FEW,
    )


def test_no_graph_is_made_for_numbers_alone(backend):
    function = check(lambda x, n: n * 2.5 + x.size(0), backend, (5, 6, 7), FEW)
    assert all(frame.graph is None for frame in function.girih_compiler.frames)


def test_large_results_are_exact(backend):
    check(lambda x, n: (x * 2, n**9, n * n * n * n), backend, (5, 6, 2**30), FEW)
    check(lambda x, n: torch.zeros(2) + n * n * n, backend, (5, 2**20, 2**30, 7))


def test_arithmetic_with_sizes(backend):
    function = compiled(lambda x, n: x * (x.size(0) / n) + x.size(1) * 0.5, backend)
    for rows, columns, n in ((5, 3, 2), (6, 4, 3), (7, 5, 4), (8, 9, 5)):
        x = torch.ones(rows, columns)
        expected = x * (rows / n) + columns * 0.5
        torch.testing.assert_close(function(x, n), expected)
    assert captures(function) == FEW


def test_bias_correction(backend):
    check(
        lambda x, beta, step: x / (1 - beta**step),
        backend,
        [(0.9, step) for step in range(1, 9)],
        FEW,
    )


def test_functions_of_numbers(backend):
    check(
        lambda x, v: x * math.sqrt(v) + math.floor(v * 10) + round(v, 1) + int(v * 50),
        backend,
        (0.3, 0.42, 0.57, -1.0, 0.99),
    )
    check(
        lambda x, v: x * abs(-v) + divmod(v, 2)[1] + float(v) + bool(v),
        backend,
        (0.3, 0.4, 0.5, 5.5),
    )


# Decisions and uses that need the value -----------------------------------------


def branch(x, lr):
    if lr * 2 > 0.5:
        return x * lr
    return x + lr


def test_decisions_are_guards(backend):
    check(branch, backend, (0.1, 0.2, 0.3, 0.5, 0.15, 0.25, math.nan), 3)


def test_a_decision_is_exact(backend):
    def function(x, v):
        return x * v if v * 3.0 * 0.1 >= 0.3 else x + v

    near = [
        1.0,
        2.0,
        math.nextafter(1.0, 0),
        math.nextafter(1.0, 2),
        0.9999999999999997,
    ]
    check(function, backend, near)


def countdown(x, n):
    while n > 3:
        x, n = x + n, n - 1
    return x


def divides(x, n):
    try:
        quotient = 10 // (n - 5)
    except ZeroDivisionError:
        quotient = 100
    return x * quotient


@pytest.mark.parametrize(
    "function",
    [
        countdown,
        divides,
        lambda x, n: x * (10 // (n - 5)),
        lambda x, n: x + 1.0 / (n - 4),
        lambda x, n: x * [1, 2, 3, 4, 5, 6, 7, 8][n],
        lambda x, n: x * {3: 2.0, 4: 5.0}.get(n, 0.5),
        lambda x, n: x * 2 if n in (3, 4) else x,
        lambda x, n: x + len(f"{n:04d}{n}"),
        lambda x, n: x + sum(range(n)),
        lambda x, n: x * n.bit_length(),
        lambda x, n: x * 2 if n == "3" or n is None else x,
        lambda x, n: x * (n == n + 0.0),
        lambda x, n: x.sum(n - 4) if n in (4, 5) else x,
        lambda x, n: torch.softmax(x, 1 if n > 3 else 0),
        lambda x, n: x + torch.tensor([n, 2 * n])[:1],
        lambda x, n: [x] * n,
        lambda x, n: "n" * n,
        lambda x, n: f"{n}" if n & 1 else x,
        lambda x, n: hash((n, "a")),
        lambda x, n: x + 1 if n is 4 or n is None else x,  # noqa: F632
        lambda x, n: x + 1 if any(n is m for m in (n, 5)) else x,
    ],
)
def test_uses_in_python(backend, function):
    check(function, backend, (3, 4, 5, 6, 7, 4))


def test_what_is_fixed_is_not_tried_again():
    function = check(lambda x, n: x + sum(range(n)), "eager", (3, 4, 5, 6), 4)
    newest = function.girih_compiler.frames[0]
    assert "n" not in [node.name for node in newest.graph.graph.nodes]


def test_unused_numbers_are_not_guarded(backend):
    check(lambda x, n: x * 2, backend, (3, 4, 0.5, "text"), 1)
    check(lambda x, n: (x * 2, n), backend, (3, 4, 0.5, None), 1)


def test_dropout_needs_its_probability(backend):
    def function(x, p):
        return F.dropout(x, p, training=False) * 2

    check(function, backend, (0.1, 0.2, 0.3))


# Places -------------------------------------------------------------------------

RATE = 0.1


def scaled_by_global(x):
    return x * RATE


def test_globals(backend, monkeypatch):
    function, x = compiled(scaled_by_global, backend), torch.randn(3)
    for rate in (0.1, 0.2, 0.3, 0.4):
        monkeypatch.setitem(globals(), "RATE", rate)
        torch.testing.assert_close(function(x), x * rate)
    assert captures(function) == FEW


def test_cells_defaults_and_containers(backend):
    rate = 0.1

    def function(x, options, *, scale=2.0):
        return x * rate * options["lr"] + options["steps"][1] * scale

    compiled_function, x = compiled(function, backend), torch.randn(3)
    for rate in (0.1, 0.2, 0.3, 0.4):  # noqa: B007
        options = {"lr": rate / 2, "steps": [7, int(rate * 100)]}
        assert_same(compiled_function(x, options), function(x, options))
    assert captures(compiled_function) == FEW


class Counting(torch.nn.Module):
    """Counts its calls, and lets a number decay."""

    def __init__(self):
        super().__init__()
        self.step, self.momentum = 0, 0.5
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, x):
        self.step += 1
        self.momentum *= 0.9
        return self.linear(x) * self.momentum + self.step


def test_counters_of_modules(backend):
    module, x = Counting().requires_grad_(False), torch.randn(6, 4)
    plain = Counting().requires_grad_(False)
    plain.load_state_dict(module.state_dict())
    function = girih.compile(module, backend=backend, fullgraph=True)
    for _ in range(9):
        assert_same(function(x), plain(x))
        assert (module.step, module.momentum) == (plain.step, plain.momentum)
    assert captures(function) == 3  # 0, 1, and any


def read_in_the_middle(x):
    value = x.sum().item()
    return x * value + value * 2


def test_numbers_read_at_a_break(backend):
    function = girih.compile(read_in_the_middle, backend=backend)
    for _ in range(6):
        x = torch.randn(3, 2)
        torch.testing.assert_close(function(x), read_in_the_middle(x))
    resumed = [c for c in function.callees.values() if c]
    assert [captures(callee) for callee in resumed] == [FEW]


# Marks on tensors ---------------------------------------------------------------


def marked(x, kind, dim=0, **options):
    if kind == "dynamic":
        torch._dynamo.mark_dynamic(x, dim, **options)
    elif kind == "weak":
        torch._dynamo.maybe_mark_dynamic(x, dim)
    elif kind == "unbacked":
        torch._dynamo.decorators.mark_unbacked(x, dim)
    else:
        torch._dynamo.mark_static(x, dim)
    return x


@pytest.mark.parametrize("kind", ["dynamic", "weak", "unbacked"])
@pytest.mark.parametrize("dynamic", [None, False])
def test_marked_dims_are_symbolic_at_once(backend, kind, dynamic):
    function = compiled(lambda x: x * x.size(0), backend, dynamic=dynamic)
    for rows in (4, 5, 9):
        x = marked(torch.randn(rows, 3), kind)
        torch.testing.assert_close(function(x), x * rows)
    assert captures(function) == 1


def test_static_dims_stay_static(backend):
    function = compiled(lambda x: x * 2, backend, dynamic=True)
    for rows in (4, 5, 9):
        function(marked(torch.randn(rows, 3), "static"))
    assert captures(function) == 3


@pytest.mark.parametrize("fullgraph", [True, False])
@pytest.mark.parametrize(
    ("program", "options", "rows"),
    [
        (lambda x: x.view(4, 3) + 1, {}, 4),
        (lambda x: x + 1 if x.size(0) < 6 else x, {"min": 2, "max": 8}, 4),
        (lambda x: x + 1, {"min": 2, "max": 8}, 9),
    ],
)
def test_a_mark_that_does_not_hold_is_an_error(program, options, rows, fullgraph):
    function = girih.compile(program, backend="eager", fullgraph=fullgraph)
    x = marked(torch.randn(rows, 3), "dynamic", **options)
    with pytest.raises(girih.UnsupportedError, match="a marked size has to be fixed"):
        function(x)


def _asserts_a_size(x):
    x = x.sin()
    assert x.shape[0] == 8
    return x + 1


def _has_one_of_two_sizes(x):
    y = torch.ones(8, 3)
    return (x + 1) * y


def _adds_both(x, y):
    both = x + y
    return both + torch.ones(8, 3)


def _bounds_a_size(x):
    if x.size(0) < 9:
        x = x + 1
    return x


@pytest.mark.parametrize(
    ("program", "options", "marks", "line"),
    [
        (_asserts_a_size, {}, 1, "assert x.shape[0] == 8"),
        (_has_one_of_two_sizes, {}, 1, "return (x + 1) * y"),
        (_adds_both, {}, 2, "return both + torch.ones(8, 3)"),
        (_bounds_a_size, {"min": 2, "max": 16}, 1, "if x.size(0) < 9:"),
        (_bounds_a_size, {"min": 2, "max": 4}, 1, "def _bounds_a_size(x):"),
    ],
)
def test_a_mark_that_does_not_hold_names_the_line(program, options, marks, line):
    function = girih.compile(program, backend="eager")
    inputs = [marked(torch.randn(8, 3), "dynamic", **options) for _ in range(marks)]
    with pytest.raises(girih.UnsupportedError) as caught:
        function(*inputs)
    place = caught.value.location
    assert linecache.getline(place.filename, place.line).strip() == line
    assert line in str(caught.value)


def test_marks_that_hold_with_bounds(backend):
    function = compiled(lambda x: x + 1, backend)
    for rows in (4, 2, 8):
        x = marked(torch.randn(rows, 3), "dynamic", min=2, max=8)
        torch.testing.assert_close(function(x), x + 1)
    assert captures(function) == 1
    assert_same(function(torch.ones(9, 3)), torch.full((9, 3), 2.0))
    assert captures(function) == 2


@pytest.mark.parametrize("rows", [0, 1])
def test_marked_dims_of_size_0_and_1_are_static(backend, rows):
    function = compiled(lambda x: x + 1, backend)
    x = marked(torch.randn(rows, 3), "dynamic")
    torch.testing.assert_close(function(x), x + 1)


def test_a_weak_mark_may_be_fixed(backend):
    function = compiled(lambda x: x.view(4, 3) + 1, backend)
    x = marked(torch.randn(4, 3), "weak")
    torch.testing.assert_close(function(x), x + 1)


NUMBERS = [(4, 3.3), (4, 3), (True, 2), (2.5, 2.5)]


@pytest.mark.parametrize("left, right", NUMBERS, ids=map(str, NUMBERS))
def test_functions_of_numbers_alone(left, right):
    def functions(a, b):
        return torch.add(a, b), torch.mul(a, b), torch.true_divide(a, b)

    compiled = girih.compile(functions, fullgraph=True)
    expected = functions(left, right)
    for mine, theirs in zip(compiled(left, right), expected, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=0, atol=0)
