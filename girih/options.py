"""What ``girih.compile`` accepts as ``mode`` and ``options``, and their checks."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
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


def _option(
    default: Any, *kinds: type, unit: str = "", least: float | None = None, torch=""
) -> Any:
    """A field of ``Options``.

    Args:
        default: Its default.
        kinds: The types of values that users may give.
        unit: What a number counts.
        least: The smallest number that users may give.
        torch: The name that torch has for the option, where that is another one.
    """
    facts = {"kinds": kinds, "unit": unit, "least": least, "torch": torch}
    return field(default=default, metadata=facts)


@dataclass(frozen=True)
class Options:
    """Options of one compilation; each field is a key of ``options``.

    The text below a field is all that girih says of the option:
    ``girih.option_list`` reads it.
    """

    cache: bool = _option(True, bool)
    """Whether girih reads compiled objects from the disk cache and writes them
    there."""
    cache_dir: str | None = _option(None, str, Path)
    """Folder of the disk cache. None means `GIRIH_CACHE_DIR`, or the user's cache
    folder where that is not set."""
    check: int = _option(0, int, unit="calls", least=0)
    """How many calls of each graph girih compares with eager, beginning with the first.
    Eager runs on copies of the inputs."""
    choices_fuel: int | None = _option(None, int, unit="decisions", least=0)
    """How many of its decisions a pass takes as usual, in each run: whether two ops
    share a kernel, whether buffers share memory, what a schedule looks like. It takes
    the rest the conservative way. With `choices_seed`, the first ones are random and
    the rest as usual."""
    choices_pass: str = _option("", str)
    """The pass for which `choices_fuel` and `choices_seed` hold. An empty name means
    each pass that takes decisions."""
    choices_seed: int | None = _option(None, int, unit="any number", least=0)
    """Seed of random decisions, any of which gives a right program. None means the
    usual decisions."""
    codegen_seconds: float = _option(
        30.0, int, float, unit="seconds of processor time", least=0
    )
    """How long LLVM may compile the kernels of one graph. With 0 there is no limit."""
    capture_instructions: int = _option(1_000_000, int, unit="instructions", least=1)
    """How many bytecode instructions capture follows in one attempt. Capture leaves a
    call that needs more to eager."""
    capture_operations: int = _option(30_000, int, unit="operations", least=1)
    """How many operations one graph may have. Capture leaves a call that needs more to
    eager."""
    capture_seconds: float = _option(60.0, int, float, unit="seconds of processor time")
    """How long one attempt to capture a call may take. Capture leaves a call that needs
    longer to eager."""
    cudagraph_limit: int = _option(16, int, unit="CUDA graphs", least=1)
    """How many CUDA graphs girih keeps for one program. When there would be more, girih
    drops the one that was not used for longest."""
    cudagraphs: bool = _option(False, bool, torch="triton.cudagraphs")
    """Whether girih records the launches of a call in a CUDA graph, which the next
    calls replay."""
    dump_dir: str | None = _option(None, str, Path)
    """Folder into which girih writes the IR of each stage. None means
    `GIRIH_DUMP_DIR`; where that is not set girih writes nothing."""
    dump_inputs: bool = _option(False, bool)
    """Whether the first call of each compiled program writes its inputs beside its
    dumped IR, into `inputs.pt`, which `girih-run --inputs` takes. It has an effect with
    a dump folder only."""
    emulate_precision_casts: bool = _option(
        False, bool, torch="emulate_precision_casts"
    )
    """Whether kernels round to float16 or bfloat16 after each operation, as eager does.
    By default they round where they store. Compensated sums of 16 bits need it, and
    comparisons with eager are easier; kernels are slower."""
    fallback: bool = _option(True, bool)
    """Whether a graph that girih can't compile runs eager, with one warning. With False
    girih raises an error, as `fullgraph=True` does."""
    fallback_random: bool = _option(False, bool)
    """Whether girih calls ATen for random numbers, so that they are eager's. On the CPU
    it always does."""
    freezing: bool = _option(False, bool, torch="freezing")
    """Whether programs without gradients on the CPU compute once what depends on
    parameters and buffers alone: folded batch norms, weights in the layouts of oneDNN
    and of girih's kernels, casts. It stays in memory with the compiled function. girih
    computes it again when a parameter was written, replaced or moved. Of large tensors
    it does not see writes through `.data` or NumPy; call `girih.reset()` after
    these."""
    graph_diagram: bool = _option(False, bool, torch="trace.graph_diagram")
    """Whether girih draws each program after fusion, as `graph.svg` beside its dumped
    IR: kernels and other operations as boxes, tensors as arrows. It has an effect with
    a dump folder only."""
    max_autotune: bool = _option(False, bool)
    """Whether girih measures several schedules of kernels and products on the GPU and
    takes the fastest. The results are kept in the disk cache."""
    max_fusion_inputs: int = _option(64, int, unit="tensors", least=1)
    """How many tensors one fused kernel may read."""
    memory_budget: float = _option(
        1.0, int, float, unit="part of the bytes, 0 to 1", least=0
    )
    """How much a training step may save for its backward pass. 1 means all that makes
    the backward pass fast; with less, the backward pass computes more again."""
    override: str | None = _option(None, str, Path)
    """Folder with edited files of a dump. Where girih would dump
    `000-graph0/3-host.mlir`, and the folder has a file of that name, girih goes on with
    the module of the file. None means `GIRIH_OVERRIDE_DIR`; where that is not set girih
    puts nothing in."""
    parallel_grain: int = _option(32768, int, unit="elements", least=1)
    """How many elements of work a kernel needs before it runs on several threads."""
    passes: UserPasses | None = _option(None, Mapping)
    """Passes of the user, by the place where each runs: `{"before:fuse": my_pass}`. A
    pass is a function, a name, or a list of both. `girih-opt --list-stages` prints the
    places."""
    recompile_limit: int | None = _option(None, int, unit="values", least=1)
    """For how many values of one guard a function is compiled; all its entries are at
    most 8 times as many. None means `GIRIH_RECOMPILE_LIMIT`, or 8 where that is not
    set."""
    vector_bits: int = _option(0, int, unit="bits")
    """Width of the vectors in CPU kernels: 128, 256 or 512. 0 means the widest that the
    processor has, and so does a larger number than that."""
    verify: bool = _option(False, bool)
    """Whether girih verifies the IR after every pass, and not only between stages.
    `GIRIH_VERIFY=1` asks for it, too."""

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

    def override_folder(self) -> Path | None:
        """Folder of edited IR files, or None."""
        given = self.override
        return config.absolute(given) if given else config.override_dir()

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

    def chooses(self) -> bool:
        """Whether passes take other decisions than the usual ones."""
        return self.choices_fuel is not None or self.choices_seed is not None

    def falls_back(self) -> bool:
        """Whether a failed compilation runs eager."""
        return self.fallback and config.fallback()


_FIELDS = {entry.name: entry for entry in fields(Options)}
CAPTURE_OPTIONS = (
    "capture_instructions",
    "capture_operations",
    "capture_seconds",
    "fallback",
    "recompile_limit",
)
"""Options of girih's capture, which hold with any backend."""
TORCH_NAMES = {
    entry.metadata["torch"]: name
    for name, entry in _FIELDS.items()
    if entry.metadata["torch"]
}
"""Options that torch calls otherwise."""
NAMES = frozenset({*_FIELDS, *TORCH_NAMES})
"""Options by girih's names, and by torch's."""
_FOLDERS = ("cache_dir", "dump_dir", "override")
_VECTOR_BITS = (0, 128, 256, 512)


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
    for name, value in _without_torchs(values or {}).items():
        name = TORCH_NAMES.get(name, name)
        _check_option(name, value)
        given[name] = str(value) if isinstance(value, Path) else value
    if "passes" in given:
        from girih.passes.user_passes import parse_user_passes  # few ask for it

        given["passes"] = parse_user_passes(given["passes"])
    return replace(Options(), **given)


def _without_torchs(values: Mapping[str, Any]) -> Mapping[str, Any]:
    known = {**_FIELDS, **TORCH_NAMES}
    if all(name in known for name in values):
        return values
    from girih.torch_options import without_torchs  # few ask for it

    return without_torchs(values, known)


def _check_option(name: str, value: Any) -> None:
    if name not in _FIELDS:
        from girih.torch_options import suggestions

        valid = [*_FIELDS, *TORCH_NAMES, *suggestions()]
        raise ValueError(unknown_name("option", name, sorted(set(valid))))
    facts = _FIELDS[name].metadata
    expected = facts["kinds"]
    is_bool_for_int = expected == (int,) and isinstance(value, bool)
    if not isinstance(value, expected) or is_bool_for_int:
        names = " or ".join(kind.__name__ for kind in expected)
        raise TypeError(
            f"option {name!r} must be {names}, got {value!r} "
            f"of type {type(value).__name__}"
        )
    if name in _FOLDERS and not config.can_be_a_name(str(value)):
        raise ValueError(f"option {name!r} can't be a folder's name: {value!r}")
    if name == "choices_pass" and value:
        from girih.passes.choices import CHOOSING  # few ask for it

        if value not in CHOOSING:
            raise ValueError(unknown_name("pass that takes decisions", value, CHOOSING))
    if name == "vector_bits" and value not in _VECTOR_BITS:
        raise ValueError(f"option 'vector_bits' must be in {_VECTOR_BITS}, got {value}")
    if name == "memory_budget" and not 0 <= value <= 1:
        raise ValueError(f"option 'memory_budget' must be from 0 to 1, got {value}")
    if name == "capture_seconds" and not value > 0:
        raise ValueError(f"option 'capture_seconds' must be positive, got {value}")
    least = facts["least"]
    if least is not None and not value >= least:
        raise ValueError(f"option {name!r} must be at least {least}, got {value}")
