"""Nets find the defects that are planted for them, and nothing without one."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from extent import IS_LONG, extent
from guarded import build, environment
from outside.planted.defects import DEFECTS

RUNNER = Path(__file__).parent / "planted"
HAS_GUARDED_MEMORY = shutil.which("cc") is not None and sys.platform == "linux"
PLANTED = [(defect, net) for defect, (_, nets) in DEFECTS.items() for net in nets]
# A run of each other net takes seconds, and it runs once for each defect.
QUICK = ("cache", "calls", "captures", "cpython", "special values", "verify-each")
TRIED = extent([pair for pair in PLANTED if pair[1] in QUICK], long=PLANTED)


def _found(arguments: list[str], variables: dict[str, str]) -> dict:
    """What a run of nets found, by net and defect. It forks, so it is a process."""
    done = subprocess.run(
        [sys.executable, str(RUNNER), *arguments],
        env={**variables, "GIRIH_NO_CACHE": "1", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    lines = map(json.loads, done.stdout.splitlines())
    return {(line["net"], line["defect"]): line["found"] for line in lines}


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    seen = _found(extent([*QUICK], long=[]), dict(os.environ))
    if IS_LONG and HAS_GUARDED_MEMORY:
        library = build(tmp_path_factory.mktemp("guarded") / "guarded_memory.so")
        seen |= _found(["memory"], environment(library))
    return seen


@pytest.mark.parametrize(("defect", "net"), TRIED)
def test_defect_is_found(found, defect, net):
    if net == "memory" and not HAS_GUARDED_MEMORY:
        pytest.skip("the allocator is a C file, made for Linux's loader")
    says = DEFECTS[defect][1][net]
    if found[net, defect] is None:
        pytest.skip("this Python came without Lib/test")
    assert re.search(says, found[net, defect], re.DOTALL), found[net, defect]


def test_nothing_is_found_where_nothing_is_planted(found):
    assert not {
        net: text for (net, defect), text in found.items() if text and not defect
    }


def test_there_are_many_defects_and_nets():
    assert len(DEFECTS) >= 12 and len({net for _, net in PLANTED}) >= 8
