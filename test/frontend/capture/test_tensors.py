"""Facts about tensors, their attributes, odd inputs, data-dependent results, NumPy."""

import warnings

import numpy
import pytest
import torch
from torch.utils._pytree import tree_leaves

import girih
from girih.errors import UnsupportedError

X = torch.tensor([1.5, -2.0, 3.0])


def whole(function, **options):
    return girih.compile(function, backend="eager", fullgraph=True, **options)


def assert_equal(found, expected):
    for left, right in zip(tree_leaves(found), tree_leaves(expected), strict=True):
        assert type(left) is type(right)
        same = left.equal(right) if isinstance(left, torch.Tensor) else left == right
        assert same, (left, right)


# Facts

FACTS = """shape dtype device size() size(0) size(dim=-1) stride() stride(1) ndim dim()
    is_contiguous() numel() nelement() element_size() itemsize nbytes type()
    is_floating_point() is_complex() is_signed() is_conj() is_neg() is_inference()
    layout is_sparse is_leaf requires_grad get_device() is_cpu is_meta
    grad""".split()


@pytest.mark.parametrize("fact", FACTS)
@pytest.mark.parametrize("needs_grad", [False, True])
def test_facts_are_python_values(fact, needs_grad):
    x = torch.ones(2, 3, requires_grad=needs_grad)
    function = eval(f"lambda x: (x * 2, x.{fact})")
    assert_equal(whole(function)(x), function(x))


@pytest.mark.parametrize("fact", ["storage_offset()", "_is_view()", "is_shared()"])
def test_facts_about_memory_are_asked_at_each_call(fact):
    function = eval(f"lambda x: (x * 2, x.{fact})")
    compiled = girih.compile(function, backend="eager")
    memory = torch.arange(6.0)
    for x in (memory[:3], memory[3:], memory[3:].clone()):
        assert_equal(compiled(x), function(x))


def test_leaves_are_told_apart():
    compiled = whole(lambda x: (x + 1, x.is_leaf))
    x = torch.ones(3, requires_grad=True)
    assert [compiled(v)[1] for v in (x, x * 2, x)] == [True, False, True]


@pytest.mark.parametrize("backend", ["eager", "girih"])
@pytest.mark.parametrize(
    "x",
    [
        torch.ones(3, dtype=torch.complex64).conj(),
        torch.complex(X, X).conj().imag,
        torch._efficientzerotensor(3),
        torch.arange(6.0)[3:],
        torch.eye(3).to_sparse(),
    ],
    ids=["conjugated", "negated", "zeros", "offset", "sparse"],
)
def test_odd_inputs(x, backend):
    def function(x):
        return x.is_conj(), x.is_neg(), (x * 2).to_dense(), x.abs().to_dense()

    assert_equal(girih.compile(function, backend=backend)(x), function(x))


@pytest.mark.filterwarnings("ignore:.*quantized tensor creation:UserWarning")
@pytest.mark.parametrize("dynamic", [False, True])
def test_what_is_quantized_inside_breaks_the_graph(dynamic):
    def one(x):
        y = torch.quantize_per_tensor(x * 2, 0.1, 3, torch.quint8)
        return y.dequantize(), y.dequantize() + 1, y.int_repr()

    def by_tensors(x):
        scale, zero = torch.tensor(0.1), torch.tensor(0)
        y = torch.quantize_per_tensor(x, scale, zero, torch.qint8)
        return y.dequantize().sin()

    for function in (one, by_tensors):
        assert_equal(girih.compile(function, dynamic=dynamic)(X), function(X))
        with pytest.raises(UnsupportedError, match="fake"):
            whole(function, dynamic=dynamic)(X)


def test_types_of_python_as_dtypes():
    function = lambda x: (x.to(float), torch.ones_like(x, dtype=int))  # noqa: E731
    assert_equal(whole(function)(X), function(X))


# Attributes


def test_attributes_of_inputs_and_results():
    def function(x):
        y = x + 1
        y.tag, x.tag = [y.shape[0]], 4
        return y, hasattr(x, "other"), [y]

    compiled = whole(function)
    x = torch.ones(3)
    y, has_other, (same,) = compiled(x)
    assert (y.tag, x.tag, has_other) == ([3], 4, False)
    assert same is y
    x.other = 1
    assert compiled(x)[1]


def _warnings_of_reads(call, tensors, reads):
    """The texts of the warnings of calls, and the files that they point to."""
    found = []
    for name, is_read in reads:
        with warnings.catch_warnings(record=True) as given:
            warnings.simplefilter("always")  # guards take an error for a mismatch
            call(tensors[name], is_read)
        found.append([(w.filename, str(w.message)) for w in given])
    return found


@pytest.mark.parametrize("first", ["retained", "leaf", "parameter", "inner"])
def test_torch_warns_of_gradients_where_the_call_reads_them(first):
    def function(x, is_read):
        return x.detach() + 1, x.grad if is_read else None

    leaf = torch.ones(2, requires_grad=True)
    tensors = {"retained": leaf * 2, "inner": leaf * 3, "leaf": leaf}
    tensors["parameter"] = torch.nn.Parameter(torch.ones(2))
    tensors["retained"].retain_grad()
    reads = [(first, True), ("inner", False), (first, True), ("inner", True)]
    compiled = girih.compile(function, backend="eager")
    expected = _warnings_of_reads(function, tensors, reads)
    assert _warnings_of_reads(compiled, tensors, reads) == expected


def test_the_gradient_of_a_tensor_that_is_no_leaf_is_set():
    def function(x):
        x.grad = x.detach() * 2
        return x.detach() + 1

    compiled = girih.compile(function, backend="eager")
    x = torch.ones(2, requires_grad=True) * 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compiled(x)
    torch.testing.assert_close(x.grad, torch.full((2,), 4.0))


def test_gradients_are_read_and_set():
    def function(x):
        before = x.grad
        x.grad = x.detach() * 2
        return before, x.grad + 1

    compiled = whole(function)
    x = torch.ones(2, requires_grad=True)
    assert compiled(x)[0] is None
    torch.testing.assert_close(x.grad, torch.full((2,), 2.0))
    first = x.grad
    assert compiled(x)[0] is first


def test_a_tag_survives_a_break():
    def function(x):
        y = x + 1
        y.tag = 5
        print(end="")
        return y.tag, y * 2

    assert_equal(girih.compile(function, backend="eager")(X), (5, (X + 1) * 2))


# Results that depend on data


def rows(x):
    return (x > 0).nonzero(), x[x > 0] * 2


def length(x):
    y = x[x > 0]
    return y.shape[0], y.sum(), y.reshape(-1, 1)


def numbers(x):
    n = x.sum().item()
    return x * n, n, n * 2 + 1


def branches(x):
    y = x[x > 0]
    return y * 2 if y.shape[0] > 1 else y * 3


def conversions(x):
    return float(x.sum()), int(x[0]), bool(x[1] > 0), x.tolist(), f"{x[0]:.2f}"


PROGRAMS = pytest.mark.parametrize(
    "function", [rows, length, numbers, branches, conversions]
)


@PROGRAMS
@pytest.mark.parametrize("backend", ["eager", "girih"])
@pytest.mark.parametrize("dynamic", [None, True, False])
def test_what_depends_on_data_is_right(function, backend, dynamic):
    compiled = girih.compile(function, backend=backend, dynamic=dynamic)
    for x in (X, X - 2, X):
        assert_equal(compiled(x), function(x))


@PROGRAMS
def test_what_depends_on_data_breaks_the_graph(function):
    with pytest.raises(UnsupportedError, match="depends on|reading a tensor's data"):
        whole(function)(X)


@pytest.mark.parametrize("function", [rows, length, numbers])
def test_numbers_stay_in_the_graph_when_asked_for(function):
    compiled = whole(function, dynamic=True)
    for x in (X, X - 2, X):
        assert_equal(compiled(x), function(x))
    assert compiled.cache_statistics()["captures"] == 1


# NumPy


@pytest.mark.parametrize(
    "number", [numpy.float32(2.5), numpy.float64(2), numpy.int64(2), numpy.bool_(True)]
)
def test_numbers_of_numpy_are_constants(number):
    def function(n, x):
        return x * n, n * x, x < n, x + n, n + 1, type(n).__name__

    assert_equal(whole(function)(number, X), function(number, X))


def test_numbers_of_numpy_are_guarded():
    compiled = whole(lambda n, x: x * n)
    for number in (numpy.float32(2), numpy.float32(3), numpy.float64(2)):
        assert_equal(compiled(number, X), X * number)


def test_functions_of_known_numbers_are_folded():
    def function(x):
        return x * numpy.sqrt(2.0), numpy.prod([2, 3]), numpy.maximum(1, numpy.int8(2))

    assert_equal(whole(function)(X), function(X))


def test_the_type_of_a_number_decides_about_a_tensor():
    def function(x):
        return x + 1, torch.tensor(numpy.float64(2)), torch.as_tensor([numpy.int8(1)])

    assert_equal(girih.compile(function, backend="eager")(X), function(X))


def test_arrays_are_left_to_python():
    def function(a, x):
        y = x * 2
        b = y.numpy() + a
        b[0] = 7
        return torch.from_numpy(b) + x, a.sum(), b

    a = numpy.ones(3, dtype=numpy.float32)
    found, expected = girih.compile(function, backend="eager")(a, X), function(a, X)
    assert_equal(found[:2], expected[:2])
    assert (found[2] == expected[2]).all()


def test_sources_that_read_the_same_are_two_inputs():
    """FX writes the parameters of a graph from the targets of its placeholders."""

    def function(x, x_0):
        return x[0] * 2 - x_0

    one, other = torch.randn(3), torch.randn(3)
    compiled = girih.compile(function, backend=lambda graph, _: graph.forward)
    torch.testing.assert_close(compiled([one], other), function([one], other))


@pytest.mark.parametrize("dynamic", [None, True])
def test_a_conjugated_argument_with_history(dynamic):
    leaf = torch.randn(3, 4, dtype=torch.complex128, requires_grad=True)
    compiled = girih.compile(lambda x: (x * x).real.sum(), dynamic=dynamic)
    for argument in ((leaf * 2).conj(), torch._neg_view(leaf * 2), leaf.conj()):
        [expected] = torch.autograd.grad(
            (argument * argument).real.sum(), leaf, retain_graph=True
        )
        [actual] = torch.autograd.grad(compiled(argument), leaf)
        torch.testing.assert_close(actual, expected)


# A mask without dims

FILLED = [
    (torch.tensor(2.0), 4.5),
    (torch.tensor(2.0), torch.inf),
    (torch.tensor([1.0, torch.nan, 3.0]), 7),
    (torch.ones(3, 5).t(), -1),
    (torch.ones(0, 3), 1.0),
    (torch.tensor([1, 2]), 127),
    (torch.tensor([1, 2], dtype=torch.int8), True),
    (torch.tensor([True, False]), False),
    (torch.ones(3, dtype=torch.float64), 0.1),
    (torch.ones(3, dtype=torch.float16), 65504),
]


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize(("x", "number"), FILLED)
def test_a_mask_without_dims_fills_in_the_graph(x, number, known):
    def fill(x, mask):
        y = x.clone()
        y[mask] = number
        return y, y.stride()

    mask = torch.tensor(known)
    compiled = whole(fill)
    for given in (mask, ~mask):
        found, expected = compiled(x, given), fill(x, given)
        torch.testing.assert_close(found, expected, rtol=0, atol=0, equal_nan=True)


def test_the_gradient_of_a_fill_is_eagers():
    def fill(x):
        y = x * 2
        y[x.sum() > 0] = 3
        return y.sum() + x.sum()

    compiled = girih.compile(fill, fullgraph=True, options={"cache": False})
    for values in ([1.0, 2.0], [-1.0, -2.0]):
        x, y = (torch.tensor(values, requires_grad=True) for _ in range(2))
        compiled(x).backward()
        fill(y).backward()
        assert_equal(x.grad, y.grad)


UNLIKE = [
    (torch.ones(3, dtype=torch.float16), 1e6),
    (torch.ones(3), 1e40),
    (torch.ones(3, dtype=torch.int8), 300),
    (torch.ones(3, dtype=torch.int8), 1.5),
    (torch.ones(1).expand(3), 1.0),
]


@pytest.mark.parametrize(("x", "number"), UNLIKE)
def test_what_masked_fill_does_otherwise_is_left_to_python(x, number):
    def fill(x, mask):
        x[mask] = number
        return x + 0

    def outcome(function):
        try:
            given = x.clone() if x.stride() != (0,) else torch.ones(1).expand(3)
            return function(given, torch.tensor(True))
        except RuntimeError as error:
            return str(error)

    found, expected = outcome(girih.compile(fill, backend="eager")), outcome(fill)
    assert type(found) is type(expected)
    assert found == expected if isinstance(found, str) else found.equal(expected)
