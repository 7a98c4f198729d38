"""The command line of girih-opt."""

import argparse
import difflib
import os
import re
import sys
from collections.abc import Sequence
from typing import NoReturn

from girih.passes import pipelines, registry
from girih.tools import loading

SEPARATOR = "// -----"

# Flag -> how argparse takes it.
_FLAGS: dict[str, dict] = {
    "--pass-pipeline": {"metavar": "PIPELINE", "help": "textual pipeline to run"},
    "--list-passes": {"action": "store_true", "help": "list passes and pipelines"},
    "--list-ops": {"action": "store_true", "help": "list ops with their fields"},
    "--list-stages": {
        "action": "store_true",
        "help": "list the compiler's stages, with their places for passes of users",
    },
    "--target": {
        "choices": ("cpu", "gpu"),
        "default": "cpu",
        "help": "whose stages are listed",
    },
    "--training": {
        "action": "store_true",
        "help": "list the stages of programs with gradients",
    },
    "--show-dialects": {"action": "store_true", "help": "list the dialects"},
    "--version": {"action": "store_true", "help": "print versions"},
    "--print-ir-before-all": {"action": "store_true", "help": "print before each pass"},
    "--print-ir-after-all": {"action": "store_true", "help": "print after each pass"},
    "--print-ir-before": {"action": "append", "default": [], "metavar": "PASS"},
    "--print-ir-after": {"action": "append", "default": [], "metavar": "PASS"},
    "--print-ir-after-change": {
        "action": "store_true",
        "help": "print after a pass only if it changed the IR",
    },
    "--print-ir-diff": {
        "action": "store_true",
        "help": "print the lines that each pass changed",
    },
    "--debug-only": {
        "action": "append",
        "default": [],
        "metavar": "PASS[,PASS]",
        "help": "print the decisions of passes, and their reasons",
    },
    "--print-ir-after-failure": {
        "action": "store_true",
        "help": "print what a pass that failed has left",
    },
    "--print-ir-tree-dir": {
        "metavar": "FOLDER",
        "help": "write the IR after each pass to numbered files in a folder",
    },
    "--timing": {"action": "store_true", "help": "print how long each pass took"},
    "--pass-statistics": {
        "action": "store_true",
        "help": "print how many ops of each name a pass added and removed",
    },
    "--dump-pass-pipeline": {
        "action": "store_true",
        "help": "print the pipeline with all options, before it runs",
    },
    "--load": loading.OPTION,
    "--verify-each": {
        "action": argparse.BooleanOptionalAction,
        "default": True,
        "help": "verify after each pass; it is the default",
    },
    "--isolate": {
        "action": argparse.BooleanOptionalAction,
        "default": hasattr(os, "fork"),
        "help": "work in a child process, so that a crash is reported; the default",
    },
    "--split-input-file": {
        "action": "store_true",
        "help": f"take each part between '{SEPARATOR}' lines on its own",
    },
    "--verify-diagnostics": {
        "action": "store_true",
        "help": "check that exactly the errors of expected-error comments occur",
    },
    "--debug-info": {"action": "store_true", "help": "print locations"},
    "--print-op-generic": {
        "action": "store_true",
        "help": "print ops of girih in MLIR's generic form",
    },
    "--write-reproducer": {
        "metavar": "FILE",
        "help": "where to write how a failure is replayed",
    },
    "--run-reproducer": {
        "action": "store_true",
        "help": "run the pipeline that the input's first line holds",
    },
    "--mlir-disable-threading": {
        "action": "store_true",
        "help": "has no effect: girih-opt runs passes in one thread",
    },
}


# What mlir-opt calls them.
_SYNONYMS = {
    "--mlir-print-debuginfo": "--debug-info",
    "--mlir-pass-pipeline-crash-reproducer": "--write-reproducer",
    "--mlir-print-op-generic": "--print-op-generic",
    "--mlir-timing": "--timing",
    "--mlir-pass-statistics": "--pass-statistics",
    "--verify-diagnostics=all": "--verify-diagnostics",
} | {f"--mlir-{flag[2:]}": flag for flag in _FLAGS if flag.startswith("--print-ir")}

# What mlir-opt has and girih-opt refuses, with the way out.
_REFUSED = {
    "--allow-unregistered-dialect": "girih-opt verifies that each op is registered; "
    "define the dialect in a file, and name it: --load=FILE.py",
}

_KNOWN_FLAGS = {*_FLAGS, "--help"} | {
    flag.replace("--", "--no-", 1)
    for flag, how in _FLAGS.items()
    if how.get("action") is argparse.BooleanOptionalAction
}


class _Parser(argparse.ArgumentParser):
    """Reports errors in one line, with exit code 1."""

    def error(self, message: str) -> NoReturn:
        """Prints the message and exits."""
        print(f"error: {message}", file=sys.stderr)
        sys.exit(1)


def read_command_line(argv: Sequence[str]) -> argparse.Namespace:
    """Reads the options; those named as passes end up in ``passes``, in order."""
    parser = _Parser(
        prog="girih-opt",
        description="Runs passes of girih and of MLIR on a file.",
        epilog="Each pass and each named pipeline is also an option of its own: "
        "--fuse, --fuse=max-inputs=8. They run in the order given. What is printed "
        "besides the result goes to the standard error. Names that begin with --mlir-, "
        "as mlir-opt's do, are understood, too, and so is =true or =false behind a "
        "switch. The exit code is 0, or 1 if the input is wrong, a pass fails or a "
        "crash is reported.",
        allow_abbrev=False,
    )
    parser.add_argument("file", nargs="?", default="-", help="input (standard input)")
    parser.add_argument("-o", dest="output", default="-", metavar="FILE", help="output")
    for flag, how in _FLAGS.items():
        parser.add_argument(flag, **how)
    argv = [own for token in argv for own in _own_names(parser, token)]
    # Before argparse, which takes an option with a space in it for a file.
    short = [token for token in argv if _is_short_form(token)]
    arguments, rest = parser.parse_known_args([t for t in argv if t not in short])
    if rest:
        parser.error(f"unknown option {rest[0]}; see --help")
    loading.load(parser, arguments.load)
    arguments.passes = [_short_form(parser, token) for token in short]
    if arguments.pass_pipeline and arguments.passes:
        parser.error("expected --pass-pipeline or options named as passes, got both")
    if arguments.run_reproducer and (arguments.pass_pipeline or arguments.passes):
        given = arguments.pass_pipeline or arguments.passes[0]
        parser.error(
            "--run-reproducer runs the passes of the file's first line alone; leave "
            f"out {given!r}, or leave out --run-reproducer to run it on the file"
        )
    return arguments


def _own_names(parser: argparse.ArgumentParser, token: str) -> list[str]:
    """An option of mlir-opt's, as girih-opt calls it; nothing if it is switched off."""
    token = _SYNONYMS.get(token, token)
    flag, equals, value = token.partition("=")
    flag = _SYNONYMS.get(flag, flag)
    if flag in _REFUSED:
        parser.error(f"{flag} is not supported: {_REFUSED[flag]}")
    action = _FLAGS.get(flag, {}).get("action")
    if not equals or action not in ("store_true", argparse.BooleanOptionalAction):
        return [f"{flag}{equals}{value}"]
    if value.lower() not in _TRUTH:
        parser.error(f"expected {flag} to be true or false, got {value!r}")
    if _TRUTH[value.lower()]:
        return [flag]
    return [] if action == "store_true" else [flag.replace("--", "--no-", 1)]


_TRUTH = {"true": True, "1": True, "false": False, "0": False}


def _parts(token: str) -> tuple[str, str]:
    """The flag and the options of ``--fuse=max-ops=8`` or ``--fuse{max-ops=8}``."""
    found = re.fullmatch(r"(?P<flag>[^={]*)(=(?P<plain>.*)|\{(?P<braced>.*)\})?", token)
    if found is None:
        return token, ""
    return found["flag"], found["plain"] or found["braced"] or ""


def _is_short_form(token: str) -> bool:
    flag = _parts(token)[0]
    return token.startswith("--") and flag not in _KNOWN_FLAGS


def _short_form(parser: argparse.ArgumentParser, token: str) -> str:
    flag, options = _parts(token)
    name = flag.removeprefix("--")
    known = [*registry.own_pass_names(), *pipelines.PIPELINES]
    if name not in known and not registry.is_upstream_pass(name):
        flags = [flag.removeprefix("--") for flag in _KNOWN_FLAGS]
        close = difflib.get_close_matches(name, [*known, *flags])
        hint = f"did you mean --{close[0]}?" if close else "see --help"
        parser.error(f"unknown option {token}; {hint}")
    return f"{name}{{{options}}}" if options else name
