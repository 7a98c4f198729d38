"""Programs of ``torch.export`` as input: module, arguments, symbolic sizes."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.export.graph_signature import InputKind
from torch.utils import _pytree as pytree

from girih.errors import unsupported


@dataclass(frozen=True)
class ExportedDim:
    """A symbolic size, as ``torch.export.Dim`` is one.

    Attributes:
        name: Of the symbol, or of the expression.
        min: The smallest size.
        max: The largest one; None if there is no limit.
        expression: For a size that is computed from others, how.
    """

    name: str
    min: int
    max: int | None
    expression: Any = None

    @property
    def __name__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Exported:
    """What an exported program gives to ``girih.package``.

    Attributes:
        module: The program.
        args: Example arguments.
        kwargs: Likewise.
        dims: For tensors, by identity, their symbolic dims.
        guards: Conditions on sizes for which the program was exported, in Python.
    """

    module: torch.nn.Module
    args: tuple
    kwargs: dict[str, Any]
    dims: dict[int, dict[int, ExportedDim]]
    guards: tuple[str, ...]

    @classmethod
    def of(
        cls, program: torch.export.ExportedProgram, args: tuple, kwargs: Mapping
    ) -> Exported:
        """Takes an exported program.

        Args:
            program: The program.
            args: Example arguments; those of the program if there are none.
            kwargs: Likewise.

        Raises:
            TypeError: There are no example arguments, or they are others.
        """
        if not args and not kwargs and program.example_inputs is not None:
            args, kwargs = program.example_inputs
        args, kwargs = tuple(args), dict(kwargs)
        leaves, tree = pytree.tree_flatten((args, kwargs))
        if tree != program.call_spec.in_spec:
            expected = program.call_spec.in_spec
            raise TypeError(f"the exported program takes {expected}, got {tree}")
        names = [
            spec.arg.name
            for spec in program.graph_signature.input_specs
            if spec.kind is InputKind.USER_INPUT
        ]
        nodes = {node.name: node.meta.get("val") for node in program.graph.nodes}
        dims: dict[int, dict[int, ExportedDim]] = {}
        for value, name in zip(leaves, names, strict=True):
            if isinstance(value, torch.Tensor):
                for dim, size in enumerate(nodes[name].shape):
                    if not isinstance(size, int):
                        found = _dim(size.node.expr, program.range_constraints)
                        dims.setdefault(id(value), {})[dim] = found
        module = program.module(check_guards=False)
        return cls(module, args, kwargs, dims, tuple(program._guards_code))

    def conditions(self, names: Sequence[str]) -> list:
        """The guards as expressions of sizes, as ``x.size(0)``.

        torch decided with them which code to export, so the code holds for no others.

        Args:
            names: How messages name the leaves of the arguments.

        Raises:
            UnsupportedError: There is one that can't be written.
        """
        sources = {}
        for name in names:
            head = name.partition("[")[0].partition(".")[0]
            sources[f"L[{head!r}]{name.removeprefix(head)}"] = name
        found = []
        for guard in self.guards:
            try:
                tree = ast.parse(guard, mode="eval").body
                found.append(_condition(tree, sources))
            except (SyntaxError, LookupError):
                unsupported(
                    kind="a package of an exported program with a guard",
                    context=guard,
                    explanation="A package can check only conditions on the sizes of "
                    "its arguments. The exported program has another condition.",
                )
        return found


_OPERATORS = {
    ast.Add: "+",
    ast.And: "and",
    ast.Eq: "==",
    ast.FloorDiv: "//",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Mod: "%",
    ast.Mult: "*",
    ast.Not: "not",
    ast.NotEq: "!=",
    ast.Or: "or",
}


def _condition(node: ast.expr, sources: Mapping[str, str]) -> Any:
    """An expression of Python as one of ``sizes``; LookupError for others."""
    match node:
        case ast.Constant(value=int(value)):
            return int(value)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return ["*", -1, _condition(operand, sources)]
        case ast.UnaryOp(op=op, operand=operand):
            return [_OPERATORS[type(op)], _condition(operand, sources)]
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            negative = ["*", -1, _condition(right, sources)]
            return ["+", _condition(left, sources), negative]
        case ast.BinOp(left=left, op=op, right=right):
            pair = _condition(left, sources), _condition(right, sources)
            return [_OPERATORS[type(op)], *pair]
        case ast.BoolOp(op=op, values=values):
            return [_OPERATORS[type(op)], *(_condition(x, sources) for x in values)]
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            pair = _condition(left, sources), _condition(right, sources)
            return [_OPERATORS[type(op)], *pair]
        case ast.Subscript(
            value=ast.Call(func=ast.Attribute(value=source, attr="size"), args=[]),
            slice=ast.Constant(value=int(dim)),
        ):
            return f"{sources[ast.unparse(source)]}.size({dim})"
    raise LookupError(ast.unparse(node))


def _dim(expression: Any, ranges: Mapping) -> ExportedDim:
    from torch.utils._sympy.value_ranges import bound_sympy

    if unknown := expression.free_symbols - ranges.keys():
        unsupported(
            kind="a package of an exported program with sizes that depend on data",
            context=", ".join(sorted(map(str, unknown))),
            explanation="A size of an argument has no range.",
        )
    limits = bound_sympy(expression, ranges)
    most = int(limits.upper) if limits.upper.is_Integer else None
    computed = None if expression.is_Symbol else expression
    return ExportedDim(str(expression), _least(limits.lower), most, computed)


def _least(lower: Any) -> int:
    return max(int(lower), 0) if lower.is_Integer else 0
