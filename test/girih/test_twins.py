"""TorchDynamo leaves the files of girih alone, also inside of its functions."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch

import girih
from girih.twins import hide_from_dynamo

# What programs may call in functions that TorchDynamo captures.
_FOR_PROGRAMS = ("__init__", "api", "control", "dynamic", "marks")
_PACKAGES = ("girih", "frontend", "passes", "codegen", "dialects", "tools")


def second_derivative(net, x):
    """As in networks that solve differential equations."""
    x = x.detach().requires_grad_(True)
    u = net(x)
    first = torch.autograd.grad(u.sum(), x, create_graph=True)[0]
    second = torch.autograd.grad(first.sum(), x, create_graph=True)[0]
    return (second + u).square().mean()


def gradient_penalty(net, x):
    x = x.detach().requires_grad_(True)
    (gradient,) = torch.autograd.grad(net(x).sum(), x, create_graph=True)
    return net(x).mean() + (gradient.norm(dim=1) - 1).square().mean()


def step_inside(net, x):
    x = x.detach().requires_grad_(True)
    loss = net(x).square().sum()
    torch._dynamo.graph_break()
    loss.backward()
    return x.grad * 2


def product_with_hessian(net, x):
    x = x.detach().requires_grad_(True)
    (first,) = torch.autograd.grad(net(x).square().sum(), x, create_graph=True)
    torch._dynamo.graph_break()
    return torch.autograd.grad((first * x.detach()).sum(), x)[0]


PROGRAMS = (second_derivative, gradient_penalty, step_inside, product_with_hessian)


def captured_files() -> set[str]:
    """The files of the functions that TorchDynamo has captured."""
    metrics = torch._dynamo.utils.get_compilation_metrics()
    return {metric.co_filename for metric in metrics if metric.co_filename}


@pytest.mark.filterwarnings("error::girih.fallbacks.FallbackWarning")
@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("program", PROGRAMS)
def test_derivatives_inside_of_a_function_of_dynamo(program, dynamic):
    torch.compiler.reset()
    torch._dynamo.utils.clear_compilation_metrics()
    torch.manual_seed(0)
    layers = torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1)
    net = torch.nn.Sequential(*layers).double()
    compiled = torch.compile(program, backend="girih", dynamic=dynamic)
    for rows in (5, 5, 7):
        x = torch.rand(rows, 2, dtype=torch.float64)
        torch.testing.assert_close(compiled(net, x), program(net, x))
        if program in (second_derivative, gradient_penalty):
            parameters = list(net.parameters())
            wanted = torch.autograd.grad(program(net, x), parameters, allow_unused=True)
            found = torch.autograd.grad(compiled(net, x), parameters, allow_unused=True)
            torch.testing.assert_close(found, wanted)
    assert __file__ in captured_files()
    own = [str(folder) for folder in folders()]
    assert not [name for name in captured_files() if name.startswith(tuple(own))]


def folders() -> list[Path]:
    return [
        Path(sys.modules.get(name, girih).__file__).parent
        for name in ("girih", *(f"girih.{package}" for package in _PACKAGES[1:]))
    ]


def test_no_file_is_left_to_dynamo_but_what_programs_call():
    import torch._dynamo

    hide_from_dynamo()
    root = Path(girih.__file__).parent
    for folder in folders():
        for path in folder.rglob("*.py"):
            skipped = torch._dynamo.trace_rules.check_file(str(path)).skipped
            is_programs = path.parent == root and path.stem in _FOR_PROGRAMS
            assert skipped != is_programs, path


def test_what_programs_say_is_followed_by_dynamo():
    def f(x):
        return x + 1 if girih.is_compiling() else x - 1

    torch.compiler.reset()
    compiled = torch.compile(f, backend="girih", fullgraph=True)
    torch.testing.assert_close(compiled(torch.ones(3)), torch.full((3,), 2.0))


def test_dynamo_is_not_loaded_for_this():
    program = (
        "import sys, torch, girih\n"
        "x = torch.ones(3, requires_grad=True)\n"
        "girih.compile(torch.sin)(x).sum().backward()\n"
        "assert 'torch._dynamo' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
