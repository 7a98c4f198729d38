"""Plugins: the example package, what is said where a piece is missing, and keys."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import girih
from girih import plugins
from test.support.plugin_programs import START, run

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "plugin"
SUPPORT = ROOT / "test" / "support"
DOCUMENTS = [
    ROOT / "docs" / f"{name}.md"
    for name in ("writing-a-pass", "writing-a-dialect", "adding-an-op")
]


# The example ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The Python of a new environment in which the example is installed."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    paths = {"base": str(folder), "platbase": str(folder)}
    packages = Path(sysconfig.get_path("purelib", "venv", paths))
    # What this environment has, girih among it, is there too.
    outer = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    lines = [f"import site; site.addsitedir({path!r})" for path in sorted(outer)]
    (packages / "outer.pth").write_text("\n".join(lines) + "\n")
    source = folder / "source"
    subprocess.run(["cp", "-r", EXAMPLE, source], check=True)
    python = folder / "bin" / "python"
    flags = ["--no-index", "--no-deps", "--no-build-isolation", "-q"]
    install = [sys.executable, "-m", "pip", "--python", python, "install", *flags]
    subprocess.run([*install, source], check=True)
    return python


def test_the_example_runs_where_it_is_installed(installed, tmp_path):
    done = subprocess.run(
        [str(installed), str(SUPPORT / "try_plugin.py")],
        env=os.environ | {"GIRIH_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert "as in PyTorch" in done.stdout, done.stdout + done.stderr


def _imported(path: Path):
    """What a file imports of girih, as dotted names."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module.startswith("girih."):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
            yield from (n for n in names if n.split(".")[0] == "girih")


def test_the_example_imports_nothing_that_no_document_names():
    text = "\n".join(path.read_text() for path in DOCUMENTS)
    found = set()
    for path in (EXAMPLE / "girih_example").glob("*.py"):
        found.update(_imported(path))
    assert found
    unknown = [name for name in found if f"`{name.rpartition('.')[2]}" not in text]
    assert not unknown
    public = {f"girih.plugins.{name}" for name in plugins.__all__} | {"girih"}
    assert found <= public


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.stem)
def test_a_document_is_short(path):
    assert len(path.read_bytes()) < 12_000


@pytest.mark.parametrize("name", plugins.__all__)
def test_a_public_name_is_in_a_document(name):
    assert any(f"`{name}" in path.read_text() for path in DOCUMENTS)


@pytest.mark.parametrize(
    "name", [name for name in vars(plugins.Plugin) if not name.startswith("_")]
)
def test_a_method_is_in_a_document(name):
    assert any(f".{name}(" in path.read_text() for path in DOCUMENTS)


def test_the_tools_load_it(tmp_path):
    text = """
        func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
          %0 = "poly.evaluate"(%x) {coefficients = array<i64: 1, 2>}
            : (tensor<4xf32>) -> tensor<4xf32>
          return %0 : tensor<4xf32>
        }
    """
    file = tmp_path / "in.mlir"
    file.write_text(text)
    command = [sys.executable, "-m", "girih.tools.girih_opt", "--load=girih_example"]
    done = subprocess.run(
        [*command, "--lower-polynomials", "--canonicalize-graph", str(file)],
        env=os.environ | {"PYTHONPATH": str(EXAMPLE)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "poly.evaluate" not in done.stdout and "graph.mul" in done.stdout


# Names ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["graph", "arith", "torch", "my-dialect", "1st"])
def test_names_that_no_plugin_may_have(name):
    with pytest.raises(ValueError, match="plugin"):
        girih.plugin(name)


# Programs define ops of a plugin "mine" and torch operators of the same names.
MISSING = """
for name, base, grad, text in (
    ("a", mine.Unary, False, "no emission rule of mine.a; @plugin.emits('mine.a')"),
    ("b", mine.Unary, True, "@plugin.vjp('mine.b')"),
    ("c", mine.Composite, False, "decomposition of the op mine.c; @plugin.decomposes"),
    ("d", mine.Library, False, "plugin.calls('mine.d', ...)"),
    ("e", mine.Op, False, "@plugin.decomposes('mine.e')"),
):
    found = error_of(op(name, base), grad)
    assert text in found and "girih bug" not in found, (name, found)
"""


def test_what_is_missing_is_said_with_what_adds_it(tmp_path):
    run(START + MISSING, tmp_path)


FAILING = """
def emits(b, node, values): raise KeyError("of mine")
def imports(b, x): raise KeyError("of mine")
def vjp(op, cotangents, b): raise KeyError("of mine")
def decomposes(op, b): raise KeyError("of mine")
def canonicalizes(op, b): raise KeyError("of mine")

for rule in (emits, vjp, decomposes, canonicalizes):
    name = rule.__name__
    function = op(name, mine.Unary)
    getattr(mine, name)(name)(rule)
    found = error_of(function, rule is vjp)
    assert "KeyError: 'of mine'" in found and "__main__" in found, (name, found)
    assert "girih bug" not in found, (name, found)

plain = torch.library.custom_op("mine::p", lambda x: x * 2, mutates_args=(),
                                schema="(Tensor x) -> Tensor")
plain.register_fake(torch.empty_like)
mine.imports("mine::p")(imports)
found = error_of(plain)
assert "KeyError: 'of mine'" in found and "__main__" in found, found
assert "girih bug" not in found, found
"""


def test_a_rule_that_fails_is_its_authors(tmp_path):
    run(START + FAILING, tmp_path)


MISTAKES = """
count = iter(range(99))
for decorator, base, rule, text in (
    ("vjp", mine.Unary, lambda op, cts, b: None, "list of 1 gradients"),
    ("vjp", mine.Unary, lambda op, cts, b: [*cts, *cts], "list of 1 gradients"),
    ("vjp", mine.Unary, lambda op, cts, b: [b.sum(cts[0], [0])], "tensor<1xf32>"),
    ("emits", mine.Unary, lambda b, node, values: None, "return a value, got None"),
    ("decomposes", mine.Composite, lambda op, b: op.x, "return a list"),
    ("decomposes", mine.Composite, lambda op, b: [op.x, op.x], "expected 1 values"),
    ("decomposes", mine.Composite, lambda op, b: [b.like(1.0, op.x)],
     "expected a value of type tensor<3xf32>"),
    ("canonicalizes", mine.Unary, lambda op, b: [op.x], "return a value"),
):
    name = f"m{next(count)}"
    function = op(name, base)
    getattr(mine, decorator)(name)(rule)
    found = error_of(function, decorator == "vjp")
    assert text in found and f"mine.{name}" in found, (decorator, text, found)
    assert "girih bug" not in found, (decorator, text, found)

class Strict(mine.Unary, name="strict"):
    def verify_invariants(self):
        from girih.plugins import expect
        expect(False, "x", "be something else", 1)

strict = torch.library.custom_op("mine::strict", lambda x: x * 2, mutates_args=(),
                                 schema="(Tensor x) -> Tensor")
strict.register_fake(torch.empty_like)
mine.imports("mine::strict")(lambda b, x: b.op("mine.strict", [x], {}))
found = error_of(strict)
assert "be something else" in found and "girih bug" not in found, found

def wrong_values(name, rule, says):
    made = torch.library.custom_op(f"mine::{name}", lambda x: x * 2, mutates_args=(),
                                   schema="(Tensor x) -> Tensor")
    made.register_fake(torch.empty_like)
    mine.imports(f"mine::{name}")(rule)
    found = error_of(made)
    assert f"expected the import rule of mine::{name} to return {says}" in found, found
    assert "is defined in __main__" in found and "girih bug" not in found, found
    assert "  at " in found and "operation that fails" not in found, found

wrong_values("nothing", lambda b, x: None, "one value for each of 1 results")
wrong_values("number", lambda b, x: 3, "one value for each of 1 results")
wrong_values("inner", lambda b, x: x.value, "one value for each of 1 results")
wrong_values("many", lambda b, x: [x, x], "1 value, got 2")
wrong_values("few", lambda b, x: [], "1 value, got 0")
wrong_values("dtype", lambda b, x: b.cast(x, torch.float64), "torch.float32 [")
wrong_values("shape", lambda b, x: b.reshape(x, (1, *x.shape)),
             "torch.float32 [")

for wrong in (lambda: mine.emits("m0")(lambda b: b), lambda: mine.emits(print),
              lambda: mine.imports("mine::none")(print), lambda: mine.vjp(3),
              lambda: mine.imports("aten::mul.none")(print),
              lambda: type("C", (mine.Unary,), {"ELEMENTS": "reel"}, name="c")):
    try:
        wrong()
    except (TypeError, ValueError) as error:
        assert str(error), wrong
    else:
        raise SystemExit("no error")
"""


def test_a_mistake_in_a_rule_is_its_authors(tmp_path):
    run(START + MISTAKES, tmp_path)


LIES = """
def lying(name, make):
    made = torch.library.custom_op(f"mine::{name}", make, mutates_args=(),
                                   schema="(Tensor x) -> Tensor")
    made.register_fake(torch.empty_like)
    return made

for name, make in (
    ("small", lambda x: x.new_ones(1)), ("rank", lambda x: x.new_ones(1, 1)),
    ("double", lambda x: x.double()), ("meta", lambda x: x.to("meta")),
):
    function = lying(name, make)
    for dynamic in (None, True):
        compiled = girih.compile(lambda x: function(x).sin(), dynamic=dynamic)
        try:
            compiled(torch.randn(80, 80))
        except RuntimeError as error:
            assert f"mine.{name}" in str(error) and "fake" in str(error), error
        else:
            raise SystemExit(f"{name}: no error")

turned = lying("turned", lambda x: (x + 1).t().contiguous().t())
x = torch.randn(4, 5)
torch.testing.assert_close(girih.compile(lambda x: turned(x).sin())(x), (x + 1).sin())
"""


def test_an_operator_that_makes_what_its_fake_denies_is_an_error(tmp_path):
    run(START + LIES, tmp_path)


NAMES = """
twice = op("twice", mine.Unary)

@mine.decomposes("twice")
def rule(op, b):
    return [b.op("mine.twise", op.x)]

found = error_of(twice)
assert "no op is called 'mine.twise'; did you mean mine.twice" in found, found
try:
    mine.emits("twise")
except ValueError as error:
    assert "did you mean mine.twice" in str(error)
else:
    raise SystemExit("no such op")
"""


def test_a_builder_knows_what_was_meant(tmp_path):
    run(START + NAMES, tmp_path)


MISTAKEN = """
from dataclasses import dataclass

@dataclass(frozen=True)
class Unset:
    count: int

@dataclass(frozen=True)
class Listed:
    counts: list = None

def says(text, make):
    try:
        make()
    except (TypeError, ValueError) as error:
        assert text in str(error), error
    else:
        raise SystemExit(text)

def run(module, options): pass
says("kebab-case", lambda: mine.compiler_pass("Not this")(run))
says("MLIR has a pass called 'cse'", lambda: mine.compiler_pass("cse")(run))
says("'count' of 'a-b' needs a default",
     lambda: mine.compiler_pass("a-b", options=Unset)(run))
says("'counts' of 'a-b' must be bool",
     lambda: mine.compiler_pass("a-b", options=Listed)(run))
says("must be a dataclass", lambda: mine.compiler_pass("a-b", options=int)(run))
says("must be an identifier", lambda: type("A", (mine.Unary,), {}, name="a b"))

class ScaleOp(mine.Unary, name="scale"):
    factor = girih.plugins.attribute(girih.plugins.FLOAT)

@mine.compiler_pass("mistyped-attribute")
def mistyped(module):
    for body in girih.plugins.functions_of(module):
        op = body.operations[0]
        b = girih.plugins.rewriter(op)
        says("did you mean 'factor'?",
             lambda: b.op("mine.scale", body.arguments[0], facter=1.0))

passes = {"before:decompose": mistyped}
girih.compile(torch.exp, options={"fallback": False, "passes": passes})(torch.ones(3))
"""


def test_names_and_options_that_nothing_can_be_called_by(tmp_path):
    run(START + MISTAKEN, tmp_path)


TWICE = """
two = torch.library.custom_op("mine::two", lambda x: (x * 2, x * 3), mutates_args=(),
                              schema="(Tensor x) -> (Tensor, Tensor)")
two.register_fake(lambda x: (torch.empty_like(x),) * 2)
same = torch.library.custom_op("mine::same", lambda x: x * 2, mutates_args=(),
                               schema="(Tensor x) -> Tensor")
same.register_fake(lambda x: x)

def program(x):
    first, second = two(x)
    return first + 1, second + 1, same(x) + 1, x + 1

x = torch.randn(4)
for compiled in (girih.compile(program), torch.compile(program, backend="girih")):
    torch.testing.assert_close(compiled(x), program(x))
"""


def test_a_fake_implementation_may_give_one_tensor_twice(tmp_path):
    run(START + TWICE, tmp_path)


LIBRARY = """
from girih.plugins import FLOAT, attribute, optional_operand

def compute(x, scale=None, shift=None, factor=1.0):
    y = x * factor
    y = y if scale is None else y * scale
    return y if shift is None else y + shift

schema = "(Tensor x, Tensor? scale=None, Tensor? shift=None, float factor=1.0)"
schema += " -> Tensor"
fma = torch.library.custom_op("mine::fma", compute, mutates_args=(), schema=schema)
fma.register_fake(lambda x, *others: torch.empty_like(x))

class FmaOp(mine.Library, name="fma"):
    x = operand()
    scale = optional_operand()
    shift = optional_operand()
    factor = attribute(FLOAT, default=1.0)
    y = result()

    @staticmethod
    def infer_types(types, attributes):
        return [types[0]]

class ScaleOp(mine.Library, name="scale"):
    x = operand()
    y = result()

mine.calls(FmaOp, "mine::fma")
both = torch.library.custom_op("mine::both", lambda x, y: x + y, mutates_args=(),
                               schema="(Tensor x, Tensor y) -> Tensor")
try:
    mine.calls(ScaleOp, "mine::both")
except ValueError as error:
    assert "called with x, but mine::both takes Tensor x, Tensor y" in str(error)
else:
    raise SystemExit("an argument is missing")

@mine.imports("mine::fma")
def import_fma(b, x, scale=None, shift=None, factor=1.0):
    return b.op("mine.fma", [x, scale, shift], {"factor": factor})

x, s = torch.randn(4), torch.full((4,), 10.0)
options = {"fallback": False}
for given in ((x,), (x, s), (x, None, s), (x, s, s), (x, None, s, 2.0)):
    compiled = girih.compile(lambda *given: fma(*given) + 1, options=options)
    torch.testing.assert_close(compiled(*given), compute(*given) + 1)
"""


def test_operands_that_are_left_out_are_none_in_a_call(tmp_path):
    run(START + LIBRARY, tmp_path)


INVALID = """
def integers(b, node, values):
    return b.same("arith.muli", values[0], values[0])

def unknown(b, node, values):
    return b.same("arith.mullf", values[0], values[0])

for name, rule, text in (("i", integers, "made an invalid op"),
                         ("u", unknown, "arith.mullf, which is no op of MLIR")):
    function = op(name, mine.Unary)
    mine.emits(name)(rule)
    found = error_of(function)
    assert f"the emission rule of mine.{name} made" in found and text in found, found
    assert "girih bug" not in found, found
    assert f"the program itself defines mine.{name};" in found, found

def leaves_silu(module):
    for body in girih.plugins.functions_of(module):
        for op in list(body.operations):
            if op.operation.name == "graph.sin":
                b = girih.plugins.rewriter(op)
                b.replace(op, b.op("silu", op.x))

def ends(module):
    raise SystemExit(0)

for place, made, text in (("after:decompose", leaves_silu, "level 'fused'"),
                          ("before:fuse", ends, "SystemExit: 0")):
    options = {"fallback": False, "passes": {place: made}}
    try:
        girih.compile(torch.sin, options=options)(torch.ones(3))
    except girih.GirihError as error:
        assert text in str(error) and made.__name__ in str(error), error
        assert "girih bug" not in str(error), error
    else:
        raise SystemExit("no error")

@mine.canonicalizes("graph.exp")
def makes_a_composite(op, b):
    return b.op("silu", op.operands[0])

try:
    options = {"fallback": False}
    girih.compile(lambda x: torch.softmax(x, -1), options=options)(torch.ones(3))
except girih.CompileError as error:
    assert str(error).startswith("pass 'canonicalize-graph' left invalid IR"), error
    assert "'graph.silu' expected IR of level 'fused'" in str(error), error
    assert "the canonicalization makes_a_composite of exp" in str(error), error
else:
    raise SystemExit("no error")
"""


def test_what_rules_and_passes_leave_invalid_is_their_authors(tmp_path):
    run(START + INVALID, tmp_path)


AGAIN = """
twice = op("twice", mine.Unary)
source = "@mine.emits('twice')\\ndef rule(b, node, values): raise KeyError({})"
for number in (1, 2):
    exec(source.format(number))
assert "KeyError: 2" in error_of(twice)
try:
    @mine.emits("twice")
    def another(b, node, values): pass
except ValueError as error:
    print(error)
"""


def test_a_second_rule_replaces_the_first_of_a_notebook_alone(tmp_path):
    assert "second emission rule of mine.twice" in run(START + AGAIN, tmp_path)


# Keys of caches ---------------------------------------------------------------------

EMITS = """
twice = op("twice", mine.Unary)

@mine.emits("twice")
def rule(b, node, values):
    factor = b.constant({factor}, node.element.register_name)
    return b.same("arith.mulf", values[0], factor)

compiled = girih.compile(lambda x: twice(x), options={{"fallback": False}})
print(compiled(torch.ones(3)).tolist(), girih.report(compiled).graphs[0].cache)
"""


def test_an_edited_rule_compiles_anew_and_an_unedited_one_does_not(tmp_path):
    # Braces of the start are no fields.
    start = START.replace("{", "{{").replace("}", "}}")
    printed = [
        run((start + EMITS).format(factor=factor), tmp_path).strip()
        for factor in (2.0, 2.0, 3.0)
    ]
    assert printed == [
        "[2.0, 2.0, 2.0] compiled",
        "[2.0, 2.0, 2.0] disk",
        "[3.0, 3.0, 3.0] compiled",
    ]


# Passes -----------------------------------------------------------------------------


def test_a_pass_with_a_place_runs_in_every_compilation(tmp_path):
    text = """
    import torch, girih
    mine = girih.plugin("mine")

    @mine.compiler_pass("see", place=["after:import", "before:fuse"])
    def see(module):
        print("seen")

    girih.compile(lambda x: x + 1, options={"fallback": False})(torch.ones(3))
    """
    assert run(text, tmp_path).count("seen") == 2


def test_an_unknown_place_is_an_error(tmp_path):
    text = """
    import girih
    try:
        @girih.plugin("mine").compiler_pass("see", place="before:fuze")
        def see(module): pass
    except ValueError as error:
        print(error)
    """
    assert "did you mean 'fuse'" in run(text, tmp_path)
