"""Each function of mathematics is in the libraries of NVIDIA's and AMD's GPUs."""

import pytest
from processes import run_python

from girih.dialects import tt
from girih.dialects.bindings import ir
from girih.dialects.context import make_context
from girih.passes.convert_tile_to_tt.functions import LIBRARY, NATIVE
from girih.passes.registry import run_pipeline

FLOATS = ("f32", "f64", "bf16", "f16")
OPERANDS = {"math.atan2": 2, "math.copysign": 2, "math.powf": 2, "arith.remf": 2}
OPERANDS["math.fma"] = 3
OF_INTEGERS = {"math.absi"}
LOAD = "{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>}"
STORE = "{operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>}"
COMPILE = """
    import sys
    from pathlib import Path
    from girih.codegen.gpu.compile import KernelText, compile_kernels
    from girih.codegen.gpu.target import parse_target

    kernel = KernelText("k_0", Path(sys.argv[1]).read_text())
    (binary,) = compile_kernels([kernel], parse_target(sys.argv[2]))
    assert binary.data.startswith(b"\\x7fELF")
"""


def kernel_of_all(element):
    """Stores the sum of all functions of a block."""
    buffer, block = f"!tile.buffer<{element}, [128], [1]>", f"vector<128x{element}>"
    names = sorted({*LIBRARY, *NATIVE, "math.sqrt"} - OF_INTEGERS)
    lines, total = [], "%v"
    for number, name in enumerate(names):
        values = ", ".join(["%v"] * OPERANDS.get(name, 1))
        lines.append(f"%f{number} = {name} {values} : {block}")
        lines.append(f"%s{number} = arith.addf {total}, %f{number} : {block}")
        total = f"%s{number}"
    body = "\n".join(lines)
    return f"""
    "tile.kernel"() ({{
    ^bb0(%x: {buffer}, %y: {buffer}):
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      "tile.grid"(%one, %one) ({{
      ^bb1(%pid: index):
        %v = "tile.load"(%x, %zero, %one) {LOAD} : ({buffer}, index, index) -> {block}
        {body}
        "tile.store"({total}, %y, %zero, %one) {STORE}
          : ({block}, {buffer}, index, index) -> ()
      }}) : (index, index) -> ()
    }}) {{sym_name = "k", symbols = [], outputs = 1 : i64, domain = [128],
        reduced = array<i64>}} : () -> ()
    """


@pytest.mark.parametrize("target", ["sm_90", "gfx942"])
@pytest.mark.parametrize("element", FLOATS)
def test_functions_are_found(element, target, tmp_path):
    pytest.importorskip("triton", reason="Triton has the libraries")
    library = "hip" if target.startswith("gfx") else "cuda"
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(kernel_of_all(element))
        run_pipeline(module, [f"convert-tile-to-tt{{library={library}}}"])
        (text,) = tt.program_texts(module).values()
    path = tmp_path / "k.ttir"
    path.write_text(text)
    run_python(COMPILE, str(path), target)
