"""The smallest program that fails alike."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

import torch

from random_modules.program import Input, Line, Program, cleaned


def shrink(
    program: Program, fails: Callable[[Program], bool], tries: int = 150
) -> Program:
    """Makes a program smaller as long as it fails.

    Args:
        program: That fails.
        fails: Whether another one does, in the same way.
        tries: Of programs.
    """
    left, is_smaller = tries, True
    while is_smaller and left > 0:
        is_smaller = False
        for candidate in _smaller(program):
            left -= 1
            if fails(candidate):
                program, is_smaller = candidate, True
                break
            if left <= 0:
                break
    return program


def _smaller(program: Program) -> Iterator[Program]:
    """Simpler programs, the most different ones first."""
    for candidate in (
        *_fewer_results(program),
        *_cut(program),
        *_without_lines(program),
        *_bypassed(program),
        *_simpler_settings(program),
        *_simpler_inputs(program),
    ):
        candidate = cleaned(candidate)
        if candidate != program and candidate.results:
            yield candidate


def _fewer_results(program: Program) -> Iterator[Program]:
    if len(program.results) > 1:
        for name in program.results:
            yield replace(program, results=(name,))
    for line in reversed(program.lines):
        if line.target and line.target not in program.results:
            yield replace(program, results=(line.target,))


def _cut(program: Program) -> Iterator[Program]:
    """A value becomes an argument, and what made it is gone."""
    values = _values(program)
    for line in reversed(program.lines):
        if line.target not in values:
            continue
        value = values[line.target]
        grad = "leaf" if value.is_floating_point() else ""
        text = f"tensor({tuple(value.shape)}, {value.dtype}, 1)"
        if not value.is_contiguous():
            text += f".as_strided({tuple(value.shape)}, {value.stride()})"
            if _reach(value) > value.numel():
                continue
        given = Input(f"x{100 + int(line.target[1:])}", text, grad)
        later = program.lines[program.lines.index(line) + 1 :]
        renamed = [_renamed(other, line.target, given.name) for other in later]
        earlier = program.lines[: program.lines.index(line)]
        yield replace(
            program,
            inputs=(*program.inputs, given),
            lines=(*earlier, *renamed),
            results=_replaced(program.results, line.target, given.name),
        )


def _reach(x: torch.Tensor) -> int:
    return 1 + sum((n - 1) * s for n, s in zip(x.shape, x.stride(), strict=True))


def _values(program: Program) -> dict[str, torch.Tensor]:
    """What lines compute, in eager."""
    namespace = program.namespace()
    try:
        module = program.module(namespace)
        found = dict(
            zip(
                [given.name for given in program.inputs],
                namespace["inputs"](program.sizes[0]),
                strict=True,
            )
        )
        with torch.no_grad():
            for line in program.lines:
                exec(str(line), {**namespace, "self": module}, found)
    except Exception:
        return {}
    return {name: x for name, x in found.items() if isinstance(x, torch.Tensor)}


def _renamed(line: Line, old: str, new: str) -> Line:
    return Line(line.target, re.sub(rf"\b{old}\b", new, line.text))


def _replaced(names: tuple[str, ...], old: str, new: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(new if name == old else name for name in names))


def _without_lines(program: Program) -> Iterator[Program]:
    """Without a write."""
    for line in program.lines:
        if not line.target:
            kept = tuple(other for other in program.lines if other is not line)
            yield replace(program, lines=kept)


def _bypassed(program: Program) -> Iterator[Program]:
    """A value is one of those that it was made of."""
    for i, line in enumerate(program.lines):
        if not line.target:
            continue
        for name in sorted(line.names):
            if name[0] not in "vx":
                continue
            later = [_renamed(o, line.target, name) for o in program.lines[i + 1 :]]
            yield replace(
                program,
                lines=(*program.lines[:i], *later),
                results=_replaced(program.results, line.target, name),
            )


def _simpler_settings(program: Program) -> Iterator[Program]:
    if len(program.sizes) > 1:
        yield replace(program, sizes=program.sizes[:1])
        yield replace(program, sizes=program.sizes[:2])
    if program.dynamic is not None:
        yield replace(program, dynamic=None)
    if program.door != "girih":
        yield replace(program, door="girih")
    if program.training:
        yield replace(program, training=False)


def _simpler_inputs(program: Program) -> Iterator[Program]:
    for i, given in enumerate(program.inputs):
        plain = re.search(r"tensor\(\([^()]*\), torch\.\w+, \d+\)", given.text)
        simpler = [replace(given, grad="")] if given.grad else []
        if plain and plain[0] != given.text:
            simpler.append(replace(given, text=plain[0]))
        for other in simpler:
            changed = (*program.inputs[:i], other, *program.inputs[i + 1 :])
            yield replace(program, inputs=changed)
