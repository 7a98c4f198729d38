"""Programs whose IR is verified after every pass."""

import warnings

import pytest
import torch

import girih

FUNCTIONS = """abs acos acosh asin asinh atan atanh ceil cos cosh erf erfc exp exp2
expm1 floor lgamma log log10 log1p log2 neg reciprocal round rsqrt sigmoid sign sin sinh
sqrt square tan tanh trunc""".split()


def all_functions(x):
    return [getattr(torch, name)(x) for name in FUNCTIONS]


@pytest.fixture(autouse=True)
def warnings_are_errors():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_every_function_of_one_operand_is_verified(dtype):
    compiled = girih.compile(all_functions, options={"verify": True})
    x = torch.rand(100, dtype=dtype) + 1
    torch.testing.assert_close(compiled(x), all_functions(x), equal_nan=True)
    (report,) = girih.report(compiled).graphs
    assert report.kernels > 0 and not report.fallback


def test_training_is_verified():
    model = torch.nn.TransformerEncoderLayer(16, 2, 32, 0.0, batch_first=True)
    compiled = girih.compile(model, options={"verify": True}, dynamic=True)
    compiled(torch.randn(2, 5, 16)).sum().backward()
    assert model.linear1.weight.grad is not None


def test_the_environment_asks_for_it_too(monkeypatch):
    monkeypatch.setenv("GIRIH_VERIFY", "1")
    asked = []
    from girih.compiler import runner

    run = runner.run_pipeline
    monkeypatch.setattr(
        runner,
        "run_pipeline",
        lambda *args, **options: (
            asked.append(options["verify"]) or run(*args, **options)
        ),
    )
    girih.compile(lambda x: x.sin() + 1)(torch.ones(3))
    assert asked and all(asked)
