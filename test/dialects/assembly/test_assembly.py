"""The readable form says what the generic one says, and is read back exactly."""

import re
import time
from pathlib import Path

import pytest

from girih.dialects import tt  # noqa: F401  (it registers itself)
from girih.dialects.assembly.modules import parse_module, print_module
from girih.dialects.assembly.parsing import AssemblyError, generic_text
from girih.dialects.assembly.printing import readable_text
from girih.dialects.bindings import ir
from girih.dialects.context import make_context
from girih.passes.registry import run_pipeline

TESTS = Path(__file__).parents[2]
FILES = sorted(TESTS.rglob("*.mlir"))
LEVELS = {
    "graph": "",
    "fused": "graph",
    "host": "graph,host",
    "tile": "graph,host,tile",
    "llvm": "default",
    "tt": "graph,device,gpu",
}
PROGRAM = """
func.func @main(%x: tensor<?x64xf32, ["s0"]>, %w: tensor<64xf32>)
    -> (tensor<?x64xf32, ["s0"]>, tensor<?x1xf32, ["s0"]>)
    attributes {graph.symbols = {s0 = [2, 1000000]}} {
  %0 = "graph.mul"(%x, %w) : (tensor<?x64xf32, ["s0"]>, tensor<64xf32>)
      -> tensor<?x64xf32, ["s0"]>
  %1 = "graph.softmax"(%0) {dim = 1 : i64} : (tensor<?x64xf32, ["s0"]>)
      -> tensor<?x64xf32, ["s0"]>
  %2 = "graph.reduce_sum"(%1) {dims = array<i64: 1>} : (tensor<?x64xf32, ["s0"]>)
      -> tensor<?x1xf32, ["s0"]>
  return %1, %2 : tensor<?x64xf32, ["s0"]>, tensor<?x1xf32, ["s0"]>
}
"""


@pytest.fixture(scope="module")
def context():
    with make_context() as made, ir.Location.unknown():
        yield made


def modules_of(path, context):
    """The modules in a file of lit's, as far as they parse."""
    for part in re.split(r"^// -----.*$", path.read_text(), flags=re.MULTILINE):
        try:
            yield ir.Module.parse(part, context)
        except ir.MLIRError:
            continue


@pytest.mark.parametrize("debug_info", [False, True])
def test_all_modules_of_the_tests_make_the_round_trip(debug_info, context):
    count = 0
    for path in FILES:
        for module in modules_of(path, context):
            generic = print_module(module, generic=True, debug_info=debug_info)
            readable = print_module(module, debug_info=debug_info)
            again = parse_module(readable, context)
            assert print_module(again, generic=True, debug_info=debug_info) == generic
            assert print_module(again, debug_info=debug_info) == readable
            count += 1
    assert count > 600


@pytest.mark.parametrize("level", LEVELS)
def test_all_levels_make_the_round_trip(level, context):
    module = ir.Module.parse(PROGRAM, context)
    if LEVELS[level]:
        run_pipeline(module, LEVELS[level])
    readable = print_module(module)
    assert str(parse_module(readable, context)) == str(module)
    assert not re.search(r'"(graph|host|tile)\.\w+"\(', readable)


def test_the_largest_file_is_fast(context):
    largest = max(FILES, key=lambda path: path.stat().st_size)
    modules = list(modules_of(largest, context))
    texts = [print_module(module, generic=True) for module in modules]
    start = time.process_time()
    for text in texts:
        generic_text(readable_text(text))
    assert time.process_time() - start < 0.3


FORMS = [
    ('%1 = "graph.exp"(%0) : (tensor<4xf32>) -> tensor<4xf32>',
     "%1 = graph.exp %0 : tensor<4xf32>"),
    ('%1 = "graph.reduce_sum"(%0) {dims = array<i64: 0>} : (tensor<4xf32>) -> '
     "tensor<1xf32>",
     "%1 = graph.reduce_sum %0 dims [0] : (tensor<4xf32>) -> tensor<1xf32>"),
    ('%1 = "graph.constant"() {value = 2.500000e-01 : f64} : () -> tensor<f32>',
     "%1 = graph.constant value 2.500000e-01 : tensor<f32>"),
    ('%1 = "graph.constant"() {value = 0x7FF0000000000000 : f64} : () -> tensor<f32>',
     "%1 = graph.constant value <0x7FF0000000000000 : f64> : tensor<f32>"),
    ('"host.return"() : () -> ()', "host.return"),
    ('"host.native"() ({\n}) : () -> ()', "host.native {\n}"),
    ('%0 = "host.size"() {expr = "s0 // 2, (x)"} : () -> index',
     '%0 = host.size expr "s0 // 2, (x)" : index'),
    ('"graph.exp"(%0) {mine = 1 : i32} : (tensor<4xf32>) -> tensor<4xf32> loc(#loc1)',
     "graph.exp %0 attributes {mine = 1 : i32} : tensor<4xf32> loc(#loc1)"),
]  # fmt: skip


@pytest.mark.parametrize(("generic", "readable"), FORMS)
def test_forms(generic, readable, context):
    assert readable_text(generic) == readable
    assert generic_text(generic) == generic


@pytest.mark.parametrize("text", [
    '// "graph.exp"(%0) is no statement here',
    'func.func private @"graph.exp"(tensor<4xf32>)',
    '"other.op"() {name = "graph.exp"} : () -> ()',
    "graph.name = 1",
    "",
])  # fmt: skip
def test_what_stays(text, context):
    assert readable_text(text) == text and generic_text(text) == text


def test_what_people_write(context):
    """Statements on one line, spaces, ends of lines, comments, both forms."""
    text = """
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 =   graph.exp   %x:tensor<4xf32>  // graph.exp %x is meant
      %1 = "graph.exp"(%0) : (tensor<4xf32>) -> tensor<4xf32>
      %2 = graph.softmax %1
          dim 0
          : tensor<4xf32>
      %3 = graph.reduce_sum %2 dims [0] : (tensor<4xf32>)
          -> tensor<1xf32>
      %4 = graph.reduce_max %2 dims [0] : (tensor<4xf32>) ->
          tensor<1xf32>
      return %2 : tensor<4xf32>
    }
    """
    module = parse_module(text)
    (main,) = module.body.operations
    names = [op.operation.name for op in main.body.blocks[0].operations]
    assert names[:3] == ["graph.exp", "graph.exp", "graph.softmax"]
    assert names[3:5] == ["graph.reduce_sum", "graph.reduce_max"]


WRONG = [
    ("%0 = graph.expp %x : tensor<4xf32>", 2, 8, "did you mean 'graph.exp'"),
    ("%0 = graph.exp %x, %x : tensor<4xf32>", 2, 18, "takes 1 operands without a name"),
    ("%0 = graph.softmax %x dimm 0 : tensor<4xf32>", 2, 25, "did you mean 'dim'"),
    ("%0 = graph.softmax %x dim : tensor<4xf32>", 2, 29, "expected the value of dim"),
    ("%0 = graph.exp %x", 2, 20, "expected ':' and the types"),
    ("%0 = graph.exp %x : tensor<4xf32> -> tensor<4xf32>", 2, 23, "in parentheses"),
]


@pytest.mark.parametrize(("statement", "line", "column", "says"), WRONG)
def test_what_is_wrong_is_said_at_its_place(statement, line, column, says, context):
    text = f"func.func @f(%x: tensor<4xf32>) {{\n  {statement}\n  return\n}}"
    with pytest.raises(AssemblyError, match=re.escape(says)) as caught:
        parse_module(text, file="mine.mlir")
    assert (caught.value.line, caught.value.column) == (line, column)
    assert str(caught.value).startswith(f"mine.mlir:{line}:{column}: ")


MANY_LINES = """func.func @f(%x: tensor<4xf32>) {
  %0 = graph.softmax %x
      dim 0
      : tensor<4xf32>
  %1 = graph.exp %0 : tensor<4xf32>
  %2 = graph.fusion %1
      domain [4]
      reduced [] : (tensor<4xf32>)
      -> tensor<4xf32> {
  ^bb0(%y: tensor<4xf32>):
    %3 = graph.reduce_sum %y
        dims [0] : (tensor<4xf32>) ->
        tensor<1xf32>
    %4 = graph.exp %y : tensor<4xf32>
    graph.yield %4 : tensor<4xf32>
  }
  %5 = graph.exp %2 : tensor<4xf32>
  return
}
"""


def test_statements_on_several_lines_move_no_line(context):
    lines = MANY_LINES.splitlines()
    assert generic_text(MANY_LINES).count("\n") == len(lines)
    module, found = parse_module(MANY_LINES, file="mine.mlir"), []

    def note(op):
        place = re.match(r'loc\("mine.mlir":(\d+):', str(op.location))
        if place and op.name.startswith("graph."):
            found.append(
                (op.name, lines[int(place[1]) - 1].split("graph.")[1].split()[0])
            )
        return ir.WalkResult.ADVANCE

    module.operation.walk(note)
    assert len(found) == 7
    assert all(name == f"graph.{written}" for name, written in found)


def test_locations_are_those_of_the_readable_text(context):
    text = "func.func @f(%x: tensor<4xf32>) {\n  %0 = graph.exp %x : tensor<4xf32>\n"
    module = parse_module(f"{text}  return\n}}", file="mine.mlir")
    exp = module.body.operations[0].body.blocks[0].operations[0]
    assert str(exp.location) == 'loc("mine.mlir":2:8)'
