"""The short form of ``make fuzz-ir``, and that it finds what it is for."""

import os

import fuzz_ir
import pytest

from girih.passes import registry


def test_mistakes_in_inputs_are_errors(tmp_path):
    """The long form runs others."""
    found = dict(fuzz_ir.faults(iter(range(12)), tmp_path))
    assert len(found) == 12
    assert not {seed: wrong for seed, wrong in found.items() if wrong}


def crash(module, options):
    os.abort()


def raises_in_the_tool(module, options):
    raise SystemExit(5)


@pytest.mark.parametrize(
    ("broken", "message"),
    [(crash, "SIGABRT"), (raises_in_the_tool, "SystemExit")],
)
def test_a_planted_defect_is_found(tmp_path, monkeypatch, capfd, broken, message):
    info = registry.PassInfo("planted", broken, None, "builtin.module", "")
    monkeypatch.setitem(registry._REGISTERED, "planted", info)
    result = fuzz_ir.run("", ["--planted"], tmp_path)
    assert message in fuzz_ir.fault(*result, tmp_path)
    dumped = "Fatal Python error: Aborted" in capfd.readouterr().out
    assert dumped == (broken is crash)
