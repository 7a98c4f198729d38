"""Python's floats as elements of narrower types."""

import math
import struct

_FORMATS = {"f16": "e", "f32": "f", "f64": "d"}


def rounded(value: float, element: str) -> float:
    """Returns the nearest value of a type: bf16, f16, f32 or f64.

    bf16 is rounded through f32, as ATen does. What is too large is infinite.
    """
    if not math.isfinite(value):
        return value
    if element == "bf16":
        return _rounded_to_bf16(rounded(value, "f32"))
    code = _FORMATS[element]
    try:
        return struct.unpack(code, struct.pack(code, value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


def _rounded_to_bf16(value: float) -> float:
    if not math.isfinite(value):
        return value
    bits = struct.unpack("<I", struct.pack("<f", value))[0]
    bits += 0x7FFF + ((bits >> 16) & 1)  # to nearest, ties to even
    return struct.unpack("<f", struct.pack("<I", bits & 0xFFFF0000))[0]
