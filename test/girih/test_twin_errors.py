"""Handlers of TorchDynamo's errors catch those of girih that mean the same.

The processes have not loaded TorchDynamo when girih begins.
"""

import pytest
from extent import spread
from processes import run_after_torch

_FAILURES = """
import copy, pickle, sys
import torch, girih

def branches(x):
    return x + 1 if x.sum() > 0 else x

def breaks_a_graph():
    girih.compile(branches, fullgraph=True)(torch.ones(4))

def reaches_the_limit():
    compiled = girih.compile(
        torch.sin, dynamic=False, recompile_limit=1, fullgraph=True
    )
    compiled(torch.ones(4))
    compiled(torch.ones(5, 5))

def is_not_compiled_yet():
    with girih.set_stance("fail_on_recompile"):
        girih.compile(torch.sin)(torch.ones(4))

def raised_by(fails):
    try:
        fails()
    except girih.GirihError as error:
        return error
    raise AssertionError("nothing was raised")
"""

_NAMES = {
    "breaks_a_graph": ("Unsupported", "UnsupportedError"),
    "reaches_the_limit": ("FailOnRecompileLimitHit", "UnsupportedError"),
    "is_not_compiled_yet": ("RecompileError", "RecompileError"),
}


@pytest.mark.parametrize(
    ("failure", "is_early"), spread(_NAMES, [False, True], every=2)
)
def test_handlers_of_dynamo_catch_what_girih_raises(failure, is_early):
    theirs, ours = _NAMES[failure]
    run_after_torch(f"""
{_FAILURES}
early = raised_by({failure}) if {is_early} else None
assert "torch._dynamo" not in sys.modules
import torch._dynamo
from torch._dynamo.exc import {theirs}, TorchDynamoException
torch._dynamo.utils.counters.clear()
try:
    if early is not None:
        raise early
    {failure}()
except {theirs} as error:
    assert isinstance(error, girih.{ours}) and isinstance(error, RuntimeError)
    assert type(error).__module__ == "girih.errors"
    assert b"torch._dynamo" not in pickle.dumps(error)
    for twin in (copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert type(twin) is type(error) and str(twin) == str(error)
    if isinstance(error, girih.UnsupportedError):
        assert error.msg == str(error) and error.gb_type == error.kind
assert "unimplemented" not in torch._dynamo.utils.counters
assert not issubclass(girih.PackageError, TorchDynamoException)
assert not issubclass(girih.CompileError, TorchDynamoException)
""")


def test_handlers_of_dynamo_catch_wrong_names_of_backends():
    run_after_torch("""
import pickle
import torch, girih
import torch._dynamo

for wrong in (
    lambda: girih.compile(torch.sin, backend="no_such_backend"),
    lambda: girih.set_stance(force_backend="no_such_backend"),
):
    try:
        wrong()
    except torch._dynamo.exc.InvalidBackend as error:
        assert isinstance(error, ValueError)
        twin = pickle.loads(pickle.dumps(error))
        assert type(twin) is type(error) and str(twin) == str(error)
        assert b"torch._dynamo" not in pickle.dumps(error)
        assert str(error).startswith("unknown backend 'no_such_backend'")
    else:
        raise AssertionError("nothing was raised")
""")


def test_a_graph_break_is_no_limit_of_recompilations():
    run_after_torch(f"""
{_FAILURES}
import torch._dynamo
limit = torch._dynamo.exc.FailOnRecompileLimitHit
assert not isinstance(raised_by(breaks_a_graph), limit)
assert isinstance(raised_by(reaches_the_limit), torch._dynamo.exc.Unsupported)
""")


def test_what_girih_refuses_behind_dynamo_is_a_failure_of_its_backend():
    run_after_torch("""
import torch, girih
import torch._dynamo

options = {"fallback": False}
compiled = torch.compile(
    lambda x: torch.fft.fft(x).real.sort()[0], backend="girih", options=options
)
meta = torch.ones(4, device="meta")
try:
    compiled(meta)
except torch._dynamo.exc.BackendCompilerFailed as error:
    assert isinstance(error.inner_exception, girih.UnsupportedError), error
else:
    raise AssertionError("nothing was raised")
""")
