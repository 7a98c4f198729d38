"""Building ops, reading their fields, effects."""

import math

import pytest

from girih.dialects import graph, host, tile, verifier
from girih.dialects import types as ty
from girih.dialects.attributes import (
    OperandRef,
    TorchConstant,
    decode_argument,
    encode_argument,
)
from girih.dialects.bindings import ir
from girih.dialects.context import current, make_context
from girih.dialects.definition import Effects, Op, UnknownOp, effects_of
from girih.dialects.dims import symbol
from girih.dialects.fields import operand
from girih.dialects.rules import InvalidOp


@pytest.fixture
def block():
    """The body of a function of two tensors, [s0, 16] and [16]."""
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse("func.func @f() { return }")
        entry = module.body.operations[0].body.blocks[0]
        f32 = ir.F32Type.get()
        shapes = ((symbol("s0"), 16), (16,))
        for shape in shapes:
            entry.add_argument(ty.tensor_type(shape, f32), ir.Location.unknown())
        with ir.InsertionPoint.at_block_begin(entry):
            yield entry


def test_result_types_are_inferred(block):
    x, w = block.arguments
    y = graph.build("add", [w, x]).result
    assert y.type == x.type
    total = graph.build("reduce_sum", [y], {"dims": [0]}).result
    assert ty.shape_of(total.type) == (1, 16)


def test_fields_read_as_python_values(block):
    x, w = block.arguments
    op = graph.build("layer_norm", [x, None, w], {"normalized_rank": 1}).opview
    assert isinstance(op, graph.LayerNormOp)
    assert (op.x, op.weight, op.bias) == (x, None, w)
    assert (op.normalized_rank, op.eps) == (1, 1e-5)
    assert [op.y, op.mean, op.rstd] == list(op.results)
    assert (op.DIALECT, op.FAMILY) == ("graph", "normalization")


def test_variadic_and_optional_fields(block):
    x, w = block.arguments
    attributes = {"op": "aten.sin.default", "args": [OperandRef(0), symbol("s0"), None]}
    op = graph.build("extern", [[x, w]], attributes, results=[w.type, x.type]).opview
    assert op.inputs == [x, w]
    assert op.args == (OperandRef(0), symbol("s0"), None)
    assert (op.strides, op.effects, op.kwargs) == (None, None, {})
    assert [value.type for value in op.outputs] == [w.type, x.type]


def test_attributes_may_be_attributes(block):
    x, _ = block.arguments
    dims = ir.DenseI64ArrayAttr.get([1])
    assert graph.build("reduce_max", [x], {"dims": dims}).opview.dims == (1,)


def test_numbers_keep_their_kind(block):
    f64 = ty.tensor_type((), ir.F64Type.get())
    for value in (True, 3, -1.5, math.inf, 2**64 - 1, 1 + 2j):
        op = graph.build("constant", [], {"value": value}, results=[f64]).opview
        assert op.value == value
        assert type(op.value) is type(value)


def test_building_reports_broken_rules(block):
    x, _ = block.arguments
    with pytest.raises(InvalidOp, match="expected dims to be at least 0"):
        graph.build("reduce_sum", [x], {"dims": [2]})
    with pytest.raises(InvalidOp, match="expected dim to be given"):
        graph.build("softmax", [x])
    with pytest.raises(TypeError, match="has no attribute 'axis'"):
        graph.build("softmax", [x], {"dim": 0, "axis": 1})
    with pytest.raises(TypeError, match="needs its result types"):
        graph.build("reshape", [x])
    with pytest.raises(UnknownOp, match=r"graph\.nothing"):
        graph.build("nothing", [x])


def test_locations_and_insertion_points_are_obeyed(block):
    x, _ = block.arguments
    location = ir.Location.file("model.py", 3, 1)
    point = ir.InsertionPoint.at_block_terminator(block)
    op = graph.build("exp", [x], loc=location, ip=point)
    assert op.location == location
    assert list(block.operations)[-2].operation == op


def test_effects(block):
    x, w = block.arguments
    assert effects_of(graph.build("exp", [x]).opview) is Effects.PURE
    assert effects_of(graph.build("bernoulli", [x]).opview) is Effects.ORDERED
    call = {"op": "aten.sin.default", "args": [OperandRef(0)]}
    pure = graph.build("extern", [[x]], call, results=[x.type])
    assert effects_of(pure.opview) is Effects.PURE
    effect = graph.build("extern", [[x]], {**call, "effects": True}, results=[x.type])
    assert effects_of(effect.opview) is Effects.ORDERED
    assert effects_of(list(block.operations)[-1]) is Effects.ORDERED
    assert tile.LoadOp.EFFECTS is Effects.READS
    assert tile.StoreOp.EFFECTS is Effects.WRITES
    assert host.LaunchOp.EFFECTS is Effects.ORDERED


def test_the_verifier_lists_all_problems():
    text = """
    func.func @f(%x: tensor<4xf32>) {
      %0 = "graph.exp"(%x) : (tensor<4xf32>) -> tensor<5xf32>
      %1 = "graph.add"(%x, %0) : (tensor<4xf32>, tensor<5xf32>) -> tensor<5xf32>
      return
    }"""
    with make_context():
        problems = verifier.problems_of(ir.Module.parse(text))
        assert len(problems) == 2
        assert "'graph.exp' expected y to have type" in problems[0].message


ARGUMENTS = [
    None,
    True,
    3,
    -1.5,
    2 + 1j,
    "text",
    symbol("s0") * 2,
    OperandRef(1),
    TorchConstant("dtype", "float32"),
    (1, (OperandRef(0), None)),
]


@pytest.mark.parametrize("argument", ARGUMENTS, ids=str)
def test_call_arguments_survive_encoding(argument):
    with make_context():
        assert decode_argument(encode_argument(argument)) == argument


def test_other_arguments_are_not_encoded():
    with make_context(), pytest.raises(TypeError, match="no encoding .* object"):
        encode_argument(object())


def test_a_name_is_defined_once():
    with pytest.raises(ValueError, match=r"two classes define the op 'graph\.exp'"):

        class Again(graph.GraphOp, name="exp"):
            x = operand()

    assert graph.OPS["graph.exp"] is graph.ExpOp
    assert issubclass(graph.ExpOp, Op)


def test_the_current_context_stays():
    assert current() is current()
