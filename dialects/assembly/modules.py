"""Modules as text: what tools print and parse."""

import sys
from os import PathLike
from pathlib import Path

from girih.dialects.assembly.nesting import check_nesting
from girih.dialects.assembly.parsing import AssemblyError, generic_text
from girih.dialects.assembly.printing import readable_text
from girih.dialects.bindings import ir
from girih.dialects.locations import rename_file

PARSED = "-"
"""What MLIR calls the file of a text that it parses."""


def print_module(
    module: ir.Operation | ir.Module, *, generic: bool = False, debug_info: bool = False
) -> str:
    """The text of a module or an op.

    Args:
        module: The module or op.
        generic: Whether ops of girih stand in MLIR's generic form.
        debug_info: Whether locations are printed.
    """
    text = module.operation.get_asm(enable_debug_info=debug_info)
    return text if generic else readable_text(text)


def read_text(path: str | PathLike, *, dash_is_input: bool = False) -> str:
    """The text of a file of IR.

    Args:
        path: The file.
        dash_is_input: Whether ``-`` is the standard input.

    Raises:
        OSError: It can't be read.
        ValueError: It holds no text.
    """
    is_input = dash_is_input and path == "-"
    content = sys.stdin.buffer.read() if is_input else Path(path).read_bytes()
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is no text: {error}") from None
    if "\0" in text:
        raise ValueError(f"{path} is no text: it has a zero byte")
    return text.replace("\r\n", "\n")


def parse_module(
    text: str, context: ir.Context | None = None, *, file: str = ""
) -> ir.Module:
    """The module of a text in the readable form, the generic one, or a mixture.

    Args:
        text: The text.
        context: As ``girih.dialects.context`` makes them. None: the current one.
        file: The file that locations of ops name, and errors. Empty: ``-``.

    Raises:
        AssemblyError: A statement of an op of girih's is not in either form, or
            brackets are nested too deep.
        torch_mlir.ir.MLIRError: MLIR can't parse the text.
    """
    try:
        check_nesting(text)
        text = generic_text(text)
    except AssemblyError as error:
        error.file = file
        raise
    module = ir.Module.parse(text, context=context)
    if file:
        rename_file(module.operation, PARSED, file)
    return module
