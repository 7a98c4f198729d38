"""Every elementwise op, reduction and creation op: valid IR after each pass.

Vectors and scalars, whole and partial: what expands a function differs there.
"""

import pytest

from girih.dialects import graph, verifier
from girih.dialects import types as ty
from girih.dialects.bindings import func, ir
from girih.dialects.context import make_context
from girih.passes.registry import run_pipeline

FLOATS = ("f32", "f64", "bf16", "f16")
ELEMENTS = (*FLOATS, "i64", "i32", "ui8", "i1")
SHAPES = ((64, 37), ())
ELEMENTWISE = graph.OPS_BY_FAMILY["elementwise"]
REDUCTIONS = graph.OPS_BY_FAMILY["reduction"]
PIPELINES = {
    "default": "default",
    "narrow": "graph,host,tile{vector-bits=128},expand-math{vector-bits=128},"
    "convert-tile-to-cpu{vector-bits=128},canonicalize,cse,llvm",
    "device": "graph,device,gpu",
}


def arguments_of(cls, element):
    """Types of operands, for an op whose operands are all tensors of one type."""
    mask = [ir.IntegerType.get_signless(1)] if cls.__name__ == "WhereOp" else []
    return [*mask, *[element] * (len(cls.OPERANDS) - len(mask))]


def attributes_of(cls):
    """What an op needs besides operands: it goes along the first dim."""
    wanted = cls.ATTRIBUTES
    values = {"dims": (0,), "dim": 0}
    return {name: value for name, value in values.items() if name in wanted}


def write(cls, block):
    """Adds an op to a function; returns its results, none where it takes no such."""
    values = {str(ty.element_of(v.type)): v for v in block.arguments}
    others = [v for name, v in values.items() if name != "i1"] or [values["i1"]]
    types = arguments_of(cls, others[0].type)
    operands = [values["i1"] if str(t) == "i1" else others[0] for t in types]
    given = {"results": [others[0].type]} if cls.__name__ == "CastOp" else {}
    try:
        op = cls.build(operands, attributes_of(cls), **given)
    except ValueError:
        return []
    if verifier.problems_of(op):
        op.erase()
        return []
    return list(op.results)


def module_of(classes, element, shape):
    """A function of all ops that take this element type, and the ops."""
    module = ir.Module.create()
    elements = [ty.element_type(name) for name in {element: 0, "i1": 0}]
    types = [ty.tensor_type(shape, e) for e in elements]
    with ir.InsertionPoint(module.body):
        function = func.FuncOp("main", (types, []))
        block = function.add_entry_block()
    with ir.InsertionPoint(block):
        made = {cls: write(cls, block) for cls in classes}
        results = [value for values in made.values() for value in values]
        func.ReturnOp(results)
    type_ = ir.FunctionType.get(types, [value.type for value in results])
    function.attributes["function_type"] = ir.TypeAttr.get(type_)
    return module, {cls for cls, values in made.items() if values}


@pytest.mark.parametrize("pipeline", PIPELINES)
@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_ir_is_valid_after_each_pass(shape, element, pipeline):
    with make_context(), ir.Location.unknown():
        classes = (*ELEMENTWISE, *(REDUCTIONS if shape else ()))
        module, _ = module_of(classes, element, shape)
        run_pipeline(module, PIPELINES[pipeline], verify=True)


def test_every_op_is_among_them():
    with make_context(), ir.Location.unknown():
        both = (*ELEMENTWISE, *REDUCTIONS)
        ran = set().union(*(module_of(both, e, (3,))[1] for e in ELEMENTS))
    assert {cls.__name__ for cls in both} - {cls.__name__ for cls in ran} == set()
