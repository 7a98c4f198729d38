"""girih-translate: prints what a device's compiler is given for a file of kernels.

    girih-translate --to-ttir file.mlir
    girih-translate --to-ttir --kernel=k_0 --library=hip file.mlir

The input's kernels may be scheduled or not. With ``--kernel`` the output is a module
that Triton takes as it is; without, all functions stand in one module.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from girih.dialects import tt, verifier
from girih.dialects.bindings import ir
from girih.dialects.context import make_context
from girih.passes import pipelines, registry
from girih.tools import diagnostics


def _arguments(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="girih-translate", allow_abbrev=False)
    parser.add_argument("file", nargs="?", default="-", help="input (standard input)")
    parser.add_argument("--to-ttir", action="store_true", required=True)
    parser.add_argument("--kernel", metavar="NAME", help="print this function alone")
    parser.add_argument("--library", default="cuda", choices=("cuda", "hip"))
    return parser.parse_args(argv)


def _translated(text: str, arguments: argparse.Namespace) -> str:
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        verifier.verify(module)
        options = {"convert-tile-to-tt": f"library={arguments.library}"}
        registry.run_pipeline(module, pipelines.with_options("gpu", options))
        verifier.verify(module)
        if arguments.kernel is None:
            return module.operation.get_asm()
        texts = tt.program_texts(module)
        if arguments.kernel not in texts:
            raise registry.UnknownPass(
                f"there is no function {arguments.kernel!r}, only {', '.join(texts)}"
            )
        return texts[arguments.kernel]


def main(argv: Sequence[str] | None = None) -> int:
    """Runs girih-translate; returns the exit code."""
    arguments = _arguments(sys.argv[1:] if argv is None else argv)
    try:
        is_stdin = arguments.file == "-"
        text = sys.stdin.read() if is_stdin else Path(arguments.file).read_text()
        sys.stdout.write(_translated(text, arguments))
    except OSError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except diagnostics.REPORTED as error:
        for diagnostic in diagnostics.diagnostics_of(error):
            print(diagnostic.text(arguments.file), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
