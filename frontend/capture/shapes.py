"""Symbolic sizes and numbers: evaluation with a ``ShapeEnv``, and what it assumed.

This file and what it imports (sympy) are loaded only where something is symbolic.
"""

from __future__ import annotations

import ast
import dataclasses
import math
from collections.abc import Callable
from typing import Any

import torch
from torch._guards import Source as TorchSource
from torch._subclasses.fake_tensor import FakeTensor
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv
from torch.utils._sympy.functions import FloorDiv, Mod, PythonMod
from torch.utils._sympy.printers import PythonPrinter
from torch.utils._sympy.value_ranges import ValueRanges

from girih.errors import SourceLocation, unsupported
from girih.frontend.capture import held_warnings
from girih.frontend.capture.environment import LightShapeEnv
from girih.frontend.capture.evaluate import Evaluator
from girih.frontend.capture.numbers import LARGEST, LARGEST_SIZE
from girih.frontend.capture.rebuilding.code import call, load
from girih.frontend.capture.sizes import MARK_VIOLATED, DynamicDim
from girih.frontend.capture.source import Source
from girih.frontend.capture.values.symbol import is_same
from girih.frontend.fake import SizesAreSymbols, python_dispatcher

# Names that torch prints into expressions of sizes.
_PRINTED = {
    "FloorDiv": FloorDiv,
    "Mod": Mod,
    "PythonMod": PythonMod,
    "math": math,
    "torch": torch,
}


@dataclasses.dataclass(frozen=True)
class SizeSource(TorchSource):
    """Names a size of an input for torch's own messages."""

    text: str

    @property
    def name(self) -> str:
        """How the size reads."""
        return self.text

    def reconstruct(self, codegen) -> None:
        """Only TorchDynamo rebuilds sizes."""
        raise NotImplementedError(self.text)


# Recurrent layers: in C++ they read sizes as numbers, and some fail with them.
_RECURRENT = frozenset(
    ("gru", "gru_cell", "lstm", "lstm_cell", "rnn_relu", "rnn_relu_cell")
    + ("rnn_tanh", "rnn_tanh_cell")
)


class SymbolicEvaluator(Evaluator):
    """Evaluates with fake tensors whose sizes may be symbols.

    Attributes:
        environment: What torch knows of the symbols.
        marked: The symbols of dims that the program marked, with the mark.
        symbols: Those of all dims, each with its text, its tensor and the dim.
    """

    is_symbolic = True

    def __init__(self, keeps_numbers: bool = False):
        self.environment = LightShapeEnv(
            allow_scalar_outputs=keeps_numbers,
            allow_dynamic_output_shape_ops=keeps_numbers,
        )
        self.marked: list[tuple[torch.SymInt, str, DynamicDim]] = []
        self.symbols: list[tuple[Any, str, Source, int]] = []
        super().__init__(self.environment, keeps_numbers)

    # Symbols

    def _like(self, tensor, source: Source, dynamic: dict[int, DynamicDim]):
        """A fake tensor; sizes of the dims in ``dynamic`` are symbols."""
        if not dynamic:
            return super()._like(tensor, source, dynamic)
        size: list = list(tensor.shape)
        for dim, how in dynamic.items():
            text = f"{source}.size({dim})"
            least, most = _bounds_of(how)
            if not least <= size[dim] <= most:
                _refuse_mark(text, f"is {size[dim]}, and not from {least} to {most}")
            size[dim] = self._symbol(size[dim], text, (least, most))
            self.symbols.append((size[dim], text, source, dim))
            if how.is_marked:
                self.marked.append((size[dim], text, how))
        stride = _symbolic_strides(tensor, size)
        with torch.no_grad():
            meta = torch.empty_strided(size, stride, dtype=tensor.dtype, device="meta")
            return FakeTensor(self.mode, meta, tensor.device)

    def number(
        self, value: int | float, text: str, may_be_small: bool = False
    ) -> torch.SymInt | torch.SymFloat:
        """What stands for a number that is an input; for 0 and 1, too, if asked for."""
        if isinstance(value, int):
            least = 0 if may_be_small else 2
            bounds = (least, LARGEST - 1) if value >= 0 else (1 - LARGEST, -1)
            return self._symbol(value, text, bounds)
        source = SizeSource(text)
        symbol = self._create(value, source, is_positive=None)
        return self.environment.create_symfloatnode(symbol, hint=value, source=source)

    def _symbol(self, value: int, text: str, bounds: tuple[int, int]) -> torch.SymInt:
        source = SizeSource(text)
        symbol = self._create(value, source, is_positive=bounds[0] > 1 or None)
        known = self.environment.var_to_range[symbol]
        self.environment.var_to_range[symbol] = known & ValueRanges(*bounds)
        return self.environment.create_symintnode(symbol, hint=value, source=source)

    def _create(self, value, source: SizeSource, is_positive: bool | None):
        return self.environment.create_symbol(
            value,
            source,
            dynamic_dim=DimDynamic.DYNAMIC,
            constraint_dim=None,
            positive=is_positive,
            do_not_specialize_zero_one=is_positive is None,
        )

    def keep_small(self, fake: torch.SymInt) -> None:
        """Guards that a number which is computed fits into 64 bits, if it may not."""
        bounds = self.environment.bound_sympy(fake.node.expr)
        if not bounds.upper < LARGEST_SIZE:
            bool(fake < LARGEST_SIZE)
        if not bounds.lower > -LARGEST_SIZE:
            bool(fake > -LARGEST_SIZE)

    def _run(self, kind: str, target: Any, args: list, kwargs: dict) -> Any:
        """Runs a call; warnings are given with numbers in place of symbols."""
        with held_warnings.held() as found:
            result = self._run_symbolic(kind, target, args, kwargs)
        if found:
            again = target if kind == "call_function" else _method(target)
            held_warnings.give(found, again, args, kwargs)
        return result

    def _run_symbolic(self, kind: str, target: Any, args: list, kwargs: dict) -> Any:
        """Runs a call; by torch's Python kernels where those in C++ want numbers."""
        if getattr(target, "__name__", target) not in _RECURRENT:
            try:
                with self.mode.keeping_symbols():
                    return super()._run(kind, target, args, kwargs)
            except Exception as error:
                if not _wants_numbers(error):
                    raise
        with python_dispatcher(self.mode):
            return super()._run(kind, target, args, kwargs)

    # What was assumed

    def layout_of(self, given) -> tuple[list, list]:
        """Sizes and strides to guard; None where they are symbolic."""
        fake = given.value.fake
        sizes = [_known(size) for size in fake.size()]
        return sizes, [_known(stride) for stride in fake.stride()]

    def size_writer(self, graph, rebuilder) -> SizeWriter:
        """Writes sizes as Python."""
        return SizeWriter(self.environment, graph, rebuilder)

    def check_marks(self) -> None:
        """Raises where the program marked a dim whose size had to be fixed."""
        for size, text, how in self.marked:
            expression = size.node.expr
            place = self.environment.place_of(size.node._expr)
            if expression.is_number:
                _refuse_mark(text, f"the size {expression}", place)
            limits = self.environment.var_to_range.get(expression)
            if limits is not None and how.least is not None:
                least, most = _bounds_of(how)
                if limits.lower > least or limits.upper < most:
                    allowed = f"sizes from {limits.lower} to {limits.upper}"
                    _refuse_mark(text, allowed, place)


def _method(name: str) -> Callable:
    return lambda owner, *args, **kwargs: getattr(owner, name)(*args, **kwargs)


def _wants_numbers(error: Exception) -> bool:
    """Whether code in C++ takes no symbols, be they sizes or arguments."""
    if isinstance(error, SizesAreSymbols):
        return True
    return isinstance(error, RuntimeError) and "concrete integers" in str(error)


def _refuse_mark(text: str, allowed: str, place: SourceLocation | None = None) -> None:
    others = "remove the mark, or use maybe_mark_dynamic."
    if allowed.startswith("sizes from"):
        hint = f"Bound the size by max= of mark_dynamic or Dim, {others}"
    else:
        hint = f"Mark also the other tensors that have this size, {others}"
    unsupported(
        kind=MARK_VIOLATED,
        context=text,
        explanation="The size is marked as dynamic, but the captured program is right "
        f"only for {allowed}.",
        hints=(hint,),
        location=place,
    )


def _bounds_of(how: DynamicDim) -> tuple[int, int]:
    least = 2 if how.least is None else max(how.least, 2)
    return least, LARGEST_SIZE if how.most is None else min(how.most, LARGEST_SIZE)


def _known(size: int | torch.SymInt) -> int | None:
    return size if isinstance(size, int) else size.node.maybe_as_int()


def _symbolic_strides(tensor: torch.Tensor, size: list) -> list:
    """Strides as products of sizes, where they are that for this tensor."""
    strides: list = list(tensor.stride())
    order = sorted(range(tensor.ndim), key=lambda dim: (tensor.stride(dim), -dim))
    expected, product = 1, 1
    for dim in order:
        if tensor.stride(dim) == expected:
            strides[dim] = product
        product = product * size[dim]
        expected = expected * tensor.shape[dim]
    return strides


class SizeWriter:
    """Writes sizes, and what was assumed about them, as Python.

    Args:
        environment: What torch knows of the symbols.
        graph: Its inputs have the sizes.
        rebuilder: Has the names of the inputs and writes numbers.
    """

    def __init__(self, environment: ShapeEnv, graph, rebuilder):
        self.environment = environment
        self.tensors = [given.value.fake for given in graph.tensors]
        self.numbers = graph.placed
        self.rebuilder = rebuilder
        self.bound: dict[Any, ast.expr] = {}
        self.printer = PythonPrinter()
        for index, fake in enumerate(self.tensors):
            self._bind_sizes(index, fake)

    def bind_numbers(self) -> None:
        """Finds how the numbers that are inputs are written."""
        for given in self.numbers:
            expression = given.value.fake.node._expr
            self.bound[expression] = self.rebuilder.expression(given.number)

    def _bind_sizes(self, index: int, fake: torch.Tensor) -> None:
        for dim, size in enumerate(fake.size()):
            if _known(size) is None and size.node.expr.is_symbol:
                self.bound.setdefault(size.node.expr, _query(index, "size", dim))

    def expression(self, size: torch.SymInt) -> ast.expr:
        """A size in terms of the inputs."""
        return self._print(size.node.expr)

    def _print(self, expression) -> ast.expr:
        text = self.printer.doprint(expression)
        tree = ast.parse(text, mode="eval").body
        return _Substitute(self._names(expression), self.rebuilder).visit(tree)

    def _names(self, expression) -> dict[str, ast.expr]:
        symbols = expression.free_symbols
        return {str(s): self.bound[s] for s in symbols if s in self.bound}

    # What was assumed

    def tests(self) -> list[ast.expr]:
        """Conditions that have to hold for sizes and numbers."""
        tests = []
        for index, fake in enumerate(self.tensors):
            tests += self._layout(index, fake)
        for symbol, place in self.bound.items():
            tests += self._range(symbol, place)
        for given in self.numbers:
            tests += self._replaced(given)
        guards = (self.environment.simplify(g.expr) for g in self.environment.guards)
        tests += [self._print(guard) for guard in guards if not _is_decided(guard)]
        return tests

    def _layout(self, index: int, fake: torch.Tensor) -> list[ast.expr]:
        tests = []
        for name in ("size", "stride"):
            for dim, size in enumerate(getattr(fake, name)()):
                if _known(size) is not None:
                    continue
                actual, expected = _query(index, name, dim), self.expression(size)
                if ast.unparse(actual) != ast.unparse(expected):
                    tests.append(ast.Compare(actual, [ast.Eq()], [expected]))
        return tests

    def _range(self, symbol: Any, place: ast.expr) -> list[ast.expr]:
        limits = self.environment.var_to_range.get(symbol)
        if limits is None or not symbol.is_integer:
            return []
        tests = []
        for limit, compare in ((limits.lower, ast.GtE()), (limits.upper, ast.LtE())):
            if limit.is_number and -LARGEST_SIZE < limit < LARGEST_SIZE:
                tests.append(ast.Compare(place, [compare], [ast.Constant(int(limit))]))
        return tests

    def _replaced(self, given) -> list[ast.expr]:
        """What a number was found to be equal to."""
        symbol, known = given.value.fake.node._expr, given.value.fake.node.expr
        if known == symbol:
            return []
        place = self.bound[symbol]
        if known.is_number:
            same = self.rebuilder.constant(is_same)
            return [call(same, place, self.rebuilder.constant(given.real))]
        return [ast.Compare(place, [ast.Eq()], [self._print(known)])]


def _query(index: int, method: str, dim: int) -> ast.expr:
    function = ast.Attribute(load(f"s{index}"), method, ast.Load())
    return ast.Call(function, [ast.Constant(dim)], [])


def _is_decided(expression) -> bool:
    if expression.is_Boolean and expression in (True, False):
        assert expression, "girih bug: a guard on sizes that never holds"
        return True
    return False


class _Substitute(ast.NodeTransformer):
    """Replaces the names in what torch printed by expressions."""

    def __init__(self, names: dict[str, ast.expr], rebuilder):
        self.names = names
        self.rebuilder = rebuilder

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Replaces a symbol by the size that binds it, a function by itself."""
        if node.id in _PRINTED:
            return self.rebuilder.constant(_PRINTED[node.id])
        return self.names.get(node.id, node)
