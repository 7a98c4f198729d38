"""What is read off a launch program for its recording."""

from __future__ import annotations

from girih.codegen.runtime.recordable import LIBRARY_CALL, recordable
from girih.dialects import context
from girih.dialects.bindings import ir

PROGRAM = """
func.func @main(
    %arg0: !tile.buffer<f32, ["s0", 4], [4, 1]>,
    %arg1: !tile.buffer<f32, [4, 4], [4, 1]>,
    %arg2: index,
    %arg3: !tile.buffer<f64, [], []>,
    %arg4: !tile.buffer<f32, [4], [1]>)
    attributes {arg_attrs = [{}, {graph.static}, {graph.symbol = "s0"},
                             {graph.number}, {graph.donated}]} {
  %0 = "host.extern"(%arg0, %arg1) {op = "OP", kwargs = {},
      args = [{operand = 0 : i64}, {operand = 1 : i64}]}
    : (!tile.buffer<f32, ["s0", 4], [4, 1]>, !tile.buffer<f32, [4, 4], [4, 1]>)
    -> !tile.buffer<f32, ["s0", 4], [4, 1]> loc("model.py":7:3)
  "host.copy"(%arg4, %arg4)
    : (!tile.buffer<f32, [4], [1]>, !tile.buffer<f32, [4], [1]>) -> ()
  "host.return"(%0) : (!tile.buffer<f32, ["s0", 4], [4, 1]>) -> ()
}
"""


def facts_of(op: str):
    with context.current(), ir.Location.unknown():
        module = ir.Module.parse(PROGRAM.replace("OP", op))
        return recordable(module.body.operations[0], frozenset({0}))


def test_inputs():
    facts = facts_of("aten.mm.default")
    assert facts.donated == 1  # the donated one is the first input
    assert facts.static == {2}
    assert facts.written == {0}
    assert facts.numbers == (3, 4)
    assert facts.sizes == ((1, 0),)
    assert facts.returned == {0}


def test_calls():
    facts = facts_of("aten.mm.default")
    assert facts.microseconds == LIBRARY_CALL
    assert facts.hindrance is None
    assert facts.place_of("aten.mm.default", 5) == "model.py:7:3"
    assert facts.place_of("aten.add.Tensor") == ""


def test_results_whose_size_is_data():
    facts = facts_of("aten.masked_select.default")
    assert "aten.masked_select.default has a result whose size depends on data" in (
        facts.hindrance
    )
    assert "model.py:7" in facts.hindrance
    assert facts_of("aten.index.Tensor").hindrance is None
