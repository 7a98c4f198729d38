"""girih-translate: prints what a device's compiler is given for a file of kernels.

    girih-translate --to-ttir file.mlir
    girih-translate --to-ttir --kernel=k_0 --target=gfx942 file.mlir
    girih-translate --to-ptx --target=sm_80 file.mlir

The input's kernels may be scheduled or not. With ``--kernel`` the output is a module
that Triton takes as it is; without, all functions stand in one module. ``--to-ptx``
asks Triton for the assembly of each function; no GPU is needed, and for AMD's it is
theirs.
"""

import argparse
import sys
from collections.abc import Sequence

from girih.dialects import tt, verifier
from girih.dialects.assembly.modules import read_text
from girih.dialects.bindings import ir
from girih.dialects.context import make_context
from girih.passes import pipelines, registry
from girih.passes.convert_tile_to_tt.driver import ConvertTileToTtOptions
from girih.tools import diagnostics, loading, reading


def _arguments(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="girih-translate", allow_abbrev=False)
    parser.add_argument("file", nargs="?", default="-", help="input (standard input)")
    output = parser.add_mutually_exclusive_group(required=True)
    output.add_argument("--to-ttir", action="store_true", help="print Triton IR")
    output.add_argument("--to-ptx", action="store_true", help="print assembly")
    parser.add_argument("--kernel", metavar="NAME", help="print this function alone")
    parser.add_argument("--target", default="sm_90", help="such as sm_90 or gfx942")
    parser.add_argument("--load", **loading.OPTION)
    arguments = parser.parse_args(argv)
    loading.load(parser, arguments.load)
    return arguments


def _translated(text: str, arguments: argparse.Namespace) -> str:
    library = "hip" if arguments.target.startswith("gfx") else "cuda"
    with make_context(), ir.Location.unknown():
        module = reading.module_of(text, file=arguments.file)
        options = {"convert-tile-to-tt": ConvertTileToTtOptions(library=library)}
        registry.run_pipeline(module, pipelines.steps_of("gpu", options))
        verifier.verify(module)
        names = _chosen(list(_launches(module)), arguments.kernel)
        if arguments.to_ptx:
            return _assembly(module, names, arguments.target)
        if arguments.kernel is None:
            return module.operation.get_asm()
        return tt.program_texts(module)[arguments.kernel]


def _launches(module: ir.Module) -> dict[str, ir.DictAttr]:
    """How each function is launched, by its name."""
    return {
        op.sym_name: op.attributes["girih.launch"]
        for op in module.body.operations
        if op.operation.name == "tt.func"
    }


def _chosen(names: list[str], name: str | None) -> list[str]:
    if name is not None and name not in names:
        raise registry.UnknownPass(
            f"there is no function {name!r}, only {', '.join(names)}"
        )
    return names if name is None else [name]


def _assembly(module: ir.Module, names: list[str], target: str) -> str:
    """What Triton makes of functions, each under a line with its name."""
    # Loaded here alone: Triton IR is printed without any code generator.
    from girih.codegen.gpu.compile import (  # noqa: TID251
        KernelOptions,
        KernelText,
        assembly,
    )
    from girih.codegen.gpu.target import parse_target  # noqa: TID251

    texts, launches, parts = tt.program_texts(module), _launches(module), []
    for name in names:
        launch = launches[name]
        options = KernelOptions(launch["num_warps"].value, launch["num_stages"].value)
        kernel = KernelText(name, texts[name], options)
        parts.append(
            f"// {name} for {target}\n{assembly(kernel, parse_target(target))}"
        )
    return "\n".join(parts)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs girih-translate; returns the exit code."""
    arguments = _arguments(sys.argv[1:] if argv is None else argv)
    text = ""
    try:
        text = read_text(arguments.file, dash_is_input=True)
        sys.stdout.write(_translated(text, arguments))
    except diagnostics.REPORTED as error:
        for line in reading.lines_about(error, arguments.file, text):
            print(line, file=sys.stderr)
        return 1
    except (OSError, RuntimeError) as error:  # no such file; Triton refused a kernel
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
