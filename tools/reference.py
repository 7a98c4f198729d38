"""The pages of docs that are written from the code that they describe.

Those are the pages of docs/reference, and the tour. ``python -m girih.tools.reference``
writes all of them. A test compares each page with the code.
"""

from __future__ import annotations

import itertools
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from girih import config, log, option_list
from girih import options as compile_options
from girih.passes import PASS_MODULES, pipelines, registry, stages
from girih.tools import key_table, listing, op_tables, tour

FOLDER = Path(__file__).resolve().parents[1] / "docs"


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(heads)} |"
    yield "|---" * len(heads) + "|"
    for row in rows:
        cells = (" ".join(str(cell).split()).replace("|", "\\|") for cell in row)
        yield f"| {' | '.join(cells)} |".replace("  ", " ")


def _code(text: object) -> str:
    return f"`{text}`" if str(text) else ""


def _page(introduction: str, lines: Iterable[str]) -> str:
    return "\n".join([introduction.strip(), "", *lines]) + "\n"


_OPTIONS = """
# Options of `girih.compile`

This page is for those who compile a program: it lists the keys of
`girih.compile(f, options={...})`. `print(girih.list_options())` prints the same, and
`make reference` writes this page from `girih/options.py`.
`torch.compile(f, backend="girih", options={...})` takes the same keys. There
TorchDynamo captures, so `recompile_limit` and the options `capture_*` have no effect.
"""


def options_page() -> str:
    """Returns the options and the modes of ``girih.compile``."""
    found = option_list.describe().values()
    rows = (
        (_code(x.name), x.type, _code(repr(x.default)), x.unit, x.meaning)
        for x in found
    )
    lines = [*_table(("option", "type", "default", "unit", "meaning"), rows), ""]
    lines += ["torch has other names for some options. girih takes both.", ""]
    other = [x for x in found if x.torch_name not in (None, "", x.name)]
    names = ((_code(x.torch_name), _code(x.name)) for x in other)
    lines += [*_table(("torch's name", "option"), names), ""]
    lines += ["## Modes", "", "A mode is short for some options.", ""]
    modes = (
        (_code(mode), ", ".join(_code(f"{k}={v}") for k, v in given.items()))
        for mode, given in compile_options.MODES.items()
    )
    return _page(_OPTIONS, [*lines, *_table(("mode", "options"), modes)])


_ENVIRONMENT = """
# Environment variables

This page is for those who compile a program: it lists the environment variables that
girih reads. `make reference` writes it from `girih/config.py` and `girih/log.py`.
"""


def environment_page() -> str:
    """Returns the environment variables, and the names of the logs."""
    users = [x for x in config.VARIABLES if not x.is_for_tests]
    lines = [*_variables(users), "", "## Logs", ""]
    lines += ["`GIRIH_LOGS=guards,recompiles` prints two logs, `GIRIH_LOGS=all` each."]
    rows = ((_code(name), what) for name, what in log.NAMES.items())
    lines += ["", *_table(("log", "contents"), rows), "", "## Tests", ""]
    lines += ["Only girih's own tests read these variables.", ""]
    tests = [x for x in config.VARIABLES if x.is_for_tests]
    return _page(_ENVIRONMENT, [*lines, *_variables(tests)])


def _variables(found: Iterable[config.Variable]) -> Iterator[str]:
    rows = ((_code(x.name), x.default, x.meaning) for x in found)
    return _table(("variable", "default", "meaning"), rows)


_PASSES = """
# Passes

This page is for those who debug or write a pass: it lists girih's passes with their
options, and the named pipelines. `girih-opt --list-passes` prints the same, with the
passes of plugins, and `make reference` writes this page from the registry.

`girih-opt --fuse=max-inputs=8` and `--pass-pipeline='fuse{max-inputs=8}'` give an
option. [Stages](stages.md) lists when the compiler runs each pass.
"""


def passes_page() -> str:
    """Returns girih's own passes and the named pipelines."""
    lines = []
    for name in sorted(PASS_MODULES):
        info = registry.find_pass(name)
        lines += [f"## {name}", ""]
        lines += textwrap.wrap(f"{info.summary} It runs on `{info.op}`.", 88)
        lines.append("")
        if info.options is not None:
            lines += _option_table(info.options)
    lines += ["## Pipelines", ""]
    rows = (
        (_code(name), ", ".join(_code(stage.passes) for stage in steps))
        for name, steps in pipelines.PIPELINES.items()
    )
    return _page(_PASSES, [*lines, *_table(("pipeline", "passes, in order"), rows)])


def _option_table(options: type) -> list[str]:
    rows = (
        (_code(x.name), x.type, _code(x.default), x.meaning)
        for x in listing.pass_options(options)
    )
    return [*_table(("option", "type", "default", "meaning"), rows), ""]


_STAGES = """
# Stages

This page is for those who debug a pass or run one of their own: it lists the stages of
the compiler in order. `girih-opt --list-stages` prints the same (`--target gpu`,
`--training`), and `make reference` writes this page from `passes/stages.py`.

Each kind of compiled program has its own stages. A stage runs the pass of its name,
unless the table below names another one. In a stage in brackets the driver acts.
`(end)` stands for the stages with which all programs end that become code.

A pass of yours runs at `before:STAGE` or `after:STAGE`, and in one kind of compiled
program only at `PROGRAM:before:STAGE` ([writing a pass](../writing-a-pass.md)). The
column "no pass of yours at" names the side of a stage where there is no IR.
"""


def stages_page() -> str:
    """Returns the stages of each kind of program on each target."""
    lines, known = [], {}
    ends = {name: _common_end(target) for name, target in stages.TARGETS.items()}
    for program in stages.PROGRAMS:
        does = listing.DOES[program]
        lines += [f"## {program}", "", *textwrap.wrap(f"{does}.".capitalize(), 88), ""]
        for name, target in stages.TARGETS.items():
            found = stages.stages_of(program, target)
            known |= dict.fromkeys(found)
            runs = tuple(found[-len(ends[name]) :]) == ends[name]
            own = found[: -len(ends[name])] if runs else found
            lines += _listed(name, own, ("(end)",) if runs else ())
    lines += ["## (end)", "", "How every program goes on that becomes code.", ""]
    for name, end in ends.items():
        lines += _listed(name, end)
    lines += ["## What each stage does", ""]
    heads = ("stage", "pass", "no pass of yours at", "what is true after the stage")
    return _page(_STAGES, [*lines, *_table(heads, map(_stage_row, known))])


def _common_end(target: stages.CompilerTarget) -> tuple[stages.CompilerStage, ...]:
    """The stages with which all programs end that lead to code."""
    lists = [stages.stages_of(program, target) for program in stages.PROGRAMS]
    runs = [found[::-1] for found in lists if found[-1] is target.code[-1]]
    columns = zip(*runs, strict=False)
    alike = itertools.takewhile(lambda same: len(set(same)) == 1, columns)
    return tuple(same[0] for same in alike)[::-1]


def _listed(
    target: str, found: Iterable[stages.CompilerStage], more: tuple[str, ...] = ()
) -> list[str]:
    """The names of stages as a block of text."""
    names = " > ".join((*map(_stage_name, found), *more))
    text = textwrap.wrap(f"{target}: {names}", 84, break_on_hyphens=False)
    return ["```text", *text, "```", ""]


def _stage_name(stage: stages.CompilerStage) -> str:
    return stage.name if stage.passes else f"[{stage.name}]"


def _stage_row(stage: stages.CompilerStage) -> tuple[str, str, str, str]:
    sides = (("before", stage.takes_ir), ("after", stage.leaves_ir))
    missing = ", ".join(side for side, has_ir in sides if not has_ir)
    runs = _code(stage.passes) if stage.passes != stage.name else ""
    return _code(_stage_name(stage)), runs, missing, stage.does


PAGES = {
    "reference/attributes.md": key_table.page,
    "reference/environment.md": environment_page,
    "reference/ops.md": op_tables.page,
    "reference/options.md": options_page,
    "reference/passes.md": passes_page,
    "reference/stages.md": stages_page,
    "tour.md": tour.page,
}
"""By the name of each page below docs the function that returns the page's text."""


def main() -> int:
    """Writes the pages; returns the exit code."""
    for name, page in PAGES.items():
        (FOLDER / name).write_text(page())
    return 0


if __name__ == "__main__":
    sys.exit(main())
