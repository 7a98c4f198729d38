"""What a new op takes: ops are added to a copy of girih, and used as its own are.

Each example is a patch of as few source files as its kind takes. A process with the
patched copy compares values, gradients and their gradients with eager's, for sizes that
vary and on an emulated GPU, and finds the op in the page of ops and among the samples.
Without the patch the same program calls the operator.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
PARTS = ("codegen", "dialects", "frontend", "passes", "tools")
FUNCTIONS = "dialects/graph/functions.py"
REDUCTIONS = "dialects/graph/reduction.py"
REDUCTION_RULES = "frontend/importer/reduction.py"


class Example(NamedTuple):
    """An op to add.

    Attributes:
        patch: What is added at the end of source files.
        operator: Defines the operator and ``eager``, the same in ops of torch.
        op: The name of the op.
        is_sampled: Whether its class has a ``SAMPLE`` with which tests try it.
        files: How many source files may be touched.
    """

    patch: dict[str, str]
    operator: str
    op: str
    is_sampled: bool
    files: int


ELEMENTWISE = Example(
    op="softbump",
    is_sampled=True,
    files=1,
    patch={
        FUNCTIONS: '''

def _bump_gradient(f: Any, g: Any, x: Any) -> Any:
    square = x * x
    return g * f.exp(-square) * (1 - square * 2)


class SoftbumpOp(RealFloatUnary, name="softbump"):
    """y = x * e**(-x * x)."""

    ATEN = "default"
    PROMOTES = Promotes.SAME
    INSTRUCTIONS = 20
    EMIT = staticmethod(lambda f, x: x * f.exp(-(x * x)))
    GRADIENT = of_operand(_bump_gradient)
    SAMPLE = Sample(-2, 2, order=2)
'''
    },
    operator="""
own = torch.library.Library("aten", "FRAGMENT")
own.define("softbump(Tensor self) -> Tensor")
eager = lambda x: x * torch.exp(-x * x)
own.impl("softbump", eager, "CompositeExplicitAutograd")
function, operands = torch.ops.aten.softbump, 1
""",
)

COMPOSITE = Example(
    op="logaddexp2",
    is_sampled=True,
    files=1,
    patch={
        FUNCTIONS: '''

def _larger_and_rest(f: Any, x: Any, y: Any) -> Any:
    return f.maximum(x, y) + f.log2(f.exp2(-f.abs(x - y)) + 1)


def _shares(f: Any, g: Any, x: Any, y: Any) -> tuple:
    share = f.sigmoid((x - y) * 0.6931471805599453)
    return g * share, g * (1 - share)


class Logaddexp2Op(Binary, name="logaddexp2"):
    """y = log2(2**lhs + 2**rhs)."""

    ATEN = "default"
    PROMOTES = Promotes.COMMON
    ELEMENTS = "real float"
    ROLE = Role.COMPOSITE
    VALUE = _larger_and_rest
    GRADIENT = of_operands(_shares)
    SAMPLE = Sample(-3, 3, order=2)
'''
    },
    operator="""
function = eager = torch.logaddexp2
operands = 2
""",
)

REDUCTION = Example(
    op="reduce_log_of_sum",
    is_sampled=False,
    files=2,
    patch={
        REDUCTIONS: '''

def _with_exponential(f: Any, largest: Any, total: Any, x: Any) -> tuple:
    distance = x - largest
    power = f.exp(-f.abs(distance))
    grows = distance > 0.0
    total = f.where(grows, total * power + 1.0, total + power)
    return f.where(grows, x, largest), total


def _of_lanes(f: Any, largest: Any, total: Any) -> tuple:
    of_all = f.over(folds.MAX, largest)
    factor = f.exp(largest - f.everywhere(of_all, largest))
    return of_all, f.over(folds.ADD, total * factor)


def _share(f: Any, g: Any, x: Any, dims: tuple) -> Any:
    return g * f.exp(x - f.reduce_log_of_sum(x, dims=dims))


class ReduceLogOfSumOp(_FloatReduction, name="reduce_log_of_sum"):
    """y = log(sum(e**x)), in one walk."""

    ROLE = Role.PRIMITIVE
    GRADIENT = of_operand(_share)
    FOLD = Fold(
        joins=folds.LOGADDEXP,
        start=(folds.Start.LOWEST_FINITE, 0.0),
        take=_with_exponential,
        join=_of_lanes,
        finish=lambda f, largest, total: f.log(total) + largest,
        is_element=False,
    )
''',
        REDUCTION_RULES: '''

@imports("example::log_of_sum")
def log_of_sum(b: Builder, self):
    """Along the last dim, which stays."""
    return b.reduce("reduce_log_of_sum", self, [self.rank - 1])
''',
    },
    operator="""
eager = lambda x: torch.logsumexp(x, -1, keepdim=True)

@torch.library.custom_op("example::log_of_sum", mutates_args=())
def function(x: torch.Tensor) -> torch.Tensor:
    return torch.logsumexp(x, -1, keepdim=True)

@function.register_fake
def _(x):
    return torch.empty_like(x[..., :1])

operands = 1
""",
)

LIBRARY = Example(
    op="",
    is_sampled=False,
    files=0,
    patch={},
    operator=COMPOSITE.operator,
)

PROGRAM = """
import sys
import torch
sys.path.insert(0, {support!r})
{operator}
import girih
from girih.tools.op_tables import page
from declared_ops import CASES
from emulated_device import MultiplyingDevice, emulated_device
assert not girih.__file__.startswith({root!r} + "/girih/")
torch.manual_seed(0)

def beside_others(own):
    return lambda *x: own(*(each * 0.5 for each in x)) * 2

def values(whole, x):
    return whole(*x)

def derivatives(whole, x):
    x = [each.clone().requires_grad_() for each in x]
    value = whole(*x)
    first = torch.autograd.grad((value * value).sum(), x, create_graph=True)
    second = torch.autograd.grad(sum((each * each).sum() for each in first), x)
    return value, *first, *second

def compare(shapes, dtype, **options):
    has_calls = False
    for results in (values, derivatives):
        compiled = girih.compile(
            beside_others(function), fullgraph=True, options=STRICT, **options
        )
        for shape in shapes:
            x = [torch.randn(shape, dtype=dtype) for _ in range(operands)]
            expected = results(beside_others(eager), x)
            torch.testing.assert_close(results(compiled, x), expected, **CLOSE[dtype])
        graphs = [each for graph in girih.report(compiled).graphs
                  for each in graph.and_derived()]
        has_calls |= any(each.externs for each in graphs)
    return has_calls

STRICT = {{"fallback": False}}
CLOSE = {{
    torch.float64: dict(rtol=1e-12, atol=1e-12),
    torch.float32: dict(rtol=1e-4, atol=1e-4),
}}
found = [compare([(3, 37), (4, 5), (2, 1030)], torch.float64)]
found.append(compare([(3, 37), (5, 8), (2, 601)], torch.float64, dynamic=True))
found.append(compare([(1, 100_003)], torch.float64))
with emulated_device(MultiplyingDevice) as device:
    found.append(compare([(3, 37), (2, 2060), (1, 70_000)], torch.float32))
    assert device.launched
print("calls" if all(found) else "kernels" if not any(found) else found)
names = [case.cls.SHORT_NAME for case in CASES]
print("documented" if "| {op} |" in page() else "unknown")
print("sampled" if {op!r} in names else "")
"""


def copy_of_girih(folder: Path, patch: dict[str, str]) -> dict[str, str]:
    """The environment of a process whose girih is this tree's, with a patch."""
    for part in ("girih", *PARTS):
        target = folder / "girih" / ("" if part == "girih" else part)
        for source in (ROOT / part).rglob("*"):
            name = str(source.relative_to(ROOT))
            link = target / source.relative_to(ROOT / part)
            if source.is_dir():
                continue
            link.parent.mkdir(parents=True, exist_ok=True)
            if name in patch:
                link.write_text(source.read_text() + patch[name])
            else:
                link.symlink_to(source)
    return os.environ | {"PYTHONPATH": str(folder), "GIRIH_NO_CACHE": "1"}


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
    return ran.stdout


EXAMPLES = {
    "elementwise": ELEMENTWISE,
    "composite": COMPOSITE,
    "reduction": REDUCTION,
    "library": LIBRARY,
}


@pytest.mark.parametrize("kind", EXAMPLES)
def test_an_op_is_declared_once(kind, tmp_path):
    example = EXAMPLES[kind]
    assert len(example.patch) == example.files
    support = str(Path(__file__).parent / "support")
    program = PROGRAM.format(
        root=str(ROOT), support=support, operator=example.operator, op=example.op
    )
    told = run(copy_of_girih(tmp_path, example.patch), program)
    how, documented, *sampled = told.split()
    assert how == ("kernels" if example.files else "calls"), told
    assert (documented == "documented") == bool(example.files)
    assert sampled == ["sampled"] * example.is_sampled


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
