"""girih's functions mean what torch's mean, and torch's own work under girih.

Each program of ``compiler_scenarios`` runs in three ways: under ``torch.compile`` with
torch's names, under ``girih.compile`` with girih's, and under ``girih.compile`` with
torch's. Results and graphs (operations of each, in the order of compilation) are
compared. All of it runs in processes of their own: torch loads its compiler.
"""

import functools
import json
from pathlib import Path

import pytest
from processes import run_python

NAMES = [
    line.removeprefix("def ").partition("(")[0]
    for line in (Path(__file__).parent.parent / "support" / "compiler_scenarios.py")
    .read_text()
    .splitlines()
    if line.startswith("def ") and "(api, compile):" in line
]

# What girih does otherwise, and why.
GRAPHS_DIFFER = {}


@functools.cache
def observed(names: str, compiler: str) -> dict:
    printed = run_python(
        f"""
        import json
        import torch
        import girih
        from compiler_scenarios import observe_all, torch_names

        names = {names}
        print(json.dumps(observe_all(names, {compiler}.compile)))
        """,
        PYTHONPATH=str(Path(__file__).parent.parent / "support"),
    )
    return json.loads(printed.splitlines()[-1])


@pytest.mark.parametrize("names", ["girih", "torch_names()"])
@pytest.mark.parametrize("name", NAMES)
def test_means_what_torch_means(name, names):
    expected = observed("torch_names()", "torch")[name]
    found = observed(names, "girih")[name]
    assert found["result"] == expected["result"]
    if name not in GRAPHS_DIFFER:
        assert found["graphs"] == expected["graphs"]
