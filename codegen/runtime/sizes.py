"""Sizes at run time: dim expressions become arithmetic on registers."""

from __future__ import annotations

from collections.abc import Callable

from girih.dialects.dims import Call, Dim, Size, Symbol

from .assembler import Assembler, Constant, Item, Register, RegisterItem, group

_OPERATORS = {
    "ceildiv": "ceildiv",
    "floordiv": "//",
    "max": "max",
    "min": "min",
    "mod": "%",
}


class Sizes:
    """Registers that hold the values of dim expressions.

    Args:
        assembler: takes the instructions.
        bind: emits the reading of a symbol's value; called once for each symbol that
            is used.
    """

    def __init__(self, assembler: Assembler, bind: Callable[[str], Register]):
        self._assembler = assembler
        self._bind = bind
        self._registers: dict[Size, Register] = {}
        self._symbols: dict[str, Register] = {}

    def register(self, size: Size) -> Register:
        """The register with the value of `size`; each expression is computed once."""
        if size not in self._registers:
            self._registers[size] = (
                self._sum(size)
                if isinstance(size, Dim)
                else self._assembler.number(size)
            )
        return self._registers[size]

    def symbol(self, name: str) -> Register:
        """The register with the value of a symbol."""
        if name not in self._symbols:
            self._symbols[name] = self._bind(name)
        return self._symbols[name]

    def item(self, size: Size) -> Item:
        """`size` as an argument of a call."""
        if isinstance(size, Dim):
            return RegisterItem(self.register(size))
        return Constant(size)

    def items(self, sizes: tuple[Size, ...]) -> Item:
        """A tuple of sizes as one argument of a call."""
        if all(isinstance(size, int) for size in sizes):
            return Constant(sizes)
        return group([self.item(size) for size in sizes])

    def _sum(self, size: Dim) -> Register:
        total: Register | None = None
        for factors, coefficient in size.terms:
            term = self._product(factors, coefficient)
            total = (
                term if total is None else self._assembler.arithmetic("+", total, term)
            )
        assert total is not None, f"girih bug: the dim expression {size} has no terms"
        return total

    def _product(self, factors: tuple, coefficient: int) -> Register:
        registers = [self._factor(factor) for factor in factors]
        if coefficient != 1 or not registers:
            registers.append(self._assembler.number(coefficient))
        return self._fold("*", registers)

    def _factor(self, factor: Symbol | Call) -> Register:
        if isinstance(factor, Symbol):
            return self.symbol(str(factor))
        arguments = [self.register(argument) for argument in factor.args]
        return self._fold(_OPERATORS[factor.function], arguments)

    def _fold(self, operator: str, registers: list[Register]) -> Register:
        first, *rest = registers
        for register in rest:
            first = self._assembler.arithmetic(operator, first, register)
        return first
