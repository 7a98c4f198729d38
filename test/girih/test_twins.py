"""TorchDynamo leaves the files of girih alone, also inside of its functions."""

import sys
from pathlib import Path

import pytest
import torch
from extent import spread
from processes import run_after_torch, run_python

import girih
from girih.backend import last_reports
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
@pytest.mark.parametrize(
    ("program", "dynamic"), spread(PROGRAMS, [None, True], every=2)
)
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
    run_after_torch(program)


MODULES_OF_TORCH = {
    "linear": "nn.Linear(4, 4)",
    "sequential": "nn.Sequential(nn.Linear(4, 4), nn.ReLU())",
    "layer": "nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True)",
}


@pytest.mark.parametrize("imports", ["torch", "girih, torch", "torch._dynamo"])
def test_modules_of_torch_compile_in_place(imports):
    """Also where torch itself imports girih, in the middle of ``module.compile``."""
    run = run_python if imports.startswith("girih") else run_after_torch
    run(f"""
import {imports}
from torch import nn
x = torch.randn(2, 3, 4)
for number, module in enumerate(({", ".join(MODULES_OF_TORCH.values())}), 1):
    expected = module(x)
    module.compile(backend="girih")
    torch.testing.assert_close(module(x), expected)
    import girih
    from girih.backend import last_reports
    assert len(last_reports.graphs) == number, (number, len(last_reports.graphs))
""")


def test_each_module_of_torch_has_a_limit_of_recompilations_of_its_own():
    count = torch._dynamo.config.recompile_limit + 2
    layers = torch.nn.Sequential(*(torch.nn.Linear(4, 4) for _ in range(count)))
    x = torch.randn(2, 4)
    expected = layers(x)
    torch.compiler.reset()
    before = len(last_reports.graphs)
    for layer in layers:
        layer.compile(backend="girih", fullgraph=True)
    torch.testing.assert_close(layers(x), expected)
    assert len(last_reports.graphs) == before + count


def test_other_backends_get_what_they_got():
    layer = torch.nn.Linear(4, 4)
    graphs = []
    torch.compiler.reset()
    layer.compile(backend=lambda gm, inputs: graphs.append(gm) or gm.forward)
    layer(torch.randn(2, 4))
    assert graphs == []


def test_a_replica_of_which_nothing_is_captured_is_told():
    run_after_torch(
        """
        import tempfile, warnings
        import torch
        import torch.distributed as dist
        from torch.nn.parallel import DistributedDataParallel
        import girih

        class Own(torch.nn.Module):
            def forward(self, x):
                return self.inner(x).relu()

        own = Own()
        own.inner = torch.nn.Linear(4, 4)
        nn = torch.nn
        plain = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
        where = f"file://{tempfile.mkdtemp()}/rendezvous"
        dist.init_process_group("gloo", init_method=where, rank=0, world_size=1)

        def told(module, in_place):
            torch.compiler.reset()
            replica = DistributedDataParallel(module)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                if in_place:
                    replica.compile(backend="girih")
                    compiled = replica
                else:
                    compiled = torch.compile(replica, backend="girih")
                compiled(torch.ones(3, 4)).sum().backward()
            caught = [w for w in caught if w.category is girih.FallbackWarning]
            return [str(w.message) for w in caught], len(girih.report().graphs)

        for in_place in (False, True):
            assert told(own, in_place) == ([], 1)
            assert told(nn.Sequential(own, own), in_place)[0] == []
        for in_place in (False, True):
            messages, graphs = told(plain, in_place)
            assert graphs == 0 and len(messages) == (not in_place)
            for message in messages:
                assert "DistributedDataParallel(Sequential) runs eager" in message
        dist.destroy_process_group()
        """
    )


_GRAPHS = """
import sys
import torch, girih

graphs = []
def backend(gm, inputs):
    graphs.append(gm)
    return gm.forward

compiled = girih.compile(torch.sin, backend=backend)
compiled(torch.ones(3)), compiled(torch.ones(3))
assert len(graphs) == 1
assert "torch._dynamo" not in sys.modules
"""


@pytest.mark.parametrize("order", ["girih first", "torch._dynamo first"])
@pytest.mark.parametrize("name", ["torch._dynamo.reset", "torch.compiler.reset"])
def test_resets_of_torch_reset_girih(name, order):
    early = "import torch._dynamo" if order.startswith("torch") else _GRAPHS
    late = "import torch._dynamo"
    if order.startswith("torch"):
        late = _GRAPHS.replace('assert "torch._dynamo" not in sys.modules', "")
    run_after_torch(f"""
{early}
{late}
assert {name}() is None
compiled(torch.ones(3))
assert len(graphs) == 2
{name}()
compiled(torch.ones(3)), compiled(torch.ones(3))
assert len(graphs) == 3
""")


def test_what_dynamo_resets_for_itself_leaves_girih_alone():
    run_after_torch(f"""
{_GRAPHS}
import torch._dynamo
torch._dynamo.explain(lambda x: x + 1)(torch.ones(3))
torch.export.export(torch.nn.Linear(3, 3), (torch.ones(2, 3),))
compiled(torch.ones(3))
assert len(graphs) == 1
""")
