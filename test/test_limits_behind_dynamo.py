"""Rows of docs/limits.md: behind TorchDynamo, hooks, and `torch.autograd.Function`.

Part of `test_limits.py`, which looks whether every row has its test.
"""

import warnings

import pytest
import torch
import torch.nn.functional as F
from eager_calls import eager_calls
from torch import nn

import girih

DYNAMO = {"backend": "girih"}


def test_encoder_behind_dynamo():
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        encoder = nn.TransformerEncoder(layer, 1).eval()
        padding = torch.tensor([[False, False, True]])
        with torch.no_grad():
            x = torch.randn(1, 3, 8)
            function = lambda x: encoder(x, src_key_padding_mask=padding)  # noqa: E731
            assert not function(x)[0, 2].any()
            assert torch.compile(function, **DYNAMO)(x)[0, 2].any()
            assert not girih.compile(function)(x)[0, 2].any()


def test_parameters_behind_dynamo():
    def function(x, parameters):
        vector = nn.utils.parameters_to_vector(parameters)
        nn.utils.vector_to_parameters(vector * 0.5, parameters)
        return x * 2

    assert eager_calls(function, torch.ones(3), [torch.ones(2)]) == set()
    with pytest.warns(girih.FallbackWarning, match="set_"):
        torch.compile(function, **DYNAMO)(torch.ones(3), [torch.ones(2)])


def test_unknown_word_behind_dynamo():
    function = lambda x: F.gelu(x, approximate="tahn")  # noqa: E731
    with pytest.raises(RuntimeError, match="must be either none or tanh"):
        girih.compile(function)(torch.ones(3))
    with pytest.raises(torch._dynamo.exc.TorchRuntimeError):
        torch.compile(function, **DYNAMO)(torch.ones(3))


def test_handler_behind_dynamo():
    def function(x):
        try:
            x.add_(1)
        except RuntimeError:
            return "caught"
        return "not caught"

    with torch.inference_mode():
        x = torch.ones(3)
    assert girih.compile(function)(x) == "caught"
    with pytest.raises(RuntimeError, match="[Ii]nference"):
        torch.compile(function, **DYNAMO)(x)


class Unmaterialized(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2, x + 1

    @staticmethod
    def backward(ctx, g, h):
        return h * 10 if g is None else g


def test_gradients_behind_dynamo():
    def gradient(compile_):
        x = torch.ones(2, requires_grad=True)
        function = compile_(lambda x: Unmaterialized.apply(x)[1])
        return torch.autograd.grad(function(x).sum(), x)[0].tolist()

    assert gradient(girih.compile) == gradient(lambda f: f) == [10, 10]
    assert gradient(lambda f: torch.compile(f, **DYNAMO)) == [0, 0]


class UnmaterializedWithSetup(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x * 2, x + 1

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx, g, h):
        return h * 10 if g is None else g


def test_absent_gradients_under_grad():
    def function(x):
        pulled = torch.func.grad(lambda t: UnmaterializedWithSetup.apply(t)[1].sum())
        return pulled(x)

    assert eager_calls(function, torch.ones(3)) == {"mode"}


def test_order_of_hooks():
    def order(compile_):
        model, found = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2)), []
        for name, parameter in model.named_parameters():
            parameter.register_post_accumulate_grad_hook(
                lambda _, name=name: found.append(name)
            )
        compile_(lambda x: model(x).square().sum())(torch.ones(4, 3)).backward()
        return found

    eager, compiled = order(lambda f: f), order(girih.compile)
    assert sorted(eager) == sorted(compiled)
    assert eager != compiled
    assert compiled == order(lambda f: torch.compile(f, backend="aot_eager"))


def test_sign_of_zero_behind_dynamo():
    def last(compile_):
        function = compile_(lambda x, k: x / k if k == 0 else x * k)
        return [function(torch.ones(1), k).item() for k in (1.0, -0.0)][-1]

    assert last(girih.compile) == last(lambda f: f) == -float("inf")
    assert last(lambda f: torch.compile(f, **DYNAMO)) == float("inf")
