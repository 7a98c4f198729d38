"""Makes ``graph`` ops: what the import rules are written with.

An ``Operand`` is a value with its dtype and shape. The methods of ``Builder`` take
operands and return operands; result types follow from them, and the importer compares
what a rule returns with what eager would give.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import torch

from girih.dialects import keys, verifier
from girih.dialects import types as ty
from girih.dialects.attributes import LAYOUTS
from girih.dialects.bindings import ir
from girih.dialects.definition import OPS, op_named
from girih.dialects.dims import Dim, Size
from girih.dialects.rounding import rounded
from girih.dialects.rule_table import RuleMistake
from girih.errors import unsupported
from girih.frontend.importer.devices import CPU
from girih.frontend.importer.elements import ELEMENT_NAMES

if TYPE_CHECKING:
    from girih.frontend.importer.symbols import Symbols

Shape = tuple[Size, ...]


class Operand(NamedTuple):
    """A value of the graph.

    Attributes:
        value: The SSA value.
        shape: Its sizes.
        dtype: The torch dtype of its elements.
        strides: Eager's strides where the tensor is not contiguous, else None.
    """

    value: ir.Value
    shape: Shape
    dtype: torch.dtype
    strides: Shape | None = None

    @property
    def rank(self) -> int:
        """The number of dims."""
        return len(self.shape)


@dataclass(frozen=True)
class Scalar:
    """A Python number that is known only when the program runs.

    Attributes:
        operand: Its value: without dims, of float64 or int64.
        fits: Whether it fits into float32, where it is finite.
    """

    operand: Operand
    fits: bool = False

    @property
    def dtype(self) -> torch.dtype:
        """The dtype that it has in type promotion."""
        is_float = self.operand.dtype.is_floating_point
        return torch.get_default_dtype() if is_float else torch.int64


class Spec(NamedTuple):
    """What eager gives for one result of the op that is being imported."""

    shape: Shape
    dtype: torch.dtype
    strides: Shape | None = None


def broadcast_shapes(*shapes: Shape) -> Shape:
    """The shape that shapes broadcast to; they are known to be compatible."""
    rank = max(map(len, shapes))
    result: list[Size] = [1] * rank
    for shape in shapes:
        for axis, size in enumerate(shape, rank - len(shape)):
            if isinstance(size, Dim):
                if result[axis] == 1:
                    result[axis] = size
            elif size != 1:
                result[axis] = size
    return tuple(result)


class SeedSource(Protocol):
    """Where the seeds of random numbers come from."""

    def take(self, b: Builder) -> Operand:
        """A seed that nothing else has: an int64 without dims."""


class Builder:
    """Appends ops to the function under construction.

    Attributes:
        place: Where the node that is running comes from.
        location: The same with the name of the ATen op; ops made next carry it.
        out: What eager gives for the op that is being imported, one for each result.
        block: The block of the function.
        device: Where the program computes.
        seeds: Where random numbers come from, None: from ATen, as in eager.
        checkpoint: Number of the ``torch.utils.checkpoint`` region that ops made next
            belong to, 0 for none.
    """

    def __init__(
        self,
        context: ir.Context,
        block: ir.Block,
        symbols: Symbols,
        device: torch.device = CPU,
    ):
        self.context = context
        self.block = block
        self.device = device
        self._symbols = symbols
        self.place = self.location = ir.Location.unknown(context)
        self.out: list[Spec] = []
        self.seeds: SeedSource | None = None
        self.checkpoint = 0
        self._insertion = ir.InsertionPoint(block)
        self._types: dict[tuple, ir.Type] = {}
        self._elements: dict[torch.dtype, ir.Type] = {}
        self._constants: dict[tuple, Operand] = {}

    # Sizes ----------------------------------------------------------------------

    def is_negative(self, size: Size) -> bool:
        """Whether a size, or an int computed from sizes, is below zero.

        What it is now becomes a guard where the ranges of symbols leave that open.
        """
        return self._symbols.is_negative(size)

    def _demand(self, size: Size, kind: str, what: str, why: str) -> None:
        """Leaves a call to eager where a number is negative that must not be.

        Code reads and writes where these numbers say, so none is taken on trust.
        """
        if self.is_negative(size):
            unsupported(
                kind=kind,
                context=what.format(size),
                explanation=why,
            )

    # Types and ops ------------------------------------------------------------

    def element(self, dtype: torch.dtype) -> ir.Type:
        """The element type of a dtype."""
        element = self._elements.get(dtype)
        if element is None:
            element = ir.Type.parse(ELEMENT_NAMES[dtype], self.context)
            self._elements[dtype] = element
        return element

    def type(self, shape: Shape, dtype: torch.dtype) -> ir.Type:
        """The tensor type of a shape and a dtype."""
        key = (shape, dtype)
        type_ = self._types.get(key)
        if type_ is None:
            type_ = self._types[key] = ty.tensor_type(shape, self.element(dtype))
        return type_

    def op(
        self,
        name: str,
        operands: Sequence[Any],
        attributes: dict[str, Any] | None = None,
        *results: tuple[Shape, torch.dtype],
    ) -> Operand:
        """Makes the op ``graph.name``, or ``mine.op``; returns its only result.

        ``multi_op`` returns all results of an op that has several.

        Args:
            name: Name of the op: of ``graph`` without the dialect.
            operands: One entry for each declared operand, as ``Op.build`` takes them.
            attributes: Python values of the attributes.
            *results: Shape and dtype of each result; by default those of eager.
        """
        made = self.multi_op(name, operands, attributes, *results)
        if "." in name and len(made) > 1:
            raise TypeError(f"{name} has {len(made)} results: use b.multi_op")
        return made[0]

    def multi_op(self, name, operands, attributes=None, *results) -> list[Operand]:
        """As ``op``; returns all results."""
        is_given, cls = bool(results), op_named(name)
        results = results or [(spec.shape, spec.dtype) for spec in self.out]
        operation = cls.build(
            [_values_of(operand) for operand in operands],
            attributes,
            results=[self.type(shape, dtype) for shape, dtype in results],
            loc=self.location,
            ip=self._insertion,
        )
        if not is_given or not cls.__module__.startswith("girih."):
            _check_op(operation, name)
        if self.checkpoint:
            mark = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), self.checkpoint)
            operation.attributes[keys.CHECKPOINT] = mark
        return [
            Operand(value, shape, dtype)
            for value, (shape, dtype) in zip(operation.results, results, strict=True)
        ]

    def library(self, name: str, operands: Sequence[Any], attributes=None) -> list:
        """Makes a library op whose results are those of eager (``self.out``)."""
        attributes = dict(attributes or ())
        attributes.update(self.layouts(operands))
        results = [(spec.shape, spec.dtype) for spec in self.out]
        return self.multi_op(name, operands, attributes, *results)

    def product(self, name: str, operands: Sequence[Any], attributes=None) -> Operand:
        """Makes a matrix product, which takes operands of any layout."""
        results = [(spec.shape, spec.dtype) for spec in self.out]
        return self.op(name, operands, attributes or {}, *results)

    def layouts(self, operands: Sequence[Any]) -> dict[str, ir.Attribute]:
        """The strides of operands and results, where some are not contiguous."""
        flat = _flatten(operands)
        attributes = {}
        if any(spec.strides is not None for spec in self.out):
            attributes["strides"] = _layouts(self.out)
        if any(operand.strides is not None for operand in flat):
            attributes["operand_strides"] = _layouts(flat)
        with self.context:
            return {key: LAYOUTS.encode(value) for key, value in attributes.items()}

    # Regions ----------------------------------------------------------------------

    def region_op(self, name, operands, arguments, *results):
        """Makes an op with a region of one block.

        Args:
            name: Name of the op: of ``graph`` without the dialect.
            operands: One entry for each declared operand.
            arguments: Shape and dtype of each argument of the block.
            *results: Shape and dtype of each result.

        Returns:
            The results, and the block.
        """
        made = self.multi_op(name, operands, {}, *results)
        types = [self.type(shape, dtype) for shape, dtype in arguments]
        region = made[0].value.owner.regions[0]
        return made, region.blocks.append(*types, arg_locs=[self.location] * len(types))

    @contextmanager
    def inside(self, block: ir.Block) -> Iterator[None]:
        """Appends ops to a block of a region, which nothing outside may use."""
        outer = self._insertion, self._constants, self.place, self.location
        self._insertion = ir.InsertionPoint(block)
        self._constants = dict(self._constants)
        try:
            yield
        finally:
            self._insertion, self._constants, self.place, self.location = outer

    def finish(self, values: Sequence[Operand]) -> None:
        """Ends a region with what it yields."""
        OPS["graph.yield"].build(
            [_values_of(values)], loc=self.location, ip=self._insertion
        )

    # Elementwise ----------------------------------------------------------------

    def unary(self, name: str, x: Operand) -> Operand:
        """An elementwise op of one operand that keeps the dtype."""
        return self.op(name, [x], {}, (x.shape, x.dtype))

    def predicate(self, name: str, x: Operand) -> Operand:
        """An elementwise op of one operand that gives bool."""
        return self.op(name, [x], {}, (x.shape, torch.bool))

    def binary(self, name: str, lhs: Operand, rhs: Operand) -> Operand:
        """An elementwise op of two operands of one dtype, which it keeps."""
        shape, operands = self._broadcast(lhs, rhs)
        return self.op(name, operands, {}, (shape, lhs.dtype))

    def compare(self, name: str, lhs: Operand, rhs: Operand) -> Operand:
        """An elementwise op of two operands of one dtype that gives bool."""
        shape, operands = self._broadcast(lhs, rhs)
        return self.op(name, operands, {}, (shape, torch.bool))

    def add(self, lhs: Operand, rhs: Operand) -> Operand:
        """lhs + rhs."""
        return self.binary("add", lhs, rhs)

    def sub(self, lhs: Operand, rhs: Operand) -> Operand:
        """lhs - rhs."""
        return self.binary("sub", lhs, rhs)

    def mul(self, lhs: Operand, rhs: Operand) -> Operand:
        """lhs * rhs."""
        return self.binary("mul", lhs, rhs)

    def div(self, lhs: Operand, rhs: Operand) -> Operand:
        """lhs / rhs, of float dtype."""
        return self.binary("div", lhs, rhs)

    def where(self, condition: Operand, x: Operand, y: Operand) -> Operand:
        """x where the condition holds, else y."""
        shape, operands = self._broadcast(condition, x, y)
        return self.op("where", operands, {}, (shape, x.dtype))

    def _broadcast(self, *operands: Operand) -> tuple[Shape, list[Operand]]:
        """What operands broadcast to, and the operands with sizes written as there.

        A guard may say that two sizes are equal which are different expressions.
        """
        shape = broadcast_shapes(*(x.shape for x in operands))
        return shape, [self._spelled(x, shape) for x in operands]

    def _spelled(self, x: Operand, shape: Shape) -> Operand:
        pairs = zip(x.shape, shape[len(shape) - x.rank :], strict=True)
        return self.reshape(x, tuple(1 if one == 1 else size for one, size in pairs))

    def cast(self, x: Operand, dtype: torch.dtype) -> Operand:
        """x with elements of another dtype."""
        if x.dtype == dtype:
            return x
        return self.op("cast", [x], {}, (x.shape, dtype))

    # Creation -------------------------------------------------------------------

    def constant(self, number: Any, dtype: torch.dtype) -> Operand:
        """A rank-0 tensor; ``number`` may be a symbolic size or a ``Scalar``."""
        if isinstance(number, Scalar):
            return self.cast(number.operand, dtype)
        if isinstance(number, Dim):
            return self.cast(self.size(number), dtype)
        number = as_element(number, dtype)
        key = (repr(number), dtype)
        known = self._constants.get(key)
        if known is None:
            known = self.op("constant", [], {"value": number}, ((), dtype))
            self._constants[key] = known
        return known

    def full(self, shape: Shape, number: Any, dtype: torch.dtype) -> Operand:
        """A tensor with one number of its dtype everywhere."""
        if isinstance(number, (Dim, Scalar)):
            return self.broadcast_to(self.constant(number, dtype), shape)
        number = _rounded(as_element(number, dtype), dtype)
        return self.op("full", [], {"value": number}, (shape, dtype))

    def iota(self, count: Size, dtype: torch.dtype, start=0, step=1) -> Operand:
        """start, start + step, ..., a rank-1 tensor."""
        why = "The number of elements has to be at least 0."
        self._demand(count, "negative size", "a tensor of {} elements", why)
        attributes = {"start": start, "step": step}
        return self.op("iota", [], attributes, ((count,), dtype))

    def iota_along(self, shape: Shape, dim: int, dtype=torch.int64) -> Operand:
        """0, 1, ... along one dim, with size 1 in those after it."""
        counter = self.iota(shape[dim], dtype)
        return self.reshape(counter, (shape[dim],) + (1,) * (len(shape) - dim - 1))

    def size(self, expression: Size) -> Operand:
        """The value of a size, a rank-0 int64 tensor."""
        return self.op("size", [], {"expr": expression}, ((), torch.int64))

    def index_of_size(self) -> ir.Value:
        """A value of type ``index`` that stands for a size as a result.

        Which size it is, the result's attribute ``graph.size`` says.
        """
        index = ir.IndexType.get(self.context)
        return ir.Operation.create(
            "arith.constant",
            results=[index],
            attributes={"value": ir.IntegerAttr.get(index, 0)},
            loc=self.location,
            ip=self._insertion,
        ).result

    def scalar(self, value: Any, dtype: torch.dtype) -> Operand:
        """A tensor or number as an operand of this dtype."""
        if isinstance(value, Operand):
            return self.cast(value, dtype)
        return self.constant(value, dtype)

    # Shape ----------------------------------------------------------------------

    def reshape(self, x: Operand, shape: Shape) -> Operand:
        """The same elements, in row-major order, in another shape."""
        if x.shape == shape:
            return x
        return self.op("reshape", [x], {}, (shape, x.dtype))

    def permute(self, x: Operand, permutation: Sequence[int]) -> Operand:
        """Dim i of the result is dim ``permutation[i]`` of x."""
        permutation = list(permutation)
        if permutation == list(range(x.rank)):
            return x
        shape = tuple(x.shape[axis] for axis in permutation)
        attributes = {"permutation": permutation}
        return self.op("permute", [x], attributes, (shape, x.dtype))

    def broadcast_to(self, x: Operand, shape: Shape) -> Operand:
        """x, repeated along new dims and dims of size 1."""
        x = self._fitted(x, shape)
        if x.shape == shape:
            return x
        return self.op("broadcast_to", [x], {}, (shape, x.dtype))

    def _fitted(self, x: Operand, shape: Shape) -> Operand:
        """x with each size written as in the shape, or as the 1 that it is.

        Two expressions may be one size, and an expression may be 1. What is the case
        is asked of the sizes, and becomes a guard where nothing tells.
        """
        added = len(shape) - x.rank
        if added < 0:
            return x
        fitted = tuple(
            size if size in (1, wanted) else self._fitted_size(size, wanted)
            for size, wanted in zip(x.shape, shape[added:], strict=True)
        )
        return self.reshape(x, fitted)

    def _fitted_size(self, size: Size, wanted: Size) -> Size:
        return wanted if self._symbols.is_equal(size, wanted) else 1

    def slice(self, x: Operand, dim: int, start: Size, size: Size, step=1) -> Operand:
        """``size`` elements along ``dim``, from ``start`` on, each ``step``-th."""
        shape = (*x.shape[:dim], size, *x.shape[dim + 1 :])
        if shape == x.shape and start == 0 and step == 1:
            return x
        kind, after = (
            "slice outside of a tensor",
            "{} elements are left behind the slice",
        )
        why = "The slice starts before the start of the tensor."
        self._demand(start, kind, "the slice starts at {}", why)
        why = "The size has to be at least 0."
        self._demand(size, kind, "the slice has the size {}", why)
        rest = x.shape[dim] - start - (size - 1) * step - 1
        self._demand(rest, kind, after, "The slice ends after the end of the tensor.")
        starts, steps = [0] * x.rank, [1] * x.rank
        starts[dim], steps[dim] = start, step
        attributes = {"starts": starts, "steps": steps}
        return self.op("slice", [x], attributes, (shape, x.dtype))

    def window(self, x: Operand, dim: int, step: Size, shape: Shape) -> Operand:
        """Windows along ``dim`` that begin every ``step`` elements; gives ``shape``."""
        return self.op("window", [x], {"dim": dim, "step": step}, (shape, x.dtype))

    def concat(self, parts: Sequence[Operand], dim: int) -> Operand:
        """The parts one after the other along ``dim``."""
        if len(parts) == 1:
            return parts[0]
        size: Size = 0
        for part in parts:
            size = part.shape[dim] + size
        shape = (*parts[0].shape[:dim], size, *parts[0].shape[dim + 1 :])
        attributes = {"dim": dim}
        return self.op("concat", [list(parts)], attributes, (shape, parts[0].dtype))

    def pad(self, x: Operand, low: Sequence, high: Sequence, number: Any) -> Operand:
        """x with ``low`` and ``high`` elements of one number around each dim."""
        shape = tuple(
            before + size + after
            for before, size, after in zip(low, x.shape, high, strict=True)
        )
        for extent in (*low, *high):
            why = "The padding has to be at least 0."
            self._demand(extent, "negative size", "a padding of {} elements", why)
        number = _rounded(as_element(number, x.dtype), x.dtype)
        attributes = {"low": list(low), "high": list(high), "value": number}
        return self.op("pad", [x], attributes, (shape, x.dtype))

    def flip(self, x: Operand, dims: Sequence[int]) -> Operand:
        """x backwards along dims."""
        if not dims:
            return x
        return self.op("flip", [x], {"dims": list(dims)}, (x.shape, x.dtype))

    # Reduction and indexing -----------------------------------------------------

    def reduce(self, name: str, x: Operand, dims: Sequence[int]) -> Operand:
        """A reduction that keeps the reduced dims with size 1."""
        shape = tuple(1 if d in dims else size for d, size in enumerate(x.shape))
        return self.op(name, [x], {"dims": sorted(dims)}, (shape, x.dtype))

    def take(
        self, x: Operand, index: Operand, dim: int, from_end: bool = False
    ) -> Operand:
        """The entries along ``dim`` that ``index`` names, maybe from the end."""
        shape = (*x.shape[:dim], *index.shape, *x.shape[dim + 1 :])
        attributes = {"dim": dim} | ({"from_end": True} if from_end else {})
        return self.op("take", [x, index], attributes, (shape, x.dtype))


def as_element(number: Any, dtype: torch.dtype) -> Any:
    """A Python number as an element of this dtype, wrapped around as eager does."""
    if dtype == torch.bool:
        return bool(number)
    if dtype.is_complex:
        return complex(number)
    if dtype.is_floating_point:
        return float(number)
    number = int(number)
    info = torch.iinfo(dtype)
    if info.min <= number <= info.max:
        return number
    return (number - info.min) % (1 << info.bits) + info.min


def _rounded(number: Any, dtype: torch.dtype) -> Any:
    """An element of 16 bits as memory would hold it; kernels have 32 for it."""
    is_narrow = dtype in (torch.float16, torch.bfloat16)
    return rounded(number, ELEMENT_NAMES[dtype]) if is_narrow else number


def _values_of(operand: Any) -> Any:
    if isinstance(operand, Operand):
        return operand.value
    if isinstance(operand, (list, tuple)):
        return [_values_of(item) for item in operand]
    return operand


def _flatten(operands: Sequence[Any]) -> list[Operand]:
    flat: list[Operand] = []
    for operand in operands:
        if isinstance(operand, Operand):
            flat.append(operand)
        elif isinstance(operand, (list, tuple)):
            flat.extend(_flatten(operand))
    return flat


def _layouts(tensors: Sequence[Operand | Spec]) -> list[Shape]:
    return [
        ty.contiguous_strides(tensor.shape)
        if tensor.strides is None
        else tensor.strides
        for tensor in tensors
    ]


def _check_op(operation: ir.Operation, name: str) -> None:
    """Checks an op that somebody's rule made: its fields, its own rules, its types."""
    problems = verifier.problems_of(operation)
    if problems:
        text = (
            "an import rule makes an op that the verifier rejects: "
            f"{problems[0].message}"
        )
        raise RuleMistake(text, name)
