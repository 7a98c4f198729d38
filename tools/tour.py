"""The page docs/tour.md: one program at every level, as the commands print it.

``make reference`` writes it. The template below holds the prose. Double braces in it
hold a command, and texts that say which lines of its output the page shows (``cut``).
"""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from unittest import mock

from girih import config
from girih.tools import girih_opt, girih_translate

WIDEST = 96
"""Longer lines of output are cut."""

_PROGRAM = """
import torch
import girih


@girih.compile(options={"dump_dir": "dump"})
def f(x, b):
    return torch.softmax(x + b, -1)


x = torch.randn(64, 1000, requires_grad=True)
b = torch.randn(1000, requires_grad=True)
f(x, b).sum().backward()
"""

_PAGE = """
# A tour: one program at every level

This page is for those who debug a pass and have not seen girih before. It follows
`softmax(x + b)` and its gradient from Python to LLVM and Triton. Each step has the
command, the lines of its output that matter ("..." stands for the rest), and the files
that made them. `make reference` runs the commands and writes this page.

## The program

```python
{program}
```

The option `dump_dir` writes the IR of each level into a file. Forward and backward are
two compiled programs; girih makes the second when `backward()` first runs.

{{ls dump/*}}

All commands below run in `dump/000-graph0`. The first line of a file is the command
that leads to the next level. Two files have none: the functions of
`2-derivatives.mlir` go on as two files, and the last level has no next one. `girih-opt`
takes single [passes](reference/passes.md) (`--fuse`) and named pipelines (`--fusions`),
in order, here with default options. The compiler passes options that fit your
processor. [Stages](reference/stages.md) has its order.

## The imported graph

`frontend/capture` reads the bytecode and makes an FX graph. `frontend/importer` makes
`graph` ops of it, one file for each family of operators: `importer/elementwise.py`
imports `+`, and `importer/classification.py` imports `softmax`.

{{cat 1-graph.mlir
pipeline:
module .. return
}}

Values are tensors without strides or memory. Attributes of `@main` say what the caller
needs: [attributes](reference/attributes.md) lists them. Because an argument has
`graph.requires_grad`, girih compiles this as a training program, with a backward
function.

## Composites are written out

An op such as `softmax` is a *composite*: the compiler replaces it by primitives, which
kernels compute. `passes/decompose/normalization.py` has the rule of `softmax`.

{{girih-opt --decompose 1-graph.mlir
graph.add .. graph.div
}}

## The gradient

In training `autograd` runs before `decompose`, because the derivative of `softmax` is
shorter than that of its primitives. The pass makes a *joint* function: cotangents are
further arguments, gradients further results. `passes/autograd/normalization.py` has the
rule of `softmax`, and `passes/autograd/reverse.py` walks over the ops.

{{girih-opt --autograd 1-graph.mlir
%arg2: tensor
graph.softmax .. return
}}

`%arg2` is the cotangent of the result. `%5` is the gradient of `x`; `b` was broadcast
over 64 rows, so its gradient `%7` is a sum over them.

## Forward and backward

The pipeline `--derivatives` runs all passes from the import to `partition`, which
chooses the values that the forward function keeps, and divides the joint function.
`passes/partition/cut.py` chooses, as a minimum cut, and `passes/partition/split.py`
divides.

{{girih-opt --derivatives 1-graph.mlir
graph.div .. graph.mul
graph.reshape
return
}}

`graph.saved = "out0"` says that the backward function gets the result of the forward
function. Nothing else is kept. [Derivatives](inside/derivatives.md) has the contract.
`girih-opt --autograd --decompose --print-partition 1-graph.mlir` explains the choice.

## Fusions

From here each function is compiled by itself: `3-graph.mlir` holds the forward
function, and `../001-graph0.backward/1-graph.mlir` the backward function. `fuse` puts
ops that one kernel computes into the region of a `graph.fusion`.
`passes/fuse/grouping.py` chooses the groups, `passes/fuse/rewrite.py` makes the ops.

{{girih-opt --fusions 3-graph.mlir
graph.fusion
graph.div .. graph.yield
}}

{{girih-opt --fusions ../001-graph0.backward/1-graph.mlir
graph.fusion
graph.mul .. graph.yield
graph.fusion
graph.reduce_sum .. graph.yield
}}

`domain` is the iteration space, and `reduced` names its reduced dims. The backward
program has two fusions, because rows are summed in the first and columns in the second.

## The launch program and the kernels

`convert-graph-to-host` gives values memory: a `!tile.buffer` has a shape and strides.
`@main` becomes a launch program of `host` ops, and each fusion a `tile.kernel`.
`passes/convert_graph_to_host/convert.py` is the pass; `passes/plan_memory.py` then
shares memory between values that do not live at one time.

{{girih-opt --fusions --host 3-graph.mlir
func.func .. host.return
tile.kernel
tile.read
graph.reduce_max .. graph.reduce_sum
tile.write
}}

Ops in a `host.native` become one native function, so Python makes one call for them.

## The schedule

`tile` decides how a kernel runs, and replaces its tensors by loops over vectors.
`passes/tile/choose.py` chooses; [schedules](inside/schedules.md) describes the choices.
The second of three loops over a row reads:

{{girih-opt --fusions --host --tile 3-graph.mlir
schedule
tile.grid
scf.for
maximumf
tile.loop .. tile.yield
}}

`%arg6` is a mask, because a row of 1000 elements does not fill its last vector. The
attribute `schedule` says what `tile` chose.

## LLVM's dialect

The pipeline `--cpu` schedules, replaces `math` ops by polynomials
(`passes/expand_math`), and makes functions of LLVM's dialect
(`passes/convert_tile_to_cpu/driver.py`). MLIR's own passes do the rest.

{{girih-opt --fusions --host --cpu 3-graph.mlir
llvm.func
omp.parallel .. omp.loop_nest
llvm.fsub
llvm.intr.fma
llvm.store
llvm.func
llvm.call
}}

[CPU code](inside/cpu-code.md) goes on from here to machine code in memory.

## Triton IR

For a GPU the pipeline `--device` stands in the place of `--host`, and Triton IR in the
place of LLVM's dialect. No GPU is needed to see it. `passes/tile/gpu` chooses the
schedule, and `passes/convert_tile_to_tt/driver.py` makes the ops.

{{girih-opt --fusions --device 3-graph.mlir | girih-translate --to-ttir
tt.func
tt.get_program_id
tt.load
"tt.reduce" .. axis
arith.subf .. tt.extern_elementwise
tt.store
}}

Each instance of the kernel computes a row. [GPU code](inside/gpu-code.md) goes on from
here; `girih-translate --to-ptx` prints what Triton makes of it.

## Where to go from here

- [Dumped IR](dumped-ir.md): how an edited file runs, and how to find a wrong stage.
- `--print-ir-after-all` prints the IR after each pass up to a file's next level.
- `GIRIH_DUMP_DIR=dump` dumps every compilation of a process.
- [Writing a pass](writing-a-pass.md) puts a pass of yours at any of these places.
"""

_COMMAND = re.compile(r"\{\{(.*?)\n?\}\}", re.DOTALL)
_STATEMENT = re.compile(r"\s*(%|\"|}|(?!func\.)\w+\.\w+ )")
_TOOLS = {"girih-opt": girih_opt.main, "girih-translate": girih_translate.main}


def page() -> str:
    """Returns the page, with the output of all commands.

    Raises:
        RuntimeError: A command failed.
        LookupError: An output lacks a line that the page shows.
    """
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "softmax.py").write_text(_PROGRAM)
        _of_process([sys.executable, "softmax.py"], Path(folder))
        template = _PAGE.lstrip().replace("{program}", _PROGRAM.strip())
        return _COMMAND.sub(lambda found: _shown(found[1], Path(folder)), template)


def _shown(text: str, folder: Path) -> str:
    """A command, and what the page shows of its output."""
    command, *lines = text.splitlines()
    # The first command lists the dumps; all others run among them.
    inside = folder if command.startswith("ls ") else folder / "dump" / "000-graph0"
    output = ""
    for part in command.split(" | "):
        output = _output(part, output, inside)
    return f"```bash\n{command}\n```\n\n```text\n{cut(output, lines)}\n```"


def _output(command: str, given: str, folder: Path) -> str:
    """What a command prints when it is given a text; girih's tools run in process."""
    name, *arguments = command.split()
    if name not in _TOOLS:
        return _of_process(["sh", "-c", command], folder)
    told, errors = io.StringIO(), io.StringIO()
    with (
        chdir(folder),
        redirect_stdout(told),
        redirect_stderr(errors),
        mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(given.encode()))),
    ):
        failed = _TOOLS[name](arguments)
    if failed:
        raise RuntimeError(f"{command}: {errors.getvalue()}")
    return told.getvalue()


def _of_process(command: list[str], folder: Path) -> str:
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, config.NO_CACHE.name: "1"},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise RuntimeError(f"{command}: {done.stderr}")
    return done.stdout


def cut(output: str, shown: Sequence[str]) -> str:
    """Returns some lines of an output, all where none are named.

    Args:
        output: Of a command.
        shown: In order, texts in the lines to be shown: ``"add"`` is the next line with
            that text, ``"add .. div"`` all from that one to the next one with ``div``.

    Raises:
        LookupError: There is no such line.
    """
    lines = output.rstrip().splitlines()
    kept, end = [], 0
    for text in shown:
        first, _, last = text.partition(" .. ")
        start = _find(lines, first, end)
        if start > end:
            kept.append("...")
        end = 1 + (_find(lines, last, start + 1) if last else start)
        kept += [_short(lines[start], first), *map(_short, lines[start + 1 : end])]
    return "\n".join(kept) if shown else "\n".join(map(_short, lines))


def _find(lines: Sequence[str], text: str, start: int) -> int:
    for number in range(start, len(lines)):
        if text in lines[number]:
            return number
    raise LookupError(f"no line with {text!r} from line {start} on")


def _short(line: str, text: str = "") -> str:
    """A long line without its types, then without its end; the text stays in it."""
    if len(line) <= WIDEST:
        return line
    indent = line[: len(line) - len(line.lstrip())]
    if line.index(text) + len(text) > WIDEST // 2:
        line = f"{indent}... {line[line.index(text) :]}"
    elif _STATEMENT.match(line):
        opens = " {" if line.endswith(" {") else ""
        line = line.partition(" : ")[0] + " : ..." + opens
    return line if len(line) <= WIDEST else f"{line[: WIDEST - 4].rstrip()} ..."
