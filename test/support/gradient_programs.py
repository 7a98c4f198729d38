"""Random programs with writes, views and control flow, to be differentiated.

All values are 4 x 4 in float64, so that any line may follow any other. A value stays
small, because products pass through ``tanh``. Programs may write to their arguments,
which are no leaves when the program is called.
"""

from __future__ import annotations

import linecache
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import torch
from hypothesis import strategies as st

SIZE = 4

VALUES = (
    "torch.sin({a})",
    "torch.tanh({a} * {b})",
    "{a} + {b}",
    "{a} - 0.5 * {b}",
    "{a} / ({b} * {b} + 1)",
    "torch.sigmoid({a}) * {b}",
    "torch.maximum({a}, {b})",
    "torch.where({a} > {b}, {a}, torch.cos({b}))",
    "F.relu({a}) + 0.1 * {b}",
    "F.gelu({a})",
    "{a}.clamp(-0.8, 0.9)",
    "{a}.abs()",
    "torch.softmax({a}, {dim})",
    "torch.tanh({a} @ {b})",
    "F.layer_norm({a}, (4,))",
    "{a}.cumsum({dim}) / 4",
    "{a}.cumprod({dim}) / 4",
    "{a}.logcumsumexp({dim}) / 4",
    "{a}.cummax({dim}).values",
    "{a}.sort({dim}).values",
    "{a}.sum({dim}, keepdim=True).expand(4, 4) / 4",
    "{a} * {a}.mean()",
    "{a}.amax({dim}, keepdim=True) - {b}",
    "torch.cat([{a}[:2], {b}[2:]])",
    "torch.stack([{a}, {b}]).mean(0)",
    "{a}[torch.tensor([0, 2, 2, 1])]",
    "{a}.gather({dim}, torch.tensor([[0, 1, 2, 3]]).expand(4, 4))",
    "{a} * {b}.detach()",
    "F.pad({a}[1:], (0, 0, 0, 1))",
    "{a}.clone()",
    "torch.zeros_like({a})",
)
VIEWS = (
    "{a}.t()",
    "{a}.view(-1).view(4, 4)",
    "{a}.flip({dim})",
    "{a}[:]",
    "{a}.transpose(0, 1)[:, :]",
    "{a}.unsqueeze(0)[0]",
    "{a}.detach()",
)
PLACES = (
    "{a}",
    "{a}.t()",
    "{a}[1:3]",
    "{a}[::2]",
    "{a}[:, 1:]",
    "{a}[2]",
    "{a}.view(-1)[3:9]",
    "{a}.diagonal()",
    "{a}.view(2, 2, 4)[1]",
)
WRITES = (
    "{place}.mul_(0.7)",
    "{place}.add_({number})",
    "{place}.sin_()",
    "{place}.zero_()",
    "{place}.clamp_(-0.5, 0.6)",
    "{place}.add_({b}.mean())",
    "{place}.mul_({b}[0, 1] * 1)",
    "{place}.copy_({b}.sum())",
    "{place}.fill_({b}[3, 3] / 2)",
)
# What is written is computed first: eager's result is undefined where it is read from
# the memory that is being written.
ASSIGNMENTS = (
    "{a}[0] = {b}[1] * 1",
    "{a}[:, 2] = {b}[3] * 2",
    "{a}[1:3] += {b}[:2] * 3",
    "{a}[{a} > 0.5] = 0.25",
    "{a}[torch.tensor([0, 3])] = {b}[1:3] - 1",
    "{a}.t()[1] = {b}[0].cos()",
    "{a} += {b}.sin()",
    "{a} *= torch.cos({b})",
    "{a}.copy_({b} * 0.5)",
    "{a}.index_add_(0, torch.tensor([1, 1]), {b}[:2] * 2)",
    "{a}.masked_fill_({b} > 0, -0.3)",
)
CONDITIONS = ("flag", "not flag", "{a}.shape[0] > 3", "{a}.dim() == 3")
ON_DATA = ("{a}.sum() > 0.001", "bool(({a} > 0.5).any())")


@dataclass
class GradientProgram:
    """A random program with its inputs.

    Attributes:
        source: Python source of ``def program(x, y, flag)``.
        flag: Its last argument.
        seed: Of its inputs.
    """

    source: str
    flag: bool
    seed: int
    _numbers = count()

    def function(self) -> Any:
        """The program as a Python function with readable source lines."""
        filename = f"<random training program {next(self._numbers)}>"
        lines = self.source.splitlines(keepends=True)
        linecache.cache[filename] = (len(self.source), None, lines, filename)
        namespace: dict[str, Any] = {"torch": torch, "F": torch.nn.functional}
        exec(compile(self.source, filename, "exec"), namespace)
        return namespace["program"]

    def __repr__(self) -> str:
        return f"\n# flag = {self.flag}, seed = {self.seed}\n{self.source}"

    def _repr_pretty_(self, printer, cycle) -> None:
        printer.text(repr(self))

    def observe(self, function: Any, order: int) -> list:
        """Results, arguments afterwards, and gradients of a call up to an order."""
        generator = torch.Generator().manual_seed(self.seed)
        drawn = torch.randn(4, SIZE, SIZE, generator=generator, dtype=torch.float64)
        leaves = [drawn[0].clone().requires_grad_(), drawn[1].clone().requires_grad_()]
        inner = [leaf * 1 for leaf in leaves]
        results = function(*inner, self.flag)
        seen = [value for value in (*results, *inner) if value.requires_grad]
        loss = sum((value * drawn[2]).sum() for value in seen)
        observed = [value.detach() for value in (*results, *inner)]
        observed.append([value.requires_grad for value in (*results, *inner)])
        for level in range(order):
            found = _gradients(loss, leaves, create_graph=level < order - 1)
            # Beyond the first order, none is as good as zeros: where a formula is
            # linear, eager's gradient need not depend on anything.
            none = torch.zeros_like(drawn[0]) if level else None
            observed += [none if g is None else g.detach() for g in found]
            parts = [g for g in found if g is not None and g.requires_grad]
            loss = sum((g * drawn[3]).sum() for g in parts)
        return observed


def _gradients(loss: Any, leaves: list, create_graph: bool) -> Any:
    """The gradients of the leaves; none of a loss that depends on nothing."""
    if not isinstance(loss, torch.Tensor):
        return [None] * len(leaves)
    return torch.autograd.grad(
        loss, leaves, create_graph=create_graph, allow_unused=True
    )


@dataclass
class _Writer:
    """Writes lines; knows the names of the values that there are."""

    draw: Any
    on_data: bool
    names: list[str] = field(default_factory=lambda: ["x", "y"])
    lines: list[str] = field(default_factory=list)
    fresh: int = 0

    def block(self, indent: int, length: int) -> None:
        """Some statements; nested blocks at most two levels deep."""
        for _ in range(length):
            kinds = ["value"] * 4 + ["view"] * 2 + ["write", "assign"] * 2
            if indent < 3:
                kinds += ["loop", "branch", "no_grad"]
            getattr(self, f"_{self.draw(st.sampled_from(kinds))}")(indent)

    def _put(self, indent: int, line: str) -> None:
        self.lines.append("    " * indent + line)

    def _name(self) -> str:
        # Late values are drawn more often, so that programs grow deep.
        return self.draw(st.sampled_from(self.names[-3:] + self.names))

    def _filled(self, template: str, **known: str) -> str:
        given = {
            "a": self._name(),
            "b": self._name(),
            "dim": self.draw(st.integers(0, 1)),
            "number": self.draw(st.sampled_from(["0.5", "-1.5"])),
        }
        return template.format(**{**given, **known})

    def _value(self, indent: int, templates=VALUES) -> None:
        text = self._filled(self.draw(st.sampled_from(templates)))
        # In a nested block a name that exists, so that it exists whatever happens.
        if indent > 1:
            name = self._name()
        else:
            name = f"v{self.fresh}"
            self.fresh += 1
        self._put(indent, f"{name} = {text}")
        if indent == 1:
            self.names.append(name)

    def _view(self, indent: int) -> None:
        self._value(indent, VIEWS)

    def _write(self, indent: int) -> None:
        place = self._filled(self.draw(st.sampled_from(PLACES)))
        write = self.draw(st.sampled_from(WRITES))
        self._put(indent, self._filled(write, place=place))

    def _assign(self, indent: int) -> None:
        self._put(indent, self._filled(self.draw(st.sampled_from(ASSIGNMENTS))))

    def _nested(self, indent: int, head: str) -> None:
        self._put(indent, head)
        self.block(indent + 1, self.draw(st.integers(1, 3)))

    def _loop(self, indent: int) -> None:
        self._nested(indent, f"for _ in range({self.draw(st.integers(1, 3))}):")

    def _branch(self, indent: int) -> None:
        conditions = CONDITIONS + (ON_DATA if self.on_data else ())
        condition = self._filled(self.draw(st.sampled_from(conditions)))
        self._nested(indent, f"if {condition}:")
        if self.draw(st.booleans()):
            self._nested(indent, "else:")

    def _no_grad(self, indent: int) -> None:
        self._nested(indent, "with torch.no_grad():")


@st.composite
def gradient_programs(draw, max_statements: int = 8, on_data: bool = True):
    """Programs; those for which eager has no gradients are not drawn.

    Args:
        draw: Of hypothesis.
        max_statements: At the outer level.
        on_data: Whether decisions may depend on the values of tensors.
    """
    writer = _Writer(draw, on_data)
    writer.block(1, draw(st.integers(2, max_statements)))
    results = draw(st.lists(st.sampled_from(writer.names), min_size=1, max_size=3))
    lines = ["def program(x, y, flag):", *writer.lines]
    lines.append(f"    return ({', '.join(results)},)")
    program = GradientProgram(
        "\n".join([*lines, ""]), draw(st.booleans()), draw(st.integers(0, 99))
    )
    return program
