"""Mistakes of the user: eager's error, and nothing else."""

import logging
import warnings
from dataclasses import replace

import pytest
import torch
from torch import nn

import girih
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

    info = replace(registry.find_pass("fuse"), run=broken)
    monkeypatch.setitem(registry._REGISTERED, "fuse", info)


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
