"""Files that replay failures of passes, in a folder of the user's own.

A file is written once it is known that a pass is at fault: not for what is not
supported, and not where eager raises, too. The newest ``MOST`` are kept.
"""

from __future__ import annotations

import itertools
import os
import re
from pathlib import Path

from girih import config, exclusive, private_folder
from girih.passes.errors import PassError
from girih.passes.reproducer import Written
from girih.private_folder import reason_of, replace_text, warn_once

MOST = 32
"""How many files are kept."""

_numbers = itertools.count()


def keep(error: PassError) -> None:
    """Writes a file that replays a failure, if it can; the error names it then.

    Args:
        error: Of a run that is replayable. The file goes to the error's ``folder``, by
            default one of the user's own.
    """
    if error.replay is None or error.reproducer is not None:
        return
    passes = re.sub(r"[^\w.-]", "-", error.pass_name.partition(",")[0])
    name = f"{os.getpid()}-{next(_numbers):03}-{passes}.mlir"
    folder = error.folder or config.reproducer_dir()
    if folder is None:
        return
    with exclusive.compilation():
        replay = error.replay()
        written = Written(replay.steps, folder)
        files = {**written.files, name: replay.text(folder)}
    try:
        if error.folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            for each, text in files.items():
                replace_text(folder / each, text)
        else:
            _write(folder, files)
    except OSError as reason:
        message = f"girih can't write what replays a failure: {reason_of(reason)}"
        warn_once(("reproducers", folder), message)
        return
    error.loads, error.reproducer = written.loads, folder / name
    error.reasons = tuple(replay.reasons(folder))


def _write(folder: Path, files: dict[str, str]) -> None:
    with private_folder.opened(folder) as opened:
        for name, text in files.items():
            private_folder.write(opened, name, text.encode())
        private_folder.remove_temporaries(opened)
        statuses = private_folder.statuses(opened)
        oldest = sorted(statuses, key=lambda name: statuses[name].st_mtime_ns)
        for surplus in oldest[:-MOST]:
            private_folder.remove(opened, surplus)
