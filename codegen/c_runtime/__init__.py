"""Packages run from C and C++, without Python and torch: ``libgirih_runtime.so``.

Read ``library/girih_runtime.h`` (what users call), ``package.c`` (loading),
``container.c`` (the file and its checksums), ``signature.c`` and ``arguments.c`` (how
an entry point is called, and tensors of a call), ``code.c`` (kernels linked),
``program.h`` (instructions), ``program_read.c`` and ``program.c`` (instructions checked
and run). Some C files of ``codegen/cpu`` are built into it, too.
"""

from __future__ import annotations

from pathlib import Path

_FOLDER = Path(__file__).parent / "library"  # no package: it holds no module
HEADER = _FOLDER / "girih_runtime.h"
LIBRARY = _FOLDER / "libgirih_runtime.so"
