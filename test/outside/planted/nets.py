"""Short forms of the nets: each says what it finds, or nothing.

They are the tests' own functions and programs wherever a part of them is enough.
"""

from __future__ import annotations

import contextlib
import io
import sys
import tempfile
from collections.abc import Callable
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import torch

import girih

TESTS = Path(__file__).resolve().parents[2]


def _tests(path: str) -> ModuleType:
    """A module of tests; the same names are in several folders."""
    spec = spec_from_file_location(path.replace("/", "_"), TESTS / f"{path}.py")
    module = sys.modules[spec.name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# girih.check ------------------------------------------------------------------------


def _difference(x, y):
    return (torch.tanh(x) - y.sigmoid()).square().sum()


def _sliced(x, y):
    return x[:, ::2] * 2, y.exp()[::3].contiguous()


def _written(x, y):
    y.copy_(x.t().contiguous().t().sort(0).values)
    return y + 1


def _launches(x, y):
    for _ in range(3):
        x = x - x.mean(0)
        x = (x - x.mean(1, keepdim=True).flip(0)).t()
    return x * y


def check() -> str:
    """``girih.check`` of some functions."""
    torch.manual_seed(0)
    for function in (_difference, _sliced, _written, _launches):
        x, y = torch.randn(8, 8), torch.randn(8, 8)
        if function is _difference:
            x.requires_grad_(), y.requires_grad_()
        found = girih.check(function)(x, y)
        if not found.ok:
            return str(found)
    return _check_symbolic()


def _check_symbolic() -> str:
    """The same for launches between which buffers of symbolic sizes take turns."""
    compiled = girih.check(_launches, dynamic=True, options={"fallback": False})
    for size in (6, 8):
        found = compiled(torch.randn(size, size), torch.randn(size, size))
        if not found.ok:
            return str(found)
    return ""


def dropout() -> str:
    """A function with dropout: the same numbers give the same result and gradient."""

    def program(x):
        return torch.nn.functional.dropout(x.exp(), 0.25).sin()

    compiled = girih.compile(program, options={"fallback": False})
    found = []
    for function in (program, compiled):
        torch.manual_seed(0)
        x = torch.ones(64, requires_grad=True)
        y = function(x)
        y.sum().backward()
        found.append({"result": y.detach(), "gradient": x.grad})
    expected, actual = found
    for name, value in expected.items():
        if not torch.allclose(actual[name], value):
            return f"{name}: {actual[name]} instead of {value}"
    return ""


# Random programs --------------------------------------------------------------------


def gradients() -> str:
    """Random programs of ``make fuzz-gradients``, a few that have differences."""
    from gradient_programs import gradient_programs
    from hypothesis import Phase, given, settings

    module = _tests("numerics/derivatives/test_random_programs")

    @settings(module.bounded(4), phases=[Phase.generate])
    @given(gradient_programs(on_data=False).filter(lambda p: " - " in p.source))
    def some(program):
        module.run(program, 1, fullgraph=True)

    return _failure(some)


def programs() -> str:
    """Random programs of ``make fuzz-programs``: some of its short form."""
    from random_modules.grammar import program
    from random_modules.run import _judged

    for seed in (1001, 1050, 1051):
        verdict = _judged(program(seed, ""))
        if verdict.is_failure:
            return f"seed {seed}: {verdict.kind}: {verdict.detail}"
    return ""


def memory() -> str:
    """Functions whose rows are no whole vectors; run with guarded memory."""

    def rows(x):
        y = (x * 2).softmax(-1)
        return (y @ y.t()).exp(), y.cumsum(-1).sin()

    torch.manual_seed(0)
    x = torch.randn(5, 31)
    found = girih.compile(rows, options={"fallback": False})(x)
    torch.testing.assert_close(found, rows(x), equal_nan=True)
    return ""


# Numbers ----------------------------------------------------------------------------


def special_values() -> str:
    """The sweep over special values, for two functions of float32."""
    from special_values import (
        BINARY,
        UNARY,
        binary_arguments,
        differences,
        unary_arguments,
    )

    names = ("maximum", "add")
    found = differences(
        {name: BINARY[name] for name in names}, binary_arguments(torch.float32)
    )
    casts = {f"to {dtype}": UNARY[f"to {dtype}"] for dtype in (torch.int8, torch.int32)}
    return "\n".join(found + differences(casts, unary_arguments(torch.float32)))


# Passes -----------------------------------------------------------------------------


def verify_each() -> str:
    """girih-opt over an input of its tests, verified after each pass."""
    from girih.tools import girih_opt

    module = _tests("tools/test_girih_opt")
    messages = io.StringIO()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "input.mlir"
        path.write_text(module.GOOD)
        with (
            contextlib.redirect_stderr(messages),
            contextlib.redirect_stdout(io.StringIO()),
        ):
            code = girih_opt.main([f"--{module.MERGE}", str(path)])
    assert code in (0, 1) and bool(code) == ("error: " in messages.getvalue())
    return messages.getvalue() if code else ""


# Capture ----------------------------------------------------------------------------


def calls() -> str:
    """A function called with several constants and sizes."""

    def program(x, times):
        return x.sum() * times + x.shape[0]

    compiled = girih.compile(program, dynamic=False)
    for size, times in ((3, 2), (3, 5), (6, 2), (3, 2)):
        x = torch.arange(float(size))
        found, expected = compiled(x, times), program(x, times)
        if not torch.equal(found, expected):
            return f"{found} instead of {expected}"
    return ""


def captures() -> str:
    """The tests that no tensor without data leaves a capture."""
    module = _tests("frontend/capture/test_no_fake_tensors")
    return _failure(
        lambda: module.test_an_operation_that_gives_a_dictionary("eager", module.X)
    )


def cpython() -> str | None:
    """Methods of CPython's own tests that the short form lists; None without them."""
    if find_spec("test.support") is None:
        return None
    from cpython import _tests_of
    from cpython_judge import FAILURES, judge

    names = ("test_isinstance_with_or_union", "test_ne_defined", "test_mixed")
    names += ("test_fallback_ne_blocking",)
    for module in ("test_isinstance", "test_binop", "test_richcmp"):
        for test in _tests_of(module):
            if test._testMethodName in names:
                verdict = judge(test, 20)
                if verdict.verdict in FAILURES:
                    return f"{verdict.name}: {verdict.verdict}: {verdict.detail}"
    return ""


# Training and caches ----------------------------------------------------------------


def breadth() -> str:
    """A model of ``make breadth``, trained in float32."""
    from breadth.measure import Settings, measure
    from breadth.run import load

    record = measure(load("torch/waves"), "training", Settings())
    if record["verdict"] != "right":
        return str(record)
    return ""


def cache() -> str:
    """The test of two entries that change places."""
    module = _tests("codegen/cpu/test_cache")
    with tempfile.TemporaryDirectory() as folder:
        return _failure(
            lambda: module.test_entries_that_change_places_are_dropped(Path(folder))
        )


def _failure(test: Callable[[], None]) -> str:
    try:
        test()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


NETS: dict[str, Callable[[], str]] = {
    "breadth": breadth,
    "cache": cache,
    "calls": calls,
    "captures": captures,
    "check": check,
    "cpython": cpython,
    "dropout": dropout,
    "gradients": gradients,
    "memory": memory,
    "programs": programs,
    "special values": special_values,
    "verify-each": verify_each,
}
