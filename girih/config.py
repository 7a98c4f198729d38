"""Environment variables, read here and nowhere else.

``VARIABLES`` lists them; docs/reference/environment.md is made from it.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import NamedTuple

# torch._dynamo.config.recompile_limit
DEFAULT_RECOMPILE_LIMIT = 8


class Variable(NamedTuple):
    """An environment variable.

    Attributes:
        name: Of the variable.
        default: What holds where it is not set, for the documents.
        meaning: What it does.
        is_for_tests: Whether only girih's own tests read it.
    """

    name: str
    default: str
    meaning: str
    is_for_tests: bool = False

    def value(self, default: str = "") -> str:
        """What the variable holds now, or the default."""
        return os.environ.get(self.name, default)


CACHE_DIR = Variable(
    "GIRIH_CACHE_DIR",
    "`$XDG_CACHE_HOME/girih` or `~/.cache/girih`",
    "Folder of the disk cache, where girih keeps compiled objects. The option "
    "`cache_dir` takes precedence.",
)
CPU = Variable(
    "GIRIH_CPU",
    "this processor",
    "`x86-64-v2`, `x86-64-v3` or `x86-64-v4`: girih compiles for all processors of "
    "this level, and `girih.load` takes code for it or a lower one.",
)
NO_CACHE = Variable(
    "GIRIH_NO_CACHE",
    "`0`",
    "With `1` girih neither reads nor writes the disk cache, as with the option "
    "`cache=False`.",
)
DUMP_DIR = Variable(
    "GIRIH_DUMP_DIR",
    "nothing is written",
    "Folder into which each compilation writes its IR, one file for each stage. The "
    "option `dump_dir` takes precedence.",
)
DISABLE = Variable(
    "GIRIH_DISABLE",
    "`0`",
    "With `1` all that girih compiled or would compile runs as plain Python. "
    "`TORCH_COMPILE_DISABLE=1` and `TORCHDYNAMO_DISABLE=1` mean the same for "
    "`girih.compile`.",
)
FALLBACK = Variable(
    "GIRIH_FALLBACK",
    "`1`",
    "With `0` a failed compilation raises an error, as with the option "
    "`fallback=False`. Otherwise the program runs eager, with a warning.",
)
LOGS = Variable(
    "GIRIH_LOGS",
    "no logs",
    "Names of logs, with commas between them. girih prints these logs on stderr. "
    "`help` prints the names. `TORCH_LOGS` counts for the names that girih has.",
)
OVERRIDE_DIR = Variable(
    "GIRIH_OVERRIDE_DIR",
    "no IR is replaced",
    "Folder with edited files of a dump. girih compiles each of them in place of the "
    "IR that a dump would write under its name. The option `override` takes "
    "precedence.",
)
RECOMPILE_LIMIT = Variable(
    "GIRIH_RECOMPILE_LIMIT",
    f"`{DEFAULT_RECOMPILE_LIMIT}`",
    "For how many values of one guard a function is compiled; all its entries are at "
    "most 8 times as many. Calls that fit none of them run as plain Python then. The "
    "option `recompile_limit` takes precedence.",
)
VERBOSE = Variable(
    "GIRIH_VERBOSE",
    "`0`",
    "With `1` the tracebacks of girih's errors have the frames of girih's own code, "
    "and the errors that led there. `TORCHDYNAMO_VERBOSE=1` means the same.",
)
VERIFY = Variable(
    "GIRIH_VERIFY",
    "`0`",
    "With `1` girih verifies the IR after every pass, as with the option "
    "`verify=True`.",
)
WORKSPACE = Variable(
    "GIRIH_WORKSPACE",
    "`1`",
    "With `0` girih allocates intermediate tensors on the CPU one by one instead of in "
    "one workspace. A checker of memory then sees the bounds of each tensor.",
)
TEST_LONG = Variable(
    "GIRIH_TEST_LONG",
    "`0`",
    "With `1` the tests run everything that they otherwise take samples of.",
    is_for_tests=True,
)
TEST_SAMPLE = Variable(
    "GIRIH_TEST_SAMPLE",
    "`0`",
    "With `1` pytest runs a part of the parameters of tests that have dozens, as "
    "`make test` does.",
    is_for_tests=True,
)
TEST_DEVICE = Variable(
    "GIRIH_TEST_DEVICE",
    "`cpu`",
    "Device on which the tests of numerics run, such as `cuda`.",
    is_for_tests=True,
)
VARIABLES = (
    CACHE_DIR,
    CPU,
    DISABLE,
    DUMP_DIR,
    FALLBACK,
    LOGS,
    NO_CACHE,
    OVERRIDE_DIR,
    RECOMPILE_LIMIT,
    VERBOSE,
    VERIFY,
    WORKSPACE,
    TEST_DEVICE,
    TEST_LONG,
    TEST_SAMPLE,
)


def cache_dir() -> Path | None:
    """Folder of compiled objects, or None where the disk cache is off.

    It is off, too, for a user who has no home.
    """
    if NO_CACHE.value("0") not in ("", "0"):
        return None
    if explicit := CACHE_DIR.value():
        return absolute(explicit)
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):  # such a value is to be ignored, says its standard
        base = os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "girih" if os.path.isabs(base) else None


def cpu() -> str:
    """The level of processors that code is made for, or ""."""
    return CPU.value().strip()


def reproducer_dir() -> Path | None:
    """Folder for files that replay failures, or None where there is no home."""
    base = CACHE_DIR.value() or os.environ.get("XDG_CACHE_HOME")
    try:
        return Path(base or Path.home() / ".cache") / "girih" / "reproducers"
    except RuntimeError:
        return None


def dump_dir() -> Path | None:
    """Folder for IR files, or None."""
    value = DUMP_DIR.value()
    return absolute(value) if value else None


def override_dir() -> Path | None:
    """Folder of edited IR files, or None."""
    value = OVERRIDE_DIR.value()
    return absolute(value) if value else None


@cache
def absolute(folder: str) -> Path:
    """A folder that the user names; it stays the same when the process goes elsewhere.

    A leading ``~`` means a home, as in a shell, which does not see all such names.
    """
    path = os.path.expanduser(folder)
    try:
        return Path(os.path.abspath(path))
    except OSError:  # the current folder does not exist any more
        return Path(path)


def can_be_a_name(path: str) -> bool:
    """Whether the system takes a text as the name of a file."""
    try:
        return b"\0" not in os.fsencode(path)
    except UnicodeError:
        return False


def fallback() -> bool:
    """Whether a failed compilation runs eager with a warning."""
    return FALLBACK.value("1") != "0"


def is_disabled() -> bool:
    """Whether everything runs as plain Python."""
    theirs = ("TORCH_COMPILE_DISABLE", "TORCHDYNAMO_DISABLE")
    if any(os.environ.get(name) == "1" for name in theirs):
        return True
    return DISABLE.value("0") not in ("", "0")


def is_verbose() -> bool:
    """Whether tracebacks of errors have girih's own frames."""
    theirs = os.environ.get("TORCHDYNAMO_VERBOSE") == "1"
    return theirs or VERBOSE.value("0") not in ("", "0")


def verify() -> bool:
    """Whether the IR is verified after every pass."""
    return VERIFY.value("0") not in ("", "0")


def logs() -> tuple[str, ...]:
    """Names of the logs that the user asks for."""
    return _names(LOGS.value())


def torchs_logs() -> tuple[str, ...]:
    """Names of logs that the user asks torch for."""
    return _names(os.environ.get("TORCH_LOGS", ""))


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def recompile_limit() -> int:
    """Most entries of one function.

    Raises:
        ValueError: The variable is not a positive integer.
    """
    text = RECOMPILE_LIMIT.value().strip()
    if not text:
        return DEFAULT_RECOMPILE_LIMIT
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(f"{RECOMPILE_LIMIT.name} must be a number >= 1, got {text!r}")
    return int(text)


def shares_workspace() -> bool:
    """Whether intermediate tensors of a native call lie in one workspace."""
    return WORKSPACE.value("1") != "0"
