"""Index expressions: where a coordinate of some tensor lies in the iteration domain.

An ``Affine`` is ``const + sum(coefficient * atom)``. Atoms are coordinates of the
domain, quotients and remainders that did not simplify, and values read at run time
(an embedding's row). Coefficients and constants are sizes: ints or symbolic ``Dim``s.
Everything is immutable and hashable; equal expressions are equal objects by value.
"""

from dataclasses import dataclass
from functools import lru_cache

from girih.passes.tile.sizes import (
    Size,
    exact_quotient,
    is_at_least,
    is_constant,
    magnitude,
)


@dataclass(frozen=True, slots=True)
class Coordinate:
    """One dimension of the iteration domain, ``0 <= value < size``."""

    key: tuple[int, ...]
    size: Size


@dataclass(frozen=True, slots=True)
class Quotient:
    """``value // divisor``, left over when it did not simplify."""

    value: "Affine"
    divisor: Size


@dataclass(frozen=True, slots=True)
class Remainder:
    """``value % divisor``, left over when it did not simplify."""

    value: "Affine"
    divisor: Size


@dataclass(frozen=True, slots=True)
class Dynamic:
    """An index read at run time, already made non-negative and checked."""

    node: object
    size: Size


Atom = Coordinate | Quotient | Remainder | Dynamic


@dataclass(frozen=True, slots=True)
class Affine:
    """``const + sum(coefficient * atom)`` with terms in a canonical order."""

    terms: tuple[tuple[Atom, Size], ...]
    const: Size

    def __add__(self, other: "Affine | Size") -> "Affine":
        if not isinstance(other, Affine):
            return Affine(self.terms, self.const + other)
        merged = dict(self.terms)
        for atom, coefficient in other.terms:
            merged[atom] = merged.get(atom, 0) + coefficient
        return affine(merged, self.const + other.const)

    def __sub__(self, other: "Affine | Size") -> "Affine":
        return self + (other * -1)

    def __mul__(self, factor: Size) -> "Affine":
        if factor == 1:
            return self
        return affine({a: c * factor for a, c in self.terms}, self.const * factor)

    def coefficient(self, atom: Atom) -> Size:
        """The factor of ``atom``, 0 where it does not occur at the top level."""
        return next((c for a, c in self.terms if a == atom), 0)

    @property
    def is_const(self) -> bool:
        """True when no atom is left."""
        return not self.terms


def affine(terms: dict[Atom, Size], const: Size = 0) -> Affine:
    """The canonical expression with these terms: no zero terms, sorted."""
    kept = [(a, c) for a, c in terms.items() if not is_constant(c, 0)]
    return Affine(tuple(sorted(kept, key=lambda term: _order(term[0]))), const)


def constant(value: Size) -> Affine:
    """An index that is the same everywhere."""
    return Affine((), value)


def of(atom: Atom) -> Affine:
    """The expression that is just ``atom``."""
    return Affine(((atom, 1),), 0)


@lru_cache(maxsize=4096)
def _order(atom: Atom) -> tuple:
    kind = ("Coordinate", "Quotient", "Remainder", "Dynamic").index(type(atom).__name__)
    if isinstance(atom, Coordinate):
        return (kind, atom.key)
    if isinstance(atom, Dynamic):
        return (kind, (atom.node.number,))
    return (kind, (), str(atom.divisor), repr(atom.value))


def atom_size(atom: Atom) -> Size | None:
    """One more than the largest value of ``atom``, where it is known."""
    if isinstance(atom, (Coordinate, Dynamic)):
        return atom.size
    if isinstance(atom, Remainder):
        return atom.divisor
    return None


def bounds(expression: Affine) -> tuple[Size, Size] | None:
    """The smallest and the largest value, or None where a range is not known."""
    low = high = expression.const
    for atom, coefficient in expression.terms:
        size = atom_size(atom)
        if size is None:
            return None
        reach = coefficient * (size - 1)
        if is_at_least(coefficient, 0):
            high = high + reach
        elif is_at_least(coefficient * -1, 0):
            low = low + reach
        else:
            return None
    return low, high


def is_non_negative(expression: Affine) -> bool:
    """True when ``expression >= 0`` is proved."""
    limits = bounds(expression)
    return limits is not None and is_at_least(limits[0], 0)


def is_within(expression: Affine, size: Size) -> bool:
    """True when ``0 <= expression < size`` is proved."""
    limits = bounds(expression)
    return (
        limits is not None
        and is_at_least(limits[0], 0)
        and is_at_least(size, limits[1] + 1)
    )


def quotient(expression: Affine, divisor: Size) -> Affine:
    """``expression // divisor`` for a non-negative expression, simplified."""
    return _quotient(expression, divisor, is_natural=True)


def remainder(expression: Affine, divisor: Size) -> Affine:
    """``expression % divisor`` for a non-negative expression, simplified."""
    return _remainder(expression, divisor, is_natural=True)


def _quotient(expression: Affine, divisor: Size, is_natural: bool) -> Affine | None:
    """The quotient, or None where it would divide what may be negative.

    Guards make the whole expression non-negative, though no part of it needs to be:
    code divides without a sign, so only what is never negative is divided.

    Args:
        expression: What is divided.
        divisor: A size.
        is_natural: Whether the expression is not negative where that matters.
    """
    if is_constant(divisor, 1) or is_constant(divisor, 0):
        # Nothing is ever read from a tensor with a size of 0.
        return expression
    whole, rest = _split_multiples(expression, divisor)
    if is_within(rest, divisor):
        return whole
    for part, outside in ((rest, whole), (expression, constant(0))):
        is_part_natural = is_natural if part is expression else is_non_negative(part)
        _, high, factor = _split_low_part(part, divisor)
        if factor is not None:
            smaller = exact_quotient(divisor, factor)
            found = _quotient(high, smaller, is_part_natural)
            if found is not None:
                return outside + found
        elif is_part_natural:
            return outside + of(Quotient(part, divisor))
    return None


def _remainder(expression: Affine, divisor: Size, is_natural: bool) -> Affine | None:
    """The remainder, or None, as ``_quotient``."""
    if is_constant(divisor, 1) or is_constant(divisor, 0):
        return constant(0)
    _, rest = _split_multiples(expression, divisor)
    if is_within(rest, divisor):
        return rest
    for part in (rest, expression):
        is_part_natural = is_natural if part is expression else is_non_negative(part)
        low, high, factor = _split_low_part(part, divisor)
        if factor is not None:
            smaller = exact_quotient(divisor, factor)
            found = _remainder(high, smaller, is_part_natural)
            if found is not None:
                return found * factor + low
        elif is_part_natural:
            return of(Remainder(part, divisor))
    return None


def _split_multiples(expression: Affine, divisor: Size) -> tuple[Affine, Affine]:
    """Writes the expression as ``divisor * first + second``."""
    whole, rest = {}, {}
    for atom, coefficient in expression.terms:
        factor = exact_quotient(coefficient, divisor)
        if factor is None:
            rest[atom] = coefficient
        else:
            whole[atom] = factor
    first, second = _split_constant(expression.const, affine(rest), divisor)
    return affine(whole, first), affine(rest, second)


def _split_constant(const: Size, rest: Affine, divisor: Size) -> tuple[Size, Size]:
    """Splits a constant so that the part beside ``rest`` stays in ``[0, divisor)``."""
    if isinstance(const, int) and isinstance(divisor, int):
        return divmod(const, divisor)
    for spare in (const, const - divisor + 1, 0):
        factor = exact_quotient(const - spare, divisor)
        if factor is not None and is_within(rest + spare, divisor):
            return factor, spare
    return 0, const


def _split_low_part(rest: Affine, divisor: Size):
    """Finds ``rest == factor * high + low`` with ``0 <= low < factor | divisor``."""
    for factor in [magnitude(c) for _, c in rest.terms]:
        if is_constant(factor, 1) or exact_quotient(divisor, factor) is None:
            continue
        high, low = _split_multiples(rest, factor)
        if not high.is_const and is_within(low, factor):
            return low, high, factor
    return rest, constant(0), None


def recombined(expression: Affine) -> Affine:
    """The expression with ``n * (x // n) + x % n`` written as ``x``.

    A reshape cuts a linear position into coordinates, and the strides of a contiguous
    buffer put it together again: what was divided on the way need not be.
    """
    terms = dict(expression.terms)
    for atom, coefficient in expression.terms:
        if isinstance(atom, Remainder):
            whole = Quotient(atom.value, atom.divisor)
            if terms.get(whole) == coefficient * atom.divisor:
                del terms[atom], terms[whole]
                rest = affine(terms, expression.const)
                return recombined(rest + atom.value * coefficient)
    return expression


def coordinates_of(expression: Affine) -> frozenset[Coordinate]:
    """Every coordinate on which the expression depends, through quotients too."""
    found: set[Coordinate] = set()
    for atom, _ in expression.terms:
        if isinstance(atom, Coordinate):
            found.add(atom)
        elif isinstance(atom, Dynamic):
            found |= atom.node.coordinates
        else:
            found |= coordinates_of(atom.value)
    return frozenset(found)


def dynamic_nodes(expression: Affine) -> list[object]:
    """The nodes whose values the expression reads at run time."""
    nodes = []
    for atom, _ in expression.terms:
        if isinstance(atom, Dynamic):
            nodes.append(atom.node)
        elif not isinstance(atom, Coordinate):
            nodes += dynamic_nodes(atom.value)
    return nodes


def leftover_divisions(expression: Affine):
    """Yields (coordinate, divisor) for quotients of one bare coordinate."""
    for atom, _ in expression.terms:
        if not isinstance(atom, (Quotient, Remainder)):
            continue
        yield from leftover_divisions(atom.value)
        for inner, coefficient in atom.value.terms:
            if isinstance(inner, Coordinate) and is_constant(magnitude(coefficient), 1):
                yield inner, atom.divisor
