"""What is known to differ from eager: the rows of docs/limits.md, held as they say."""

import re
import warnings
from pathlib import Path

import numpy as np
import pytest
import test_limits_behind_dynamo
import torch
import torch.nn.functional as F
from eager_calls import eager_calls
from torch import nn
from torch.autograd import forward_ad
from torch.utils import _pytree as pytree

import girih

PAGE = Path(__file__).parents[1] / "docs" / "limits.md"
DYNAMO = {"backend": "girih"}


def test_every_row_has_its_test():
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    cells = [line.strip("| ").split(" | ")[-1] for line in rows]
    named = {name for cell in cells for name in re.findall(r"^`(\w+)`$", cell)}
    tests = {*globals(), *vars(test_limits_behind_dynamo)}
    own = {name[5:] for name in tests if name.startswith("test_")}
    own.discard("limits_behind_dynamo")
    assert named == own - {"every_row_has_its_test"}
    for path in re.findall(r"`(test/\S+\.py)`", PAGE.read_text()):
        assert (PAGE.parents[1] / path).exists(), path


def test_infinite_factor():
    def gradient(function):
        x = torch.ones(3, requires_grad=True)
        y = torch.ones(5, 3) * torch.tensor([[1.0], [1], [-1], [-1], [1]])
        function(x, y, float("inf")).sum().backward()
        return x.grad

    def function(x, y, factor):
        return torch.addcmul(torch.zeros(5, 3), x, y, value=factor)

    assert not gradient(function).isfinite().any()
    assert not gradient(girih.compile(function)).isfinite().any()


def test_infinity_beside_a_dim_that_is_kept():
    x = torch.zeros(1, 2, 4, 5)
    x[0, 0, 1, 2] = float("inf")

    def function(x):
        return nn.functional.interpolate(x, size=(4, 10), mode="bilinear")

    expected, actual = function(x), girih.compile(function)(x)
    assert expected.isnan().any() and not actual.isnan().any()
    assert torch.equal(expected.isfinite(), actual.isfinite())


def test_infinite_weight_at_a_border():
    model = nn.Conv2d(8, 8, 3, padding=1, groups=8, bias=False)
    x = torch.ones(1, 8, 5, 5).to(memory_format=torch.channels_last)
    with torch.no_grad():
        model.weight[:, :, 0, 0] = float("inf")
        expected, actual = model(x), girih.compile(model)(x)
    assert not expected.isnan().any()
    assert actual[..., 0, :].isnan().all() and actual[..., :, 0].isnan().all()
    assert torch.equal(expected[..., 1:, 1:], actual[..., 1:, 1:])


def test_infinite_gradient():
    def gradient(function):
        x = torch.tensor([1.0, float("inf")], requires_grad=True)
        (function(x) * float("inf")).sum().backward()
        return x.grad

    for function in (torch.nan_to_num, lambda x: torch.linalg.vector_norm(-x, np.inf)):
        assert gradient(function).isnan().any()
        assert not gradient(girih.compile(function)).isnan().any()


def test_statistics_updated_later():
    def gradient(compile):
        torch.manual_seed(0)
        layer, x = nn.BatchNorm1d(3), (torch.randn(4, 3) * 3).requires_grad_()

        def function(x):
            y = layer.eval()(x)
            return y, layer.train()(x)

        compile(function)(x)[0].sum().backward()
        return x.grad

    ones = torch.ones(4, 3) / (1 + 1e-5) ** 0.5
    torch.testing.assert_close(gradient(girih.compile), ones)
    assert not torch.allclose(gradient(lambda function: function), ones)


def test_second_derivative_of_hardsigmoid():
    def second(function):
        x = torch.ones(3, requires_grad=True)
        [first] = torch.autograd.grad(function(x).sum(), x, create_graph=True)
        return torch.autograd.grad(first.sum(), x, allow_unused=True)[0]

    function = lambda x: F.hardsigmoid(x * x)  # noqa: E731
    with pytest.raises(RuntimeError, match="not implemented"):
        second(function)
    torch.testing.assert_close(second(girih.compile(function)), torch.full((3,), 1 / 3))


def test_second_derivative_of_a_norm_at_zero():
    def second(function):
        x = torch.zeros(3, requires_grad=True)
        [first] = torch.autograd.grad(function(x), x, create_graph=True)
        return torch.autograd.grad(first.sum(), x)[0]

    def function(x):
        return torch.linalg.norm(x, 2)

    assert second(function).isnan().all()
    assert not second(girih.compile(function)).any()


def test_third_derivative_of_a_normalization():
    layer = nn.LayerNorm(4).double()
    weight = torch.linspace(1, 2, 8, dtype=torch.float64).reshape(2, 4)

    def squared(function, x, order):
        value = (function(x) * weight).sum()
        for _ in range(order):
            [slope] = torch.autograd.grad(value, x, create_graph=True)
            value = (slope**2).sum()
        return value

    def along(function, direction):
        [slope] = torch.autograd.grad(squared(function, x, 2), x)
        return (slope * direction).sum()

    torch.manual_seed(0)
    x = torch.randn(2, 4, dtype=torch.float64, requires_grad=True)
    direction = torch.randn_like(x)
    function = lambda x: torch.tanh(layer(x))  # noqa: E731
    ends = [(x + step * direction).detach().requires_grad_() for step in (1e-6, -1e-6)]
    above, below = (squared(function, end, 2) for end in ends)
    expected = (above - below).detach() / 2e-6
    actual = along(girih.compile(function), direction)
    torch.testing.assert_close(actual, expected, rtol=1e-3, atol=1e-3)
    assert not torch.isclose(along(function, direction), expected, rtol=1e-2)


def test_second_derivative_through_a_call():
    def second(function):
        x, factor, term = (torch.ones(3, requires_grad=True) for _ in range(3))
        value = function(x * factor + term)
        [first] = torch.autograd.grad(value, x, create_graph=True)
        return torch.autograd.grad(first.sum(), term, allow_unused=True)[0]

    def function(x):
        return torch.alias_copy(x).sum()

    assert second(function) is None
    assert not second(girih.compile(function)).any()


@pytest.mark.parametrize("name", ["bernoulli_", "exponential_", "normal_", "normal"])
def test_gradient_of_what_is_drawn_over(name):
    def first(function):
        x, factor = (torch.full((3,), 0.5, requires_grad=True) for _ in range(2))
        value = function(x, factor).sum()
        return torch.autograd.grad(value, x, create_graph=True)[0]

    def function(x, factor):
        scaled = x * factor
        return torch.normal(scaled) if name == "normal" else getattr(scaled, name)()

    expected, actual = first(function), first(girih.compile(function))
    assert not expected.any() and not actual.any()
    assert expected.requires_grad and not actual.requires_grad


def test_prehook_of_a_node():
    def seen(function):
        x, found = torch.ones(3, requires_grad=True), []
        y, z = function(x)
        y.grad_fn.register_prehook(lambda given: found.append(given[0] is None))
        z.sum().backward()
        return found

    def function(x):
        y = x.exp()
        return y, y * 2

    assert seen(function) == [False]
    assert seen(girih.compile(function)) == [True]


def test_text_for_a_written_argument():
    def function(x, weight):
        return x * weight

    x, weight = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    written = weight * 1
    result = girih.compile(function)(x, written)
    written.add_(1)
    with pytest.raises(RuntimeError, match="argument 1 of a compiled graph"):
        result.sum().backward()


class ViewOfFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view(-1)

    @staticmethod
    def backward(ctx, g):
        return g


def test_text_for_a_written_chunk():
    programs = {
        "Output 0 of Unbind": lambda x: ViewOfFunction.apply(x * 2),
        "Output 0 of Split": lambda x: (x * 2).chunk(2)[1],
    }
    for expected, program in programs.items():
        for compile_ in (lambda f: f, girih.compile):
            result = compile_(program)(torch.ones(4, requires_grad=True))
            with pytest.raises(RuntimeError, match="is a view and is being") as caught:
                result.mul_(3)
            assert (expected in str(caught.value)) == (compile_ is girih.compile)


def test_text_for_a_written_view():
    def function(x):
        whole = x.exp()
        result = whole[1:].sin()
        whole.add_(1)
        return result

    texts = []
    for called in (function, girih.compile(function)):
        with pytest.raises(RuntimeError, match="modified by an inplace") as caught:
            called(torch.ones(3, requires_grad=True)).sum().backward()
        texts.append(str(caught.value))
    assert ["output 0 of AsStrided" in text for text in texts] == [True, False]
    assert "output 0 of Slice" in texts[1]


def test_version_counts_calls():
    def function(x):
        x.add_(1)
        x.mul_(2)
        return x * 1

    eager, compiled = torch.ones(3), torch.ones(3)
    function(eager)
    girih.compile(function)(compiled)
    assert (eager._version, compiled._version) == (2, 1)


def test_object_that_vmap_returns():
    def function(x):
        return torch.vmap(torch.Tensor.acos_)(x) is x

    assert function(torch.rand(3))
    assert not girih.compile(function)(torch.rand(3))


def test_strides_of_one_element():
    x = torch.randn(3, 4, 1, 1).to(memory_format=torch.channels_last)
    function = lambda x: F.glu(x, 1)  # noqa: E731
    expected, actual = function(x), girih.compile(function)(x)
    assert torch.equal(expected, actual)
    differs = [a != b for a, b in zip(expected.stride(), actual.stride(), strict=True)]
    assert [expected.shape[i] for i, d in enumerate(differs) if d] == [1, 1]


def test_strides_of_gradients():
    def strides(function):
        q, k = torch.randn(2, 5, 4), torch.randn(2, 5, 4, requires_grad=True)
        y = function(q, k)
        (gradient,) = torch.autograd.grad(y, [k], retain_graph=True)
        y.backward()
        return gradient.stride(), k.grad.stride()

    def function(q, k):
        return (q @ k.mT).softmax(-1).square().sum()

    assert strides(function) == ((20, 1, 5), (20, 4, 1))
    assert strides(girih.compile(function)) == ((20, 4, 1), (20, 4, 1))


def test_history_in_a_text():
    x = torch.ones(2, requires_grad=True)
    assert "MulBackward0" in str(x * 3)
    assert "CompiledFunctionBackward" in girih.compile(lambda x: str(x * 3))(x)


def test_view_of_another_dtype():
    def function(x):
        y = x * 2
        return y[1:].view(torch.int32), y[:1]

    def conjugated(x):
        y = x * 2
        return y.conj(), y.real

    assert eager_calls(function, torch.ones(3)) == {"import"}
    assert eager_calls(conjugated, torch.ones(3, dtype=torch.complex64)) == {"import"}


def test_written_base():
    flat = torch.ones(6)
    view = flat[:4]

    def function(x):
        flat.sub_(x)
        return view * 2

    assert eager_calls(function, torch.ones(6)) == {"overlap"}


def steps(x):
    y = x.sin()
    yield y
    print("a break")
    yield y.cos()


def test_compiled_generator():
    with pytest.warns(girih.FallbackWarning, match="generator function: steps"):
        list(girih.compile(steps)(torch.ones(3)))


def test_generator_that_breaks():
    function = lambda x: [value + 1 for value in steps(x)]  # noqa: E731
    explanation = girih.explain(function)(torch.ones(3))
    kinds = [found.kind for found in explanation.break_reasons]
    assert kinds == ["builtin with an effect", "use of an iterator from outside"]
    made = [str(graph) for graph in explanation.graphs]
    assert not any("cos" in text for text in made)


def test_sparse_gradient():
    table = nn.Embedding(5, 3, sparse=True)
    assert eager_calls(lambda i: table(i), torch.tensor([1])) == {"derivative"}


def test_overlapping_windows():
    def function(x):
        return x.unfold(0, 3, 1).mul_(2)

    assert eager_calls(function, torch.ones(5)) == {"import"}


def test_meta_tensors():
    assert eager_calls(lambda x: x.to("meta") + 1, torch.ones(5)) == {"import"}
    assert eager_calls(lambda x: x + 1, torch.ones(5, device="meta")) == {"device"}


def test_dual_level():
    def function(x):
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(x, x)
            return forward_ad.unpack_dual(dual * dual).tangent

    assert eager_calls(function, torch.ones(5)) == {"mode"}


def test_hooks_for_saved_tensors():
    def packs(compile):
        packed = []

        def pack(tensor):
            packed.append(tensor.shape)
            return tensor

        def function(x):
            with torch.autograd.graph.saved_tensors_hooks(pack, lambda x: x):
                return (x.exp() * x).sum()

        compile(function)(torch.ones(3, requires_grad=True))
        return len(packed)

    assert 0 < packs(girih.compile) < packs(lambda function: function)


def test_functionalized():
    def function(x):
        return torch.func.functionalize(lambda x: x.clone().add_(1))(x)

    assert eager_calls(function, torch.ones(3)) == {"mode"}


def test_view_of_a_squeezed_base():
    def function(x):
        y = x * 1
        view = y[:]
        y.squeeze_()
        part = view[..., 1:]
        part.mul_(2)
        return y * 2, view * 3, part + 1

    x = torch.randn(2, 1, 3, requires_grad=True)
    assert eager_calls(function, x) <= {"overlap"}
    assert girih.explain(function)(x).graph_break_count == 1


class Pair:
    def __init__(self, first, second):
        self.first, self.second = first, second


def test_batch_of_a_registered_class():
    if Pair not in pytree.SUPPORTED_NODES:
        pytree.register_pytree_node(
            Pair,
            lambda pair: ([pair.first * 2, pair.second], None),
            lambda items, _: Pair(*items),
        )

    def function(x):
        return torch.vmap(lambda pair: pair.first + pair.second)(Pair(x, x))

    assert eager_calls(function, torch.ones(2, 3)) == {"mode"}


def test_hook_that_is_always_called():
    module, called = nn.Linear(3, 3), []
    hook = lambda *given: called.append(given[2])  # noqa: E731
    module.register_forward_hook(hook, always_call=True)
    for function in (girih.compile(module), torch.compile(module, backend="eager")):
        with pytest.raises(Exception):  # noqa: B017  (each has a class of its own)
            function(torch.ones(2, 4))
    assert called == []
    with pytest.raises(RuntimeError):
        module(torch.ones(2, 4))
    assert called != []


def test_version_counts_data():
    def function(x):
        x.data.mul_(0.5)
        return x * 1

    for f, count in ((function, 0), (girih.compile(function), 1)):
        x = torch.ones(2, requires_grad=True)
        f(x)
        assert x._version == count


def test_written_operand_of_kron():
    def function(a, b):
        y = torch.kron(a, b)
        with torch.no_grad():
            a.add_(1)
        return y

    for f, factor in ((function, 3), (girih.compile(function), 2)):
        a, b = torch.full((1, 1), 2.0), torch.ones(2, 2, requires_grad=True)
        a.requires_grad_()
        (gradient,) = torch.autograd.grad(f(a, b).sum(), b)
        assert gradient.eq(factor).all()


def test_history_that_is_used_twice():
    weight = torch.ones(3, 2, requires_grad=True)

    def function(x):
        y = x @ weight
        (gradient,) = torch.autograd.grad(y.square().sum(), weight)
        return y, gradient

    x = torch.ones(4, 3)
    with pytest.raises(RuntimeError, match="a second time"):
        function(x)[0].sum().backward()
    girih.compile(function)(x)[0].sum().backward()
    torch.testing.assert_close(weight.grad, torch.full((3, 2), 4.0))


def test_warning_of_a_first_call():
    compiled, counts = girih.compile(lambda x: torch.tensor(x)), []
    for _ in range(2):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            compiled(torch.ones(3))
        counts.append(len(found))
    assert counts[0] == 2


def test_warning_of_a_later_call():
    def loss(x):
        return F.mse_loss(x, torch.zeros(1, x.numel()))

    compiled, counts = girih.compile(loss), []
    for f in (loss, loss, compiled, compiled):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            f(torch.ones(3))
        counts.append(len(caught))
    assert counts == [1, 1, 1, 0]


def test_flexible_attention():
    from torch.nn.attention.flex_attention import flex_attention

    x = torch.randn(1, 1, 16, 8)
    compiled = torch.compile(lambda x: flex_attention(x, x, x), **DYNAMO)
    with pytest.warns(girih.FallbackWarning, match="flex_attention"):
        compiled(x)


def test_size_for_an_allowed_function():
    @torch.compiler.allow_in_graph
    def of_size(x, size):
        return x + (type(size) is torch.Size)

    function = lambda x: of_size(x, x.shape)  # noqa: E731
    x = torch.ones(2)
    assert torch.equal(girih.compile(function)(x), function(x))
    assert not torch.equal(torch.compile(function, **DYNAMO)(x), function(x))


def test_scripted_module():
    with pytest.raises(torch.jit.frontend.NotSupportedError):
        torch.jit.script(girih.compile(nn.Linear(2, 2)))
