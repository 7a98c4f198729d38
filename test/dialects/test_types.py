"""Types with symbolic sizes, buffers, element types."""

import pytest

from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.dialects.context import make_context
from girih.dialects.dims import parse, symbol


@pytest.fixture(autouse=True)
def context():
    with make_context() as active:
        yield active


SHAPES = [
    (),
    (0,),
    (4, 1),
    (symbol("s0"),),
    (symbol("s0"), 16, parse("max(s0, 3)")),
]


@pytest.mark.parametrize("shape", SHAPES)
def test_tensor_types_keep_their_shape(shape):
    type_ = ty.tensor_type(shape, ty.element_type("bf16"))
    assert ty.shape_of(type_) == shape
    assert str(ty.element_of(type_)) == "bf16"
    assert ir.Type.parse(str(type_)) == type_


def test_static_types_have_no_encoding():
    assert ty.tensor_type((4, 2), ty.i64()).encoding is None


@pytest.mark.parametrize("shape", SHAPES)
def test_buffer_types_keep_their_parts(shape):
    strides = ty.contiguous_strides(shape)
    type_ = ty.buffer_type(shape, strides, ty.element_type("ui8"))
    assert ty.buffer_parts(type_) == (ty.element_type("ui8"), shape, strides)
    assert ty.shape_of(type_) == shape
    assert ir.Type.parse(str(type_)) == type_


def test_complex_buffers():
    type_ = ty.buffer_type((2,), (1,), ty.element_type("complex<f32>"))
    assert str(type_) == "!tile.buffer<complex<f32>, [2], [1]>"
    assert str(ty.element_of(type_)) == "complex<f32>"


def test_contiguous_strides_skip_empty_dims():
    assert ty.contiguous_strides((2, 0, 3)) == (3, 3, 1)
    assert ty.contiguous_strides((4, symbol("s0"), 2)) == (parse("2*s0"), 2, 1)


@pytest.mark.parametrize("name", ty.ELEMENT_BYTES)
def test_element_types(name):
    element = ty.element_type(name)
    assert ty.byte_width(element) == ty.ELEMENT_BYTES[name]
    kinds = [ty.is_bool, ty.is_float, ty.is_integer, ty.is_complex]
    assert sum(kind(element) for kind in kinds) == 1


def test_unknown_element_types_are_named():
    with pytest.raises(ty.InvalidType, match="got f99"):
        ty.element_type("f99")


def test_sizes_and_strides_must_correspond():
    with pytest.raises(ty.InvalidType, match="as many strides"):
        ty.buffer_type((2, 3), (1,), ty.i64())


def test_other_types_have_no_shape():
    with pytest.raises(ty.InvalidType, match="ranked tensor or a buffer"):
        ty.shape_of(ir.F32Type.get())
    with pytest.raises(ty.InvalidType, match="expected a buffer"):
        ty.buffer_parts(ir.F32Type.get())
