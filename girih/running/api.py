"""``girih.run``: executes IR of any level."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, NamedTuple

import torch

from girih import collector, exclusive, signals
from girih.codegen.errors import CodegenError
from girih.compiler.failures import as_compile_error
from girih.compiler.modules import functions_of
from girih.compiler.rest import Compiled, program_of_file
from girih.dialects import context, keys
from girih.dialects.assembly.modules import read_text
from girih.dialects.bindings import ir
from girih.errors import CompileError
from girih.options import make_options
from girih.passes.errors import PassError
from girih.passes.options import UnknownPass
from girih.passes.pipeline_syntax import PipelineSyntaxError
from girih.passes.reproducer import is_reproducer, loads_of
from girih.reports import Report
from girih.running.arguments import Arguments, arguments_of, fitted
from girih.tools.reading import module_of

_TEXT = "-"
"""The name of IR that is no file, in messages."""


def run(
    path_or_text: str | PathLike,
    *inputs: Any,
    options: Mapping[str, Any] | None = None,
) -> Any:
    """Compiles IR of any level the rest of the way, and calls ``@main``.

    The IR is that of a dumped file (`options={"dump_dir": ...}`), edited or not. The
    pipeline in its first line leads to the next level; without such a line the level
    says what comes next. Of a file with ``@backward``, ``@main`` runs.

    Args:
        path_or_text: A file, or the text of a module, which has several lines.
        inputs: One for each argument of ``@main``: a tensor of its dtype and sizes, or
            an int. Strides that ``@main`` demands are made, by a copy. Tensors that it
            writes are written.
        options: As for ``girih.compile``, for the stages behind the first line.
            ``choices_fuel``, ``choices_seed`` and ``choices_pass`` also hold for the
            passes of that line.

    Returns:
        The results of ``@main`` in order, as tensors, and ints where it returns sizes:
        one alone, or a tuple. Results that only write an argument are left out. Nothing
        is recorded for autograd. If the inputs are on a GPU, so are the results.

    Raises:
        CheckFailed: A check at run time failed, such as one of an index; a compiled
            function would run in eager mode. It is a ``RuntimeError``.
        CompileError: A pass failed on the IR, or LLVM or Triton did.
        TypeError: The number of inputs, a type or a dtype is not that of ``@main``.
        UnsupportedError: The IR is for another device than that of the inputs.
        ValueError: The text is no module with a function ``@main``, and the error shows
            the line that is wrong; a rank or a size is not that of ``@main``.
    """
    return Loaded(path_or_text)(*inputs, options=options)


class _Source(NamedTuple):
    """IR as text, and the file that it is from."""

    text: str
    file: str


class Loaded:
    """IR of a file, to be called.

    Args:
        path_or_text: A file, or the text of a module.

    Attributes:
        arguments: What ``@main`` takes.
        device: Where it computes, as it says itself.
        loads: What ``girih-opt`` would have to load for its first line.
    """

    def __init__(self, path_or_text: str | PathLike):
        self._source = _source(path_or_text)
        with exclusive.compilation():
            module = self._parsed()
            with module.context, ir.Location.unknown():
                main = functions_of(module)["main"]
                self.arguments: Arguments = arguments_of(main)
                self._returned = _count_of_returned(main)
                device = main.attributes.get(keys.DEVICE)
                self.device = torch.device("cpu" if device is None else device.value)
        text = self._source.text
        self.loads = loads_of(text) if is_reproducer(text) else []

    def __call__(self, *inputs: Any, options: Mapping[str, Any] | None = None) -> Any:
        """Compiles the rest of the way, and calls ``@main``; see `run`."""
        symbols = self.arguments.checked(inputs)
        program, written = self._compiled(self._device_of(inputs), options)
        pairs = list(zip(self.arguments.list, inputs, strict=True))
        with torch.no_grad():
            given = [fitted(argument, value, symbols) for argument, value in pairs]
            results = program(*_by_convention(self.arguments, given))[: self._returned]
            for number in written:
                argument, value = pairs[number]
                if _is_copy(given[number], value) and not argument.is_donated:
                    value.copy_(given[number])
        return results[0] if len(results) == 1 else tuple(results)

    def _device_of(self, inputs: Sequence[Any]) -> torch.device:
        """Where the inputs are, which has to be one device."""
        pairs = zip(self.arguments.list, inputs, strict=True)
        tensors = [(argument, x) for argument, x in pairs if argument.is_tensor]
        if not tensors:
            return self.device
        first, tensor = tensors[0]
        for argument, other in tensors:
            if other.device != tensor.device:
                raise ValueError(
                    f"expected all tensors on one device, got {first} on "
                    f"{tensor.device} and {argument} on {other.device}"
                )
        return tensor.device

    @exclusive.compilation()
    def _compiled(
        self, device: torch.device, options: Mapping[str, Any] | None
    ) -> Compiled:
        given, report = make_options(options), Report(name="main")
        module, (text, file) = self._parsed(), self._source
        try:
            with collector.paused(), signals.in_steps():
                return program_of_file(module, text, device, given, report)
        except CodegenError as error:
            text = f"{file} can't be compiled: {error}"
            raise CompileError("code", text, is_girihs=False) from error
        except (PassError, UnknownPass, PipelineSyntaxError) as error:
            found = as_compile_error(error, report)
            if self.loads:
                found.add_note(f"The first line of {file} loads {self.loads}.")
            raise found from error

    def _parsed(self) -> ir.Module:
        """The module, verified."""
        text, file = self._source
        with (shared := context.shared()), ir.Location.unknown():
            module = module_of(text, shared, file)
            if "main" not in functions_of(module):
                raise ValueError(f"expected {file} to have a function @main")
        return module


def _count_of_returned(function: ir.OpView) -> int:
    """How many results the caller gets; that of training returns more when lowered."""
    given = function.attributes
    count = len(ir.FunctionType(given["function_type"].value).results)
    results = given["res_attrs"] if "res_attrs" in given else ()
    return count - sum(keys.WRITES in own for own in results)


def _is_copy(tensor: torch.Tensor, given: torch.Tensor) -> bool:
    return tensor.data_ptr() != given.data_ptr()


def _source(path_or_text: str | PathLike) -> _Source:
    if isinstance(path_or_text, str) and "\n" in path_or_text:
        return _Source(path_or_text, _TEXT)
    return _Source(read_text(path_or_text), str(path_or_text))


def _by_convention(arguments: Arguments, values: Sequence[Any]) -> list[Any]:
    """Values in the order in which a program takes them."""
    donated = [values[a.index] for a in arguments.list if a.is_donated]
    others = [values[a.index] for a in arguments.list if not a.is_donated]
    return [donated, *others] if donated else others
