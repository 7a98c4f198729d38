"""For which processors girih makes code, and whose code it runs."""

from __future__ import annotations

import platform

from girih import config
from girih.codegen.cpu.target import LEVELS, Target, host_target, level_target

NATIVE = "native"
"""The name of the processor that runs Python."""


def processor() -> Target:
    """The processor that runs Python, or the level that ``GIRIH_CPU`` names.

    Raises:
        ValueError: There is no such level, or this processor lacks its features.
    """
    name = config.cpu()
    if not name:
        return host_target()
    found = named(name, f"{config.CPU.name} is {name!r}")
    if missing := sorted(found.flags - host_target().flags):
        raise ValueError(
            f"{config.CPU.name} is {name!r}, and this processor lacks "
            f"{', '.join(missing)}"
        )
    return found


def named(name: str, where: str) -> Target:
    """The processors of a name.

    Args:
        name: A level, or ``native``.
        where: What messages begin with.

    Raises:
        ValueError: There is none.
    """
    if name == NATIVE:
        return processor()
    if platform.machine() != "x86_64" or name not in LEVELS:
        names = ", ".join(LEVELS) if platform.machine() == "x86_64" else "none"
        here = f"levels of {platform.machine()} processors are {names}"
        raise ValueError(f"{where}: {here}")
    return level_target(name)
