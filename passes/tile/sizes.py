"""Facts about sizes (ints or symbolic ``Dim``s) that the tile pass can prove.

A symbol is at least 1 here: an empty domain runs no program, so nothing that these
facts allow is ever executed for it.
"""

from collections.abc import Iterable
from functools import lru_cache

from girih.dialects.dims import Call, Dim, Symbol, substitute, symbol, symbols_of

Size = int | Dim


def is_constant(size: Size, value: int) -> bool:
    """True when the size is this very number."""
    return isinstance(size, int) and size == value


def exact_quotient(size: Size, divisor: Size) -> Size | None:
    """``size / divisor`` where that is proved to leave no rest, else None."""
    if is_constant(divisor, 1):
        return size
    if isinstance(divisor, int) and divisor <= 0:
        return None
    if isinstance(size, int):
        if isinstance(divisor, Dim):
            return 0 if size == 0 else None
        return size // divisor if size % divisor == 0 else None
    factor = size // divisor
    return factor if factor * divisor == size else None


def is_at_least(size: Size, bound: Size) -> bool:
    """True when ``size >= bound`` is proved for all symbols >= 1."""
    lowest = least(size - bound)
    return lowest is not None and lowest >= 0


def is_never_negative(size: Size) -> bool:
    """True when ``size >= 0`` is proved, quotients in it included.

    `is_at_least` takes it for granted that quotients are not negative, as those are
    that stand in the sizes of tensors by themselves.
    """
    if isinstance(size, int):
        return size >= 0
    factors = (factor for factors, _ in size.terms for factor in factors)
    return is_at_least(size, 0) and all(map(_is_natural, factors))


def _is_natural(factor: Symbol | Call) -> bool:
    if isinstance(factor, Symbol) or factor.function == "mod":
        return True
    return all(map(is_never_negative, factor.args))


def magnitude(size: Size) -> Size:
    """The size without its sign, where the sign is evident."""
    return size if is_at_least(size, 0) else size * -1


def product(sizes: Iterable[Size]) -> Size:
    """The product of sizes, 1 for none."""
    total: Size = 1
    for size in sizes:
        total = total * size
    return total


def known(size: Size, guess: int) -> int:
    """The size itself where it is static, else the guess."""
    return size if isinstance(size, int) else guess


def least(size: Size) -> int | None:
    """A lower bound of the size for all symbols >= 1, None where none is known."""
    return size if isinstance(size, int) else _least_value(size)


@lru_cache(maxsize=4096)
def _least_value(size: Dim) -> int | None:
    # With s = 1 + t, t >= 0, a sum without negative terms is least at t = 0.
    shifted = substitute(size, {name: symbol(name) + 1 for name in symbols_of(size)})
    lowest = 0
    for factors, coefficient in _as_dim_terms(shifted):
        if not factors:
            lowest += coefficient
        elif coefficient < 0:
            return None
    return lowest


def _as_dim_terms(size: Size) -> tuple:
    return (((), size),) if isinstance(size, int) else size.terms
