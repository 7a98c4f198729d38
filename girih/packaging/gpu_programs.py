"""Programs for GPUs: instructions, launch tables and binaries, written and loaded.

What on the machine that made the program was *the* GPU is a device without a number in
the file. Launch tables are numbers of kernels and words; who loads the program has the
driver load the kernels and make the tables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from girih.codegen.errors import CodegenError
from girih.codegen.gpu import link, tables
from girih.codegen.gpu.binary import Binary
from girih.codegen.runtime import torch_entry
from girih.errors import PackageError, unsupported
from girih.packaging import code, constants
from girih.packaging.container import Container
from girih.packaging.gpus import Gpu

_MAKERS = ("empty_strided_on", "full_on")
_MOST_SHARED = 1 << 20

# Writing ------------------------------------------------------------------------------


def encode(program: Any, parts: code.Parts) -> dict[str, Any]:
    """Writes a program to parts; returns what the manifest says of it.

    Args:
        program: A ``PackagedProgram`` for a GPU.
        parts: Takes its parts.

    Raises:
        UnsupportedError: A constant can't be written.
    """

    def encoded(value: Any) -> Any:
        return _encoded(value, program.operators, program.device)

    try:
        text, words = code.instructions(program.assembler, program.details, encoded)
    except constants.UnknownConstant as error:
        kind = "a constant that no package can hold"
        unsupported(kind=kind, explanation=str(error))
    return {
        "constants": parts.add("program.json", text),
        "instructions": parts.add("program.bin", words),
        "kernels": None,
        "c_instructions": None,
        "c_texts": [],
        "c_problem": "kernels for a GPU",
        "exports": [],
        "imports": [],
        "operators": sorted(set(program.operators.values())),
        "binaries": [_described(binary, parts) for binary in program.binaries],
    }


def _described(binary: Binary, parts: code.Parts) -> dict[str, Any]:
    return {
        "part": parts.add("kernel.cubin", binary.data),
        "name": binary.name,
        "target": binary.target,
        "shared_bytes": binary.shared_bytes,
    }


def _encoded(value: Any, operators: Mapping, device: torch.device) -> Any:
    """A constant as JSON; those of ``constants``, and some of GPUs."""
    if isinstance(value, tables.Table):
        return {"table": tables.encode(value)}
    if isinstance(value, torch.device) and value == device:
        return {"gpu": "device"}
    if type(value) in (tuple, list):
        items = [_encoded(item, operators, device) for item in value]
        return {type(value).__name__: items}
    if value is torch_entry.raw_stream:
        return {"gpu": "raw_stream"}
    if (maker := torch_entry.maker_on_device(value)) is not None:
        return {"gpu": maker}
    return constants.encode(value, operators)


# Reading ------------------------------------------------------------------------------


def decode(container: Container, written: Mapping, fallback: Callable, gpu: Gpu) -> Any:
    """A program of a package, loaded onto a GPU.

    Args:
        container: The package.
        written: What its manifest says of the program.
        fallback: Called with the kind of check that failed, and the inputs.
        gpu: Where it runs.

    Raises:
        PackageError: It can't run here.
        ValueError: It is wrong; so do LookupError and TypeError.
    """
    known, words = code.read_instructions(container, written)
    if known["runs"]:
        raise ValueError("a program for a GPU calls code of the processor")
    try:
        functions = [_loaded(container, each, gpu) for each in written["binaries"]]
        maker = tables.TableLoader(
            gpu.driver, gpu.number, functions, gpu.entered(), gpu.products
        )
        found = tuple(_constant(each, maker, gpu) for each in known["constants"])
    except CodegenError as error:
        text = f"{container.path} can't be loaded on {gpu.device} ({gpu.name}): {error}"
        raise PackageError(text) from error
    except constants.NoOperator as error:
        raise PackageError(f"{container.path} {error}") from error
    return code.linked(known, words, found, fallback, None)


def _loaded(container: Container, written: Mapping, gpu: Gpu) -> Any:
    """A kernel, on the device."""
    name, target, shared = (written[key] for key in ("name", "target", "shared_bytes"))
    if not (isinstance(name, str) and isinstance(target, str)):
        raise TypeError(f"no name of a kernel: {name!r}, {target!r}")
    if type(shared) is not int or not 0 <= shared <= _MOST_SHARED:
        raise ValueError(f"no kernel has {shared!r} bytes of shared memory")
    data = bytes(container.part(written["part"]))
    binary = Binary(data, name, target, 0, shared, 0)
    return link.load(binary, gpu.number, source=gpu.driver)


def _constant(written: Any, maker: tables.TableLoader, gpu: Gpu) -> Any:
    """The constant that ``_encoded`` wrote."""
    if type(written) is dict and len(written) == 1:
        ((kind, value),) = written.items()
        if kind == "table":
            return maker.made(tables.decode(value))
        if kind == "gpu":
            return _of_gpu(value, gpu)
        if kind in ("tuple", "list"):
            items = [_constant(item, maker, gpu) for item in value]
            return tuple(items) if kind == "tuple" else items
    return constants.decode_known(written)


def _of_gpu(name: Any, gpu: Gpu) -> Any:
    if name == "device":
        return gpu.device
    if name == "raw_stream":
        return torch_entry.raw_stream
    if name not in _MAKERS:
        raise ValueError(f"no function of the run time for GPUs: {name!r}")
    return getattr(torch_entry, name)(gpu.device)
