"""An interpreter that has imported torch, and forks for each program that it is given.

Its arguments name further modules to import.

``processes.run_after_torch`` starts it. A line of its standard input is a task in JSON;
the answer is a line with the exit code. The fork runs the program as ``__main__`` and
ends as any interpreter does.
"""

import gc
import importlib
import json
import os
import sys

import torch  # noqa: F401


def _task() -> dict:
    """Returns in the fork only, with its task."""
    while line := sys.stdin.buffer.readline():
        if not (child := os.fork()):
            return json.loads(line)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)
    sys.exit()


def _begin(task: dict) -> None:
    """Puts arguments, environment, folder and streams in their places."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    for number, path in enumerate(task["outputs"], 1):
        os.dup2(os.open(path, flags, 0o600), number)
    os.environ.clear()
    os.environ.update(task["environment"])
    os.chdir(task["folder"])
    sys.argv = task["arguments"]
    sys.path[0] = os.path.dirname(task["file"]) if "file" in task else ""
    if "file" in task:  # what both streams write comes in order
        sys.stdout.reconfigure(write_through=True)


def _program(task: dict) -> object:
    """The code of the task; the names of this file are not the program's."""
    names = globals()
    for name in ("_task", "_begin", "_program", "_load"):
        del names[name]
    for name in ("gc", "importlib", "json", "os", "sys", "torch"):
        del names[name]
    names["__doc__"] = None
    if "file" in task:
        names["__file__"] = task["file"]
    else:
        del names["__file__"], names["__cached__"]
    name = task.get("file", "<string>")
    return compile(task["code"], name, "exec", dont_inherit=True)


def _load() -> None:
    for name in sys.argv[1:]:
        importlib.import_module(name)
    # The collections at the end of each program look at what is the program's.
    gc.freeze()


_load()
_given = _task()
_begin(_given)
_given = _program(_given)
exec(globals().pop("_given"))
