"""A random module with its inputs, as Python text."""

from __future__ import annotations

import linecache
import re
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import torch

_numbers = count()
NAME = re.compile(r"\b[a-z]\d+\b")

PREAMBLE = '''\
import torch
import torch.nn.functional as F
from torch import nn


def tensor(shape, dtype, seed, scale=1.0):
    """Random numbers; of float16 and bfloat16 multiples of 1/4, small integers."""
    generator = torch.Generator().manual_seed(seed)
    if dtype in (torch.float64, torch.float32):
        return torch.randn(shape, generator=generator, dtype=dtype) * scale
    if dtype.is_floating_point:
        return (torch.randint(-8, 9, shape, generator=generator) / 4).to(dtype)
    most = 2 if dtype == torch.bool else 8
    return torch.randint(0, most, shape, generator=generator).to(dtype)


def pack(x, lengths=None):
    """Time steps of sequences, one shorter than the other where nothing is said."""
    if lengths is None:
        lengths = torch.tensor([max(len(x) - i, 1) for i in range(x.shape[1])])
    return nn.utils.rnn.pack_padded_sequence(x, lengths, enforce_sorted=False)


def unpack(packed):
    return nn.utils.rnn.pad_packed_sequence(packed)[0]
'''


@dataclass(frozen=True)
class Input:
    """An argument.

    Attributes:
        name: Of the parameter.
        text: Makes it, from ``n``, the size that varies.
        grad: "" (no gradient), "leaf", or "inner": what a leaf was multiplied to.
    """

    name: str
    text: str
    grad: str = ""


@dataclass(frozen=True)
class Line:
    """A statement; ``target`` is "" where it only writes."""

    target: str
    text: str

    def __str__(self) -> str:
        return f"{self.target} = {self.text}" if self.target else self.text

    @property
    def names(self) -> set[str]:
        """The values that it reads or writes."""
        return set(NAME.findall(self.text))


@dataclass(frozen=True)
class Program:
    """A random module.

    Attributes:
        seed: What it was drawn from; of its weights, too.
        fields: Names and texts of submodules and buffers.
        inputs: The arguments.
        lines: Of ``forward``.
        results: Names that it returns.
        sizes: Values of ``n``, one call each.
        training: Whether the module trains.
        dynamic: For the compiler.
        door: "girih" or "torch".
        choices: Seed of the compiler's decisions; None: the usual ones.
    """

    seed: int
    fields: tuple[tuple[str, str], ...]
    inputs: tuple[Input, ...]
    lines: tuple[Line, ...]
    results: tuple[str, ...]
    sizes: tuple[int, ...]
    training: bool = True
    dynamic: bool | None = None
    door: str = "girih"
    choices: int | None = None

    @property
    def options(self) -> dict[str, int]:
        """For the compiler."""
        return {} if self.choices is None else {"choices_seed": self.choices}

    @property
    def source(self) -> str:
        """The class and its inputs."""
        parts = [PREAMBLE, "\nclass Program(nn.Module):", "    def __init__(self):"]
        parts.append("        super().__init__()")
        parts += [f"        {_assignment(*field)}" for field in self.fields]
        names = "".join(f", {given.name}" for given in self.inputs)
        parts.append(f"\n    def forward(self{names}):")
        parts += [f"        {line}" for line in self.lines]
        parts.append(f"        return ({', '.join(self.results)},)")
        parts.append("\n\ndef inputs(n):\n    return [")
        parts += [f"        {given.text},  # {given.name}" for given in self.inputs]
        return "\n".join([*parts, "    ]", ""])

    @property
    def runnable(self) -> str:
        """The same with a comparison, to be run as it is."""
        kinds = [given.grad for given in self.inputs]
        return self.source + _COMPARISON.format(program=self, kinds=kinds)

    def widened(self) -> Program:
        """The same in float64."""
        return replace(
            self,
            fields=tuple((name, _wide(text)) for name, text in self.fields),
            lines=tuple(Line(line.target, _wide(line.text)) for line in self.lines),
        )

    def namespace(self) -> dict[str, Any]:
        """What the source defines, with lines that messages can show."""
        source, filename = self.source, f"<random module {next(_numbers)}>"
        lines = source.splitlines(keepends=True)
        linecache.cache[filename] = (len(source), None, lines, filename)
        namespace: dict[str, Any] = {}
        exec(compile(source, filename, "exec"), namespace)
        return namespace

    def module(self, namespace: dict[str, Any]) -> torch.nn.Module:
        """A new instance, with the same weights each time."""
        torch.manual_seed(self.seed)
        return namespace["Program"]().train(self.training)


def cleaned(program: Program) -> Program:
    """Without lines whose values nobody reads, fields and arguments likewise."""
    needed, kept = set(program.results), []
    for line in reversed(program.lines):
        if not line.target or line.target in needed:
            kept.append(line)
            needed |= line.names
    text = " ".join(map(str, kept))
    used = set(NAME.findall(text)) | set(program.results)
    return replace(
        program,
        lines=tuple(reversed(kept)),
        fields=tuple(f for f in program.fields if f[0] in used),
        inputs=tuple(given for given in program.inputs if given.name in used),
    )


def _assignment(name: str, text: str) -> str:
    if name.startswith("b"):
        return f'self.register_buffer("{name}", {text})'
    return f"self.{name} = {text}"


def _wide(text: str) -> str:
    return re.sub(r"torch\.(bfloat16|float16|float32)\b", "torch.float64", text)


_COMPARISON = """
import copy

import girih

torch.manual_seed({program.seed})
module = Program().train({program.training})
mine = copy.deepcopy(module)
if "{program.door}" == "girih":
    compiled = girih.compile(
        mine, dynamic={program.dynamic}, options={program.options}
    )
else:
    compiled = torch.compile(
        mine, backend="girih", dynamic={program.dynamic}, options={program.options}
    )


def observe(function, module, n):
    leaves = [
        x.detach().requires_grad_() if kind else x
        for x, kind in zip(inputs(n), {kinds})
    ]
    args = [x * 1 if kind == "inner" else x for x, kind in zip(leaves, {kinds})]
    torch.manual_seed(0)
    results = list(function(*args))
    found = [x for x in results + args if x.requires_grad]
    generator = torch.Generator().manual_seed(0)
    loss = sum(
        (x * torch.randn(x.shape, generator=generator).to(x.dtype)).sum() for x in found
    )
    wanted = [x for x in leaves if x.requires_grad] + list(module.parameters())
    gradients = []
    if isinstance(loss, torch.Tensor) and wanted:
        gradients = torch.autograd.grad(loss, wanted, allow_unused=True)
    return [*results, *args, *module.buffers(), *gradients]


for n in {program.sizes}:
    want, got = observe(module, module, n), observe(compiled, mine, n)
    for i, (w, g) in enumerate(zip(want, got)):
        if w is None or g is None:
            print(n, i, type(w), type(g))
        else:
            facts = [(x.shape, x.dtype, x.stride(), x.requires_grad) for x in (w, g)]
            error = (w.double() - g.double()).abs().max() if w.shape == g.shape else ""
            print(n, i, "same" if facts[0] == facts[1] else facts, error)
"""
