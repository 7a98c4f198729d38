"""Rules that call ATen: every op has one, and the call computes what the op says."""

import pytest
import torch
import torch.nn.functional as F

from girih.codegen.runtime import torch_entry
from girih.dialects import graph
from girih.dialects.attributes import OperandRef, TorchConstant
from girih.dialects.bindings import ir
from girih.dialects.context import make_context
from girih.dialects.dims import symbol
from girih.dialects.types import element_type, tensor_type
from girih.passes.convert_graph_to_host.externs import (
    IN_PLACE_TWINS,
    ops_with_rules,
    rule_for,
)
from girih.passes.convert_graph_to_host.externs.rules import DTYPE_NAMES
from girih.passes.convert_graph_to_host.plan import VIEWS

ELEMENTS = {getattr(torch, name): element for element, name in DTYPE_NAMES.items()}
ALWAYS_VIEWS = {"graph.broadcast_to", "graph.permute", "graph.slice", "graph.window"}
# Of integers, which every kernel computes with; ATen has no such op.
ALWAYS_KERNELS = {"graph.philox", "graph.scan_max", "graph.scan_min"}


def type_of(tensor):
    return tensor_type(tuple(tensor.shape), element_type(ELEMENTS[tensor.dtype]))


def flattened(inputs):
    groups = [x if isinstance(x, list) else [x] for x in inputs]
    return [x for group in groups for x in group if x is not None]


def take_as(x, values):
    """The next value, None, or a list of the next values: whatever `x` stands for."""
    if isinstance(x, list):
        return [next(values) for _ in x]
    return None if x is None else next(values)


def build_op(name, inputs, attributes, results):
    """A graph op in a block whose arguments are its operands."""
    types = [type_of(tensor) for tensor in flattened(inputs)]
    box = ir.Operation.create("test.box", regions=1)
    locations = [ir.Location.unknown()] * len(types)
    block = box.regions[0].blocks.append(*types, arg_locs=locations)
    values = iter(block.arguments)
    operands = [take_as(x, values) for x in inputs]
    types = None if results is None else [type_of(result) for result in results]
    end = ir.InsertionPoint(block)
    return graph.build(name, operands, attributes, results=types, ip=end), box


def real(argument, tensors):
    """An encoded argument as what torch takes."""
    match argument:
        case OperandRef(index):
            return tensors[index]
        case TorchConstant(kind, name):
            return torch_entry.constant(kind, name)
        case tuple():
            return [real(item, tensors) for item in argument]
    return argument


def call(name, *inputs, results=None, **attributes):
    """What the ATen call of a graph op returns for these tensors (None: left out)."""
    with make_context(), ir.Location.unknown():
        op, _box = build_op(name, inputs, attributes, results)
        aten = rule_for(f"graph.{name}")(op.opview)
    tensors = flattened(inputs)
    arguments = [real(argument, tensors) for argument in aten.args]
    keywords = {key: real(value, tensors) for key, value in aten.kwargs.items()}
    return torch_entry.entry(aten.op)(*arguments, **keywords)


def assert_same(actual, expected):
    if isinstance(expected, (tuple, list)):
        for got, wanted in zip(actual, expected, strict=True):
            assert_same(got, wanted)
        return
    torch.testing.assert_close(actual, expected, rtol=0, atol=0, equal_nan=True)


# The pass itself copies the part to its place, in the operand or in a copy of it.
COPIES = {"graph.insert"}


def test_every_op_that_can_be_left_has_a_rule():
    assert graph.LIBRARY - ops_with_rules() == COPIES
    assert graph.PRIMITIVES - ops_with_rules() == ALWAYS_VIEWS | ALWAYS_KERNELS
    assert set(VIEWS) >= ALWAYS_VIEWS
    assert ops_with_rules() <= set(graph.OPS)


UNARY = sorted(
    cls.OPERATION_NAME.removeprefix("graph.")
    for cls in graph.OPS_BY_FAMILY["elementwise"]
    if len(cls.OPERANDS) == 1 and cls.OPERATION_NAME != "graph.cast"
)
BINARY = sorted(
    cls.OPERATION_NAME.removeprefix("graph.")
    for cls in graph.OPS_BY_FAMILY["elementwise"]
    if len(cls.OPERANDS) == 2
)
TORCH_NAMES = {
    "floor_divide": lambda a, b: torch.div(a, b, rounding_mode="floor"),
    "shift_left": torch.bitwise_left_shift,
    "shift_right": torch.bitwise_right_shift,
    "trunc_divide": lambda a, b: torch.div(a, b, rounding_mode="trunc"),
}


def sample(name, *shape):
    if name.startswith("logical"):
        return torch.randn(shape) > 0
    if name.startswith(("bitwise", "shift")):
        return torch.randint(1, 9, shape)
    return torch.rand(shape) * 0.8 + 0.1


@pytest.mark.parametrize("name", UNARY)
def test_unary(name):
    x = sample(name, 3, 4)
    function = getattr(torch, name)
    assert_same(call(name, x), function(x))


@pytest.mark.parametrize("name", BINARY)
def test_binary(name):
    x, y = sample(name, 3, 4), sample(name, 4)
    function = TORCH_NAMES.get(name) or getattr(torch, name)
    assert_same(call(name, x, y), function(x, y))


def test_where_and_cast():
    x, y = torch.randn(2, 3), torch.randn(3)
    assert_same(call("where", x > 0, x, y), torch.where(x > 0, x, y))
    wide = x.to(torch.complex128)
    assert_same(call("cast", x, results=[wide]), wide)


def test_creation():
    scalar, full = torch.tensor(2.5), torch.full((2, 3), True)
    assert_same(call("constant", results=[scalar], value=2.5), scalar)
    assert_same(call("full", results=[full], value=True), full)
    assert_same(call("size", expr=7), torch.tensor(7))
    iota = torch.arange(3, 11, 2)
    assert_same(call("iota", results=[iota], start=3, step=2), iota)
    floats = torch.arange(0.5, 1.7, 0.3)
    assert_same(call("iota", results=[floats], start=0.5, step=0.3), floats)
    empty = torch.empty(0, dtype=torch.int64)
    assert_same(call("iota", results=[empty], start=0, step=1), empty)


def test_symbolic_numbers_stay_symbolic():
    with make_context(), ir.Location.unknown():
        op, _box = build_op("size", [], {"expr": symbol("s0") * 2}, None)
        assert rule_for("graph.size")(op.opview).args == ((), symbol("s0") * 2)


def test_shape():
    x = torch.randn(2, 3, dtype=torch.complex64)
    assert_same(call("reshape", x.t(), results=[x.flatten()]), x.t().reshape(6))
    assert_same(call("concat", [x, x, x], dim=1), torch.cat([x, x, x], 1))
    padded = call("pad", x, low=(1, 0), high=(0, 2), value=1.5)
    assert_same(padded, F.pad(x, (0, 2, 1, 0), value=1.5))
    assert_same(call("flip", x, dims=(0, 1)), x.flip(0, 1))


def test_reduction():
    x = torch.randn(2, 3, 4)
    assert_same(call("reduce_sum", x, dims=(0, 2)), x.sum((0, 2), True))
    assert_same(call("reduce_prod", x, dims=(1,)), x.prod(1, True))
    assert_same(call("reduce_max", x, dims=(1, 2)), x.amax((1, 2), True))
    assert_same(call("reduce_min", x, dims=(1,)), x.amin(1, True))
    bools = x > 1
    assert_same(call("reduce_any", bools, dims=(0, 1)), bools.any(0, True).any(1, True))
    assert_same(call("reduce_all", bools, dims=(2,)), bools.all(2, True))
    assert_same(call("argmax", x, dim=1), x.argmax(1, True))
    assert_same(call("argmin", x, dim=2), x.argmin(2, True))


def test_indexing():
    x, index = torch.randn(3, 4, 5), torch.tensor([[0, -1], [2, 2]])
    assert_same(call("take", x, index, dim=1), x[:, index])
    column = torch.randint(0, 4, (3, 2, 5))
    assert_same(call("gather", x, column, dim=1), x.gather(1, column))
    source = torch.randn(3, 2, 5)
    assert_same(
        call("scatter_add", x, column, source, dim=1), x.scatter_add(1, column, source)
    )
    rows = torch.arange(3).reshape(3, 1, 1).expand(3, 1, 5).contiguous()
    assert_same(
        call("scatter", x, rows, source, dim=1), x.scatter(1, rows, source[:, :1])
    )
    assert_same(call("index", x, [index, index], dims=(0, 2)), x[index, :, index])
    values = torch.randn(2, 2, 4)
    expected = x.clone()
    expected[index, :, index] = values
    got = call("index_put", x, values, [index, index], dims=(0, 2), accumulate=False)
    assert_same(got, expected)


def test_contraction():
    x, y = torch.randn(2, 3, 4), torch.randn(2, 4, 5)
    bias = torch.randn(5)
    assert_same(call("mm", x[0], y[0]), x[0] @ y[0])
    assert_same(call("bmm", x, y), x.bmm(y))
    assert_same(call("addmm", bias, x[0], y[0]), torch.addmm(bias, x[0], y[0]))
    scaled = call("baddbmm", bias, x, y, beta=0.5, alpha=2)
    assert_same(scaled, torch.baddbmm(bias, x, y, beta=0.5, alpha=2))
    weight = torch.randn(5, 4)
    assert_same(call("linear", x, weight, bias), F.linear(x, weight, bias))
    assert_same(call("linear", x, weight, None), F.linear(x, weight))


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("bias", [None, torch.ones(4)])
def test_convolution(transposed, bias):
    x, weight = torch.randn(2, 4, 8, 8), torch.randn(4, 2, 3, 3)
    if transposed:
        weight = torch.randn(4, 2, 3, 3)
    geometry = {"stride": (2, 2), "padding": (1, 1), "dilation": (1, 1)}
    more = {"transposed": transposed, "output_padding": (0, 0), "groups": 2}
    got = call("convolution", x, weight, bias, **geometry, **more)
    expected = torch.convolution(x, weight, bias, *geometry.values(), *more.values())
    assert_same(got, expected)


def test_attention():
    query, key, value = torch.randn(3, 2, 4, 6, 8)
    got = call("attention", query, key, value, None, causal=True, scale=0.3)
    expected = F.scaled_dot_product_attention(
        query, key, value, is_causal=True, scale=0.3
    )
    assert_same(got, expected)
    mask = torch.randn(6, 6)
    got = call("attention", query, key[:, :2], value[:, :2], mask, scale=0.3)
    expected = F.scaled_dot_product_attention(
        query, key[:, :2], value[:, :2], mask, scale=0.3, enable_gqa=True
    )
    assert_same(got, expected)


def test_pooling():
    x = torch.randn(2, 3, 9, 9)
    windows = {"kernel": (3, 3), "stride": (2, 2), "padding": (1, 1)}
    got = call("max_pool", x, **windows, dilation=(1, 1), ceil_mode=True)
    assert_same(got, F.max_pool2d(x, 3, 2, 1, 1, True, return_indices=True))
    got = call("avg_pool", x, **windows, count_include_pad=False, divisor=5)
    assert_same(got, F.avg_pool2d(x, 3, 2, 1, False, False, 5))
    one = {name: value[:1] for name, value in windows.items()}
    assert_same(call("avg_pool", x[0], **one), F.avg_pool1d(x[0], 3, 2, 1))
    got = call("adaptive_avg_pool", x, output_size=(2, 4))
    assert_same(got, F.adaptive_avg_pool2d(x, (2, 4)))


def test_scans():
    x = torch.randn(3, 7)
    assert_same(call("cumsum", x, dim=1), x.cumsum(1))
    assert_same(call("cumprod", x, dim=1), x.cumprod(1))
    assert_same(call("logcumsumexp", x, dim=1), x.logcumsumexp(1))
    assert_same(call("cummax", x, dim=1), x.cummax(1))
    assert_same(call("cummin", x, dim=0), x.cummin(0))
    assert_same(call("topk", x, k=2, dim=1, largest=False), x.topk(2, 1, False))
    got = call("sort", x, dim=0, descending=True, stable=True)
    assert_same(got, x.sort(dim=0, descending=True, stable=True))


@pytest.mark.parametrize(
    ("name", "attributes", "expected"),
    [
        ("rand", {}, lambda x: torch.rand(3, 4)),
        ("randn", {}, lambda x: torch.randn(3, 4)),
        ("randint", {"low": 2, "high": 9}, lambda x: torch.randint(2, 9, (3, 4))),
        ("bernoulli", {}, torch.bernoulli),
        ("dropout", {"p": 0.4}, lambda x: torch.native_dropout(x, 0.4, True)),
    ],
)
def test_random_ops_draw_as_eager_does(name, attributes, expected):
    x = torch.rand(3, 4)
    inputs = [x] if name in ("bernoulli", "dropout") else []
    results = None
    if not inputs:
        results = [torch.empty(3, 4, dtype=torch.int64) if name == "randint" else x]
    torch.manual_seed(1)
    got = call(name, *inputs, results=results, **attributes)
    torch.manual_seed(1)
    assert_same(got, expected(x))


def test_seed():
    seeds = torch.tensor([3, 1, 4])
    assert_same(call("seed", seeds, index=2), seeds[2])


@pytest.mark.parametrize(("name", "twin"), IN_PLACE_TWINS.items())
def test_in_place_twins_take_the_same_arguments(name, twin):
    functional, in_place = torch_entry.overload(name), torch_entry.overload(twin)
    arguments = [(a.name, str(a.type)) for a in functional._schema.arguments]
    assert arguments == [(a.name, str(a.type)) for a in in_place._schema.arguments]
    assert in_place._schema.arguments[0].alias_info.is_write


def test_extern_is_the_call_it_names():
    x = torch.randn(3, 4)
    got = call(
        "extern",
        [x],
        results=[x],
        op="aten.roll.default",
        args=[OperandRef(0), [1], [0]],
    )
    assert_same(got, x.roll(1, 0))
