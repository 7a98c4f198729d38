"""What users see of an error: their own frames, and the message."""

import traceback

import pytest
import torch

import girih
from girih.errors import GirihError, for_users

FULL = {"fallback": False, "cache": False}


def branches(x):
    return x + 1 if x.sum() > 0 else x


def writes(x, y):
    x.add_(1)
    return y.mul_(2) + x


def no_such_pass(module):
    raise LookupError("of a pass")


def breaks_a_graph():
    girih.compile(branches, fullgraph=True)(torch.ones(4))


def fails_in_a_pass():
    options = FULL | {"passes": {"before:fuse": no_such_pass}}
    girih.compile(torch.sin, options=options)(torch.ones(4))


def refuses_a_call():
    compiled = girih.compile(writes, options=FULL)
    compiled(torch.ones(8), torch.ones(8))
    shared = torch.arange(9.0)
    compiled(shared[:8], shared[1:])


def reaches_the_limit():
    compiled = girih.compile(
        torch.sin, dynamic=False, recompile_limit=1, fullgraph=True, options=FULL
    )
    compiled(torch.ones(4))
    compiled(torch.ones(5, 5))


def is_not_compiled_yet():
    with girih.set_stance("fail_on_recompile"):
        girih.compile(torch.sin)(torch.ones(4))


FAILURES = [
    breaks_a_graph,
    fails_in_a_pass,
    refuses_a_call,
    reaches_the_limit,
    is_not_compiled_yet,
]


def frames(failure):
    """The error of a failure, and the files of the frames inside of it."""
    with pytest.raises(GirihError) as raised:
        failure()
    files = [f.filename for f in traceback.extract_tb(raised.value.__traceback__)]
    last = len(files) - files[::-1].index(__file__)
    return raised.value, files[last:]


@pytest.mark.parametrize("failure", FAILURES)
def test_a_traceback_has_one_frame_of_girih(failure, monkeypatch):
    monkeypatch.delenv("TORCHDYNAMO_VERBOSE", raising=False)
    error, inside = frames(failure)
    assert len(inside) == 1
    assert error.__cause__ is None
    shown = "".join(traceback.format_exception(error))
    assert shown.count("Traceback (most recent call last)") == 1


@pytest.mark.parametrize("name", ["GIRIH_VERBOSE", "TORCHDYNAMO_VERBOSE"])
def test_a_variable_asks_for_all_frames(name, monkeypatch):
    monkeypatch.setenv(name, "1")
    error, inside = frames(fails_in_a_pass)
    assert len(inside) > 5
    assert isinstance(error.__cause__.cause, LookupError)


def test_a_bug_names_the_variable():
    bug = for_users(girih.CompileError("fuse", "no plan"))
    assert "GIRIH_VERBOSE=1" in bug.__notes__[0]
    assert for_users(bug).__notes__ == bug.__notes__[:1]


def walks(module):
    def visit(op):
        if op.name == "graph.sin":
            raise LookupError("of a visit")
        return girih.plugins.ir.WalkResult.ADVANCE

    module.walk(visit)


def test_what_a_walk_raises_arrives_as_it_is():
    options = FULL | {"passes": {"after:import": walks}}
    with pytest.raises(girih.CompileError) as raised:
        girih.compile(torch.sin, options=options)(torch.ones(4))
    text = str(raised.value)
    assert "failed: LookupError: of a visit\n" in text
    assert '  on %0 = "graph.sin"' in text
    assert 'raise LookupError("of a visit")' in text  # the line
    assert "guards.py" not in text
