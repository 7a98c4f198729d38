"""Writes a program line by line; each line runs in eager before it is taken."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from random_modules.program import PREAMBLE, Input, Line, _wide

LARGEST = 1e3
MOST_ELEMENTS = 300_000
DIFFERENCE = re.compile(r"self\.m|softmax|logsumexp|normalize|\.var\(|F\.\w+_loss")
FLOATS = (torch.float64, torch.float32, torch.float16, torch.bfloat16)


@dataclass
class Builder:
    """A program that is being written.

    Values exist twice: as eager computes them, and in float64. Where both are equal no
    rounding has happened, and only there an operation that is not continuous (a
    comparison, a cast to integers) has one right result.

    Attributes:
        rng: What everything is drawn from.
        dtype: Of floats and of weights.
        size: ``n`` while the program is written.
        training: Whether the module trains.
        values: What lines may use, by name.
        wide: The same in float64.
    """

    rng: random.Random
    dtype: torch.dtype
    size: int
    training: bool
    values: dict[str, Tensor] = field(default_factory=dict)
    wide: dict[str, Tensor] = field(default_factory=dict)
    fields: list[tuple[str, str]] = field(default_factory=list)
    inputs: list[Input] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)

    def __post_init__(self):
        self.scope: dict[str, Any] = {}
        exec(PREAMBLE, self.scope)
        self.module, self.wide_module = nn.Module(), nn.Module()
        # Zero in both where what is subtracted is equal (a norm of one element), but
        # only if it is computed in this order.
        self.differences: set[str] = set()

    # What rules draw with.

    def pick(self, fits: Callable[[Tensor], bool] | None = None) -> str | None:
        """The name of a value, late ones more often, or None."""
        names = [n for n, x in self.values.items() if fits is None or fits(x)]
        return self.rng.choice(names[-2:] * 3 + names) if names else None

    def pick_float(self, *ranks: int) -> str | None:
        """A value of the program's dtype; any rank where none is given."""
        return self.pick(
            lambda x: x.dtype == self.dtype and (not ranks or x.dim() in ranks)
        )

    def choose(self, *options: Any) -> Any:
        """One of these."""
        return self.rng.choice(options)

    def dim(self, x: Tensor) -> int:
        """A dim of a tensor that has some; sometimes counted from the end."""
        dim = self.rng.randrange(x.dim())
        return dim - x.dim() if self.rng.random() < 0.3 else dim

    def is_exact(self, name: str) -> bool:
        """Whether no rounding has happened up to this value."""
        if name in self.differences:
            return False
        return torch.equal(self.values[name].double(), self.wide[name].double())

    # What rules write with.

    def add_input(self, text: str, grad: str = "") -> str:
        """A new argument, made by ``text``."""
        name = f"x{len(self.inputs)}"
        value = eval(text, {**self.scope, "n": self.size})
        self.inputs.append(Input(name, text, grad))
        self.values[name] = value
        self.wide[name] = value.double() if value.is_floating_point() else value
        return name

    def add_field(self, text: str, prefix: str = "m") -> str | None:
        """A submodule or a buffer; gives how ``forward`` calls it."""
        name = f"{prefix}{len(self.fields)}"
        seed = self.rng.randrange(1000)
        try:
            torch.manual_seed(seed)
            made = eval(text, dict(self.scope))
            torch.manual_seed(seed)
            wide = eval(_wide(text), dict(self.scope))
        except (RuntimeError, ValueError, AssertionError, TypeError):
            return None
        for module, value in ((self.module, made), (self.wide_module, wide)):
            if isinstance(value, Tensor):
                module.register_buffer(name, value)
            else:
                setattr(module, name, value.train(self.training))
        if not isinstance(made, Tensor):
            wide.load_state_dict(made.state_dict())
        self.fields.append((name, text))
        return f"self.{name}"

    def add_line(self, text: str, is_exact: bool = False) -> str | None:
        """A value; None where eager refuses it, or it is too large or not finite.

        Args:
            text: What it is computed by.
            is_exact: It is not continuous: all that it reads has to be exact.
        """
        line = Line(f"v{len(self.lines)}", text)
        if is_exact and not all(map(self.is_exact, line.names & set(self.values))):
            return None
        made = self._evaluate(line)
        if made is None or not _is_tame(made[0]) or not _is_tame(made[1]):
            return None
        self.values[line.target], self.wide[line.target] = made
        if DIFFERENCE.search(text) or line.names & self.differences:
            self.differences.add(line.target)
        self.lines.append(line)
        return line.target

    def add_write(self, text: str) -> bool:
        """A statement that writes; whether eager takes it."""
        line = Line("", text)
        if not self._runs(line):
            return False
        if line.names & self.differences:
            self.differences |= line.names
        self.lines.append(line)
        return True

    def _evaluate(self, line: Line) -> tuple[Tensor, Tensor] | None:
        try:
            with torch.no_grad():
                torch.manual_seed(0)
                value = eval(
                    line.text, {**self.scope, "self": self.module}, self.values
                )
                torch.manual_seed(0)
                scope = {**self.scope, "self": self.wide_module}
                wide = eval(_wide(line.text), scope, self.wide)
        except (RuntimeError, ValueError, IndexError, TypeError, AssertionError):
            return None
        if not isinstance(value, Tensor) or value.shape != wide.shape:
            return None
        return value, wide

    def _runs(self, line: Line) -> bool:
        """Runs a write, on copies first: one that fails must leave nothing behind."""
        named = sorted(line.names & set(self.values))
        before = [self.values[n].clone() for n in named]
        try:
            with torch.no_grad():
                exec(line.text, {**self.scope, "self": self.module}, self.values)
                scope = {**self.scope, "self": self.wide_module}
                exec(_wide(line.text), scope, self.wide)
        except (RuntimeError, ValueError, IndexError, TypeError):
            same = zip(named, before, strict=True)
            if not all(torch.equal(self.values[n], b) for n, b in same):
                raise AssertionError(f"half done: {line}") from None
            return False
        return all(_is_tame(x) for x in self.values.values())


def _is_tame(x: Tensor) -> bool:
    """Small, finite, and of a usual kind."""
    if x.numel() > MOST_ELEMENTS or x.dim() > 6 or x.is_complex() or not x.numel():
        return False
    return bool(x.isfinite().all()) and float(x.double().abs().max()) <= LARGEST
