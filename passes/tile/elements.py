"""Element types as the tile pass sees them: kind, width, and what they compute in."""

from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True, slots=True)
class Element:
    """An element type: ``kind`` is float, float8, signed, unsigned or bool.

    Kernels do not compute on a float8: they move its bits, and cast them.
    """

    name: str
    kind: str
    bits: int

    @property
    def is_float(self) -> bool:
        """True for the floating point types that kernels compute on."""
        return self.kind == "float"

    @property
    def is_float8(self) -> bool:
        """True for the floating point types of 8 bits."""
        return self.kind == "float8"

    @property
    def computing(self) -> "Element":
        """The type of values in registers: f32 for the 16-bit floats."""
        return F32 if self.is_float and self.bits == 16 else self

    @property
    def register_name(self) -> str:
        """The MLIR type of a scalar in a register.

        Unsigned ints are signless, and a float8 is an integer that holds its bits.
        """
        return self.computing.memory_name

    @property
    def memory_name(self) -> str:
        """The MLIR type that ``tile.load`` gives, before it is widened."""
        is_bits = self.kind in ("unsigned", "float8")
        return f"i{self.bits}" if is_bits else self.name

    @property
    def bytes(self) -> int:
        """Bytes of one element in memory; a bool takes one."""
        return max(self.bits // 8, 1)


F32 = Element("f32", "float", 32)
F64 = Element("f64", "float", 64)
I64 = Element("i64", "signed", 64)
BOOL = Element("i1", "bool", 1)


@lru_cache(maxsize=64)
def element(name: str) -> Element:
    """The element type with this MLIR name.

    Raises:
        ValueError: for a type that kernels do not compute on.
    """
    if name == "i1":
        return BOOL
    if name.startswith("f8"):
        return Element(name, "float8", 8)
    for prefix, kind in (
        ("bf", "float"),
        ("f", "float"),
        ("ui", "unsigned"),
        ("i", "signed"),
    ):
        digits = name.removeprefix(prefix)
        if digits != name and digits in ("8", "16", "32", "64"):
            return Element(name, kind, int(digits))
    raise ValueError(f"no kernel computes on elements of type {name}")
