"""Results that kernels write where they belong: parts of a concat, permuted results."""

import pytest
import torch
import torch.nn.functional as F

import girih


def check(function, *inputs, launches=None, rtol=1e-5):
    """Compares a compiled function with eager, values and strides."""
    compiled = girih.compile(function)
    with torch.no_grad():
        expected, found = function(*inputs), compiled(*inputs)
        again = compiled(*inputs)
    if isinstance(expected, torch.Tensor):
        expected, found, again = (expected,), (found,), (again,)
    for own, other, wanted in zip(found, again, expected, strict=True):
        torch.testing.assert_close(own, wanted, rtol=rtol, atol=1e-5)
        torch.testing.assert_close(other, wanted, rtol=rtol, atol=1e-5)
        assert own.stride() == wanted.stride()
        assert own.numel() == 0 or own.data_ptr() != other.data_ptr()
    if launches is not None:
        (graph,) = girih.report(compiled).graphs
        assert graph.launches == launches
    return compiled


def features(x):
    y = x.unsqueeze(-1) * torch.arange(1.0, 6.0)
    return torch.cat((y.sin(), y.cos()), dim=-1).flatten(-2)


def test_one_kernel_writes_both_parts():
    check(features, torch.randn(7, 3), launches=1)
    check(features, torch.randn(0, 3))


@pytest.mark.parametrize("dim", [0, 1, 2, -1])
@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_parts_of_images(dim, layout):
    x = torch.randn(3, 4, 5, 6).to(memory_format=layout)
    y = torch.randn(3, 4, 5, 6).to(memory_format=layout)
    check(lambda x, y: torch.cat((x.exp(), y.sum(1, keepdim=True) + x), dim), x, y)
    check(lambda x, y: torch.cat((x.exp(), y), dim) * 2, x, y)


def test_a_part_is_read_besides():
    """The next kernel reads the part from where it lies, and nothing writes over it."""

    def function(x, w):
        a = (x @ w).softmax(-1)
        y = torch.cat((a, x.softmax(-1)), 1)
        z = a.softmax(0)
        return F.linear(y, torch.cat((w, w), 1)), z * y[:, :1].sum()

    check(function, torch.randn(9, 8), torch.randn(8, 8), rtol=1e-4)


def test_a_part_is_returned_or_a_view_of_it_is():
    def function(x):
        a, b = x.sin().softmax(-1), x.cos().softmax(-1)
        return torch.cat((a, b)), a, b.T

    check(function, torch.randn(5, 4))


def test_a_part_stands_in_two_results():
    def function(x):
        a, b = x.softmax(-1), x.softmax(0)
        return torch.cat((a, b)), torch.cat((b, a), 1), torch.cat((a, a))

    check(function, torch.randn(5, 4))


def test_sizes_that_change():
    compiled = girih.compile(
        lambda x, y: torch.cat((x.softmax(-1), y.softmax(-1)), 1), dynamic=True
    )
    for rows, columns in ((3, 4), (5, 1), (1, 7), (0, 2)):
        x, y = torch.randn(rows, columns), torch.randn(rows, 2 * columns)
        expected = torch.cat((x.softmax(-1), y.softmax(-1)), 1)
        torch.testing.assert_close(compiled(x, y), expected)


def test_written_result():
    """A result that goes into an argument."""

    def function(out, x):
        out.copy_(torch.cat((x.softmax(-1), x.softmax(0)), 1))
        return out.sum()

    x, out, expected = torch.randn(4, 3), torch.zeros(4, 6), torch.zeros(4, 6)
    function(expected, x)
    girih.compile(function)(out, x)
    torch.testing.assert_close(out, expected)


@pytest.mark.parametrize("order", [(0, 3, 1, 2), (3, 0, 2, 1), (0, 1, 3, 2)])
def test_permuted_results_are_written_in_their_order(order):
    """One kernel: the copy that `contiguous` asks for is its store."""

    def function(x, mean):
        return ((x / 255.0 - mean) * 2).permute(order).contiguous()

    x, mean = torch.randint(256, (2, 9, 10, 3)).byte(), torch.rand(3)
    check(function, x, mean, launches=1)
    check(lambda x: x.sum(-1).permute(1, 0, 2).contiguous(), torch.randn(3, 4, 5, 6))
    check(lambda x: (x.exp().permute(1, 0).contiguous(), x.exp()), torch.randn(3, 4))


def gates(x, state):
    i, f, g, o = x.chunk(4, dim=-1)
    new = f.sigmoid() * state + i.sigmoid() * g.tanh()
    return o.sigmoid() * new.tanh()


def test_gradients_of_chunks_are_one_result():
    """Whatever the order of their uses, no sum of padded gradients is left."""
    inputs = [torch.randn(6, 32), torch.randn(6, 8)]
    leaves, others = ([x.clone().requires_grad_() for x in inputs] for _ in range(2))
    compiled = girih.compile(gates)
    cotangent = torch.randn(6, 8)
    compiled(*leaves).backward(cotangent)
    gates(*others).backward(cotangent)
    for own, wanted in zip(leaves, others, strict=True):
        torch.testing.assert_close(own.grad, wanted.grad)
    (backward,) = girih.report(compiled).graphs[0].derivatives
    assert backward.launches == 1


def test_equal_gradients_are_one_tensor_until_leaves_keep_them():
    def function(x, y):
        return (x + y).softmax(-1)

    x, y = (torch.randn(5, 4, requires_grad=True) for _ in range(2))
    compiled = girih.compile(function)
    cotangent = torch.randn(5, 4)
    compiled(x, y).backward(cotangent)
    expected = torch.autograd.grad(function(x, y), (x, y), cotangent)
    torch.testing.assert_close((x.grad, y.grad), expected)
    assert x.grad.data_ptr() != y.grad.data_ptr()
    kept = y.grad.clone()
    x.grad.zero_()
    torch.testing.assert_close(y.grad, kept)
    compiled(x, y).backward(cotangent)  # adds to what is there
    torch.testing.assert_close((x.grad, y.grad), (expected[0], 2 * expected[1]))
    (backward,) = girih.report(compiled).graphs[0].derivatives
    assert backward.launches == 1


def test_results_that_hold_parts_are_joined_further():
    """Each step of a loop reads what was joined, and adds what a library drew."""

    def generate(indices, table):
        for _ in range(4):
            weights = table[indices].sum(1).softmax(-1)
            drawn = torch.multinomial(weights, 1)
            indices = torch.cat((indices, drawn), 1)
        return indices

    def drawn(function):
        torch.manual_seed(0)
        return function(torch.tensor([[1, 2], [3, 4]]), torch.randn(9, 9))

    compiled = girih.compile(generate, options={"fallback": False})
    assert torch.equal(drawn(compiled), drawn(generate))
