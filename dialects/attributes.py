"""How Python values are written as attributes and read back.

Each kind of op attribute is a ``Kind``: ``encode`` makes the attribute of a Python
value (an attribute is taken as it is), ``decode`` gives the value back or raises
``ValueError`` with the rule that is broken. The arguments of a call of an ATen op
have an encoding of their own: ``encode_argument`` and ``decode_argument``.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from girih.dialects import dims
from girih.dialects.bindings import ir
from girih.dialects.dims import Dim, Size


@dataclass(frozen=True)
class Kind:
    """A kind of op attribute.

    Attributes:
        rule: what the attribute must be, for messages.
        encode: Python value -> attribute.
        decode: attribute -> Python value; raises if it is of another kind.
    """

    rule: str
    encode: Callable[[Any], ir.Attribute]
    decode: Callable[[ir.Attribute], Any]


def _encode_int(value: int) -> ir.Attribute:
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)


def _decode_int(attribute: ir.Attribute) -> int:
    if not isinstance(attribute, ir.IntegerAttr):
        raise ValueError(attribute)
    return attribute.value


def _encode_float(value: float) -> ir.Attribute:
    return ir.FloatAttr.get_f64(float(value))


def _decode_float(attribute: ir.Attribute) -> float:
    if not isinstance(attribute, ir.FloatAttr):
        raise ValueError(attribute)
    return attribute.value


def _decode_bool(attribute: ir.Attribute) -> bool:
    if not isinstance(attribute, ir.BoolAttr):
        raise ValueError(attribute)
    return attribute.value


def _decode_string(attribute: ir.Attribute) -> str:
    if not isinstance(attribute, ir.StringAttr):
        raise ValueError(attribute)
    return attribute.value


def _decode_ints(attribute: ir.Attribute) -> tuple[int, ...]:
    if not isinstance(attribute, ir.DenseI64ArrayAttr):
        raise ValueError(attribute)
    return tuple(attribute)


def encode_size(size: Size) -> ir.Attribute:
    """Returns an ``i64`` for an int and a string for a dim expression."""
    if isinstance(size, Dim):
        return ir.StringAttr.get(str(size))
    return _encode_int(size)


def decode_size(attribute: ir.Attribute) -> Size:
    """Returns the size that ``encode_size`` made an attribute of."""
    if isinstance(attribute, ir.IntegerAttr):
        return attribute.value
    if isinstance(attribute, ir.StringAttr):
        return dims.parse(attribute.value)
    raise ValueError(attribute)


def _encode_sizes(sizes: Any) -> ir.Attribute:
    return ir.ArrayAttr.get([encode_size(size) for size in sizes])


def _decode_sizes(attribute: ir.Attribute) -> tuple[Size, ...]:
    if isinstance(attribute, ir.DenseI64ArrayAttr):
        return tuple(attribute)
    if not isinstance(attribute, ir.ArrayAttr):
        raise ValueError(attribute)
    return tuple(decode_size(item) for item in attribute)


def _encode_layouts(layouts: Any) -> ir.Attribute:
    return ir.ArrayAttr.get([_encode_sizes(sizes) for sizes in layouts])


def _decode_layouts(attribute: ir.Attribute) -> tuple[tuple[Size, ...], ...]:
    if not isinstance(attribute, ir.ArrayAttr):
        raise ValueError(attribute)
    return tuple(_decode_sizes(item) for item in attribute)


Scalar = bool | int | float | complex


def _encode_scalar(value: Scalar) -> ir.Attribute:
    match value:
        case bool():
            return ir.BoolAttr.get(value)
        case int():
            if -(2**63) <= value < 2**63:
                return _encode_int(value)
            # The bindings take 64 bits as signed.
            unsigned = ir.IntegerType.get_unsigned(64)
            return ir.IntegerAttr.get(unsigned, value - 2**64)
        case complex():
            parts = [_encode_float(value.real), _encode_float(value.imag)]
            return ir.ArrayAttr.get(parts)
    return _encode_float(value)


def _decode_scalar(attribute: ir.Attribute) -> Scalar:
    if isinstance(attribute, ir.BoolAttr | ir.IntegerAttr | ir.FloatAttr):
        return attribute.value
    if isinstance(attribute, ir.ArrayAttr) and len(attribute) == 2:
        return complex(*map(_decode_float, attribute))
    raise ValueError(attribute)


def _encode_number(value: Scalar | Dim) -> ir.Attribute:
    return encode_size(value) if isinstance(value, Dim) else _encode_scalar(value)


def _decode_number(attribute: ir.Attribute) -> Scalar | Dim:
    if isinstance(attribute, ir.StringAttr):
        return dims.parse(attribute.value)
    return _decode_scalar(attribute)


def _encode_symbol(value: str) -> ir.Attribute:
    return ir.FlatSymbolRefAttr.get(value)


def _decode_symbol(attribute: ir.Attribute) -> str:
    if not isinstance(attribute, ir.FlatSymbolRefAttr):
        raise ValueError(attribute)
    return attribute.value


def _encode_strings(values: Any) -> ir.Attribute:
    return ir.ArrayAttr.get([ir.StringAttr.get(value) for value in values])


def _decode_strings(attribute: ir.Attribute) -> tuple[str, ...]:
    if not isinstance(attribute, ir.ArrayAttr):
        raise ValueError(attribute)
    return tuple(map(_decode_string, attribute))


def _decode_type(attribute: ir.Attribute) -> ir.Type:
    if not isinstance(attribute, ir.TypeAttr):
        raise ValueError(attribute)
    return attribute.value


def _encode_unit(value: Any) -> ir.Attribute:
    return ir.UnitAttr.get()


def _decode_unit(attribute: ir.Attribute) -> bool:
    if not isinstance(attribute, ir.UnitAttr):
        raise ValueError(attribute)
    return True


def _decode_dictionaries(attribute: ir.Attribute) -> tuple[ir.DictAttr, ...]:
    if not isinstance(attribute, ir.ArrayAttr):
        raise ValueError(attribute)
    if not all(isinstance(entry, ir.DictAttr) for entry in attribute):
        raise ValueError(attribute)
    return tuple(attribute)


def _decode_bools(attribute: ir.Attribute) -> tuple[bool, ...]:
    if not isinstance(attribute, ir.DenseBoolArrayAttr):
        raise ValueError(attribute)
    return tuple(attribute)


INT = Kind("be an integer", _encode_int, _decode_int)
FLOAT = Kind("be a float", _encode_float, _decode_float)
BOOL = Kind("be true or false", lambda v: ir.BoolAttr.get(bool(v)), _decode_bool)
BOOLS = Kind(
    "be an array<i1>", lambda v: ir.DenseBoolArrayAttr.get(list(v)), _decode_bools
)
DICTIONARIES = Kind(
    "be an array of dictionaries",
    lambda v: ir.ArrayAttr.get(list(v)),
    _decode_dictionaries,
)
STRING = Kind("be a string", lambda v: ir.StringAttr.get(v), _decode_string)
INTS = Kind(
    "be an array<i64>", lambda v: ir.DenseI64ArrayAttr.get(list(v)), _decode_ints
)
SIZE = Kind("be an integer or a dim expression", encode_size, decode_size)
SIZES = Kind(
    "be an array of integers and dim expressions", _encode_sizes, _decode_sizes
)
LAYOUTS = Kind("be an array of arrays of strides", _encode_layouts, _decode_layouts)
SCALAR = Kind("be a number, true or false", _encode_scalar, _decode_scalar)
NUMBER = Kind("be a number or a dim expression", _encode_number, _decode_number)
SYMBOL = Kind("be a symbol", _encode_symbol, _decode_symbol)
STRINGS = Kind("be an array of strings", _encode_strings, _decode_strings)
TYPE = Kind("be a type", lambda v: ir.TypeAttr.get(v), _decode_type)
UNIT = Kind("be unit", _encode_unit, _decode_unit)


# Arguments of ATen calls --------------------------------------------------------


@dataclass(frozen=True)
class OperandRef:
    """Stands for the operand with this index in the arguments of a call."""

    index: int


@dataclass(frozen=True)
class ItemRef:
    """Stands for the Python number in the rank-0 operand with this index."""

    index: int


@dataclass(frozen=True)
class TorchConstant:
    """A constant of torch: ``kind`` is dtype, device, memory_format or layout."""

    kind: str
    name: str


TORCH_CONSTANT_KINDS = ("device", "dtype", "layout", "memory_format")

Argument = (
    None
    | bool
    | int
    | float
    | complex
    | str
    | Dim
    | OperandRef
    | ItemRef
    | TorchConstant
    | tuple
)


def encode_argument(value: Any) -> ir.Attribute:
    """Returns the attribute for one argument of a call of an ATen op.

    Args:
        value: None, a number, a string, a ``Dim``, an ``OperandRef``, an
            ``ItemRef``, a ``TorchConstant``, or a list or tuple of these.

    Raises:
        TypeError: The value is of another type.
    """
    match value:
        case None:
            return ir.UnitAttr.get()
        case bool() | int() | float():
            return _encode_scalar(value)
        case complex():
            return _tagged("complex", _encode_scalar(value))
        case OperandRef(index):
            return _tagged("operand", _encode_int(index))
        case ItemRef(index):
            return _tagged("item", _encode_int(index))
        case Dim():
            return _tagged("dim", ir.StringAttr.get(str(value)))
        case TorchConstant(kind, name):
            return _tagged(kind, ir.StringAttr.get(name))
        case str():
            return _tagged("str", ir.StringAttr.get(value))
        case list() | tuple():
            return ir.ArrayAttr.get([encode_argument(item) for item in value])
    raise TypeError(f"no encoding for an argument of type {type(value).__name__}")


def _tagged(tag: str, payload: ir.Attribute) -> ir.Attribute:
    return ir.DictAttr.get({tag: payload})


def decode_argument(attribute: ir.Attribute) -> Argument:
    """Returns the argument that ``encode_argument`` made an attribute of.

    Raises:
        ValueError: The attribute encodes no argument.
    """
    if isinstance(attribute, ir.UnitAttr):
        return None
    if isinstance(attribute, ir.BoolAttr | ir.IntegerAttr | ir.FloatAttr):
        return attribute.value
    if isinstance(attribute, ir.ArrayAttr):
        return tuple(decode_argument(item) for item in attribute)
    if isinstance(attribute, ir.DictAttr) and len(attribute) == 1:
        entry = attribute[0]
        return _decode_tagged(entry.name, entry.attr)
    raise ValueError(f"no argument is encoded as {attribute}")


def _decode_tagged(tag: str, payload: ir.Attribute) -> Argument:
    match tag:
        case "operand":
            return OperandRef(_decode_int(payload))
        case "item":
            return ItemRef(_decode_int(payload))
        case "dim":
            return dims.parse(_decode_string(payload))
        case "str":
            return _decode_string(payload)
        case "complex":
            return _decode_scalar(payload)
    if tag in TORCH_CONSTANT_KINDS:
        return TorchConstant(tag, _decode_string(payload))
    raise ValueError(f"no argument is encoded with the key {tag}")


def _encode_arguments(values: Any) -> ir.Attribute:
    return ir.ArrayAttr.get([encode_argument(value) for value in values])


def _decode_arguments(attribute: ir.Attribute) -> tuple[Argument, ...]:
    if not isinstance(attribute, ir.ArrayAttr):
        raise ValueError(attribute)
    return tuple(decode_argument(item) for item in attribute)


def _encode_keywords(values: dict[str, Any]) -> ir.Attribute:
    return ir.DictAttr.get({name: encode_argument(v) for name, v in values.items()})


def _decode_keywords(attribute: ir.Attribute) -> dict[str, Argument]:
    if not isinstance(attribute, ir.DictAttr):
        raise ValueError(attribute)
    return {entry.name: decode_argument(entry.attr) for entry in attribute}


ARGUMENTS = Kind(
    "be an array of encoded arguments", _encode_arguments, _decode_arguments
)
KEYWORDS = Kind(
    "be a dictionary of encoded arguments", _encode_keywords, _decode_keywords
)
