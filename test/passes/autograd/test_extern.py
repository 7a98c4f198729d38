"""Derivatives of calls of ATen against torch's."""

import pytest
import torch
import torch.nn.functional as F
from derivatives import check_op, tensor_type

import girih
from girih.dialects import graph
from girih.dialects.attributes import OperandRef
from girih.dialects.bindings import func, ir
from girih.dialects.context import make_context
from girih.evaluation.reference import evaluate
from girih.passes.autograd.rules import NotDifferentiable
from girih.passes.registry import PassError, run_pipeline


def random(*shape, dtype=torch.float64):
    return torch.randn(shape, dtype=dtype)


def call(name, tensors, arguments, results, order=2, **keywords):
    """Checks the derivatives of a call; tensors in ``arguments`` are operands."""
    attributes = {"op": name, "args": arguments, "kwargs": keywords}
    check_op("extern", [tensors], attributes, order=order, result_types=results)


X, Y = OperandRef(0), OperandRef(1)


def test_one_operand_to_any_order():
    x = random(3, 4)
    call("aten.cumprod.default", [x], [X, 1], [x], order=4)


def test_several_operands():
    x, y = random(3, 4), random(5, 4)
    call("aten._cdist_forward.default", [x, y], [X, Y, 2.0, 1], [random(3, 5)], order=1)


def test_an_operand_twice():
    x = random(4)
    call("aten.dot.default", [x], [X, X], [random()], order=3)


@pytest.mark.parametrize("name", ["aten.dot.default", "aten.vdot.default"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
def test_dot(name, dtype):
    x, y = random(4, dtype=dtype), random(4, dtype=dtype)
    call(name, [x, y], [X, Y], [random(dtype=dtype)])
    call(name, [x, y], [Y, X], [random(dtype=dtype)])


def test_steps():
    call("aten.round.decimals", [random(4)], [X], [random(4)], order=1, decimals=1)


def test_operands_in_lists_and_keywords():
    x, y = random(2, 3), random(4, 3)
    call("aten.cat.default", [x, y], [(X, Y, X)], [random(8, 3)])
    call("aten.add.Tensor", [x], [X], [x], other=X, alpha=3)


def test_several_results():
    x = random(4, 4)
    call("aten.linalg_slogdet.default", [x], [X], [random(), random()], order=2)
    call("aten.kthvalue.default", [x], [X, 2], [random(4), torch.zeros(4).long()])


def test_products_and_moduli_of_complex_numbers():
    x, y = (random(3, 2, dtype=torch.complex128) for _ in range(2))
    call("aten.mul.Tensor", [x, y], [X, Y], [x])
    call("aten.mul.Tensor", [x], [X, X], [x])
    call("aten.mul.Tensor", [x, y[:1]], [X, Y], [x])
    call("aten.abs.default", [x], [X], [x.real])
    call("aten.abs.default", [0 * x], [X], [x.real], order=1)


def test_margins_of_classes():
    x, target = random(4, 5), torch.tensor([0, 4, 2, 2])
    name = "aten.multi_margin_loss.default"
    call(name, [x, target], [X, Y], [random()], order=1)
    call(name, [x, target], [X, Y, 2, 0.5, None, 0], [random(4)], order=1)


WEIGHT = torch.randn(7, 3, dtype=torch.float64)
INDICES, OFFSETS = torch.tensor([1, 1, 4, 0, 6, 4]), torch.tensor([0, 2, 2, 5])
MARGINS = torch.tensor([0.5, 2.0, 1.0])
PROGRAMS = {
    "bags": lambda x: F.embedding_bag(INDICES, x, OFFSETS),
    "sums": lambda x: F.embedding_bag(INDICES, x, OFFSETS, mode="sum").exp(),
    "largest": lambda x: F.embedding_bag(INDICES, x, OFFSETS, mode="max"),
    "padding": lambda x: F.embedding_bag(INDICES, x, OFFSETS, padding_idx=4),
    "rows": lambda x: F.embedding_bag(INDICES.view(2, 3), x, mode="mean"),
    "scaled": lambda x: F.embedding_bag(INDICES, x, OFFSETS, scale_grad_by_freq=True),
    "no bag": lambda x: F.embedding_bag(INDICES[:0], x, OFFSETS[:0]),
    "no index": lambda x: F.embedding_bag(INDICES[:0], x, OFFSETS[:2] * 0),
    "ends": lambda x: F.embedding_bag(INDICES, x, OFFSETS, include_last_offset=True),
    "weighted margins": lambda x: F.multi_margin_loss(
        x, INDICES.new_tensor([0, 1, 2, 2, 1, 0, 0]), weight=MARGINS.to(x)
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_compiled(name):
    program, x = PROGRAMS[name], WEIGHT.clone().requires_grad_()
    expected, actual = program(x), girih.compile(program)(x)
    cotangent = torch.randn_like(expected)
    (gradient,) = torch.autograd.grad(expected, x, cotangent)
    (found,) = torch.autograd.grad(actual, x, cotangent)
    torch.testing.assert_close(actual, expected)
    torch.testing.assert_close(found, gradient)


def test_operand_of_integers():
    x, index = random(5, 3), torch.tensor([1, 1, 4])
    call("aten.index_select.default", [x, index], [X, 0, Y], [random(3, 3)])


def test_complex_numbers():
    x = random(3, dtype=torch.complex128)
    call("aten.mul.Tensor", [x, x.conj().resolve_conj()], [X, Y], [x], order=3)
    call("aten.abs.default", [x], [X], [random(3)])
    call("aten._conj_physical.default", [x], [X], [x])


def test_parts_of_complex_numbers():
    """Against the ops that view: torch has no derivative of those that copy."""
    real, x = random(3, 2).requires_grad_(), random(3, dtype=torch.complex128)
    with make_context(), ir.Location.unknown():
        module = _module("aten.view_as_complex_copy.default", real, x)
        run_pipeline(module, "autograd")
        _, gradient = evaluate(module, [real.detach(), x])
    (expected,) = torch.autograd.grad(torch.view_as_complex(real), real, x)
    torch.testing.assert_close(gradient, expected)


def test_results_that_nothing_reaches():
    x = random(3)
    call("aten.sgn.default", [x], [X], [x])


@pytest.mark.parametrize("name", ["aten.index_add.default", "aten.index_copy.default"])
def test_index_writes(name):
    x, index, src = random(5, 3), torch.tensor([1, 4, 2]), random(3, 3)
    arguments = [X, 0, Y, OperandRef(2)]
    call(name, [x, index, src], arguments, [x])


def test_index_add_with_a_factor():
    x, index, src = random(3, 5), torch.tensor([1, 1]), random(3, 2)
    arguments = [X, 1, Y, OperandRef(2)]
    call("aten.index_add.default", [x, index, src], arguments, [x], alpha=2.5)


def test_index_without_dims():
    x, index, src = random(5), torch.tensor(3), random(1)
    arguments = [X, 0, Y, OperandRef(2)]
    call("aten.index_add.default", [x, index, src], arguments, [x])
    call("aten.index_copy.default", [x, index, src], arguments, [x])
    x = random()
    call("aten.index_add.default", [x, index * 0, random()], arguments, [x])


def test_fills():
    x, index = random(4, 3), torch.tensor([2, 0, 2])
    call("aten.index_fill.int_Scalar", [x, index], [X, -1, Y, 1.5], [x])
    value = OperandRef(2)
    call("aten.index_fill.int_Tensor", [x, index, random()], [X, 1, Y, value], [x])
    index = torch.tensor([[0, 1, 1], [2, 0, 2]])
    call("aten.scatter.value", [x, index], [X, 0, Y, 2.0], [x])


@pytest.mark.parametrize("mask_shape", [(3,), (2, 1), (2, 3)])
def test_masked_scatter(mask_shape):
    x, source = random(2, 3), random(7)
    mask = torch.rand(mask_shape) < 0.5
    arguments = [X, Y, OperandRef(2)]
    call("aten.masked_scatter.default", [x, mask, source], arguments, [x])


@pytest.mark.parametrize("name", ["nearest", "_nearest_exact", "linear"])
def test_upsample_in_one_dim(name):
    x = random(2, 3, 5)
    rest = [False] if name == "linear" else []
    call(_upsample(name, 1), [x], [X, (7,), *rest, None], [random(2, 3, 7)])


@pytest.mark.parametrize("name", ["nearest", "bilinear", "bicubic", "_bilinear_aa"])
def test_upsample_in_two_dims(name):
    x, y = random(1, 2, 5, 3), random(1, 2, 7, 2)
    rest = [] if name == "nearest" else [False]
    call(_upsample(name, 2), [x], [X, (7, 2), *rest, None, None], [y])


def _upsample(name, rank):
    if name.startswith("_bi"):
        return f"aten._upsample_{name[1:-3]}{rank}d_aa.default"
    underscore = "_" if name.startswith("_") else ""
    return f"aten.{underscore}upsample_{name.lstrip('_')}{rank}d.default"


@pytest.mark.parametrize("factor", [0, 1, 2])
def test_fft(factor):
    x = random(3, 4, dtype=torch.complex128)
    call("aten._fft_c2c.default", [x], [X, (0, 1), factor, True], [x], order=3)


@pytest.mark.parametrize("size", [1, 2, 5, 6])
@pytest.mark.parametrize("dims", [(1,), (0, 1), (1, 0)])
def test_fft_of_reals(size, dims):
    x = random(size, size)
    half = torch.fft.rfftn(x, dim=dims)
    call("aten._fft_r2c.default", [x], [X, dims, 1, True], [half])
    call("aten._fft_r2c.default", [x], [X, dims, 0, False], [x + 0j])
    z = random(*half.shape, dtype=torch.complex128)
    call("aten._fft_c2r.default", [z], [X, dims, 2, size], [x])


@pytest.mark.parametrize("stride", [1, 2])
def test_windows(stride):
    x = random(2, 3, 5, 4)
    rest = [(2, 3), (1, 1), (1, 0), (stride, 1)]
    columns = torch.ops.aten.im2col(x, *rest)
    call("aten.im2col.default", [x], [X, *rest], [columns])
    call("aten.col2im.default", [columns], [X, (5, 4), *rest], [x])


def test_grid_sampler():
    x, grid = random(2, 3, 5, 4), torch.rand(2, 4, 3, 2, dtype=torch.float64) * 2 - 1
    y = random(2, 3, 4, 3)
    call("aten.grid_sampler_2d.default", [x, grid], [X, Y, 0, 0, True], [y])


def test_embedding_dense_backward():
    g, index = random(4, 2), torch.tensor([1, 2, 2, 0])
    name = "aten.embedding_dense_backward.default"
    call(name, [g, index], [X, Y, 5, 2, False], [random(5, 2)])
    call(name, [g, index], [X, Y, 5, -1, True], [random(5, 2)])


def test_overwriting():
    """What is written gets the gradient; torch has no derivative of the op."""
    x, g = random(3, dtype=torch.complex128), random(3, dtype=torch.complex128)
    with make_context(), ir.Location.unknown():
        module = _module("aten.copy.default", x, x, args=[X, X])
        run_pipeline(module, "autograd")
        _, gradient = evaluate(module, [x, g])
    torch.testing.assert_close(gradient, g)


def test_index_add_of_complex_numbers():
    x, index = random(3, dtype=torch.complex128), torch.tensor([1, 1, 0])
    arguments = [X, 0, Y, OperandRef(2)]
    call("aten.index_add.default", [x, index, x * 2], arguments, [x], alpha=2)


def test_noise_depends_on_nothing():
    x = random(3)
    with make_context(), ir.Location.unknown():
        module = _module("aten.randn_like.default", x, x)
        run_pipeline(module, "autograd")
    assert "girih.vjp" not in str(module)


def test_random_calls_have_no_derivative():
    x = random(3)
    with make_context(), ir.Location.unknown():
        module = _module("aten.rrelu.default", x, x, effects=True)
        with pytest.raises(PassError) as caught:
            run_pipeline(module, "autograd")
    assert isinstance(caught.value.cause, NotDifferentiable)


def _module(name, x, y, **attributes):
    """``y = name(x)``."""
    module = ir.Module.create()
    type_ = tensor_type(y)
    with ir.InsertionPoint(module.body):
        function = func.FuncOp("main", ([tensor_type(x)], [type_]))
    block = function.add_entry_block()
    given = {"op": name, "args": [OperandRef(0)], **attributes}
    with ir.InsertionPoint(block):
        made = graph.build("extern", [list(block.arguments)], given, results=[type_])
        func.ReturnOp(list(made.results))
    wanted = ir.DictAttr.get({"graph.requires_grad": ir.UnitAttr.get()})
    function.attributes["arg_attrs"] = ir.ArrayAttr.get([wanted])
    return module
