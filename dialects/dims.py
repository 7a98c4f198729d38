"""Sizes: an ``int``, or a ``Dim``, a canonical integer expression over symbols.

A ``Dim`` is a sum of products. Each product has an integer coefficient and sorted
factors, each a symbol or a call (``//``, ``%``, ``ceildiv``, ``max``, ``min``). Two
sizes are known to be equal exactly if their canonical forms are; ``str`` and
``parse`` are inverse to each other::

    parse("s0*2 + s0") == 3 * symbol("s0")          str(...) == "3*s0"

Divisors are taken to be positive, as sizes are; ``//`` and ``%`` are Python's.
"""

import ast
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from math import prod
from types import MappingProxyType


class Symbol(str):
    """A factor that is a symbol, such as ``s0``."""

    __slots__ = ()

    def key(self) -> tuple:
        """Returns what factors are sorted by: symbols first, by name."""
        return (0, len(self), str(self))


class Call:
    """A factor that is a function of sizes: ``floordiv``, ``mod``, ``max``, ..."""

    __slots__ = ("args", "function")

    def __init__(self, function: str, args: tuple):
        self.function = function
        self.args = args

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Call)
            and self.function == other.function
            and self.args == other.args
        )

    def __hash__(self) -> int:
        return hash((self.function, self.args))

    def __str__(self) -> str:
        if self.function in _INFIX:
            lhs, rhs = (_parenthesized(arg) for arg in self.args)
            return f"({lhs} {_INFIX[self.function]} {rhs})"
        return f"{self.function}({', '.join(map(str, self.args))})"

    def key(self) -> tuple:
        """Returns what factors are sorted by: calls last, by their text."""
        text = str(self)
        return (1, len(text), text)


_INFIX = {"floordiv": "//", "mod": "%"}

Factor = Symbol | Call


class Dim:
    """A canonical integer expression; never a plain number (that is an ``int``)."""

    __slots__ = ("_hash", "_text", "terms")

    def __init__(self, terms: tuple):
        self.terms = terms
        self._hash = hash(terms)
        self._text = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dim) and self.terms == other.terms

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        if self._text is None:
            self._text = _terms_text(self.terms)
        return self._text

    def __repr__(self) -> str:
        return f"Dim({str(self)!r})"

    def __bool__(self) -> bool:
        raise TypeError(f"the size {self} is not known, so it has no truth value")

    def __add__(self, other: "Size") -> "Size":
        return sum_of(terms_of(self) + terms_of(other))

    __radd__ = __add__

    def __neg__(self) -> "Size":
        return self * -1

    def __sub__(self, other: "Size") -> "Size":
        return self + other * -1

    def __rsub__(self, other: "Size") -> "Size":
        return self * -1 + other

    def __mul__(self, other: "Size") -> "Size":
        return _product(terms_of(self), terms_of(other))

    __rmul__ = __mul__

    def __floordiv__(self, other: "Size") -> "Size":
        return floordiv(self, other)

    def __rfloordiv__(self, other: "Size") -> "Size":
        return floordiv(other, self)

    def __mod__(self, other: "Size") -> "Size":
        return mod(self, other)

    def __rmod__(self, other: "Size") -> "Size":
        return mod(other, self)


Size = int | Dim


def symbol(name: str) -> Dim:
    """Returns the size that the symbol ``name`` stands for."""
    return Dim((((Symbol(name),), 1),))


def terms_of(size: Size) -> tuple:
    """Returns the products that a size is the sum of, each as factors and coefficient.

    Raises:
        TypeError: ``size`` is no size.
    """
    if isinstance(size, Dim):
        return size.terms
    if not isinstance(size, int):
        raise TypeError(f"a size is an int or a Dim, got {size!r}")
    return (((), int(size)),) if size else ()


def sum_of(terms: Iterable) -> Size:
    """Returns the sum of products; ``terms`` are pairs of factors and coefficient."""
    total: dict[tuple, int] = {}
    for factors, coefficient in terms:
        total[factors] = total.get(factors, 0) + coefficient
    kept = {factors: c for factors, c in total.items() if c}
    if not kept:
        return 0
    if len(kept) == 1 and () in kept:
        return kept[()]
    return Dim(tuple(sorted(kept.items(), key=_term_key)))


def _term_key(term: tuple) -> tuple:
    factors, coefficient = term
    # Longer products first and the constant last, as one writes polynomials.
    return (-len(factors), [factor.key() for factor in factors], coefficient)


def _product(lhs: tuple, rhs: tuple) -> Size:
    return sum_of(
        (tuple(sorted(f + g, key=lambda factor: factor.key())), c * d)
        for f, c in lhs
        for g, d in rhs
    )


def _call(function: str, *args: Size) -> Dim:
    return Dim((((Call(function, args),), 1),))


def _monomial(size: Size) -> tuple | None:
    terms = terms_of(size)
    return terms[0] if len(terms) == 1 else None


def without(factors: tuple, removed: tuple) -> tuple | None:
    """Returns a product divided by another one, None where that leaves a fraction."""
    rest = list(factors)
    for factor in removed:
        if factor not in rest:
            return None
        rest.remove(factor)
    return tuple(rest)


def _divide_exactly(lhs: Size, rhs: Size) -> tuple[Size, Size]:
    """Splits ``lhs`` into ``(q, r)`` with ``lhs == q * rhs + r``, dividing terms."""
    divisor = _monomial(rhs)
    if divisor is None:
        return (1, 0) if lhs == rhs else (0, lhs)
    quotient, rest = [], []
    for factors, coefficient in terms_of(lhs):
        left = without(factors, divisor[0])
        if left is None or coefficient % divisor[1]:
            rest.append((factors, coefficient))
        else:
            quotient.append((left, coefficient // divisor[1]))
    return sum_of(quotient), sum_of(rest)


def _reduced_fraction(lhs: Size, rhs: Size) -> tuple[Size, Size]:
    """Cancels the common integer factor of a fraction with an integer divisor."""
    if not isinstance(rhs, int) or isinstance(lhs, int):
        return lhs, rhs
    common = rhs
    for _, coefficient in lhs.terms:
        common = _gcd(common, coefficient)
    return sum_of((f, c // common) for f, c in lhs.terms), rhs // common


def _gcd(a: int, b: int) -> int:
    while b:
        a, b = b, a % b
    return abs(a)


def _check_divisor(rhs: Size) -> None:
    if isinstance(rhs, int) and rhs <= 0:
        raise ZeroDivisionError(f"a size is divided by {rhs}, expected at least 1")


def floordiv(lhs: Size, rhs: Size) -> Size:
    """Returns ``lhs // rhs`` for a positive ``rhs``."""
    _check_divisor(rhs)
    quotient, rest = _divide_exactly(lhs, rhs)
    if isinstance(rest, int) and (rest == 0 or isinstance(rhs, int)):
        return quotient + (rest // rhs if rest else 0)
    rest, rhs = _reduced_fraction(rest, rhs)
    return quotient + (rest if rhs == 1 else _call("floordiv", rest, rhs))


def ceildiv(lhs: Size, rhs: Size) -> Size:
    """Returns the smallest integer not below ``lhs / rhs``, ``rhs`` positive."""
    _check_divisor(rhs)
    quotient, rest = _divide_exactly(lhs, rhs)
    if isinstance(rest, int) and (rest == 0 or isinstance(rhs, int)):
        return quotient - (-rest // rhs if rest else 0)
    rest, rhs = _reduced_fraction(rest, rhs)
    return quotient + (rest if rhs == 1 else _call("ceildiv", rest, rhs))


def mod(lhs: Size, rhs: Size) -> Size:
    """Returns ``lhs % rhs`` for a positive ``rhs``."""
    _check_divisor(rhs)
    _, rest = _divide_exactly(lhs, rhs)
    if isinstance(rest, int) and (rest == 0 or isinstance(rhs, int)):
        return rest % rhs if rest else 0
    return _call("mod", rest, rhs)


def maximum(*sizes: Size) -> Size:
    """Returns the largest of the sizes."""
    return _extremum("max", max, sizes)


def minimum(*sizes: Size) -> Size:
    """Returns the smallest of the sizes."""
    return _extremum("min", min, sizes)


def _extremum(name: str, fold, sizes: tuple) -> Size:
    constants, others = [], {}
    for size in sizes:
        call = _as_call(size, name)
        for part in call.args if call else (size,):
            if isinstance(part, int):
                constants.append(part)
            else:
                others[part] = None
    kept = sorted(others, key=lambda dim: (len(str(dim)), str(dim)))
    if constants:
        kept.append(fold(constants))
    return kept[0] if len(kept) == 1 else _call(name, *kept)


def _as_call(size: Size, function: str) -> Call | None:
    term = _monomial(size)
    if term is None or term[1] != 1 or len(term[0]) != 1:
        return None
    factor = term[0][0]
    return factor if isinstance(factor, Call) and factor.function == function else None


def product(sizes: Iterable[Size]) -> Size:
    """Returns the product of sizes, 1 for none."""
    return prod(sizes)


def symbols_of(size: Size) -> frozenset[str]:
    """Returns the names of the symbols that stand in ``size``."""
    found: set[str] = set()
    for factors, _ in terms_of(size):
        for factor in factors:
            if isinstance(factor, Symbol):
                found.add(str(factor))
            else:
                found.update(*map(symbols_of, factor.args))
    return frozenset(found)


_EVALUATE = {
    "floordiv": lambda lhs, rhs: lhs // rhs,
    "mod": lambda lhs, rhs: lhs % rhs,
    "ceildiv": lambda lhs, rhs: -(-lhs // rhs),
    "max": max,
    "min": min,
}

_BUILD = {
    "floordiv": floordiv,
    "mod": mod,
    "ceildiv": ceildiv,
    "max": maximum,
    "min": minimum,
}


def called(function: str, *args: Size) -> Size:
    """Returns a function of sizes, named as in a ``Call``."""
    return _BUILD[function](*args)


def evaluate(
    size: Size,
    values: Mapping[str, int],
    functions: Mapping[str, Callable] = MappingProxyType({}),
) -> int:
    """Returns the number that ``size`` is when its symbols have these values.

    Args:
        size: The size.
        values: The value of each symbol: an int, or what computes like one.
        functions: What to call in place of Python's ``max`` and ``min``.

    Raises:
        KeyError: A symbol of ``size`` has no value.
    """

    def of_factor(factor: Factor) -> int:
        if isinstance(factor, Symbol):
            return values[str(factor)]
        function = functions.get(factor.function) or _EVALUATE[factor.function]
        return function(*(evaluate(arg, values, functions) for arg in factor.args))

    return sum(
        coefficient * prod(map(of_factor, factors))
        for factors, coefficient in terms_of(size)
    )


def is_at_least_zero(size: Size, least: Callable[[str], int]) -> bool:
    """Returns whether a size is evidently not below zero.

    It is where, with each symbol written as its smallest value and a rest, nothing is
    subtracted.

    Args:
        size: The size.
        least: Gives the smallest value of a symbol, at least 0.
    """
    rests = {name: symbol(name) + least(name) for name in symbols_of(size)}
    return all(
        coefficient > 0 and all(_is_factor_natural(f, least) for f in factors)
        for factors, coefficient in terms_of(substitute(size, rests))
    )


def is_below_zero(size: Size) -> bool:
    """Returns whether a size is evidently below zero, whatever its symbols are."""
    return is_at_least_zero(size * -1 - 1, lambda name: 0)


def _is_factor_natural(factor: Factor, least: Callable[[str], int]) -> bool:
    if isinstance(factor, Symbol) or factor.function == "mod":
        return True
    # Symbols in it stand for what they are beyond their smallest values already.
    natural = (is_at_least_zero(arg, lambda name: 0) for arg in factor.args)
    return any(natural) if factor.function == "max" else all(natural)


def substitute(size: Size, values: Mapping[str, Size]) -> Size:
    """Returns ``size`` with symbols replaced; symbols without a value stay."""
    total: Size = 0
    for factors, coefficient in terms_of(size):
        term: Size = coefficient
        for factor in factors:
            term = term * _substitute_factor(factor, values)
        total = total + term
    return total


def _substitute_factor(factor: Factor, values: Mapping[str, Size]) -> Size:
    if isinstance(factor, Symbol):
        value = values.get(str(factor))
        return symbol(factor) if value is None else value
    return called(factor.function, *(substitute(a, values) for a in factor.args))


def _parenthesized(size: Size) -> str:
    term = _monomial(size)
    is_atom = isinstance(size, int) or (
        term is not None and term[1] == 1 and len(term[0]) == 1
    )
    return str(size) if is_atom else f"({size})"


def _terms_text(terms: tuple) -> str:
    text = ""
    for factors, coefficient in terms:
        parts = [] if abs(coefficient) == 1 and factors else [str(abs(coefficient))]
        body = "*".join(parts + [str(factor) for factor in factors])
        if not text:
            text = f"-{body}" if coefficient < 0 else body
        else:
            text += f" - {body}" if coefficient < 0 else f" + {body}"
    return text


@lru_cache(maxsize=4096)
def parse(text: str) -> Size:
    """Reads a size from its text; the inverse of ``str``.

    Raises:
        ValueError: ``text`` is not an integer expression over symbols.
    """
    try:
        return _from_syntax(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, TypeError, KeyError, ZeroDivisionError) as error:
        raise ValueError(f"expected a dim expression, got {text!r}: {error}") from None


_OPERATORS = {
    ast.Add: lambda lhs, rhs: lhs + rhs,
    ast.Sub: lambda lhs, rhs: lhs - rhs,
    ast.Mult: lambda lhs, rhs: lhs * rhs,
    ast.FloorDiv: floordiv,
    ast.Mod: mod,
}
_FUNCTIONS = {"ceildiv": ceildiv, "max": maximum, "min": minimum}


def _from_syntax(node: ast.expr) -> Size:
    match node:
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            return value
        case ast.Name(id=name):
            return symbol(name)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _from_syntax(operand) * -1
        case ast.BinOp(left=left, op=operator, right=right):
            return _OPERATORS[type(operator)](_from_syntax(left), _from_syntax(right))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
            return _FUNCTIONS[name](*map(_from_syntax, args))
    raise TypeError("only + - * // % ceildiv max min over symbols and integers")
