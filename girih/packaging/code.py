"""Instructions and machine code of a program: written to parts, and linked.

The instructions are the words that the run time executes. Functions are there by their
numbers among the functions of the object code; linking puts addresses in their place.
"""

from __future__ import annotations

import json
import platform
import re
import sys
from array import array
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

import girih
from girih.codegen.cpu.errors import CodegenError
from girih.codegen.cpu.link import Library, link
from girih.codegen.cpu.symbols import own_symbols, resolve
from girih.codegen.cpu.target import Target, level_of
from girih.codegen.runtime import _runtime
from girih.codegen.runtime.assembler import Assembler
from girih.errors import PackageError, unsupported
from girih.packaging import c_programs, constants
from girih.packaging.container import Container
from girih.processors import NATIVE

_COUNTS = ("inputs", "values", "registers", "kernels", "launches", "externs")

# Flags of /proc/cpuinfo for which LLVM may choose instructions.
_INSTRUCTIONS = re.compile(
    r"(avx|amx|sse|ssse|bmi|gfni|vaes|vpclmul|fma|f16c|movbe|popcnt|abm|adx|aes|"
    r"pclmul|rdrnd|rdseed|sha|xsave|prefetchw|3dnowprefetch|serialize|movdir)"
)


def words() -> dict[str, int]:
    """The numbers of instructions and items; another girih may have others."""
    found = vars(_runtime)
    return {name: found[name] for name in sorted(found) if name.startswith(_WORDS)}


_WORDS = ("OP_", "ITEM_")


def processor(target: Target) -> dict[str, Any]:
    """What object code for a processor needs."""
    features = sorted(
        flag
        for flag in target.flags
        if target.level is not None or _INSTRUCTIONS.match(flag)
    )
    return {
        "machine": platform.machine(),
        "system": sys.platform,
        "processor": target.name.strip(" /"),
        "features": features,
    }


def chosen(
    where: str, targets: Sequence[Mapping], here: Target, name: str | None
) -> Mapping[str, Any]:
    """The target of a package that suits this processor best.

    Args:
        where: The package.
        targets: Its targets.
        here: This processor.
        name: That of the target; None for the one that uses most features.

    Raises:
        PackageError: None can run here; the message says what is missing.
    """
    if name is not None:
        targets = [target for target in targets if target["processor"] == name]
    reasons = [_missing(target, here) for target in targets]
    fitting = [t for t, reason in zip(targets, reasons, strict=True) if not reason]
    if fitting:
        return max(fitting, key=lambda target: len(target["features"]))
    pairs = zip(targets, reasons, strict=True)
    has = "; ".join(f"{target['processor']} ({reason})" for target, reason in pairs)
    level = level_of(here)
    own = here.name if level in (None, here.name) else f"{here.name}, {level}"
    raise PackageError(
        f"{where} can't run here. This processor is {own}. The package has code for "
        f"{has or 'none'}. Make it for this processor, too: girih-package add-target "
        f"{where} {level or NATIVE}"
    )


def _missing(target: Mapping, here: Target) -> str:
    """Why code of a target can't run here, or ""."""
    own = {"machine": platform.machine(), "system": sys.platform}
    if any(target[name] != value for name, value in own.items()):
        here_is = f"this is {own['system']} on {own['machine']}"
        return f"{target['system']} on {target['machine']}, and {here_is}"
    missing = sorted(set(target["features"]) - here.flags)
    return f"this processor lacks {', '.join(missing)}" if missing else ""


# Writing ------------------------------------------------------------------------------


class Parts:
    """Parts of a package that is written; what is equal is one part.

    Args:
        content: Parts that are there already.
    """

    def __init__(self, content: Mapping[str, bytes | memoryview] | None = None):
        self.content = dict(content or {})

    def add(self, name: str, content: bytes) -> str:
        """Takes a part; returns its name, which may have a number."""
        stem, _, ending = name.partition(".")
        number = 1
        while self.content.setdefault(name, content) != content:
            number += 1
            name = f"{stem}{number}.{ending}"
        return name


def encode(program: Any, parts: Parts) -> dict[str, Any]:
    """Writes a program to parts; returns what the manifest says of it.

    Raises:
        UnsupportedError: A constant can't be written.
    """
    try:
        text, words_ = instructions(
            program.assembler,
            program.details,
            lambda value: constants.encode(value, program.operators),
        )
    except constants.UnknownConstant as error:
        kind = "a constant that no package can hold"
        unsupported(kind=kind, explanation=str(error))
    linked = program.code
    operators = sorted(set(program.operators.values()))
    for_c = c_programs.encode(program.assembler, program.operators)
    return {
        "constants": parts.add("program.json", text),
        "instructions": parts.add("program.bin", words_),
        "kernels": parts.add("kernels.o", linked.data) if linked else None,
        "c_instructions": for_c.words and parts.add("cprogram.bin", for_c.words),
        "c_texts": list(for_c.texts),
        "c_problem": for_c.problem,
        "exports": list(linked.exports) if linked else [],
        "imports": list(linked.imports) if linked else [],
        "operators": operators,
    }


def instructions(
    assembler: Assembler, details: Mapping, encoded: Callable[[Any], Any]
) -> tuple[bytes, bytes]:
    """The instructions of a program: all but the words as JSON, and these.

    Args:
        assembler: Has them.
        details: What reports and profilers see of the program.
        encoded: A constant as JSON.
    """
    counts = {name: details.get(name, getattr(assembler, name, 0)) for name in _COUNTS}
    known = {
        "constants": [encoded(value) for value in assembler.constants],
        "counts": counts | {"workspace_bytes": details["workspace_bytes"]},
        "event": encoded(details["event"]),
        "runs": assembler.runs,
        "words": words(),
    }
    code = array("q", assembler.code)
    if sys.byteorder != "little":
        code.byteswap()
    return json.dumps(known).encode(), code.tobytes()


# Reading ------------------------------------------------------------------------------


def decode(container: Container, written: Mapping, fallback: Callable) -> Any:
    """A program of a package, linked.

    Args:
        container: The package.
        written: What its manifest says of the program.
        fallback: Called with the kind of check that failed, and the inputs.

    Raises:
        PackageError: It can't run here.
        ValueError: It is wrong; so do LookupError and TypeError.
    """
    known, words_ = read_instructions(container, written)
    library = None
    addresses: list[int] = []
    if written["exports"]:
        library = _linked(container, written)
        addresses = [library.address(name) for name in written["exports"]]
    _relocate(words_, known["runs"], addresses)
    try:
        found = tuple(map(constants.decode_known, known["constants"]))
    except constants.NoOperator as error:
        raise PackageError(f"{container.path} {error}") from error
    return linked(known, words_, found, fallback, library)


def read_instructions(
    container: Container, written: Mapping
) -> tuple[dict[str, Any], array]:
    """What ``instructions`` wrote.

    Raises:
        PackageError: They are those of another girih.
        ValueError: They are wrong; so do LookupError and TypeError.
    """
    known = json.loads(bytes(container.part(written["constants"])))
    if known["words"] != words():
        text = f"{container.path} has instructions of another girih"
        raise PackageError(f"{text} than {girih.__version__}. Make it again.")
    found = array("q")
    found.frombytes(container.part(written["instructions"]))
    if sys.byteorder != "little":
        found.byteswap()
    return known, found


def linked(
    known: Mapping, words_: array, found: tuple, fallback: Callable, owner: Any
) -> Any:
    """A program of its parts.

    Args:
        known: All but its instructions, as read.
        words_: These, with addresses.
        found: Its constants.
        fallback: Called with the kind of check that failed, and the inputs.
        owner: What has to live as long as it.

    Raises:
        ValueError: They are wrong; so do LookupError and TypeError.
    """
    counts = dict(known["counts"])
    return _runtime.Program(
        words_,
        found,
        *[counts.pop(name) for name in ("inputs", "values", "registers")],
        fallback=fallback,
        owner=owner,
        event=constants.decode(known["event"]),
        **counts,
    )


def _linked(container: Container, written: Mapping) -> Library:
    try:
        addresses = own_symbols() | resolve(written["imports"], {})
        content = bytes(container.part(written["kernels"]))
        return link(content, written["exports"], addresses)
    except CodegenError as error:
        version = f"torch {torch.__version__}"
        text = f"{container.path} can't be linked here ({version}): {error}"
        raise PackageError(text) from error


def _relocate(code: array, runs: Sequence[int], addresses: Sequence[int]) -> None:
    for at in runs:
        is_run = 0 < at < len(code) and code[at - 1] == _runtime.OP_RUN
        if not is_run or not 0 <= code[at] < len(addresses):
            raise ValueError(f"there is no call of a kernel at {at}")
        code[at] = addresses[code[at]]
