"""Compiled callables: methods, modules, recompilation, fallbacks, errors."""

import copy
import functools
import gc
import logging
import pickle
import weakref

import pytest
import torch
from capture_differential import assert_same, check, compile_eagerly, run_graph
from processes import run_after_torch
from torch import nn

from girih.config import DEFAULT_RECOMPILE_LIMIT
from girih.errors import UnsupportedError
from girih.fallbacks import FallbackWarning
from girih.frontend.capture import _frame
from girih.frontend.capture.api import reset


def affine(x, scale=2.0, *, bias=1.0):
    """Docstring."""
    return x * scale + bias


class Net(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(width, width), nn.ReLU())
        self.norm = nn.BatchNorm1d(width)
        self.register_buffer("calls", torch.zeros(()))
        self.scale = 2.0

    def forward(self, x, *, flip=False):
        y = self.norm(self.inner(x)) * self.scale
        self.calls += 1
        return -y if flip else y


def captures(compiled):
    return getattr(compiled, "girih_call", compiled).cache_statistics()["captures"]


# Functions


def test_looks_like_the_function():
    compiled = compile_eagerly(affine)
    assert compiled.__name__ == "affine"
    assert compiled.__doc__ == "Docstring."
    assert compiled.__wrapped__ is affine and compiled.function is affine


def test_keywords_and_defaults():
    x = torch.randn(3)
    compiled = compile_eagerly(affine)
    for args, kwargs in (
        ((x,), {}),
        ((x, 3.0), {}),
        ((), {"x": x, "bias": 4.0}),
        ((x,), {"scale": 3.0, "bias": 0.5}),
    ):
        assert_same(compiled(*args, **kwargs), affine(*args, **kwargs))


def test_wrong_arguments_raise_pythons_errors():
    compiled = compile_eagerly(affine)
    for args, kwargs in (((), {}), ((1, 2, 3), {}), ((1,), {"nope": 2})):
        with pytest.raises(TypeError) as ours:
            compiled(*args, **kwargs)
        with pytest.raises(TypeError) as plain:
            affine(*args, **kwargs)
        assert str(ours.value) == str(plain.value)


def test_as_a_method():
    class Model:
        def __init__(self, factor):
            self.factor = factor

        def run(self, x):
            return x * self.factor

    Model.fast = compile_eagerly(Model.run)
    x = torch.randn(3)
    first, second = Model(2), Model(5)
    assert_same(first.fast(x), x * 2)
    assert_same(second.fast(x), x * 5)
    bound = compile_eagerly(second.run)
    assert_same(bound(x), x * 5)


def test_callable_objects_and_partials():
    x = torch.randn(3)
    partial = functools.partial(affine, scale=4.0)
    assert_same(compile_eagerly(partial)(x), partial(x))


def _scaled(x, scale=1):
    """Multiplies."""
    return x * scale


def _told_of_partial(x, partial):
    names = sorted(vars(partial))
    found = getattr(partial, "note", None), hasattr(partial, "__name__")
    return partial(x), *found, names, partial.__doc__ == "Multiplies."


def test_attributes_of_partials_are_read():
    plain, noted = functools.partial(_scaled), functools.partial(_scaled, scale=2)
    noted.note = 5
    named = functools.update_wrapper(functools.partial(_scaled), _scaled)
    compiled = compile_eagerly(_told_of_partial)
    x = torch.ones(2)
    for partial in (plain, noted, named, plain, noted):
        assert_same(compiled(x, partial), _told_of_partial(x, partial))
    noted.note = 7
    assert_same(compiled(x, noted), _told_of_partial(x, noted))
    compiled = compile_eagerly(lambda x, partial: x * partial.note)
    with pytest.raises(AttributeError, match="no attribute 'note'"):
        compiled(x, plain)


def test_closures_see_changes():
    factor = 2

    def f(x):
        return x * factor

    compiled = compile_eagerly(f)
    x = torch.randn(3)
    assert_same(compiled(x), x * 2)
    factor = 5
    assert_same(compiled(x), x * 5)


SETTING = 1


def test_globals_see_changes(monkeypatch):
    def f(x):
        return x + SETTING

    compiled = compile_eagerly(f)
    x = torch.randn(3)
    assert_same(compiled(x), x + 1)
    monkeypatch.setitem(globals(), "SETTING", 7)
    assert_same(compiled(x), x + 7)


# Recompilation


def test_recompiles_where_a_guard_fails():
    compiled = compile_eagerly(affine, dynamic=False)
    x = torch.randn(3)
    for argument in (x, x.double(), x[:2], torch.randn(2, 3).t()):
        compiled(argument)
        compiled(argument)
    assert captures(compiled) == 4
    with torch.no_grad():
        compiled(x)
    assert captures(compiled) == 5


def test_a_varying_size_becomes_symbolic():
    compiled = compile_eagerly(affine)
    for size in (2, 3, 4, 5, 6, 100):
        x = torch.randn(size, 3)
        assert_same(compiled(x), affine(x))
    assert captures(compiled) == 2


def test_static_sizes_on_request():
    compiled = compile_eagerly(affine, dynamic=False)
    for size in (2, 3, 4):
        compiled(torch.randn(size))
    assert captures(compiled) == 3


def test_limit_of_entries():
    compiled = compile_eagerly(affine, fullgraph=False, dynamic=False)
    x = torch.randn(3)
    with pytest.warns(FallbackWarning, match="recompile limit") as caught:
        for scale in range(DEFAULT_RECOMPILE_LIMIT + 4):
            assert_same(compiled(x, scale), affine(x, scale))
    assert captures(compiled) == DEFAULT_RECOMPILE_LIMIT
    assert len(caught) == 1
    assert "L['scale']" in str(caught[0].message)


def test_most_recent_entry_comes_first():
    compiled = compile_eagerly(affine, dynamic=False)
    x, y = torch.randn(3), torch.randn(4)
    compiled(x), compiled(y)
    newest = compiled.entries[0]
    compiled(x)
    assert compiled.entries[1] is newest


def test_aliases_are_told_apart():
    def f(a, b):
        a.add_(1)
        return a + b

    compiled = compile_eagerly(f)
    x = torch.ones(3)
    assert_same(compiled(x, torch.ones(3)), torch.full((3,), 3.0))
    y = torch.ones(3)
    assert_same(compiled(y, y), torch.full((3,), 4.0))


# Modules


@pytest.fixture
def net():
    torch.manual_seed(0)
    return Net()


def test_module_shares_everything(net):
    compiled = compile_eagerly(net)
    assert isinstance(compiled, Net) and isinstance(compiled, nn.Module)
    assert list(compiled.state_dict()) == list(net.state_dict())
    assert compiled.inner is net.inner
    compiled.scale = 3.0
    assert net.scale == 3.0


def test_module_modes_and_buffers(net):
    reference = copy.deepcopy(net)
    compiled = compile_eagerly(net)
    x = torch.randn(8, 4)
    for training in (True, False, True):
        compiled.train(training)
        reference.train(training)
        assert net.training is training
        assert_same(compiled(x), reference(x))
        assert_same(compiled(x, flip=True), reference(x, flip=True))
    assert_same(dict(net.named_buffers()), dict(reference.named_buffers()))


def test_module_sees_new_parameters(net):
    compiled = compile_eagerly(net.eval())
    x = torch.randn(8, 4)
    compiled(x)
    with torch.no_grad():
        net.inner[0].weight.zero_()
    assert_same(compiled(x), net(x))
    net.inner[0].weight = nn.Parameter(torch.ones(4, 4))
    assert_same(compiled(x), net(x))
    net.inner.append(nn.Tanh())
    assert_same(compiled(x), net(x))
    net.double()
    assert_same(compiled(x.double()), net(x.double()))


def test_module_gradients(net):
    reference = copy.deepcopy(net)
    compiled = compile_eagerly(net)
    x = torch.randn(8, 4)
    compiled(x).sum().backward()
    reference(x).sum().backward()
    for ours, theirs in zip(net.parameters(), reference.parameters(), strict=True):
        assert_same(ours.grad, theirs.grad)


def test_module_hooks(net):
    seen = []
    net.inner.register_forward_hook(lambda module, args, out: out * 2)
    net.inner.register_forward_pre_hook(lambda module, args: (args[0] + 1,))
    compiled = compile_eagerly(net.eval())
    x = torch.randn(8, 4)
    assert_same(compiled(x), net(x))
    net.inner.register_forward_hook(lambda module, args, out: seen.append(1))
    compiled(x)
    assert seen == [1]


def test_module_copies_and_pickles(net):
    compiled = compile_eagerly(net.eval())
    x = torch.randn(8, 4)
    expected = compiled(x)
    twin = copy.deepcopy(compiled)
    assert twin.inner is not net.inner
    assert_same(twin(x), expected)
    again = pickle.loads(pickle.dumps(compiled))
    assert_same(again(x), expected)


def test_compiled_module_inside_a_compiled_function(net):
    net.eval()
    inner = compile_eagerly(net)
    x = torch.randn(8, 4)
    assert_same(compile_eagerly(lambda v: inner(v) + 1)(x), net(x) + 1)
    helper = compile_eagerly(affine)
    assert_same(compile_eagerly(lambda v: helper(v) + 1)(x), affine(x) + 1)


# What can't be captured


def unsupported_print(x):
    y = x + 1
    print("here")
    return inner_part(y)


def inner_part(y):
    return y * 2


def test_a_break_is_logged_once(caplog, capsys):
    compiled = compile_eagerly(unsupported_print, fullgraph=False)
    x = torch.randn(3)
    with caplog.at_level(logging.INFO, logger="girih.graph_breaks"):
        for _ in range(3):
            assert_same(compiled(x), (x + 1) * 2)
    assert capsys.readouterr().out == "here\n" * 3
    messages = [r.message for r in caplog.records if "unsupported_print" in r.message]
    assert len(messages) == 1
    line = unsupported_print.__code__.co_firstlineno + 2
    assert "test_compiled.py" in messages[0] and f":{line} " in messages[0]


def test_parts_around_a_break_are_captured():
    graphs = []

    def backend(gm, example_inputs):
        graphs.append(gm)
        return gm.forward

    compiled = compile_eagerly(unsupported_print, fullgraph=False, backend=backend)
    x = torch.randn(3)
    for _ in range(3):
        assert_same(compiled(x), (x + 1) * 2)
    assert len(graphs) == 2
    assert not _frame.is_watching()


def test_fullgraph_raises_with_the_users_line():
    compiled = compile_eagerly(unsupported_print)
    with pytest.raises(UnsupportedError) as caught:
        compiled(torch.randn(3))
    text = str(caught.value)
    assert 'print("here")' in text and "^^^^" in text
    assert caught.value.kind == "builtin with an effect"


def test_data_dependent_branch():
    def f(x):
        return x + 1 if x.sum() > 0 else x - 1

    check(f, torch.ones(3), fullgraph=False)
    check(f, -torch.ones(3), fullgraph=False)
    with pytest.raises(UnsupportedError, match="data-dependent"):
        compile_eagerly(f)(torch.ones(3))


@pytest.mark.parametrize("fullgraph", [True, False])
def test_errors_of_eager(fullgraph):
    def wrong_shapes(x, y):
        return x @ y

    def raises(x):
        if x.ndim == 2:
            raise ValueError(f"rank {x.ndim}")
        return x

    check(wrong_shapes, torch.ones(2, 3), torch.ones(2, 3), fullgraph=fullgraph)
    check(raises, torch.ones(2, 3), fullgraph=fullgraph)
    check(lambda x: x.nope, torch.ones(2), fullgraph=fullgraph)
    check(lambda x: {}["k"], torch.ones(2), fullgraph=fullgraph)


def test_error_then_success():
    def f(x, y):
        return x @ y

    compiled = compile_eagerly(f)
    with pytest.raises(RuntimeError):
        compiled(torch.ones(2, 3), torch.ones(2, 3))
    assert_same(compiled(torch.ones(2, 3), torch.ones(3, 2)), torch.full((2, 2), 3.0))


# Life time and state


def test_reset():
    compiled = compile_eagerly(affine)
    compiled(torch.randn(3))
    assert len(compiled.entries) == 1
    reset()
    assert len(compiled.entries) == 0
    compiled(torch.randn(3))


def test_dropped_callables_free_their_module():
    net = Net().eval()
    compiled = compile_eagerly(net)
    compiled(torch.randn(8, 4))
    alive = weakref.ref(net)
    del net, compiled
    gc.collect()
    assert alive() is None


def test_grad_mode_is_restored():
    def f(x):
        with torch.no_grad():
            y = x * 2
            raise ValueError(str(y.shape))

    with pytest.raises(ValueError):
        compile_eagerly(f)(torch.ones(2))
    assert torch.is_grad_enabled()


def test_graph_has_inputs_locations_and_static_indices():
    graphs = []

    def backend(gm, example_inputs):
        graphs.append((gm, example_inputs))
        return gm.forward

    net = Net().eval()
    compile_eagerly(net, backend=backend)(torch.randn(8, 4))
    gm, examples = graphs[0]
    placeholders = [node for node in gm.graph.nodes if node.op == "placeholder"]
    assert len(placeholders) == len(examples)
    static = gm.meta["static_input_indices"]
    assert len(static) == len(list(net.parameters())) + 3
    for node, example in zip(placeholders, examples, strict=True):
        assert node.meta["val"].shape == example.shape
    places = [n.meta["girih_location"] for n in gm.graph.nodes if n.op != "output"]
    assert all(len(place) == 3 for place in places)
    assert any(place[0] == __file__ and "forward" in place[2] for place in places)


def test_nothing_of_dynamo_is_loaded():
    program = """
import sys, torch
from girih.frontend.capture.api import Settings
from girih.frontend.capture.targets import compile_callable
def f(x, y):
    x = torch.relu(x) + y * 2
    return torch.nn.functional.softmax(x @ y.t(), -1).sum(), {"x": x}
compiled = compile_callable(f, Settings(True, None, lambda gm, inputs: gm.forward))
compiled(torch.ones(3, 4), torch.ones(3, 4))
loaded = {"torch._dynamo", "torch._inductor", "sympy"} & set(sys.modules)
assert not loaded, loaded
"""
    run_after_torch(program)


def test_backend_is_called_once_per_entry():
    calls = []

    def backend(gm, example_inputs):
        calls.append(1)
        return run_graph(gm, example_inputs)

    compiled = compile_eagerly(affine, backend=backend)
    for _ in range(3):
        compiled(torch.randn(3))
    assert len(calls) == 1


def test_callees_made_anew_have_their_own_cells():
    def f(x, n):
        total = 0

        def add(y, step=n):
            nonlocal total
            total += step
            return y + total + n

        print(end="")
        return add(x) + add(x), total

    for _ in range(2):
        check(f, torch.ones(2), 3, fullgraph=False, calls=3)
    compiled = compile_eagerly(f, fullgraph=False)
    for n in (1, 2, 1, 3):
        assert_same(compiled(torch.ones(2), n), f(torch.ones(2), n))
