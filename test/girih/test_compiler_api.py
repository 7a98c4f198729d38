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

# Graphs that girih makes otherwise, and why.
_BREAKS_INSIDE = "girih goes on inside of the callee, torch only behind the call"
GRAPHS_DIFFER = {
    "break_in_a_callee": _BREAKS_INSIDE,
    "disabled_method": "torch does not capture the caller at all",
    "mark_is_not_inherited_by_wraps": "torch takes the copied mark for the wrapper's",
}

# torch lets any stance be set, and complains in its own compiled functions.
ONLY_GIRIHS_NAMES = ("unknown_stance",)


@functools.cache
def observed(names: str, compiler: str) -> dict | str:
    """What all scenarios did, or the error text of the process."""
    program = f"""
        import json
        import torch
        import girih
        from compiler_scenarios import observe_all, torch_names

        names = {names}
        print(json.dumps(observe_all(names, {compiler}.compile)))
        """
    folder = Path(__file__).parent.parent / "support"
    try:
        printed = run_python(program, PYTHONPATH=str(folder))
    except AssertionError as failed:
        return str(failed)
    return json.loads(printed.splitlines()[-1])


@pytest.mark.parametrize("names", ["girih", "torch_names()"])
@pytest.mark.parametrize("name", NAMES)
def test_means_what_torch_means(name, names):
    if name in ONLY_GIRIHS_NAMES and names != "girih":
        pytest.skip("torch's function checks nothing")
    of_torch, of_girih = observed("torch_names()", "torch"), observed(names, "girih")
    assert isinstance(of_torch, dict) and isinstance(of_girih, dict), of_girih
    expected, found = of_torch[name], of_girih[name]
    assert found["result"] == expected["result"]
    if name not in GRAPHS_DIFFER:
        assert found["graphs"] == expected["graphs"]
