"""Types with symbolic sizes: tensors and buffers; element types.

A tensor is a builtin ranked tensor. Where sizes are symbolic its encoding holds one
expression for each ``?``: ``tensor<?x16xf32, ["s0"]>``. A buffer is
``!tile.buffer<f32, ["s0", 16], [16, 1]>``: element type, sizes, strides in elements.
Both are written canonically, so that equal types are equal text.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from girih.dialects import dims
from girih.dialects.bindings import ir
from girih.dialects.dims import Dim, Size

DYNAMIC = ir.ShapedType.get_dynamic_size()


class InvalidType(ValueError):
    """A type breaks a rule of this module."""


# Passes ask for the shape of the same few types over and over; reading a symbolic one
# takes 3 us, looking it up 0.2 (2026-11-20). A type keeps its context alive, so the
# tables are emptied whenever a context is made.
_SHAPES: dict[ir.Type, tuple[Size, ...]] = {}
_PARTS: dict[ir.Type, "BufferParts"] = {}
_TENSORS: dict[tuple, ir.RankedTensorType] = {}
_MOST_REMEMBERED = 10_000


def forget_types() -> None:
    """Empties the tables of this module."""
    for table in (_SHAPES, _PARTS, _TENSORS):
        table.clear()


def _remember(table: dict, key: object, value: object) -> None:
    if len(table) >= _MOST_REMEMBERED:
        table.clear()
    table[key] = value


# Elements -----------------------------------------------------------------------

# Name -> bytes in memory. A bool is a byte there, as in torch.
ELEMENT_BYTES = {
    "bf16": 2,
    "complex<f16>": 4,
    "complex<f32>": 8,
    "complex<f64>": 16,
    "f16": 2,
    "f32": 4,
    "f64": 8,
    "f8E4M3FN": 1,
    "f8E4M3FNUZ": 1,
    "f8E5M2": 1,
    "f8E5M2FNUZ": 1,
    "i1": 1,
    "i16": 2,
    "i32": 4,
    "i64": 8,
    "i8": 1,
    "ui16": 2,
    "ui32": 4,
    "ui64": 8,
    "ui8": 1,
}


def element_type(name: str) -> ir.Type:
    """Returns the element type called ``name``, such as ``"f32"``."""
    if name not in ELEMENT_BYTES:
        raise InvalidType(f"expected one of {', '.join(ELEMENT_BYTES)}, got {name}")
    return ir.Type.parse(name)


def byte_width(element: ir.Type) -> int:
    """Returns how many bytes an element takes in memory."""
    return ELEMENT_BYTES[str(element)]


def is_bool(element: ir.Type) -> bool:
    """Tells whether the element type is ``i1``."""
    return isinstance(element, ir.IntegerType) and element.width == 1


def is_float(element: ir.Type) -> bool:
    """Tells whether the element type is a real floating-point type."""
    return isinstance(element, ir.FloatType)


def is_float8(element: ir.Type) -> bool:
    """Tells whether the element type is a floating-point type of 8 bits."""
    return isinstance(element, ir.FloatType) and element.width == 8


def is_integer(element: ir.Type) -> bool:
    """Tells whether the element type is an integer type other than bool."""
    return isinstance(element, ir.IntegerType) and element.width > 1


def is_unsigned(element: ir.Type) -> bool:
    """Tells whether the element type is an unsigned integer type."""
    return isinstance(element, ir.IntegerType) and element.is_unsigned


def is_complex(element: ir.Type) -> bool:
    """Tells whether the element type is complex."""
    return isinstance(element, ir.ComplexType)


def real_part(element: ir.Type) -> ir.Type:
    """Returns the type of the real part of a complex type; others as they are."""
    return element.element_type if isinstance(element, ir.ComplexType) else element


def i1() -> ir.Type:
    """Returns the type of booleans."""
    return ir.IntegerType.get_signless(1)


def i64() -> ir.Type:
    """Returns the type of indices."""
    return ir.IntegerType.get_signless(64)


def vector_type(shape: Sequence[int], element: ir.Type) -> ir.VectorType:
    """Returns the vector type of this shape."""
    return ir.VectorType.get(shape, element, loc=_unknown(element))


# Tensors ------------------------------------------------------------------------


def tensor_type(shape: Sequence[Size], element: ir.Type) -> ir.RankedTensorType:
    """Returns the tensor type of this shape; ``Dim`` sizes go into the encoding."""
    key = (element, tuple(shape))
    type_ = _TENSORS.get(key)
    if type_ is None:
        type_ = _make_tensor_type(*key)
        _remember(_TENSORS, key, type_)
    return type_


def _make_tensor_type(element: ir.Type, shape: tuple[Size, ...]) -> ir.RankedTensorType:
    texts = [str(size) for size in shape if isinstance(size, Dim)]
    if not texts:
        return ir.RankedTensorType.get(shape, element, None, _unknown(element))
    sizes = [DYNAMIC if isinstance(size, Dim) else size for size in shape]
    context = element.context
    encoding = ir.ArrayAttr.get(
        [ir.StringAttr.get(text, context) for text in texts], context
    )
    return ir.RankedTensorType.get(sizes, element, encoding, _unknown(element))


def _unknown(type_: ir.Type) -> ir.Location:
    return ir.Location.unknown(type_.context)


def shape_of(type_: ir.Type) -> tuple[Size, ...]:
    """Returns the sizes of a tensor or buffer type.

    Raises:
        InvalidType: The type is of another kind, or lacks expressions for its ``?``.
    """
    shape = _SHAPES.get(type_)
    if shape is None:
        shape = _read_shape(type_)
        _remember(_SHAPES, type_, shape)
    return shape


def _read_shape(type_: ir.Type) -> tuple[Size, ...]:
    if isinstance(type_, ir.RankedTensorType):
        encoding = type_.encoding
        if encoding is None and type_.has_static_shape:
            return tuple(type_.shape)
        return _symbolic_shape(type_, encoding)
    if is_buffer(type_):
        return buffer_parts(type_).shape
    raise InvalidType(f"expected a ranked tensor or a buffer, got {type_}")


def _symbolic_shape(type_: ir.Type, encoding: ir.Attribute) -> tuple[Size, ...]:
    texts = list(encoding) if isinstance(encoding, ir.ArrayAttr) else []
    sizes = type_.shape
    if len(texts) != sum(size == DYNAMIC for size in sizes):
        rule = "hold one dim expression for each '?'"
        raise InvalidType(f"expected the encoding to {rule}, got {type_}")
    remaining = iter(texts)
    return tuple(
        _canonical_dim(next(remaining).value) if size == DYNAMIC else size
        for size in sizes
    )


def _canonical_dim(text: str) -> Dim:
    try:
        size = dims.parse(text)
    except ValueError as error:
        raise InvalidType(f"expected '?' to be a dim expression: {error}") from None
    if not isinstance(size, Dim):
        raise InvalidType(f"expected '?' to depend on a symbol, got {text}")
    if str(size) != text:
        raise InvalidType(f"expected '?' to be written {size}, got {text}")
    return size


def element_of(type_: ir.Type) -> ir.Type:
    """Returns the element type of a tensor or buffer type."""
    if isinstance(type_, ir.RankedTensorType):
        return type_.element_type
    return buffer_parts(type_).element_type


# Buffers ------------------------------------------------------------------------


class BufferParts(NamedTuple):
    """What a buffer type says.

    Attributes:
        element_type: the type of an element.
        shape: the sizes.
        strides: for each dim, the distance of neighbours, in elements.
    """

    element_type: ir.Type
    shape: tuple[Size, ...]
    strides: tuple[Size, ...]


def buffer_type(
    shape: Sequence[Size], strides: Sequence[Size], element: ir.Type
) -> ir.Type:
    """Returns ``!tile.buffer<element, shape, strides>``."""
    if len(shape) != len(strides):
        raise InvalidType(
            f"expected as many strides as sizes ({len(shape)}), got {len(strides)}"
        )
    data = f"buffer<{element}, {_sizes_text(shape)}, {_sizes_text(strides)}>"
    return ir.OpaqueType.get("tile", data, element.context)


def _sizes_text(sizes: Sequence[Size]) -> str:
    texts = [f'"{s}"' if isinstance(s, Dim) else str(int(s)) for s in sizes]
    return f"[{', '.join(texts)}]"


def is_single(shape: Sequence[Size]) -> bool:
    """Tells whether a shape is known to have one element."""
    return all(isinstance(size, int) and size == 1 for size in shape)


def is_buffer(type_: ir.Type) -> bool:
    """Tells whether this is a buffer type."""
    return (
        isinstance(type_, ir.OpaqueType)
        and type_.dialect_namespace == "tile"
        and type_.data.startswith("buffer<")
    )


def buffer_parts(type_: ir.Type) -> BufferParts:
    """Returns element type, sizes and strides of a buffer type.

    Raises:
        InvalidType: The type is no buffer, or is not written canonically.
    """
    parts = _PARTS.get(type_)
    if parts is None:
        if not is_buffer(type_):
            raise InvalidType(f"expected a buffer, got {type_}")
        element, shape, strides = _parse_buffer(type_.data)
        parts = BufferParts(ir.Type.parse(element, type_.context), shape, strides)
        _remember(_PARTS, type_, parts)
    return parts


_BUFFER = re.compile(
    r"buffer<(?P<element>[^,]+), \[(?P<shape>[^\]]*)\], \[(?P<strides>[^\]]*)\]>"
)


@lru_cache(maxsize=4096)
def _parse_buffer(data: str) -> tuple[str, tuple, tuple]:
    match = _BUFFER.fullmatch(data)
    if match is None:
        form = "!tile.buffer<element, [sizes], [strides]>"
        raise InvalidType(f"expected the buffer to read {form}, got !tile.{data}")
    element = match["element"]
    shape, strides = _parse_sizes(match["shape"]), _parse_sizes(match["strides"])
    if element not in ELEMENT_BYTES:
        raise InvalidType(f"expected the buffer to hold numbers, got {element}")
    if len(shape) != len(strides):
        raise InvalidType(f"expected as many strides as sizes, got !tile.{data}")
    canonical = f"buffer<{element}, {_sizes_text(shape)}, {_sizes_text(strides)}>"
    if canonical != data:
        raise InvalidType(f"expected !tile.{canonical}, got !tile.{data}")
    return element, shape, strides


def _parse_sizes(text: str) -> tuple[Size, ...]:
    # Expressions stand in quotes because calls have commas of their own.
    parts = text.split('"')
    sizes: list[Size] = []
    try:
        for index, part in enumerate(parts):
            if index % 2:
                sizes.append(dims.parse(part))
            else:
                sizes.extend(int(n) for n in part.replace(",", " ").split())
    except ValueError as error:
        raise InvalidType(f"expected the buffer to have sizes: {error}") from None
    return tuple(sizes)


def contiguous_strides(shape: Sequence[Size]) -> tuple[Size, ...]:
    """Returns the row-major strides of a shape, those that torch gives.

    A size of 0 counts as 1 there, so that strides are positive.
    """
    strides: list[Size] = []
    step: Size = 1
    for size in reversed(shape):
        strides.append(step)
        step = step * (size if isinstance(size, Dim) else max(size, 1))
    return tuple(reversed(strides))
