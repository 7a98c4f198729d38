"""Symbolic sizes: evaluation with a ``ShapeEnv``, and the guards on sizes.

This file and what it imports (sympy) are loaded only for symbolic sizes.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable
from typing import Any

import torch
from torch._guards import Source as TorchSource
from torch._subclasses.fake_tensor import FakeTensor
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv
from torch.utils._sympy.functions import FloorDiv, Mod, PythonMod
from torch.utils._sympy.printers import PythonPrinter

from girih.frontend.capture.evaluate import Evaluator
from girih.frontend.capture.source import Source

_UNBOUNDED = 2**62


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


class SymbolicEvaluator(Evaluator):
    """Evaluates with fake tensors whose sizes may be symbols."""

    is_symbolic = True

    def __init__(self):
        self.environment = ShapeEnv()
        super().__init__(self.environment)

    def fake_of(self, tensor, source: Source, dynamic: tuple):
        """A fake tensor; sizes of the dims in ``dynamic`` are symbols."""
        if not dynamic:
            return super().fake_of(tensor, source, dynamic)
        size = [
            self._symbol(length, f"{source}.size({dim})") if dim in dynamic else length
            for dim, length in enumerate(tensor.shape)
        ]
        stride = _symbolic_strides(tensor, size)
        with torch.no_grad():
            meta = torch.empty_strided(size, stride, dtype=tensor.dtype, device="meta")
            fake = FakeTensor(self.mode, meta, tensor.device)
        return self.with_grad(fake, tensor)

    def _symbol(self, length: int, text: str) -> torch.SymInt:
        source = SizeSource(text)
        symbol = self.environment.create_symbol(
            length, source, dynamic_dim=DimDynamic.DYNAMIC, constraint_dim=None
        )
        return self.environment.create_symintnode(symbol, hint=length, source=source)

    def layout_of(self, given) -> tuple[list, list]:
        """Sizes and strides to guard; None where they are symbolic."""
        fake = given.value.fake
        sizes = [_known(size) for size in fake.size()]
        return sizes, [_known(stride) for stride in fake.stride()]

    def shape_check(self, inputs: list) -> Callable | None:
        """A function of the slots that checks what was assumed about sizes."""
        return _Relations(self.environment, inputs).function()


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


class _Relations:
    """Writes the check of an entry with symbolic sizes."""

    def __init__(self, environment: ShapeEnv, inputs: list):
        self.environment = environment
        self.inputs = inputs
        self.bound: dict[Any, ast.expr] = {}
        self.tests: list[ast.expr] = []
        self.printer = PythonPrinter()

    def function(self) -> Callable | None:
        """The check, or None where nothing is symbolic."""
        for index, given in enumerate(self.inputs):
            self._bind(index, given.value.fake)
        for index, given in enumerate(self.inputs):
            self._compare(index, given.value.fake)
        self._add_ranges()
        for guard in self.environment.guards:
            self._test(self.environment.simplify(guard.expr))
        return self._compile() if self.tests else None

    def _slot(self, index: int, method: str, dim: int) -> ast.expr:
        owner = ast.Name(f"s{index}", ast.Load())
        function = ast.Attribute(owner, method, ast.Load())
        return ast.Call(function, [ast.Constant(dim)], [])

    def _bind(self, index: int, fake: torch.Tensor) -> None:
        for dim, size in enumerate(fake.size()):
            if _known(size) is None and size.node.expr.is_symbol:
                slot = self._slot(index, "size", dim)
                self.bound.setdefault(size.node.expr, slot)

    def _compare(self, index: int, fake: torch.Tensor) -> None:
        for method in ("size", "stride"):
            for dim, size in enumerate(getattr(fake, method)()):
                if _known(size) is not None:
                    continue
                slot, expected = (
                    self._slot(index, method, dim),
                    self._print(size.node.expr),
                )
                if ast.unparse(slot) != ast.unparse(expected):
                    self.tests.append(ast.Compare(slot, [ast.Eq()], [expected]))

    def _print(self, expression) -> ast.expr:
        text = self.printer.doprint(expression)
        tree = ast.parse(text, mode="eval").body
        names = {str(symbol): slot for symbol, slot in self.bound.items()}
        return _Substitute(names).visit(tree)

    def _add_ranges(self) -> None:
        for symbol, slot in self.bound.items():
            limits = self.environment.var_to_range[symbol]
            self.tests.append(
                ast.Compare(slot, [ast.GtE()], [ast.Constant(int(limits.lower))])
            )
            if limits.upper.is_number and limits.upper < _UNBOUNDED:
                upper = ast.Constant(int(limits.upper))
                self.tests.append(ast.Compare(slot, [ast.LtE()], [upper]))

    def _test(self, expression) -> None:
        if expression.is_Boolean and expression in (True, False):
            assert expression, "girih bug: a guard on sizes that never holds"
            return
        self.tests.append(self._print(expression))

    def _compile(self) -> Callable:
        count = max(len(self.inputs), 1)
        parameters = [ast.arg(f"s{i}") for i in range(count)]
        rest = ast.arg("_rest")
        arguments = ast.arguments([], parameters, rest, [], [], None, [])
        body = ast.BoolOp(ast.And(), [*self.tests, ast.Constant(True)])
        tree = ast.fix_missing_locations(ast.Expression(ast.Lambda(arguments, body)))
        namespace = {"FloorDiv": FloorDiv, "Mod": Mod, "PythonMod": PythonMod}
        check = eval(compile(tree, "<girih sizes>", "eval"), namespace)
        check.__qualname__ = ast.unparse(body)
        return check


class _Substitute(ast.NodeTransformer):
    """Replaces names by expressions."""

    def __init__(self, names: dict[str, ast.expr]):
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Replaces a symbol by the size that binds it."""
        return self.names.get(node.id, node)
