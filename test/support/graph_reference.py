"""A reference for ``graph``: evaluates a function op by op with torch.

``evaluate(module, inputs)`` gives the results of ``@main`` (or of another function) as
a list, in the order of the function's results, and enters ``graph.fusion``. With
``precise=True`` all floating-point numbers are float64.

``run(imported, inputs)`` does what a compiled program does with an ``ImportedGraph``:
it writes to mutated inputs and returns what the program returns.

It is slow and plain on purpose: whatever a pass does to a module must not change what
this gives.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from girih.dialects import dims
from girih.dialects import types as ty
from girih.dialects.attributes import LAYOUTS, OperandRef, TorchConstant
from girih.dialects.bindings import ir
from girih.dialects.dims import Dim

DTYPES = {
    "i1": torch.bool,
    "ui8": torch.uint8,
    "ui16": torch.uint16,
    "ui32": torch.uint32,
    "ui64": torch.uint64,
    "i8": torch.int8,
    "i16": torch.int16,
    "i32": torch.int32,
    "i64": torch.int64,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "f32": torch.float32,
    "f64": torch.float64,
    "complex<f16>": torch.complex32,
    "complex<f32>": torch.complex64,
    "complex<f64>": torch.complex128,
}

RULES: dict[str, Callable] = {}


def evaluates(*names: str):
    """Registers the evaluation of ops: ``rule(state, op, *operands)``."""

    def register(function: Callable) -> Callable:
        for name in names:
            assert name not in RULES, name
            RULES[name] = function
        return function

    return register


class State:
    """Values and symbols of one evaluation."""

    def __init__(self, precise: bool):
        self.precise = precise
        self.symbols: dict[str, int] = {}
        self.values: dict[ir.Value, Any] = {}

    def number(self, size: int | Dim) -> int:
        return dims.evaluate(size, self.symbols) if isinstance(size, Dim) else size

    def shape(self, type_: ir.Type) -> tuple[int, ...]:
        return tuple(self.number(size) for size in ty.shape_of(type_))

    def dtype(self, type_: ir.Type) -> torch.dtype:
        dtype = DTYPES[str(ty.element_of(type_))]
        return torch.float64 if self.precise and dtype.is_floating_point else dtype

    def bind(self, argument: ir.Value, value: Any, attributes: Any) -> None:
        """Binds an argument and the symbols that it shows."""
        self.values[argument] = value
        if not isinstance(value, Tensor):
            if attributes is not None and "graph.symbol" in attributes:
                self.symbols[attributes["graph.symbol"].value] = value
            return
        if self.precise and value.is_floating_point():
            self.values[argument] = value.double()
        sizes = zip(ty.shape_of(argument.type), value.shape, strict=True)
        for size, actual in sizes:
            if isinstance(size, Dim) and str(size).isidentifier():
                self.symbols.setdefault(str(size), actual)

    def run(self, block: ir.Block) -> list:
        """Evaluates a block; returns the operands of its terminator."""
        for op in block.operations:
            operands = [self.values[value] for value in op.operands]
            if op.operation.name in ("func.return", "graph.yield"):
                return operands
            results = self.evaluate(op, operands)
            for value, result in zip(op.results, results, strict=True):
                self.values[value] = result
        raise AssertionError("a block without terminator")

    def evaluate(self, op: Any, operands: list) -> list:
        results = RULES[op.operation.name.removeprefix("graph.")](self, op, *operands)
        results = list(results) if isinstance(results, (list, tuple)) else [results]
        for value, result in zip(op.results, results, strict=True):
            if isinstance(result, Tensor):
                self.check(op, value.type, result)
        return results

    def check(self, op: Any, type_: ir.Type, result: Tensor) -> None:
        """The types of the module must be true."""
        expected = self.shape(type_), self.dtype(type_)
        assert (tuple(result.shape), result.dtype) == expected, f"{op}: got {result}"


def function_of(module: Any, name: str = "main") -> Any:
    """The function of a module with this name."""
    for op in module.body.operations:
        if op.operation.name == "func.func" and op.name.value == name:
            return op
    raise KeyError(name)


def evaluate(
    module: Any, inputs: Sequence, *, name: str = "main", precise: bool = False
) -> list:
    """The results of a function for these inputs (tensors, and ints for indices)."""
    function = function_of(module, name)
    block = function.regions[0].blocks[0]
    state = State(precise)
    attributes = [None] * len(block.arguments)
    if "arg_attrs" in function.attributes:
        attributes = list(function.attributes["arg_attrs"])
    bound = zip(block.arguments, inputs, attributes, strict=True)
    for argument, value, given in bound:
        state.bind(argument, value, given)
    with module.context, torch.no_grad():
        results = state.run(block)
    sizes = _result_sizes(function)
    return [
        result if size is None else dims.evaluate(size, state.symbols)
        for result, size in zip(results, sizes, strict=True)
    ]


def _result_sizes(function: Any) -> list:
    if "res_attrs" not in function.attributes:
        return [None] * len(function.type.results)
    return [
        dims.parse(given["graph.size"].value) if "graph.size" in given else None
        for given in function.attributes["res_attrs"]
    ]


def run(imported: Any, inputs: Sequence, *, precise: bool = False) -> list:
    """What the imported program returns; writes to those inputs that it mutates.

    Checks what the attributes of the results promise about strides.
    """
    arguments = [inputs[i] for i in imported.input_indices] + list(imported.lifted)
    results = evaluate(imported.module, arguments, name=imported.name, precise=precise)
    # A result may be an argument as it was, which is written next.
    results = [r.clone() if isinstance(r, Tensor) else r for r in results]
    function = function_of(imported.module, imported.name)
    given = list(function.attributes["res_attrs"]) if results else []
    for result, attributes in zip(results, given, strict=True):
        if "graph.writes" in attributes:
            arguments[attributes["graph.writes"].value].copy_(result)
    sources = {"input": inputs, "result": results}
    return [
        slot.value if slot.kind == "constant" else sources[slot.kind][slot.value]
        for slot in imported.outputs
    ]


# Elementwise --------------------------------------------------------------------

_UNARY = """abs neg exp exp2 expm1 log log2 log10 log1p sqrt rsqrt reciprocal sin cos
tan asin acos atan sinh cosh tanh asinh acosh atanh erf erfc sigmoid sign floor ceil
round trunc isnan isinf isfinite logical_not bitwise_not relu""".split()
_BINARY = """add sub mul div fmod pow atan2 maximum minimum eq ne lt le gt ge
logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor copysign
remainder""".split()


def _calls(function: Callable) -> Callable:
    return lambda state, op, *operands: function(*operands)


for _name in _UNARY + _BINARY:
    evaluates(_name)(_calls(getattr(torch, _name)))


@evaluates("floor_divide")
def _floor_divide(state, op, x, y):
    return torch.div(x, y, rounding_mode="floor")


@evaluates("trunc_divide")
def _trunc_divide(state, op, x, y):
    return torch.div(x, y, rounding_mode="trunc")


@evaluates("shift_left")
def _shift_left(state, op, x, y):
    return torch.bitwise_left_shift(x, y)


@evaluates("shift_right")
def _shift_right(state, op, x, y):
    return torch.bitwise_right_shift(x, y)


@evaluates("where")
def _where(state, op, condition, x, y):
    return torch.where(condition, x, y)


@evaluates("cast")
def _cast(state, op, x):
    return x.to(state.dtype(op.results[0].type))


# Creation -----------------------------------------------------------------------


@evaluates("constant", "full")
def _full(state, op):
    type_ = op.results[0].type
    return torch.full(state.shape(type_), op.value, dtype=state.dtype(type_))


@evaluates("iota")
def _iota(state, op):
    type_ = op.results[0].type
    dtype = state.dtype(type_)
    wide = torch.float64 if dtype.is_floating_point else torch.int64
    count = torch.arange(state.shape(type_)[0], dtype=wide)
    start = op.start
    start = state.number(dims.parse(start)) if isinstance(start, str) else start
    return (start + op.step * count).to(dtype)


@evaluates("size")
def _size(state, op):
    return torch.tensor(state.number(op.expr), dtype=torch.int64)


@evaluates("arith.constant")
def _index_constant(state, op):
    return op.attributes["value"].value


# Shape --------------------------------------------------------------------------


@evaluates("reshape")
def _reshape(state, op, x):
    return x.reshape(state.shape(op.results[0].type))


@evaluates("permute")
def _permute(state, op, x):
    return x.permute(tuple(op.permutation))


@evaluates("broadcast_to")
def _broadcast_to(state, op, x):
    return x.broadcast_to(state.shape(op.results[0].type))


@evaluates("slice")
def _slice(state, op, x):
    shape = state.shape(op.results[0].type)
    for dim, (start, step, size) in enumerate(
        zip(op.starts, op.steps, shape, strict=True)
    ):
        index = state.number(start) + step * torch.arange(size)
        x = x.index_select(dim, index)
    return x


@evaluates("concat")
def _concat(state, op, *parts):
    return torch.cat(parts, op.dim)


@evaluates("pad")
def _pad(state, op, x):
    padding = []
    for low, high in zip(reversed(op.low), reversed(op.high), strict=True):
        padding += [state.number(low), state.number(high)]
    return torch.nn.functional.pad(x, padding, value=op.value)


@evaluates("flip")
def _flip(state, op, x):
    return x.flip(tuple(op.dims))


# Reduction ----------------------------------------------------------------------


def _reduces(name: str):
    def register(function):
        @evaluates(name)
        def rule(state, op, x):
            return function(x, list(op.dims)) if len(op.dims) else function(x, [])

        return rule

    return register


@_reduces("reduce_sum")
def _reduce_sum(x, over):
    return x.sum(over, keepdim=True, dtype=x.dtype) if over else x


@_reduces("reduce_prod")
def _reduce_prod(x, over):
    for dim in over:
        x = x.prod(dim, keepdim=True, dtype=x.dtype)
    return x


@_reduces("reduce_max")
def _reduce_max(x, over):
    return x.amax(over, keepdim=True) if over else x


@_reduces("reduce_min")
def _reduce_min(x, over):
    return x.amin(over, keepdim=True) if over else x


@_reduces("reduce_any")
def _reduce_any(x, over):
    for dim in over:
        x = x.any(dim, keepdim=True)
    return x


@_reduces("reduce_all")
def _reduce_all(x, over):
    for dim in over:
        x = x.all(dim, keepdim=True)
    return x


@_reduces("mean")
def _mean(x, over):
    return x.mean(over, keepdim=True) if over else x


@evaluates("var")
def _var(state, op, x):
    return x.var(list(op.dims), correction=op.correction, keepdim=True)


@evaluates("argmax")
def _argmax(state, op, x):
    x = x.to(torch.uint8) if x.dtype == torch.bool else x
    return x.argmax(op.dim, keepdim=True)


@evaluates("argmin")
def _argmin(state, op, x):
    x = x.to(torch.uint8) if x.dtype == torch.bool else x
    return x.argmin(op.dim, keepdim=True)


# Indexing -----------------------------------------------------------------------


def _wrapped(index: Tensor, size: int) -> Tensor:
    """Negative indices from the end; raises where one is out of range."""
    assert bool(((index >= -size) & (index < size)).all()), "index out of range"
    return torch.where(index < 0, index + size, index).long()


@evaluates("take")
def _take(state, op, x, index):
    flat = _wrapped(index, x.shape[op.dim]).reshape(-1)
    taken = x.index_select(op.dim, flat)
    return taken.reshape(x.shape[: op.dim] + index.shape + x.shape[op.dim + 1 :])


@evaluates("gather")
def _gather(state, op, x, index):
    return x.gather(op.dim, _wrapped(index, x.shape[op.dim]))


@evaluates("embedding")
def _embedding(state, op, weight, index):
    return weight[_wrapped(index, weight.shape[0])]


def _positions(op, indices) -> tuple:
    named = dict(zip(op.dims, indices, strict=True))
    return tuple(
        named[dim].long() if dim in named else slice(None)
        for dim in range(max(op.dims) + 1)
    )


@evaluates("index")
def _index(state, op, x, *indices):
    return x[_positions(op, indices)]


@evaluates("index_put")
def _index_put(state, op, x, values, *indices):
    positions = [None if isinstance(p, slice) else p for p in _positions(op, indices)]
    return torch.ops.aten.index_put(x, positions, values, op.accumulate)


@evaluates("scatter")
def _scatter(state, op, x, index, src):
    return x.scatter(op.dim, index.long(), src)


@evaluates("scatter_add")
def _scatter_add(state, op, x, index, src):
    return x.scatter_add(op.dim, index.long(), src)


@evaluates("tril")
def _tril(state, op, x):
    return x.tril(op.diagonal)


@evaluates("triu")
def _triu(state, op, x):
    return x.triu(op.diagonal)


# Composites ---------------------------------------------------------------------


@evaluates("softmax")
def _softmax(state, op, x):
    return x.softmax(op.dim)


@evaluates("log_softmax")
def _log_softmax(state, op, x):
    return x.log_softmax(op.dim)


def _optional(op, operands: tuple, names: tuple[str, ...]) -> list:
    """The operands with None for those that are left out."""
    remaining = iter(operands)
    return [None if getattr(op, name) is None else next(remaining) for name in names]


def _statistics(state, op, results: Sequence[Tensor]) -> list[Tensor]:
    """Statistics in the dtypes of the result types."""
    return [
        result.to(state.dtype(value.type))
        for value, result in zip(op.results, results, strict=True)
    ]


@evaluates("layer_norm")
def _layer_norm(state, op, x, *rest):
    weight, bias = _optional(op, rest, ("weight", "bias"))
    shape = list(x.shape[x.dim() - op.normalized_rank :])
    results = torch.native_layer_norm(x, shape, weight, bias, op.eps)
    return _statistics(state, op, results)


@evaluates("rms_norm")
def _rms_norm(state, op, x, *rest):
    (weight,) = _optional(op, rest, ("weight",))
    shape = list(x.shape[x.dim() - op.normalized_rank :])
    return torch.rms_norm(x, shape, weight, op.eps)


@evaluates("group_norm")
def _group_norm(state, op, x, *rest):
    weight, bias = _optional(op, rest, ("weight", "bias"))
    batch, channels = x.shape[:2]
    inner = math.prod(x.shape[2:])
    results = torch.ops.aten.native_group_norm(
        x.contiguous(), weight, bias, batch, channels, inner, op.groups, op.eps
    )
    return _statistics(state, op, results)


@evaluates("batch_norm")
def _batch_norm(state, op, x, *rest):
    names = ("weight", "bias", "running_mean", "running_var")
    weight, bias, mean, variance = _optional(op, rest, names)
    return torch.nn.functional.batch_norm(
        x, mean, variance, weight, bias, training=False, eps=op.eps
    )


@evaluates("batch_norm_training")
def _batch_norm_training(state, op, x, *rest):
    weight, bias = _optional(op, rest, ("weight", "bias"))
    results = torch.native_batch_norm(x, weight, bias, None, None, True, 0.0, op.eps)
    return _statistics(state, op, results)


@evaluates("gelu")
def _gelu(state, op, x):
    return torch.nn.functional.gelu(x, approximate=op.approximate)


for _name in ("silu", "mish", "hardsigmoid", "hardswish"):
    evaluates(_name)(_calls(getattr(torch.nn.functional, _name)))


@evaluates("log_sigmoid")
def _log_sigmoid(state, op, x):
    return torch.nn.functional.logsigmoid(x)


@evaluates("elu")
def _elu(state, op, x):
    return torch.ops.aten.elu(x, op.alpha, op.scale, op.input_scale)


@evaluates("leaky_relu")
def _leaky_relu(state, op, x):
    return torch.nn.functional.leaky_relu(x, op.negative_slope)


@evaluates("softplus")
def _softplus(state, op, x):
    return torch.nn.functional.softplus(x, op.beta, op.threshold)


@evaluates("hardtanh")
def _hardtanh(state, op, x):
    return x.clamp(op.min_value, op.max_value)


@evaluates("clamp")
def _clamp(state, op, x, *bounds):
    low, high = _optional(op, bounds, ("low", "high"))
    return torch.clamp(x, low, high)


# Library ops --------------------------------------------------------------------


@evaluates("mm")
def _mm(state, op, x, y):
    return torch.mm(x, y)


@evaluates("bmm")
def _bmm(state, op, x, y):
    return torch.bmm(x, y)


@evaluates("addmm")
def _addmm(state, op, bias, x, y):
    return torch.addmm(bias, x, y, beta=op.beta, alpha=op.alpha)


@evaluates("baddbmm")
def _baddbmm(state, op, bias, x, y):
    return torch.baddbmm(bias, x, y, beta=op.beta, alpha=op.alpha)


@evaluates("linear")
def _linear(state, op, x, weight, *bias):
    return torch.nn.functional.linear(x, weight, *bias)


@evaluates("convolution")
def _convolution(state, op, x, weight, *bias):
    return torch.ops.aten.convolution(
        x,
        weight,
        bias[0] if bias else None,
        list(op.stride),
        [state.number(n) for n in op.padding],
        list(op.dilation),
        op.transposed,
        [state.number(n) for n in op.output_padding],
        op.groups,
    )


@evaluates("attention")
def _attention(state, op, query, key, value, *mask):
    logits = query @ key.transpose(-1, -2) * op.scale
    if op.causal:
        rows, columns = logits.shape[-2:]
        visible = torch.ones(rows, columns, dtype=torch.bool).tril()
        logits = logits.masked_fill(~visible, -math.inf)
    if mask:
        if mask[0].dtype == torch.bool:
            logits = logits.masked_fill(~mask[0], -math.inf)
        else:
            logits = logits + mask[0]
    lse = logits.logsumexp(-1)
    return logits.softmax(-1) @ value, lse.to(state.dtype(op.results[1].type))


@evaluates("cumsum")
def _cumsum(state, op, x):
    return x.cumsum(op.dim, dtype=x.dtype)


@evaluates("topk")
def _topk(state, op, x):
    return torch.topk(x, state.number(op.k), op.dim, op.largest, op.sorted)


@evaluates("sort")
def _sort(state, op, x):
    return torch.sort(x, dim=op.dim, descending=op.descending, stable=op.stable)


@evaluates("max_pool")
def _max_pool(state, op, x):
    window = [list(v) for v in (op.kernel, op.stride, op.padding, op.dilation)]
    pool = {2: torch.ops.aten.max_pool2d_with_indices}
    pool[3] = torch.ops.aten.max_pool3d_with_indices
    return pool[len(window[0])](x, *window, op.ceil_mode)


@evaluates("avg_pool")
def _avg_pool(state, op, x):
    window = [list(v) for v in (op.kernel, op.stride, op.padding)]
    pool = {2: torch.ops.aten.avg_pool2d, 3: torch.ops.aten.avg_pool3d}
    modes = (op.ceil_mode, op.count_include_pad, op.divisor or None)
    return pool[len(window[0])](x, *window, *modes)


@evaluates("adaptive_avg_pool")
def _adaptive_avg_pool(state, op, x):
    sizes = [state.number(n) for n in op.output_size]
    pool = {2: torch.ops.aten._adaptive_avg_pool2d}
    pool[3] = torch.ops.aten._adaptive_avg_pool3d
    return pool[len(sizes)](x, sizes)


# Calls of ATen ------------------------------------------------------------------


def _argument(state: State, value: Any, operands: Sequence[Tensor]) -> Any:
    match value:
        case OperandRef(index):
            return operands[index]
        case Dim():
            return state.number(value)
        case TorchConstant("device", name):
            return torch.device(name)
        case TorchConstant(_, name):
            return getattr(torch, name)
        case tuple():
            return [_argument(state, item, operands) for item in value]
    return value


def _tensors(result: Any) -> list[Tensor]:
    if isinstance(result, Tensor):
        return [result]
    if isinstance(result, (list, tuple)):
        return [tensor for item in result for tensor in _tensors(item)]
    return []


def _laid_out(state: State, op: Any, operands: Sequence[Tensor]) -> list[Tensor]:
    """The operands with the strides that the op's results are promised for."""
    if "operand_strides" not in op.attributes:
        return list(operands)
    layouts = LAYOUTS.decode(op.attributes["operand_strides"])
    placed = []
    for tensor, layout in zip(operands, layouts, strict=True):
        strides = tuple(state.number(stride) for stride in layout)
        if tensor.stride() != strides:
            tensor = torch.empty_strided(
                tensor.shape, strides, dtype=tensor.dtype
            ).copy_(tensor)
        placed.append(tensor)
    return placed


@evaluates("extern")
def _extern(state, op, *operands):
    namespace, name, overload = op.op.split(".")
    func = getattr(getattr(getattr(torch.ops, namespace), name), overload)
    operands = _laid_out(state, op, operands)
    args = [_argument(state, value, operands) for value in op.args]
    kwargs = {k: _argument(state, v, operands) for k, v in op.kwargs.items()}
    return _tensors(func(*args, **kwargs))


# Fusions ------------------------------------------------------------------------


@evaluates("fusion")
def _fusion(state, op, *inputs):
    block = op.regions[0].blocks[0]
    for argument, value in zip(block.arguments, inputs, strict=True):
        state.values[argument] = value
    return state.run(block)
