"""Random programs from the native ops, as hypothesis strategies.

A program is built step by step and run in eager while it is built, beside a shadow in
float64. The shadow serves twice. Where it equals eager's value, that value is *exact*:
no rounding has happened, so every correct compiler finds the same bits. Ops that are
not continuous (comparisons, ``floor``, ``argmax``, casts to integers) apply to exact
values only, or a rounding difference would become a large one. And at the end, a
result counts as right where it is about as near to the shadow as eager's result is.
"""

from __future__ import annotations

import linecache
import re
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import torch
import torch.nn.functional as F
from hypothesis import strategies as st
from program_ops import OPS, Op
from tensors import INTEGERS, LAYOUTS
from torch import Tensor

SIZES = (1, 2, 3, 5, 7, 13, 16, 17, 31, 67, 129, 0)
MAX_ELEMENTS = 30_000
MAX_VALUE = 3e3
LEAF_DTYPES = (
    torch.float32,
    torch.float64,
    torch.bfloat16,
    torch.float16,
    *INTEGERS,
    torch.bool,
)
TOLERANCE = {
    torch.float64: 1e-9,
    torch.float32: 2e-5,
    torch.float16: 1e-2,
    torch.bfloat16: 6e-2,
}
"""Errors allowed beside eager's own, relative to the program's largest value."""


@dataclass
class Value:
    """A value of a program while it is built.

    Attributes:
        name: Its variable.
        eager: What eager computed.
        shadow: The same in float64; integers and bools are as they are.
        exact: Whether no rounding has happened on the way.
    """

    name: str
    eager: Tensor
    shadow: Tensor
    exact: bool

    @property
    def kind(self) -> str:
        """``"float"``, ``"int"`` or ``"bool"``."""
        if self.eager.is_floating_point():
            return "float"
        return "bool" if self.eager.dtype == torch.bool else "int"


@dataclass
class Program:
    """A random program with its inputs.

    Attributes:
        source: Python source of ``def program(...)``.
        inputs: Its arguments.
        shadows: Its results in float64.
        scale: Largest value on the way, at least 1.
        tolerance: That of its coarsest dtype.
    """

    source: str
    inputs: list[Tensor]
    shadows: list[Tensor]
    scale: float
    tolerance: float
    _numbers = count()

    def function(self):
        """The program as a Python function with readable source lines."""
        filename = f"<random program {next(self._numbers)}>"
        lines = self.source.splitlines(keepends=True)
        linecache.cache[filename] = (len(self.source), None, lines, filename)
        namespace: dict[str, Any] = {"torch": torch, "F": F}
        exec(compile(self.source, filename, "exec"), namespace)
        return namespace["program"]

    def __repr__(self) -> str:
        described = [
            f"# {name}: {x.dtype}, shape {tuple(x.shape)}, strides {x.stride()}, "
            f"offset {x.storage_offset()}"
            for name, x in zip("xyzw", self.inputs, strict=False)
        ]
        return "\n".join(["", *described, self.source])

    def _repr_pretty_(self, printer, cycle) -> None:
        printer.text(repr(self))

    def assert_right(self, results) -> None:
        """Asserts that results are as good as eager's."""
        with torch.no_grad():
            expected = self.function()(*self.inputs)
        assert len(results) == len(expected)
        for i, (actual, eager) in enumerate(zip(results, expected, strict=True)):
            self._assert_result(i, actual, eager)

    def _assert_result(self, number: int, actual: Tensor, eager: Tensor) -> None:
        label = f"result {number}"
        assert actual.dtype == eager.dtype, f"{label}: {actual.dtype}"
        assert actual.shape == eager.shape, f"{label}: {actual.shape}"
        if actual.numel() > 1:
            assert _steps(actual) == _steps(eager), f"{label}: {actual.stride()}"
        if not eager.is_floating_point():
            assert torch.equal(actual, eager), f"{label}: {actual} instead of {eager}"
            return
        if not eager.numel():
            return
        shadow = self.shadows[number].double()
        allowed = 3 * (eager.double() - shadow).abs().max()
        allowed += self.tolerance * self.scale
        error = (actual.double() - shadow).abs().max()
        assert error <= allowed, f"{label}: {error} > {allowed}: {actual} for {eager}"


def _steps(x: Tensor) -> list[int]:
    return [s for n, s in zip(x.shape, x.stride(), strict=True) if n > 1]


@dataclass
class _Builder:
    draw: Any
    inputs: list[Tensor] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)

    def add_input(self, name: str, shape, dtype) -> None:
        layout = self.draw(st.sampled_from(list(LAYOUTS.values())))
        x = layout(_leaf(shape, dtype))
        self.inputs.append(x)
        self.values.append(Value(name, x, _widen(x), True))

    def add_step(self) -> bool:
        """Tries one more line; returns whether it could be added."""
        op = self.draw(st.sampled_from(OPS))
        operands = self._operands(op)
        if operands is None:
            return False
        eager_choices, shadow_choices = self._choices(op, operands["a"])
        names = {key: value.name for key, value in operands.items()}
        line = op.text.format(**names, **eager_choices)
        shadow_line = op.text.format(**names, **shadow_choices)
        value = self._evaluate(op, line, shadow_line, operands)
        if value is None:
            return False
        self.values.append(value)
        self.lines.append(f"    {value.name} = {line}")
        return True

    def _operands(self, op: Op) -> dict[str, Value] | None:
        usable = [v for v in self.values if v.exact or not op.exact]
        firsts = [v for v in usable if v.kind in op.kinds and v.eager.dim() >= op.rank]
        if not firsts:
            return None
        # Late values are drawn more often, so that programs grow deep.
        found = {
            "a": self.draw(st.sampled_from(firsts[-1:] * 4 + firsts[-3:] + firsts))
        }
        for name, kinds in (("b", op.kinds), ("c", ("bool",))):
            if "{" + name + "}" in op.text:
                partners = self._partners(found["a"], usable, kinds)
                if not partners:
                    return None
                found[name] = self.draw(st.sampled_from(partners))
        return found

    def _partners(self, first: Value, usable: list[Value], kinds) -> list[Value]:
        return [
            v
            for v in usable
            if v.kind in kinds
            and _broadcasts(v.eager.shape, first.eager.shape)
            and (v.kind == first.kind or v.kind == "bool")
        ]

    def _choices(self, op: Op, first: Value):
        rank = first.eager.dim()
        dims = st.integers(0, max(rank - 1, 0))
        permutation = self.draw(st.permutations(range(rank)))
        float_dtype = self.draw(st.sampled_from(list(TOLERANCE)))
        choices = {
            "dim": self.draw(dims),
            "other_dim": self.draw(dims),
            "new_dim": self.draw(st.integers(0, rank)),
            "keepdim": self.draw(st.booleans()),
            "permutation": ", ".join(map(str, permutation)) or "()",
            "slices": self._slices(rank) if rank else "...",
            "ones": ", ".join(["1"] * rank),
            "minus_ones": ", ".join(["-1"] * rank),
            "int_dtype": self.draw(st.sampled_from(INTEGERS)),
        }
        eager = {**choices, "float_dtype": float_dtype}
        return eager, {**choices, "float_dtype": torch.float64}

    def _slices(self, rank: int) -> str:
        kinds = st.sampled_from([":", ":", "1:", ":-1", "::2", "1::3", "-3:"])
        return ", ".join(self.draw(kinds) for _ in range(rank))

    def _evaluate(self, op: Op, line, shadow_line, operands) -> Value | None:
        scope = {"torch": torch, "F": F}
        try:
            eager = eval(line, scope, {v.name: v.eager for v in operands.values()})
            shadow = eval(
                shadow_line, scope, {v.name: v.shadow for v in operands.values()}
            )
        except (RuntimeError, IndexError):
            return None  # for instance amax over no elements
        if eager.numel() > MAX_ELEMENTS or eager.dim() > 6 or not _is_tame(shadow):
            return None
        inputs_exact = all(value.exact for value in operands.values())
        exact = inputs_exact and not op.rounds and _is_same(eager, shadow)
        if not exact and not eager.is_floating_point():
            return None
        return Value(f"v{len(self.lines)}", eager, shadow, exact)

    def _outputs(self) -> list[Value]:
        """The last values that no other line uses, and some value that one uses."""
        made = self.values[len(self.inputs) :]
        text = "\n".join(self.lines)
        # A name that stands once is assigned and never read.
        unused = [v for v in made if len(re.findall(rf"\b{v.name}\b", text)) == 1]
        outputs = unused[-4:]
        if self.draw(st.booleans()):
            outputs.append(self.draw(st.sampled_from(made)))
        return list({v.name: v for v in outputs}.values())

    def finish(self) -> Program:
        outputs = self._outputs()
        names = ", ".join(v.name for v in outputs)
        arguments = ", ".join("xyzw"[: len(self.inputs)])
        lines = [
            f"def program({arguments}):",
            *self.lines,
            f"    return ({names},)",
            "",
        ]
        dtypes = {v.eager.dtype for v in self.values if v.kind == "float"}
        return Program(
            "\n".join(lines),
            self.inputs,
            [v.shadow for v in outputs],
            max([1.0, *(_largest(v.shadow) for v in self.values)]),
            max([0.0, *(TOLERANCE[dtype] for dtype in dtypes)]),
        )


def _leaf(shape, dtype) -> Tensor:
    """Small multiples of 1/4: few operations on them round."""
    if dtype == torch.bool:
        return torch.randint(2, shape, dtype=torch.bool)
    if dtype.is_floating_point:
        return (torch.randint(-16, 17, shape) / 4).to(dtype)
    return torch.randint(0 if dtype == torch.uint8 else -9, 10, shape, dtype=dtype)


def _widen(x: Tensor) -> Tensor:
    return x.double() if x.is_floating_point() else x


def _broadcasts(left, right) -> bool:
    pairs = zip(reversed(left), reversed(right), strict=False)
    return all(n == m or 1 in (n, m) for n, m in pairs)


def _largest(x: Tensor) -> float:
    return float(x.double().abs().max()) if x.numel() else 0.0


def _is_tame(x: Tensor) -> bool:
    return bool(x.isfinite().all()) and _largest(x) <= MAX_VALUE


def _is_same(eager: Tensor, shadow: Tensor) -> bool:
    return torch.equal(eager.double(), shadow.double())


@st.composite
def programs(draw, max_steps: int = 10) -> Program:
    """Programs of up to ``max_steps`` lines over one to four tensors."""
    torch.manual_seed(draw(st.integers(0, 1000)))
    builder = _Builder(draw)
    rank = draw(st.sampled_from([1, 2, 3, 2, 3, 4, 0]))
    sizes = st.lists(st.sampled_from(SIZES), min_size=rank, max_size=rank)
    shape = draw(sizes.filter(_is_small))
    floating = draw(st.sampled_from(list(TOLERANCE)))
    for name in "xyzw"[: draw(st.integers(1, 4))]:
        own = draw(st.sampled_from([floating, floating, *LEAF_DTYPES]))
        builder.add_input(name, _some_dims(draw, shape), own)
    with torch.no_grad():
        steps = draw(st.integers(1, max_steps))
        for _ in range(4 * steps):
            if len(builder.lines) < steps:
                builder.add_step()
        while not builder.lines:
            builder.add_step()
    return builder.finish()


def _is_small(shape) -> bool:
    elements = 1
    for size in shape:
        elements *= size
    return elements <= MAX_ELEMENTS


def _some_dims(draw, shape) -> list[int]:
    """A shape that broadcasts with the given one: fewer leading dims, some dims 1."""
    first = draw(st.sampled_from([0, 0, 0, *range(len(shape) + 1)]))
    keep = st.sampled_from([True, True, True, False])
    return [n if draw(keep) else 1 for n in shape[first:]]
