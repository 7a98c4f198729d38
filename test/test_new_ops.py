"""What a new op takes: ops are taken out of a copy of girih, or added to one, and used.

An elementwise op and a composite of girih's own stand in one source file each. A
reduction takes two, and an operator that girih does not know runs as a call of ATen.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PARTS = ("codegen", "dialects", "frontend", "passes")
FUNCTIONS = "dialects/graph/functions.py"


def copy_of_girih(folder: Path, changed: dict[str, str]) -> dict[str, str]:
    """The environment of a process whose girih is this tree's, with changed files."""
    for part in ("girih", *PARTS):
        target = folder / "girih" / ("" if part == "girih" else part)
        for source in (ROOT / part).rglob("*"):
            name = source.relative_to(ROOT)
            link = target / source.relative_to(ROOT / part)
            if source.is_dir():
                continue
            link.parent.mkdir(parents=True, exist_ok=True)
            if str(name) in changed:
                link.write_text(changed[str(name)])
            else:
                link.symlink_to(source)
    return os.environ | {"PYTHONPATH": str(folder), "GIRIH_NO_CACHE": "1"}


def without_class(text: str, name: str) -> str:
    """Source text without the class of an op."""
    found = re.search(rf'\n\nclass \w+\([^)]*name="{name}".*?(?=\n\n\n|\Z)', text, re.S)
    assert found is not None
    return text.replace(found[0], "")


def run(environment: dict[str, str], program: str) -> str:
    """What a program prints."""
    ran = subprocess.run(
        [sys.executable, "-c", program],
        cwd=environment["PYTHONPATH"],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.strip()


# Prints how many operators are calls of ATen, and not parts of the kernel.
USES = f"""
import torch
import girih
assert not girih.__file__.startswith({str(ROOT)!r} + "/girih/")
x, y = torch.linspace(-2, 3, 12).reshape(2, 6)
function = lambda x, y: torch.deg2rad(torch.hypot(x + 1, y + 1)) * 2
compiled = girih.compile(function, fullgraph=True)
torch.testing.assert_close(compiled(x, y), function(x, y))
print("2 ATen calls" in str(girih.report(compiled)))
"""


def test_the_class_of_an_op_is_all_of_it(tmp_path):
    assert run(copy_of_girih(tmp_path / "whole", {}), USES) == "False"
    text = without_class((ROOT / FUNCTIONS).read_text(), "hypot")
    changed = {FUNCTIONS: without_class(text, "deg2rad")}
    assert run(copy_of_girih(tmp_path / "less", changed), USES) == "True"


@pytest.mark.parametrize("name", ["hypot", "deg2rad", "isposinf", "mish"])
def test_sources_that_know_an_op(name):
    """Its class alone."""
    naming = {
        str(path.relative_to(ROOT))
        for part in ("girih", *PARTS)
        for path in (ROOT / part).rglob("*.py")
        if re.search(rf'"{name}"', path.read_text())
    }
    assert len(naming) == 1, naming


REDUCTION = '''

class ReduceBitsOp(Reduction, name="reduce_bits"):
    """y = the bits that any element has; of integers."""

    FOLD = fold_of(folds.OR)
    GRADIENT = NO_REAL_NUMBERS
'''
RULE = '''

@imports("example::any_bits")
def any_bits(b: Builder, self, dim):
    """The bits of all elements along a dim, which stays."""
    return b.reduce("reduce_bits", self, [dim % self.rank])
'''
ANY_BITS = """
import numpy
import torch
import girih

@torch.library.custom_op("example::any_bits", mutates_args=())
def any_bits(x: torch.Tensor, dim: int) -> torch.Tensor:
    return torch.from_numpy(numpy.bitwise_or.reduce(x.numpy(), axis=dim, keepdims=True))

@any_bits.register_fake
def _(x, dim):
    return x.sum(dim, keepdim=True).to(x.dtype)

for dynamic in (False, True):
    compiled = girih.compile(
        lambda x: any_bits(x * 3, 1) + 1, fullgraph=True, dynamic=dynamic
    )
    for rows in (3, 5):
        x = torch.randint(-100, 100, (rows, 37))
        torch.testing.assert_close(compiled(x), any_bits(x * 3, 1) + 1)
print("library" if " call;" in str(girih.report(compiled)) else "kernel")
"""


def test_a_reduction_takes_two_files(tmp_path):
    classes, rules = "dialects/graph/reduction.py", "frontend/importer/reduction.py"
    imported = "from girih.dialects.graph.formulas import NO_REAL_NUMBERS\n"
    before = "from girih.dialects.rules import expect\n"
    text = (ROOT / classes).read_text().replace(before, imported + before, 1)
    changed = {
        classes: text + REDUCTION,
        rules: (ROOT / rules).read_text() + RULE,
    }
    assert run(copy_of_girih(tmp_path / "with", changed), ANY_BITS) == "kernel"
    assert run(copy_of_girih(tmp_path / "without", {}), ANY_BITS) == "library"
