"""Random functions of ``graph`` ops, for tests that passes keep their results.

``random_graph(seed, count)`` gives a module and inputs. Sizes are small; with
``symbolic=True`` the first size of most tensors is the symbol ``s0``.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import torch
from torch import Tensor

from girih.dialects import dims, graph
from girih.dialects import types as ty
from girih.dialects.attributes import OperandRef
from girih.dialects.bindings import func, ir
from girih.dialects.dims import Dim, product

UNARY = ("abs", "exp", "neg", "relu", "sigmoid", "sqrt", "tanh")
BINARY = ("add", "maximum", "minimum", "mul", "sub")
SYMBOL_VALUE = 5


class GraphWriter:
    """Writes ops on f64 values into the current insertion point.

    Attributes:
        values: what has been made so far.
        indices: ``i64`` arguments whose elements are 0 or -1.
    """

    def __init__(self, rng: random.Random, values: list, indices: list, weights: dict):
        self.rng = rng
        self.values = values
        self.indices = indices
        self._weights = weights

    def add(self, name: str, operands: list, attributes=None, shape=None) -> None:
        results = None if shape is None else [ty.tensor_type(shape, ir.F64Type.get())]
        op = graph.build(name, operands, attributes or {}, results=results)
        self.values.append(op.results[0])

    def pick(self) -> tuple[ir.Value, tuple]:
        """A value, rather a late one, and its shape."""
        age = min(int(self.rng.expovariate(0.4)), len(self.values) - 1)
        value = self.values[-1 - age]
        return value, ty.shape_of(value.type)

    def write(self) -> None:
        """Adds an op, or nothing where the chosen one does not fit."""
        value, shape = self.pick()
        writers, weights = zip(*self._weights.items(), strict=True)
        writer = self.rng.choices(writers, weights=weights)[0]
        writer(self, value, shape)


def _unary(w: GraphWriter, x, shape) -> None:
    w.add(w.rng.choice(UNARY), [x])


def _binary(w: GraphWriter, x, shape) -> None:
    fitting = [y for y in w.values if _broadcasts(ty.shape_of(y.type), shape)]
    pair = [x, w.rng.choice(fitting[-6:])]
    w.rng.shuffle(pair)
    w.add(w.rng.choice(BINARY), pair)


def _broadcasts(narrow: tuple, wide: tuple) -> bool:
    pairs = zip(reversed(narrow), reversed(wide), strict=False)
    return len(narrow) <= len(wide) and all(n in (w, 1) for n, w in pairs)


def _with_number(w: GraphWriter, x, shape) -> None:
    value = w.rng.choice([0.0, -0.0, 1.0, -1.0, 2.0])
    w.add("constant", [], {"value": value}, ())
    w.add(w.rng.choice(BINARY), [x, w.values.pop()])


def _reduce(w: GraphWriter, x, shape) -> None:
    if not shape:
        return
    count = w.rng.randint(1, min(2, len(shape)))
    over = sorted(w.rng.sample(range(len(shape)), count))
    if w.rng.random() < 0.5:
        over = [len(shape) - 1]
    names = ["reduce_sum"]
    if all(shape[dim] != 0 for dim in over):
        names += ["reduce_max", "reduce_min"]
    w.add(w.rng.choice(names), [x], {"dims": over})


def _reshape(w: GraphWriter, x, shape) -> None:
    """Merges two dims, splits one, adds one, removes one, or keeps nothing."""
    choices = [(1, *shape), (*shape, 1), tuple(s for s in shape if s != 1)]
    choices += [
        (*shape[:i], shape[i] * shape[i + 1], *shape[i + 2 :])
        for i in range(len(shape) - 1)
    ]
    choices += [
        (*shape[:i], part, size // part, *shape[i + 1 :])
        for i, size in enumerate(shape)
        for part in (2, 3)
        if isinstance(size, int) and size % part == 0
    ]
    choices.append((product(shape),))
    target = w.rng.choice(choices)
    if len(target) <= 5:
        w.add("reshape", [x], {}, target)


def _permute(w: GraphWriter, x, shape) -> None:
    order = list(range(len(shape)))
    w.rng.shuffle(order)
    w.add("permute", [x], {"permutation": order})


def _slice(w: GraphWriter, x, shape) -> None:
    starts, steps, sizes = [], [], []
    for size in shape:
        start, step, count = 0, 1, size
        if isinstance(size, int) and w.rng.random() < 0.6:
            start = w.rng.randint(0, max(size - 1, 0))
            step = w.rng.choice([1, 1, 2])
            count = w.rng.randint(0 if size == 0 else 1, -(-(size - start) // step))
        starts.append(start)
        steps.append(step)
        sizes.append(count)
    w.add("slice", [x], {"starts": starts, "steps": steps}, sizes)


def _broadcast(w: GraphWriter, x, shape) -> None:
    wide = tuple(w.rng.choice([1, 3]) if size == 1 else size for size in shape)
    if w.rng.random() < 0.4 and len(shape) < 4:
        wide = (w.rng.randint(1, 3), *wide)
    w.add("broadcast_to", [x], {}, wide)


def _concat(w: GraphWriter, x, shape) -> None:
    if not shape:
        return
    dim = w.rng.randrange(len(shape))
    rest = (*shape[:dim], *shape[dim + 1 :])
    fitting = [
        y
        for y in w.values
        if (other := ty.shape_of(y.type))
        and len(other) == len(shape)
        and (*other[:dim], *other[dim + 1 :]) == rest
    ]
    others = [w.rng.choice(fitting) for _ in range(w.rng.randint(1, 3))]
    w.add("concat", [[x, *others]], {"dim": dim})


def _pad(w: GraphWriter, x, shape) -> None:
    low = [w.rng.choice([0, 0, 1]) for _ in shape]
    high = [w.rng.choice([0, 0, 2]) for _ in shape]
    value = w.rng.choice([0.0, 1.5])
    w.add("pad", [x], {"low": low, "high": high, "value": value})


def _flip(w: GraphWriter, x, shape) -> None:
    if shape:
        w.add("flip", [x], {"dims": [w.rng.randrange(len(shape))]})


def _window(w: GraphWriter, x, shape) -> None:
    if shape and len(shape) < 4:
        dim = w.rng.randrange(len(shape))
        size, step = shape[dim], w.rng.choice([1, 1, 2])
        if isinstance(size, int) and size:
            length = w.rng.randint(1, size)
            count = (size - length) // step + 1
            windows = (*shape[:dim], count, *shape[dim + 1 :], length)
            w.add("window", [x], {"dim": dim, "step": step}, windows)


def _take(w: GraphWriter, x, shape) -> None:
    if shape and len(shape) < 4:
        dim = w.rng.randrange(len(shape))
        if shape[dim] != 0:
            given = {"dim": dim, "from_end": True}
            w.add("take", [x, w.rng.choice(w.indices)], given)


def _index(w: GraphWriter, x, shape) -> None:
    """Another index; its elements stay 0 and -1."""
    pair = [w.rng.choice(w.indices) for _ in range(2)]
    if _broadcasts(*(ty.shape_of(index.type) for index in pair)):
        made = graph.build(w.rng.choice(["maximum", "minimum"]), pair)
        w.indices.append(made.results[0])


def _gather(w: GraphWriter, x, shape) -> None:
    """Picks one element of each row."""
    if len(shape) != 2 or not all(isinstance(n, int) for n in shape):
        return
    if shape[0] == 0 or shape[1] < 2:
        return
    index = w.indices[0]
    if ty.shape_of(index.type)[0] < shape[0]:
        return
    rows, picks = (ty.tensor_type(s, ty.i64()) for s in ((shape[0],), (shape[0], 1)))
    given = {"starts": [0], "steps": [1]}
    index = graph.build("slice", [index], given, results=[rows]).results[0]
    index = graph.build("reshape", [index], results=[picks]).results[0]
    square = graph.build("mul", [index, index]).results[0]  # 0 and 1
    w.add("gather", [x, square], {"dim": 1})


def _softmax(w: GraphWriter, x, shape) -> None:
    if shape and all(size != 0 for size in shape):
        w.add("softmax", [x], {"dim": w.rng.randrange(len(shape))})


def _layer_norm(w: GraphWriter, x, shape) -> None:
    if shape and all(size != 0 for size in shape):
        w.add("layer_norm", [x, None, None], {"normalized_rank": 1})


def _library(w: GraphWriter, x, shape) -> None:
    call = {"op": "aten.cos.default", "args": [OperandRef(0)]}
    w.add("extern", [[x]], call, shape)


WRITERS: dict[Callable, float] = {
    _unary: 22,
    _binary: 23,
    _with_number: 5,
    _reduce: 10,
    _reshape: 6,
    _permute: 5,
    _slice: 5,
    _broadcast: 4,
    _concat: 5,
    _pad: 3,
    _flip: 2,
    _window: 2,
    _take: 4,
    _gather: 2,
    _index: 2,
    _softmax: 3,
    _layer_norm: 2,
}


def random_graph(
    seed: int, count: int, *, symbolic: bool = False, barriers: float = 2
) -> tuple[ir.Module, list[Tensor]]:
    """A module with one function of about ``count`` ops, and inputs for it.

    ``barriers`` is the weight of library ops, 100 or so that of all others together.
    A context and a location must be active.
    """
    rng = random.Random(seed)
    shapes = _input_shapes(rng, symbolic)
    index_shapes = [(6,), (2, 3)]
    types = [ty.tensor_type(shape, ir.F64Type.get()) for shape in shapes]
    types += [ty.tensor_type(shape, ty.i64()) for shape in index_shapes]
    module = ir.Module.create()
    with ir.InsertionPoint(module.body):
        function = func.FuncOp("main", (types, []))
    block = function.add_entry_block()
    with ir.InsertionPoint(block):
        arguments = list(block.arguments)
        weights = WRITERS | {_library: barriers}
        inputs = arguments[: len(shapes)], arguments[len(shapes) :]
        w = GraphWriter(rng, *inputs, weights)
        for _ in range(count):
            w.write()
        results = [w.values[-1], *rng.sample(w.values, rng.randint(0, 2))]
        func.ReturnOp(results)
    signature = ir.FunctionType.get(types, [value.type for value in results])
    function.attributes["function_type"] = ir.TypeAttr.get(signature)
    if symbolic:
        ranges = ir.Attribute.parse("{s0 = [2, 9223372036854775807]}")
        function.attributes["graph.symbols"] = ranges
    return module, _inputs(seed, shapes, index_shapes)


def _input_shapes(rng: random.Random, symbolic: bool) -> list[tuple]:
    base = tuple(rng.choice([2, 3, 4, 6]) for _ in range(rng.randint(2, 3)))
    if symbolic:
        base = (dims.symbol("s0"), *base[1:])
    free = tuple(
        rng.choice([1, 2, 3, 4, 6]) if rng.random() > 0.03 else 0
        for _ in range(rng.randint(0, 3))
    )
    return [base, base, base[-1:], free]


def _inputs(seed: int, shapes: list, index_shapes: list) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    known = {"s0": SYMBOL_VALUE}
    sizes = [
        [dims.evaluate(s, known) if isinstance(s, Dim) else s for s in shape]
        for shape in shapes
    ]
    floats = [torch.randn(s, generator=generator, dtype=torch.float64) for s in sizes]
    indices = [torch.randint(-1, 1, s, generator=generator) for s in index_shapes]
    return [*floats, *indices]
