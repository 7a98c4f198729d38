"""The inputs of a program's first call, in a file beside its dumped IR."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from girih.compiler.modules import functions_of
from girih.dialects import keys
from girih.dialects.bindings import ir
from girih.private_folder import reason_of, replace_bytes, warn_once

FILE = "inputs.pt"
"""The name of the file."""


def saves_inputs(program: Callable, module: ir.Module, folder: Path) -> Callable:
    """The program, whose first call writes its arguments into a folder.

    Args:
        program: As ``build_program`` makes it.
        module: With its launch program.
        folder: Where ``inputs.pt`` goes: a list in the order of the arguments of
            ``@main``, as they are before the call. Tensors are on the CPU, with no more
            memory than their elements need.
    """
    attributes = functions_of(module)["main"].attributes
    given = attributes["arg_attrs"] if "arg_attrs" in attributes else ()
    return _SavesInputs(program, folder, [keys.DONATED in each for each in given])


class _SavesInputs:
    def __init__(self, program: Callable, folder: Path, donated: Sequence[bool]):
        self._program = program
        self._folder: Path | None = folder
        self._donated = donated

    def __call__(self, *arguments):
        folder, self._folder = self._folder, None
        if folder is not None:
            self._save(folder, arguments)
        return self._program(*arguments)

    def _save(self, folder: Path, arguments: Sequence[Any]) -> None:
        values = [_copied(value) for value in self._in_order(arguments)]
        data = io.BytesIO()
        try:
            torch.save(values, data)
        except (NotImplementedError, RuntimeError) as error:
            reason = str(error).partition("\n")[0]
            warn_once(("inputs", folder), f"girih can't save inputs: {reason}")
            return
        try:
            folder.mkdir(parents=True, exist_ok=True)
            replace_bytes(folder / FILE, data.getvalue())
        except OSError as error:
            reason = f"girih can't write inputs to {folder}: {reason_of(error)}"
            warn_once(("inputs", folder), reason)

    def _in_order(self, arguments: Sequence[Any]) -> Iterator[Any]:
        """The arguments of ``@main``: those that are given away come in a list."""
        if not any(self._donated):
            yield from arguments
            return
        donated, others = iter(arguments[0]), iter(arguments[1:])
        for is_donated in self._donated:
            yield next(donated if is_donated else others)


def _copied(value: Any) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    # Of a parameter or a view only the elements are wanted.
    value = torch.Tensor.detach(value)
    return value.cpu() if value.device.type != "cpu" else value.clone()
