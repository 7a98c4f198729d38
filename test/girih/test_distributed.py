"""Programs of two processes: what ``docs/distributed.md`` says of each holds.

The programs are those of ``support/distributed_programs.py``; two processes run all of
them, at both entrances.
"""

import functools
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import torch

SUPPORT = Path(__file__).parent.parent / "support"
PAGE = Path(__file__).parents[2] / "docs" / "distributed.md"

pytestmark = pytest.mark.skipif(
    not torch.distributed.is_available(), reason="torch is built without distributed"
)

# Graphs that girih compiles at both entrances: girih.compile, and behind TorchDynamo.
# Then whether capture by girih breaks graphs.
PROGRAMS = {
    "replicated_compiled_module": (1, 1, False),
    "replicated_compiled_loss": (1, 1, False),
    "accumulated_without_synchronization": (1, 1, False),
    "compiled_replica": (1, 1, True),
    "step_of_a_replica": (1, 1, False),
    "shards_of_compiled_forward": (2, 2, False),
    "shards_that_train": (2, 2, False),
    "shards_of_compiled_modules": (2, 2, True),
    "compiled_sharded_module": (2, 2, True),
    "compiled_shards": (0, 2, False),
    "loss_of_a_sharded_module": (1, 1, False),
    "step_of_a_sharded_module": (0, 0, True),
    "compiled_parallel_module": (1, 0, True),
    "function_of_a_dtensor": (0, 0, True),
    "function_of_a_local_part": (1, 1, False),
    "named_group": (1, 1, False),
    "group_as_an_object": (2, 1, True),
    "collective_in_place": (2, 1, True),
    "rank_inside": (1, 1, True),
}
ENTRANCES = ("girih", "dynamo")
# torch's own check, which does not find the shards in a module that girih made.
REFUSED = {("compiled_shards", "girih"): "TypeError: Invariant encountered"}


@functools.cache
def observed() -> dict | str:
    """What all programs did, or the error text of the processes."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, str(SUPPORT / "distributed_programs.py")]
            + [f"{folder}/rendezvous"],
            env=os.environ | {"PYTHONPATH": str(SUPPORT)},
            capture_output=True,
            text=True,
            timeout=120,
        )
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    return json.loads(lines[-1]) if lines else done.stderr


@pytest.mark.whole
@pytest.mark.parametrize("entrance", ENTRANCES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_two_processes_compute_what_eager_computes(name, entrance):
    all_found = observed()
    assert isinstance(all_found, dict), all_found
    if entrance not in all_found[name]:
        pytest.skip("GIRIH_TEST_LONG=1 runs all programs behind TorchDynamo")
    expected, found = PROGRAMS[name], all_found[name][entrance]
    result = REFUSED.get((name, entrance), "as in eager")
    assert found["result"].startswith(result)
    assert found["graphs"] == expected[ENTRANCES.index(entrance)]
    if entrance == "girih":
        assert bool(found["breaks"]) == expected[2]
        assert found["warnings"] == []
    elif expected[1] == 0:
        (warning,) = found["warnings"]
        assert "tensor subclass: DTensor" in warning


def test_all_programs_are_expected():
    source = (SUPPORT / "distributed_programs.py").read_text()
    assert set(re.findall(r"^def (\w+)\(compile, rank\)", source, re.M)) == set(
        PROGRAMS
    )


def test_the_page_has_a_row_for_each_program():
    """A row ends in graphs, or "eager", at both entrances and the program's name."""
    row = re.compile(r"\| ([\w ,]+) \| ([\w ,]+) \| `(\w+)` \|$", re.M)
    cells = {
        name: (ours, theirs) for ours, theirs, name in row.findall(PAGE.read_text())
    }
    assert cells == {name: _cells(name) for name in PROGRAMS}


def _cells(name: str) -> tuple[str, str]:
    """What the table says of a program at both entrances."""
    ours, theirs, breaks = PROGRAMS[name]
    words = ["Python", "1 graph", "2 graphs"]
    of_girih = words[ours] + (", breaks" if ours and breaks else "")
    of_dynamo = words[theirs] if theirs else "eager, warns"
    return "error" if (name, "girih") in REFUSED else of_girih, of_dynamo
