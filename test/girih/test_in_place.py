"""``girih.compile_module``, beside ``nn.Module.compile`` of torch."""

import copy
import pickle

import pytest
import torch
from torch import nn

import girih

X = torch.linspace(-1, 1, 6).reshape(2, 3)


class Net(nn.Module):
    """Behaves otherwise in training."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x):
        """Called by the tests."""
        y = self.linear(x)
        return y * 2 if self.training else y.sin()


class Decorated(Net):
    """Its forward is compiled already."""

    @girih.compile(backend="eager")
    def forward(self, x):
        """Called by the tests."""
        return super().forward(x)


class DecoratedByTorch(Net):
    """Its forward is compiled already."""

    @torch.compile(backend="eager")
    def forward(self, x):
        """Called by the tests."""
        return super().forward(x)


class OwnCall(Net):
    """Does more around a call."""

    def __call__(self, x):
        """Called by the tests."""
        return super().__call__(x) + 1


def by_girih(module, **options):
    return girih.compile_module(module, **options)


def by_torch(module, **options):
    torch.compiler.reset()
    module.compile(**options)
    return module


class Graphs:
    """A backend that counts graphs."""

    def __init__(self):
        self.count = 0

    def __call__(self, gm, inputs):
        self.count += 1
        return gm.forward


@pytest.fixture(params=[by_girih, by_torch], ids=["girih", "torch"])
def in_place(request):
    return request.param


@pytest.mark.parametrize("cls", [Net, Decorated, DecoratedByTorch, OwnCall])
def test_the_module_runs_compiled_and_stays_itself(in_place, cls):
    graphs, module = Graphs(), cls()
    expected = module(X)
    names = list(module.state_dict())
    assert in_place(module, backend=graphs) is module
    assert type(module) is cls and list(module.state_dict()) == names
    assert not hasattr(module, "_orig_mod")
    for _ in range(2):
        torch.testing.assert_close(module(X), expected)
    # torch has an inner backend compile where girih compiles anew.
    is_torchs = in_place is by_torch and cls is DecoratedByTorch
    assert graphs.count == (0 if is_torchs else 1)


def test_training_and_evaluation(in_place):
    graphs, module = Graphs(), Net()
    in_place(module, backend=graphs)
    for _ in range(2):
        for mode in (True, False):
            module.train(mode)
            torch.testing.assert_close(module(X), module.forward(X))
    assert graphs.count == 2


def test_hooks_run_with_the_call(in_place):
    seen, module = [], Net()
    module.register_forward_pre_hook(lambda module, args: (args[0] + 1,))
    in_place(module, backend="eager")
    torch.testing.assert_close(module(X), module.forward(X + 1))
    late = module.register_forward_hook(lambda module, args, result: result * 3)
    torch.testing.assert_close(module(X), module.forward(X + 1) * 3)
    late.remove()
    module.register_full_backward_hook(lambda *args: seen.append(len(args)))
    module(X).sum().backward()
    assert seen == [3]


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))]
)
def test_copies_are_not_compiled(in_place, copied):
    graphs, module = Graphs(), Net()
    in_place(module, backend=graphs)
    other = copied(module)
    torch.testing.assert_close(other(X), Net.forward(module, X))
    assert graphs.count == 0 and type(other) is Net
    if copied is not copy.copy:  # that shares what is inside
        copied(nn.Sequential(module))(X)
        assert graphs.count == 0
    module(X)
    assert graphs.count == 1


def test_the_last_compilation_counts(in_place):
    first, second, module = Graphs(), Graphs(), Net()
    in_place(module, backend=first)
    module(X)
    in_place(module, backend=second)
    module(X), module(X)
    assert (first.count, second.count) == (1, 1)


def test_girih_replaces_torch_and_torch_girih():
    module = Net()
    module.compile(backend="eager")
    girih.compile_module(module)
    module(X)
    assert len(girih.report(module).graphs) == 1
    module.compile(backend="eager")
    with pytest.raises(TypeError, match="compiled with the backend 'eager'"):
        girih.report(module)
    torch.testing.assert_close(module(X), module.forward(X))


def test_a_module_around_it(in_place):
    inner, outer = Graphs(), Graphs()
    module = Net()
    around = nn.Sequential(in_place(module, backend=inner), nn.ReLU())
    expected = nn.functional.relu(module.forward(X))
    torch.testing.assert_close(around(X), expected)
    assert inner.count == 1
    compiled = girih.compile(around, backend=outer, fullgraph=True)
    torch.testing.assert_close(compiled(X), expected)
    assert (inner.count, outer.count) == (1, 1)
    torch.testing.assert_close(torch.compile(around, backend="eager")(X), expected)
    twin = girih.compile(module, backend=outer, fullgraph=True)
    torch.testing.assert_close(twin(X), module.forward(X))
    assert twin._orig_mod is module


def test_gradients_and_options():
    module = girih.compile_module(Net(), fullgraph=True, dynamic=True)
    module(X).sum().backward()
    actual = module.linear.weight.grad
    module.linear.weight.grad = None
    module.forward(X).sum().backward()
    torch.testing.assert_close(actual, module.linear.weight.grad)
    with pytest.raises(ValueError, match="backend"):
        girih.compile_module(module, backend="girihh")


def test_reports_explanations_and_checks():
    module = girih.compile_module(Net())
    module(X)
    assert len(girih.report(module).graphs) == 1
    explanation = girih.explain(module)(X)
    assert explanation.graph_count == 1 and not explanation.notes
    assert girih.check(module)(X).ok
    with pytest.raises(TypeError, match="expects what girih.compile returned"):
        girih.report(girih.compile_module(Net(), disable=True))


def test_the_original_of_what_is_compiled():
    for compile_it in (girih.compile, torch.compile):
        module = Net()
        compiled = compile_it(module, backend="eager")
        assert compiled._orig_mod is module
        assert girih.compile_module(compiled) is compiled
        module(X)
        assert len(girih.report(module).graphs) == 1
    twin = girih.compile(Net(), backend="eager")
    assert list(twin.state_dict()) == ["linear.weight", "linear.bias"]
    assert copy.deepcopy(twin)._orig_mod is not twin._orig_mod
    through = girih.compile(lambda x: twin._orig_mod(x), backend="eager")
    torch.testing.assert_close(through(X), twin(X))


@pytest.mark.parametrize("target", [3, torch.sin, Net], ids=range(3))
def test_what_is_no_module_is_refused(target):
    with pytest.raises(TypeError, match="expects an nn.Module"):
        girih.compile_module(target)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_script_module_is_refused():
    scripted = torch.jit.trace(nn.ReLU(), X)
    with pytest.raises(TypeError, match="TorchScript"):
        girih.compile_module(scripted)
