"""Triton's compiler takes what the conversion makes of the kernels of `tile`'s tests.

Compiling is done in a process of its own: an assertion of the compiler ends it.
"""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
from extent import extent

from girih.dialects import tt
from girih.dialects.bindings import ir
from girih.dialects.context import make_context
from girih.passes.registry import run_pipeline

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("triton") is None, reason="needs triton"
)

_FILES = Path(__file__).parent.parent / "tile"
_TARGETS = {
    "sm_80": ("cuda", '"cuda", 80, 32', "cubin"),
    "sm_90": ("cuda", '"cuda", 90, 32', "cubin"),
    "gfx942": ("hip", '"hip", "gfx942", 64', "hsaco"),
}
_COMPILE = """
import sys, triton
from triton.backends.compiler import GPUTarget
for path in sys.argv[1:]:
    binary = triton.compile(path, target=GPUTarget({target}))
    assert binary.asm["{kind}"], path
    print(path, {about})
"""
_LEAST = {"attention.mlir": 3, "pointwise.mlir": 9, "reduction.mlir": 9}
_ON = {
    "sm_90": tuple(_LEAST),
    "sm_80": ("reduction.mlir",),
    "gfx942": ("attention.mlir",),
}


def _write_programs(file: str, library: str, folder: Path) -> list[str]:
    """Each function of a file's kernels as a file; returns their paths."""
    paths = []
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse((_FILES / file).read_text())
        steps = ["tile{target=gpu}", f"convert-tile-to-tt{{library={library}}}"]
        run_pipeline(module, steps)
        for name, text in tt.program_texts(module).items():
            path = folder / f"{name}.ttir"
            path.write_text(text)
            paths.append(str(path))
    return paths


@pytest.mark.parametrize("target", _TARGETS)
def test_triton_compiles_each_program(target, tmp_path):
    """Attention's products of warp groups run on tensor cores: forward and backward."""
    library, arguments, kind = _TARGETS[target]
    paths = []
    # The short form has each file on one target, and each target has a file.
    for file in extent(_ON[target], long=tuple(_LEAST)):
        found = _write_programs(file, library, tmp_path)
        assert len(found) >= _LEAST[file]
        paths += found
    groups = '"wgmma.mma_async" in binary.asm["ptx"]' if target == "sm_90" else "False"
    code = _COMPILE.format(target=arguments, kind=kind, about=groups)
    done = subprocess.run(
        [sys.executable, "-c", code, *paths],
        capture_output=True,
        text=True,
        env={**os.environ, "TRITON_CACHE_DIR": str(tmp_path / "cache")},
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    lines = [line.rpartition(" ") for line in done.stdout.splitlines()]
    assert [path for path, _, _ in lines] == paths
    on_groups = [path for path, _, found in lines if found == "True"]
    assert on_groups == (paths[:3] if target == "sm_90" else [])
