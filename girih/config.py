"""Environment variables, read here and nowhere else.

=========================  ===================================================
``GIRIH_CACHE_DIR``        folder of compiled objects (default: the user's
                           cache folder, ``$XDG_CACHE_HOME/girih`` or
                           ``~/.cache/girih``)
``GIRIH_NO_CACHE``         ``1``: neither read nor write compiled objects on
                           disk
``GIRIH_DUMP_DIR``         folder in which each compilation writes its IR, one
                           file per stage
``GIRIH_FALLBACK``         ``0``: a failed compilation raises instead of
                           running eager with a warning
``GIRIH_LOGS``             comma-separated log names, see ``girih.log``
``GIRIH_RECOMPILE_LIMIT``  how often one function is compiled for other inputs
                           before calls that fit nothing run as plain Python
                           (default: 8)
``GIRIH_VERIFY``           ``1``: verify the IR after every pass, as the option
                           ``verify`` does
``GIRIH_WORKSPACE``        ``0``: intermediate tensors are allocated one by one
                           instead of in one workspace, so that a checker of
                           memory sees the bounds of each (on the CPU)
=========================  ===================================================
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

# torch._dynamo.config.recompile_limit
DEFAULT_RECOMPILE_LIMIT = 8


def cache_dir() -> Path | None:
    """Folder of compiled objects, or None where the disk cache is off.

    It is off, too, for a user who has no home.
    """
    if os.environ.get("GIRIH_NO_CACHE", "0") not in ("", "0"):
        return None
    if explicit := os.environ.get("GIRIH_CACHE_DIR"):
        return absolute(explicit)
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):  # such a value is to be ignored, says its standard
        base = os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "girih" if os.path.isabs(base) else None


def reproducer_dir() -> Path | None:
    """Folder for files that replay failures, or None where there is no home."""
    base = os.environ.get("GIRIH_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME")
    try:
        return Path(base or Path.home() / ".cache") / "girih" / "reproducers"
    except RuntimeError:
        return None


def dump_dir() -> Path | None:
    """Folder for IR files, or None."""
    value = os.environ.get("GIRIH_DUMP_DIR")
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
    return os.environ.get("GIRIH_FALLBACK", "1") != "0"


def verify() -> bool:
    """Whether the IR is verified after every pass."""
    return os.environ.get("GIRIH_VERIFY", "0") not in ("", "0")


def logs() -> tuple[str, ...]:
    """Names listed in ``GIRIH_LOGS``."""
    text = os.environ.get("GIRIH_LOGS", "")
    return tuple(name.strip() for name in text.split(",") if name.strip())


def recompile_limit() -> int:
    """Most entries of one function.

    Raises:
        ValueError: The variable is not a positive integer.
    """
    text = os.environ.get("GIRIH_RECOMPILE_LIMIT", "").strip()
    if not text:
        return DEFAULT_RECOMPILE_LIMIT
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(f"GIRIH_RECOMPILE_LIMIT must be a number >= 1, got {text!r}")
    return int(text)


def shares_workspace() -> bool:
    """Whether intermediate tensors of a native call lie in one workspace."""
    return os.environ.get("GIRIH_WORKSPACE", "1") != "0"
