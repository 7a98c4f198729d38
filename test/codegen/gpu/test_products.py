"""Products in launch tables, by a library that is played on the processor."""

import ctypes

import pytest
import torch
import torch.nn.functional as F
from emulated_device import MultiplyingDevice, emulated_device

import girih
from girih.codegen.errors import CodegenError
from girih.codegen.gpu.products import plan_product
from girih.dialects.bindings import ir
from girih.dialects.context import current
from girih.dialects.types import buffer_parts, buffer_type
from girih.passes import fuse_contractions, launch_products
from girih.passes.convert_graph_to_host import padding
from girih.passes.launch_products import blocks


@pytest.fixture
def device(monkeypatch):
    """Where all products are the library's, small ones too."""
    monkeypatch.setattr(fuse_contractions, "is_chosen", lambda group, options: False)
    monkeypatch.setenv("GIRIH_NO_CACHE", "1")  # keys know nothing of this
    girih.reset()
    with emulated_device(MultiplyingDevice) as found:
        yield found
    girih.reset()


@pytest.fixture
def library(device):
    return ctypes.CDLL(device.products)


@pytest.fixture
def in_parts(monkeypatch):
    """Small products are padded, split and computed in rows as large ones are."""
    monkeypatch.setattr(padding, "_LEAST_BYTES", 0)
    monkeypatch.setattr(padding, "_LEAST_DEPTH", 1)
    monkeypatch.setattr(blocks, "_LEAST_SPLIT", 8)
    monkeypatch.setattr(blocks, "_LEAST_MULTIPLICATIONS", 0)
    find_copy = launch_products.find_copy
    monkeypatch.setattr(
        launch_products,
        "find_copy",
        lambda call, module, _: find_copy(call, module, 800),
    )


def make(*shape, dtype=torch.float32, grad=False):
    generator = torch.Generator().manual_seed(sum(shape))
    values = torch.randn(*shape, generator=generator) / shape[-1] ** 0.5
    return values.to(dtype).requires_grad_(grad)


def check(function, *inputs, calls, library):
    compiled = girih.compile(function, options={"fallback": False})
    before = ctypes.c_int.in_dll(library, "calls").value
    actual = compiled(*inputs)
    made = ctypes.c_int.in_dll(library, "calls").value - before
    (graph,) = girih.report(compiled).graphs
    assert graph.fallback is None and graph.externs == 0
    expected = function(*[x.double() for x in inputs])
    tolerance = 2e-2 if inputs[0].dtype == torch.bfloat16 else 1e-5
    torch.testing.assert_close(
        actual.double(), expected, rtol=tolerance, atol=tolerance
    )
    assert made == calls


FUNCTIONS = {
    "rows": lambda x, y: (x @ y).sin(),
    "columns": lambda x, y: (x.t().contiguous().t() @ y.t().contiguous().t()).sin(),
    "linear": lambda x, y: F.linear(x, y.t(), y[0]).sin(),
    "linear of many": lambda x, y: F.linear(x[None, :, None], y.t()).sin(),
    "batch": lambda x, y: (x.expand(3, *x.shape) @ y[None].expand(3, *y.shape)).sin(),
    "addmm": lambda x, y: torch.addmm(y[0], x, y).sin(),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_like_aten(name, dtype, library):
    with torch.no_grad():
        x, y = make(60, 70, dtype=dtype), make(70, 90, dtype=dtype)
        check(FUNCTIONS[name], x, y, calls=1, library=library)


@pytest.mark.parametrize("sizes", [(1, 60, 1), (60, 1, 60), (60, 60, 1)])
def test_thin(sizes, library):
    rows, depth, columns = sizes
    with torch.no_grad():
        x, y = make(rows, depth), make(depth, columns)
        compiled = girih.compile(lambda x, y: x @ y)
        torch.testing.assert_close(compiled(x, y), x @ y, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("calls, sizes", [(1, (24, 16, 32)), (8, (27, 19, 37))])
def test_blocks(calls, sizes, library, in_parts):
    rows, depth, columns = sizes
    x, y = make(rows, depth, dtype=torch.bfloat16), make(depth, columns).bfloat16()
    with torch.no_grad():
        check(lambda x, y: (x @ y).exp(), x, y, calls=calls, library=library)


def test_steps(device, in_parts):
    """Saved and given matrices have padded rows; their gradients are right."""
    x, w = make(40, 19, dtype=torch.bfloat16), make(37, 19, dtype=torch.bfloat16)

    def loss(x, w):
        return F.cross_entropy(F.linear(x.tanh(), w).float(), torch.arange(40) % 37)

    compiled = girih.compile(loss, options={"fallback": False})
    inputs = [v.requires_grad_() for v in (x, w)]
    actual = torch.autograd.grad(compiled(*inputs), inputs)
    exact = [v.detach().double().requires_grad_() for v in inputs]
    expected = torch.autograd.grad(loss(*exact), exact)
    for one, other in zip(actual, expected, strict=True):
        torch.testing.assert_close(one.double(), other, rtol=5e-2, atol=5e-3)


# Plans ------------------------------------------------------------------------------


def parts(shape, strides, element="f32"):
    with current(), ir.Location.unknown():
        return buffer_parts(buffer_type(shape, strides, ir.Type.parse(element)))


def test_a_workspace_is_asked_for(device, library):
    ctypes.c_size_t.in_dll(library, "wanted_workspace").value = 512
    try:
        plan = plan_product(
            0,
            *(parts((8, 8), (8, 1)) for _ in range(3)),
            has_bias=False,
            library=device.products,
        )
        assert plan.workspace_bytes == 512
        x, y = make(60, 60), make(60, 60)
        with torch.no_grad():
            check(lambda x, y: (x @ y).sin(), x, y, calls=1, library=library)
    finally:
        ctypes.c_size_t.in_dll(library, "wanted_workspace").value = 0


def test_what_the_library_refuses_is_an_error(device, library):
    ctypes.c_int.in_dll(library, "refuse_with").value = 15
    try:
        with pytest.raises(CodegenError, match="status 15: 8 x 8 x 8"):
            plan_product(
                0,
                *(parts((8, 8), (8, 1)) for _ in range(3)),
                has_bias=False,
                library=device.products,
            )
    finally:
        ctypes.c_int.in_dll(library, "refuse_with").value = 0
