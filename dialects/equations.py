"""Sizes that are known to be equal, and the simplest of them.

An equation is a rule that puts what is light in place of its heaviest product, inside
other sizes, too::

    equations.add(parse("(s0 // 32)*(s1 // 32)"), 49)
    equations.simplest(parse("(s0 // 32)*(s1 // 32) + 1")) == 50

Symbols are not replaced but by numbers and by other symbols: inputs bring their values.
"""

from collections.abc import Iterable
from functools import lru_cache
from math import gcd, prod

from girih.dialects import dims
from girih.dialects.dims import Call, Dim, Factor, Size, Symbol

Term = tuple[tuple[Factor, ...], int]
"""A product of factors, and how often it is taken."""

Rule = tuple[Term, Size]
"""A product, and what stands for it."""


class Equations:
    """What is known to be equal.

    Attributes:
        whole: Sums of symbols that are replaced as they stand: ``s0 + s1`` by ``s2``.
        rules: Products that are replaced wherever they stand.
        definitions: Symbols that other ones say; not for ``simplest``.
        noted: The equations as they were added.
    """

    def __init__(self) -> None:
        self.whole: dict[Size, Size] = {}
        self.rules: list[Rule] = []
        self.definitions: list[Rule] = []
        self.noted: list[tuple[Size, Size]] = []

    def add(self, one: Size, other: Size) -> None:
        """Notes that two sizes are equal."""
        self.add_all([(one, other)])

    def add_all(self, pairs: Iterable[tuple[Size, Size]]) -> None:
        """Notes that the two sizes of each pair are equal.

        What rules say is not all that follows from them: ``s0*s1 // s2`` is 2 where
        ``2*s2`` stands for ``s0*s1``, but not where ``s0*s1`` stands for ``2*s2``. So a
        later rule may hide an equation, which is then noted in the words of that rule.
        """
        pending = [*pairs]
        self.noted += pending
        # A list: each of them is added.
        while any([self._add(pair) for pair in pending]):
            pending = [pair for pair in self.noted if not self.are_equal(*pair)]

    def _add(self, pair: tuple[Size, Size]) -> bool:
        """Notes one equation; whether it says more than is known."""
        is_new, pending = False, [pair]
        while pending:
            light, heavy = sorted(map(self.simplest, pending.pop()), key=_weight)
            rule = _solved(_replaced(heavy - light, self.rules))
            if rule is None:
                continue
            is_new = True
            if _is_symbol(rule[0][0]) and not _is_atom(rule[1]):
                self.definitions.append(rule)
                # Lighter in an order that is another than rules'.
                self.whole[heavy] = light
            else:
                pending += self._outdated(rule)
                self.rules.append(rule)
        return is_new

    def _outdated(self, rule: Rule) -> list[tuple[Size, Size]]:
        """Takes out what the rule writes in another way, to be noted in that."""

        def is_outdated(*sizes: Size) -> bool:
            return any(_replaced(size, [rule]) != size for size in sizes)

        taken = []
        for rules in (self.rules, self.definitions):
            equal = [(dims.sum_of([term]), rest) for term, rest in rules]
            old = [is_outdated(*pair) for pair in equal]
            taken += [pair for pair, is_old in zip(equal, old, strict=True) if is_old]
            rules[:] = [r for r, is_old in zip(rules, old, strict=True) if not is_old]
        for heavy in [*filter(is_outdated, self.whole)]:
            taken.append((heavy, self.whole.pop(heavy)))
        return taken

    def simplest(self, size: Size) -> Size:
        """The simplest of the sizes that are known to be equal to one."""
        while (simpler := self._simpler(size)) != size:
            size = simpler
        return size

    def are_equal(self, one: Size, other: Size) -> bool:
        """Whether two sizes are known to be equal."""
        # Definitions may hide what rules alone say.
        if one == other or self.simplest(one) == self.simplest(other):
            return True
        rules = [*self.rules, *self.definitions]
        return _replaced(one - other, rules) == 0

    def _simpler(self, size: Size) -> Size:
        known = self.whole.get(size)
        return _replaced(size, self.rules) if known is None else known


def _solved(difference: Size) -> Rule | None:
    """The rule for the heaviest product of what is zero; None where there is none."""
    if not isinstance(difference, Dim):
        return None
    terms = dims.terms_of(difference)
    common = gcd(*(count for _, count in terms))
    factors, count = max(terms, key=lambda term: _key(term[0]))
    sign = -1 if count < 0 else 1
    rest = ((f, -sign * c // common) for f, c in terms if f != factors)
    return (factors, sign * count // common), dims.sum_of(rest)


def _replaced(size: Size, rules: list[Rule]) -> Size:
    """The size after rules were applied to it and to what its calls take."""
    while rules and isinstance(size, Dim):
        before, size = size, sum(_of_term(term, rules) for term in size.terms)
        if size == before:
            break
    return size


def _of_term(term: Term, rules: list[Rule]) -> Size:
    factors, count = term
    for (product, times), rest in rules:
        left = dims.without(factors, product)
        if left is not None and count % times == 0:
            return dims.sum_of([(left, count // times)]) * rest
    return prod((_of_factor(factor, rules) for factor in factors), start=count)


def _of_factor(factor: Factor, rules: list[Rule]) -> Size:
    if isinstance(factor, Symbol):
        return dims.symbol(factor)
    args = (_replaced(arg, rules) for arg in factor.args)
    return dims.called(factor.function, *args)


def _is_symbol(factors: tuple[Factor, ...]) -> bool:
    return len(factors) == 1 and isinstance(factors[0], Symbol)


def _weight(size: Size) -> tuple:
    """Numbers come first, then symbols, which inputs bring, then what is short."""
    return isinstance(size, Dim), not _is_atom(size), len(str(size)), str(size)


def _is_atom(size: Size) -> bool:
    """Whether a size is a number or a symbol."""
    if not isinstance(size, Dim):
        return True
    factors = size.terms[0][0]
    return _is_symbol(factors) and size == dims.symbol(factors[0])


@lru_cache(maxsize=4096)
def _key(factors: tuple[Factor, ...]) -> tuple:
    """An order of products that multiplication and calls keep.

    So each replacement makes a size lighter, and comes to an end.
    """
    own = sorted(((_heaviness(f), f.key()) for f in factors), reverse=True)
    return sum(heaviness for heaviness, _ in own), own


def _heaviness(factor: Factor) -> int:
    """How many symbols and calls stand in a factor."""
    if not isinstance(factor, Call):
        return 1
    products = (f for arg in factor.args for f, _ in dims.terms_of(arg))
    return 1 + sum(_heaviness(inner) for product in products for inner in product)
