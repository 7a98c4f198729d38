"""The public function of this folder; ``girih.compile(f).aot_compile`` is the other."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from girih.loading import load_compiler

if TYPE_CHECKING:
    from girih.ahead.compiled import AheadCompiled


def load_compiled_function(
    file: io.IOBase | str | os.PathLike,
    *,
    f_globals: Mapping[str, Any] | None = None,
    external_data: Mapping[str, Any] | None = None,
) -> AheadCompiled:
    """Loads what ``girih.compile(f, fullgraph=True).aot_compile(...)`` saved.

    The first call captures the function again, with the module or object that it is
    given, and takes its programs from the file: no pass runs, and no compiler. The
    bytes hold code of Python and of the processor, so load only what you would run.

    Args:
        file: The file, opened for reading bytes, or its path.
        f_globals: Globals that the function finds before those of its module.
        external_data: What ``save_compiled_function`` was told to leave out, by name.

    Returns:
        A callable as ``aot_compile`` returned it.

    Raises:
        ImportError: The module of the function is not there.
        KeyError: Something was left out, and is not given.
        OSError: The file can't be read.
        girih.PackageError: It is no such file, is damaged, or other versions of Python,
            torch or girih wrote it.
    """
    load_compiler()
    from girih.ahead.compiled import load

    return load(file, f_globals, external_data)
