"""Mistakes of the user: eager's error, and nothing else."""

import logging
import warnings
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import girih
from girih.compiler.mistakes import raises_in_eager
from girih.passes import registry

LONG = torch.ones(3, 4, dtype=torch.int64)
DOUBLE = torch.ones(3, 4, dtype=torch.float64)

MISTAKES = {
    "linear of integers": (nn.Linear(4, 8), LONG),
    "linear of float64": (nn.Linear(4, 8), DOUBLE),
    "linear of float16": (nn.Linear(4, 8), DOUBLE.half()),
    "linear without bias": (nn.Linear(4, 8, bias=False), LONG),
    "after a norm": (nn.Sequential(nn.LayerNorm(4), nn.Linear(4, 8)), DOUBLE),
    "softmax of integers": (lambda x: torch.softmax(x, -1), LONG),
    "log_softmax of integers": (lambda x: torch.log_softmax(x, -1), LONG),
    "a complex number for integers": (lambda x: torch.full_like(x, 1j), LONG),
    "a complex factor": (lambda x: torch.add(x, x, alpha=1j), DOUBLE),
    "a masked fill": (lambda x: x.masked_fill(x > 0, 1j), DOUBLE),
    "product of dtypes": (lambda x: x @ torch.ones(4, 4), LONG),
}

FLOAT, BOOL = torch.ones(3, 4), torch.ones(3, 4, dtype=torch.bool)
INT = torch.zeros(3, dtype=torch.int32)
IMAGE = torch.ones(2, 4, 64, 64, dtype=torch.float64)

# What fake tensors and girih's rules take, and kernels of ATen refuse.
REFUSED = {
    "a mask's complement": (lambda x: 1 - x, BOOL),
    "a difference with a mask": (lambda x, y: x - y, FLOAT, BOOL),
    "a difference with True": (lambda x: x - True, FLOAT),
    "a factor of True": (lambda x: torch.add(x, x, alpha=True), FLOAT),
    "an image and its statistics": (nn.BatchNorm2d(4), IMAGE),
    "a large norm": (nn.LayerNorm(64), IMAGE),
    "a large group norm": (nn.GroupNorm(2, 4), IMAGE),
    "a batch and its statistics": (nn.BatchNorm1d(4).eval(), DOUBLE),
    "targets of 32 bits": (F.cross_entropy, FLOAT, INT),
    "a float target": (F.cross_entropy, FLOAT, torch.ones(3)),
    "the size of a mask": (torch.abs, BOOL),
    "relu of a mask": (torch.relu, BOOL),
    "rounding a mask": (torch.round, BOOL),
    "the largest of a mask": (lambda x: x.argmax(0), BOOL),
    "fractions of integers": (torch.frac, LONG),
    "random slopes for integers": (F.rrelu, LONG),
    "shrinking integers": (F.hardshrink, LONG),
    "softshrink of integers": (F.softshrink, LONG),
    "bits of floats": (torch.bitwise_and, FLOAT, FLOAT),
    "bits of a float": (torch.bitwise_not, FLOAT),
    "shifts of floats": (lambda x: x << 1, FLOAT),
    "a float written over integers": (lambda x: x.clone().add_(0.5), LONG),
    "a complex number written": (lambda x: x.clone().add_(1j), LONG),
    "a quotient written over integers": (lambda x: x.clone().div_(2), LONG),
    "a mean of integers": (torch.mean, LONG),
    "a convolution": (nn.Conv2d(4, 2, 3), IMAGE),
    "an embedding of floats": (nn.Embedding(4, 4), FLOAT),
    "a mask of floats": (lambda x: x[x], FLOAT),
}
MISTAKES |= REFUSED


def outcome(function, *arguments):
    """The error of a call, the warnings, and what torch and girih logged."""
    logged = []
    handler = logging.Handler()
    handler.emit = lambda record: logged.append(record.getMessage())
    loggers = [logging.getLogger(name) for name in ("torch", "girih")]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for logger in loggers:
            logger.addHandler(handler)
        try:
            function(*arguments)
            error = None
        except Exception as raised:
            error = type(raised), str(raised)
        finally:
            for logger in loggers:
                logger.removeHandler(handler)
    return error, [str(w.message) for w in caught], logged


@pytest.mark.parametrize("name", MISTAKES)
@pytest.mark.parametrize("options", [{}, {"fallback": False}], ids=str)
def test_eagers_error_is_all_there_is(name, options):
    function, *arguments = MISTAKES[name]
    expected = outcome(function, *arguments)
    assert expected[0] is not None
    compiled = girih.compile(function, options=options)
    before = girih.counters()
    for _ in range(2):
        assert outcome(compiled, *arguments) == expected
    assert girih.counters()["fallbacks"] == before["fallbacks"]


@pytest.fixture
def broken_fuse(monkeypatch):
    def broken(module, options):
        raise RuntimeError("broken")

    own = registry.find_pass("fuse")
    broken.__module__ = own.run.__module__  # else it is a user's pass that fails
    info = replace(own, run=broken)
    monkeypatch.setitem(registry._REGISTERED, "fuse", info)


# Torch's dispatcher decomposes it where sizes are symbols.
@pytest.mark.parametrize("name", sorted(REFUSED.keys() - {"shrinking integers"}))
def test_with_symbolic_sizes_and_gradients(name):
    function, *arguments = REFUSED[name]
    arguments = [
        x.clone().requires_grad_() if x.is_floating_point() else x for x in arguments
    ]
    expected = outcome(function, *arguments)
    assert outcome(girih.compile(function, dynamic=True), *arguments) == expected


def test_nothing_is_written_to_stderr(capfd):
    """By LLVM, for code that is made of wrong types."""
    for name in ("bits of floats", "bits of a float", "softshrink of integers"):
        function, *arguments = REFUSED[name]
        outcome(girih.compile(function), *arguments)
    assert capfd.readouterr().err == ""


def test_asking_draws_no_numbers():
    x = torch.ones(3, dtype=torch.float16)
    compiled = girih.compile(lambda x: F.dropout(x, 0.5) + torch.rand_like(x))
    results = []
    for function in (compiled.girih_function, compiled):
        torch.manual_seed(1)
        results.append((function(x), torch.rand(2)))
    torch.testing.assert_close(results[0], results[1])


def look_up(x, index):
    x.add_(1)
    return x[index] * 2


def test_a_failure_is_told_at_the_first_call_that_eager_takes(broken_fuse):
    compiled = girih.compile(look_up)
    x, wrong, right = torch.zeros(3), torch.tensor([5]), torch.tensor([1])
    expected = outcome(look_up, torch.zeros(3), wrong)
    assert outcome(compiled, x.clone(), wrong) == expected
    error, messages, _ = outcome(compiled, x, right)
    assert error is None and len(messages) == 1 and "girih bug" in messages[0]
    assert outcome(compiled, x, right)[:2] == (None, [])
    assert x.tolist() == [2, 2, 2]


def test_nothing_is_run_where_falling_back_is_not_allowed(broken_fuse):
    compiled = girih.compile(look_up, options={"fallback": False})
    x, state = torch.zeros(3), torch.get_rng_state()
    with pytest.raises(girih.CompileError, match="fuse"):
        compiled(x, torch.tensor([1]))
    assert x.tolist() == [0, 0, 0]
    assert torch.equal(torch.get_rng_state(), state)


def test_made_up_data_stay_on_the_processor():
    """A 1 that is an index out of range would end a device's context."""

    graph = torch.fx.Graph()
    x, table = graph.placeholder("x"), graph.placeholder("table")
    there = torch.device("cuda:0")
    made = graph.call_function(torch.arange, (4,), {"device": there})
    moved = graph.call_method("to", (graph.call_method("cuda", (x,)), "cuda"))
    index = graph.call_function(torch.add, (made, moved))
    graph.output((graph.call_function(torch.take, (table, index)),))
    gm = torch.fx.GraphModule({}, graph)
    ones = torch.ones(4, dtype=torch.int64)
    assert not raises_in_eager(gm, (ones, torch.ones(5)))
    assert raises_in_eager(gm, (ones, torch.ones(4)))
