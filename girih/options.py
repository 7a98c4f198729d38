"""What ``girih.compile`` accepts as ``mode`` and ``options``, and their checks."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from girih import config

if TYPE_CHECKING:
    from girih.passes.user_passes import UserPasses

MODES: dict[str, dict[str, bool]] = {
    "default": {},
    "max-autotune": {"cudagraphs": True, "max_autotune": True},
    "max-autotune-no-cudagraphs": {"max_autotune": True},
    "reduce-overhead": {"cudagraphs": True},
}
"""Accepted modes, torch's names, with the options that they are short for."""

TORCH_NAMES = {"triton.cudagraphs": "cudagraphs"}
"""Options that torch calls otherwise."""


@dataclass(frozen=True)
class Options:
    """Options of one compilation; each field is a key of ``options``."""

    cache: bool = True
    """Read and write compiled objects on disk (see ``GIRIH_CACHE_DIR``)."""
    cache_dir: str | None = None
    """Folder of compiled objects; None: ``GIRIH_CACHE_DIR`` or the user's cache."""
    check: int = 0
    """Calls of each graph, the first ones, that are compared with eager on copies."""
    codegen_seconds: float = 30.0
    """Processor time that LLVM may take for the kernels of a graph; 0: any."""
    capture_instructions: int = 1_000_000
    """Most instructions of bytecode that one attempt to capture a call follows."""
    capture_operations: int = 30_000
    """Most operations of one graph."""
    capture_seconds: float = 60.0
    """Most seconds, on the processor, of one attempt to capture a call."""
    cudagraph_limit: int = 16
    """Most CUDA graphs of one program; the one that was not used for longest goes."""
    cudagraphs: bool = False
    """Record the launches of a call in a CUDA graph (torch: ``triton.cudagraphs``)."""
    dump_dir: str | None = None
    """Folder in which the IR of each stage is written; None: ``GIRIH_DUMP_DIR``."""
    fallback: bool = True
    """Run eager with one warning where compilation fails; False: raise. With
    ``fullgraph=True`` always False."""
    fallback_random: bool = False
    """Draw random numbers as eager does, in calls of ATen. On the CPU always so."""
    max_autotune: bool = False
    """Measure ways to run kernels and products on the GPU, and keep the results."""
    max_fusion_inputs: int = 64
    """Most tensors that one kernel reads."""
    memory_budget: float = 1.0
    """What may be saved for the backward pass, from 0 (as little as possible) to 1 (all
    that makes it fast)."""
    parallel_grain: int = 32768
    """Elements of work under which a kernel runs on one thread."""
    passes: UserPasses | None = None
    """Passes of yours by place: ``{"before:fuse": my_pass}``. ``girih-opt
    --list-stages`` prints the places; a pass is a function, a name, or a list."""
    recompile_limit: int | None = None
    """Most entries of one function; None: ``GIRIH_RECOMPILE_LIMIT`` or 8."""
    vector_bits: int = 0
    """Width of vectors in bits: 128, 256 or 512; 0: as wide as the host's."""
    verify: bool = False
    """Verify the IR after every pass, not only where stages meet: ``GIRIH_VERIFY``."""

    def cache_folder(self) -> Path | None:
        """Folder of compiled objects, or None where the disk cache is off."""
        if not self.cache:
            return None
        given = self.cache_dir
        return config.absolute(given) if given else config.cache_dir()

    def dump_folder(self) -> Path | None:
        """Folder for IR files, or None."""
        given = self.dump_dir
        return config.absolute(given) if given else config.dump_dir()

    def verifies_each(self) -> bool:
        """Whether the IR is verified after every pass."""
        return self.verify or config.verify()

    def capture_limits(self) -> dict[str, float]:
        """How much one attempt to capture a call may cost, by what is limited."""
        return {
            "instructions": self.capture_instructions,
            "operations": self.capture_operations,
            "seconds": self.capture_seconds,
        }

    def falls_back(self) -> bool:
        """Whether a failed compilation runs eager."""
        return self.fallback and config.fallback()


_TYPES = {
    "cache": bool,
    "cache_dir": (str, Path),
    "check": int,
    "codegen_seconds": (int, float),
    "capture_instructions": int,
    "capture_operations": int,
    "capture_seconds": (int, float),
    "cudagraph_limit": int,
    "cudagraphs": bool,
    "dump_dir": (str, Path),
    "fallback": bool,
    "fallback_random": bool,
    "max_autotune": bool,
    "max_fusion_inputs": int,
    "memory_budget": (int, float),
    "parallel_grain": int,
    "passes": Mapping,
    "recompile_limit": int,
    "vector_bits": int,
    "verify": bool,
}
_FOLDERS = ("cache_dir", "dump_dir")
_VECTOR_BITS = (0, 128, 256, 512)
_AT_LEAST_ONE = (
    "capture_instructions",
    "capture_operations",
    "cudagraph_limit",
    "max_fusion_inputs",
    "parallel_grain",
    "recompile_limit",
)


def unknown_name(what: str, name: object, valid: Iterable[str]) -> str:
    """The message for a name that is not among ``valid``, with the closest one."""
    valid = sorted(valid)
    close = difflib.get_close_matches(str(name), valid, n=1)
    hint = f" (did you mean {close[0]!r}?)" if close else ""
    return f"unknown {what} {name!r}{hint}; valid: {', '.join(map(repr, valid))}"


def check_mode(mode: str | None) -> str:
    """The mode, ``"default"`` for None.

    Raises:
        ValueError: The mode is not known.
    """
    if mode is None:
        return "default"
    if mode not in MODES:
        raise ValueError(unknown_name("mode", mode, MODES))
    return mode


def make_options(values: Mapping[str, Any] | None, mode: str | None = None) -> Options:
    """Options from what the user gave.

    Args:
        values: From name to value.
        mode: What sets the options that it is short for.

    Raises:
        TypeError: ``values`` is no mapping, or a value has the wrong type.
        ValueError: A name or the mode is not known, or a value is out of range.
    """
    given: dict[str, Any] = dict(MODES[check_mode(mode)])
    if values is not None and not isinstance(values, Mapping):
        kind = type(values).__name__
        raise TypeError(f"options must be a dict from name to value, got {kind}")
    for name, value in (values or {}).items():
        name = TORCH_NAMES.get(name, name)
        _check_option(name, value)
        given[name] = str(value) if isinstance(value, Path) else value
    if "passes" in given:
        from girih.passes.user_passes import parse_user_passes  # few ask for it

        given["passes"] = parse_user_passes(given["passes"])
    return replace(Options(), **given)


def _check_option(name: str, value: Any) -> None:
    if name not in _TYPES:
        raise ValueError(unknown_name("option", name, _TYPES))
    expected = _TYPES[name]
    is_bool_for_int = expected is int and isinstance(value, bool)
    if not isinstance(value, expected) or is_bool_for_int:
        expected = expected if isinstance(expected, tuple) else (expected,)
        names = " or ".join(kind.__name__ for kind in expected)
        raise TypeError(
            f"option {name!r} must be {names}, got {value!r} "
            f"of type {type(value).__name__}"
        )
    if name in _FOLDERS and not config.can_be_a_name(str(value)):
        raise ValueError(f"option {name!r} can't be a folder's name: {value!r}")
    if name == "vector_bits" and value not in _VECTOR_BITS:
        raise ValueError(f"option 'vector_bits' must be in {_VECTOR_BITS}, got {value}")
    if name == "memory_budget" and not 0 <= value <= 1:
        raise ValueError(f"option 'memory_budget' must be from 0 to 1, got {value}")
    if name == "check" and value < 0:
        raise ValueError(f"option 'check' must be at least 0, got {value}")
    if name == "codegen_seconds" and not value >= 0:
        raise ValueError(f"option 'codegen_seconds' must not be negative, got {value}")
    if name == "capture_seconds" and not value > 0:
        raise ValueError(f"option 'capture_seconds' must be positive, got {value}")
    if name in _AT_LEAST_ONE and value < 1:
        raise ValueError(f"option {name!r} must be at least 1, got {value}")


def describe() -> dict[str, str]:
    """Each option with its default, for help texts."""
    return {field.name: repr(field.default) for field in fields(Options)}
