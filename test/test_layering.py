"""What each folder may load, in a fresh interpreter."""

import pkgutil
from pathlib import Path

import pytest
from processes import run_after_torch, run_python

ROOT = Path(__file__).parent.parent
STAGES = {"passes", "codegen", "frontend", "tools"}
FORBIDDEN = {
    "dialects": ["torch", *(f"girih.{stage}" for stage in STAGES)],
    "passes": ["torch", "girih.codegen", "girih.frontend", "girih.tools"],
    "tools": ["torch", "girih.codegen", "girih.frontend"],
    "codegen": ["girih.passes", "girih.frontend", "girih.tools"],
    "frontend": ["girih.passes", "girih.codegen", "girih.tools"],
}
IMPORT_AND_LIST = """
    import sys
    from importlib import import_module

    modules, forbidden = sys.argv[1].split(","), sys.argv[2].split(",")
    for name in modules:
        import_module(name)
    loaded = [f for f in forbidden if f in sys.modules]
    assert not loaded, f"{loaded} got loaded"
"""


def modules_of(folder):
    """Names of all modules of a source folder."""
    package = f"girih.{folder}"
    found = pkgutil.walk_packages([str(ROOT / folder)], f"{package}.")
    return [package, *(info.name for info in found)]


@pytest.mark.parametrize("folder", FORBIDDEN)
def test_folder_loads_only_what_is_below_it(folder):
    forbidden = [*FORBIDDEN[folder], "girih.compiler", "torch._dynamo"]
    run_python(IMPORT_AND_LIST, ",".join(modules_of(folder)), ",".join(forbidden))


def test_compiling_loads_neither_dynamo_nor_inductor_nor_sympy():
    run_after_torch(
        """
        import sys
        import torch, girih

        before = set(sys.modules)
        x = torch.randn(8)
        f = girih.compile(lambda x: (torch.relu(x) * 2).sum())
        with torch.no_grad():
            assert abs(f(x) - (torch.relu(x) * 2).sum()) < 1e-4
        assert girih.report(f).kernels == 1, girih.report(f)
        for name in ("torch._dynamo", "torch._inductor", "triton", "sympy"):
            assert name not in sys.modules, f"{name} got loaded"
        """
    )


def test_compiling_derivatives_loads_neither():
    """Of what eager keeps, results among it: torch may import a lot to show them."""
    run_after_torch(
        """
        import sys
        import torch, girih
        from torch import nn

        module = nn.Sequential(
            nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(inplace=True),
            nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 8), nn.LayerNorm(8),
            nn.Sigmoid(), nn.Dropout(), nn.Tanh(), nn.Softmax(-1),
        )
        x = torch.randn(2, 3, 8, 8, requires_grad=True)
        girih.compile(module)(x).exp().sum().backward()
        compiled = girih.compile(lambda x: torch.sqrt(x.exp()).relu() + x.sigmoid())
        compiled(x).sum().backward()
        for name in ("torch._dynamo", "torch.distributed.tensor", "triton", "sympy"):
            assert name not in sys.modules, f"{name} got loaded"
        """
    )


def test_first_call_imports_nothing():
    run_after_torch(
        """
        import sys
        import torch, girih

        compiled = girih.compile(lambda x: (torch.relu(x) * 2).sum(0))
        before = set(sys.modules)
        with torch.no_grad():
            compiled(torch.randn(8, 8))
        late = sorted(set(sys.modules) - before)
        assert not late, f"the first call imported {late}"
        """
    )


def test_importing_loads_no_compiler():
    """What programs say in functions, options and logs is there; torch's reset, too."""
    run_after_torch(
        """
        import sys
        import torch, girih

        torch.compiler.reset()
        torch.compiler.set_stance("default")
        assert girih.list_modes() and not girih.is_compiling()
        girih.mark_dynamic(torch.randn(3), 0)
        girih.disable(len)
        stages = ("compiler", "dialects", "passes", "codegen", "frontend.capture.api")
        heavy = [f"girih.{name}" for name in stages if f"girih.{name}" in sys.modules]
        assert not heavy, heavy
        """
    )


def test_importing_starts_no_thread():
    run_after_torch(
        """
        import os
        import torch

        before = len(os.listdir("/proc/self/task"))
        import girih
        assert len(os.listdir("/proc/self/task")) == before
        """
    )


def test_package_without_torch_is_light():
    run_python(
        """
        import sys
        import girih

        heavy = [n for n in ("torch", "numpy", "torch_mlir") if n in sys.modules]
        assert not heavy, heavy
        """
    )
