"""What ``--load`` imports, and installed plugins: they may define passes and ops."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from girih import plugins

OPTION: dict[str, Any] = {
    "action": "append",
    "default": [],
    "metavar": "MODULE",
    "help": "import a module or .py file first: it may define passes and dialects",
}


def load(parser: argparse.ArgumentParser, modules: Sequence[str]) -> None:
    """Imports installed plugins, then modules and files.

    What can't be imported of these ends the program with a message.
    """
    plugins.load_installed()
    for name in modules:
        try:
            if name.endswith(".py"):
                load_file(Path(name))
            else:
                importlib.import_module(name)
        except Exception as error:
            parser.error(f"cannot load {name}: {_what_failed(error)}")


def _what_failed(error: Exception) -> str:
    """The error, with a traceback of what was loaded and without girih's own frames."""
    own = (__file__, importlib.__file__)
    frame = error.__traceback__
    while frame is not None:
        file = frame.tb_frame.f_code.co_filename
        if file not in own and not file.startswith("<frozen importlib"):
            break
        frame = frame.tb_next
    is_short = frame is None and isinstance(error, ImportError | OSError)
    text = str(error) if is_short else f"{type(error).__name__}: {error}"
    if frame is None and not isinstance(error, SyntaxError):
        return text
    lines = traceback.format_exception(type(error), error, frame)
    return f"{text}\n{''.join(lines).rstrip()}"


def load_file(path: Path) -> None:
    """Imports a file as the module of its name.

    Raises:
        ImportError: Another module has this name.
    """
    if path.stem in sys.stdlib_module_names or path.stem == "torch":
        raise ImportError(f"a module is called {path.stem!r} already; rename the file")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
