"""torch's backends behind girih's capture compute what eager does."""

import copy
import pickle
import shutil
import warnings

import pytest
import torch
from extent import spread

import girih

HAS_COMPILER = any(map(shutil.which, ("g++", "c++", "clang++")))
NAMES = [
    "eager",
    "eager_debug",
    "aot_eager",
    "aot_eager_decomp_partition",
    "inductor",
    "callable",
    "registered_for_tests",
]


def forward(gm, example_inputs):
    """A user's backend."""
    return gm.forward


@pytest.fixture(autouse=True, scope="module")
def _registered():
    girih.register_backend(forward, "registered_for_tests")
    yield
    registry = torch._dynamo.backends.registry
    del registry._BACKENDS["registered_for_tests"]
    del registry._COMPILER_FNS["registered_for_tests"]


@pytest.fixture(params=NAMES)
def backend(request):
    if request.param == "inductor" and not HAS_COMPILER:
        pytest.skip("needs a C++ compiler")
    return forward if request.param == "callable" else request.param


def twin(value):
    if not isinstance(value, torch.Tensor):
        return value
    return value.detach().clone().requires_grad_(value.requires_grad)


def expect_eagers(function, compiled, calls):
    """Compares results, arguments and gradients of calls with eager's."""
    for arguments in calls:
        ours, theirs = list(map(twin, arguments)), list(map(twin, arguments))
        found, wanted = compiled(*ours), function(*theirs)
        torch.testing.assert_close(found, wanted)
        torch.testing.assert_close(ours, theirs)
        results = wanted if isinstance(wanted, tuple) else (wanted,)
        pairs = zip(found if wanted is results else (found,), results, strict=True)
        for mine, its in pairs:
            assert mine.requires_grad == its.requires_grad
            if its.requires_grad:
                mine.sum().backward(retain_graph=True)
                its.sum().backward(retain_graph=True)
        for mine, its in zip(ours, theirs, strict=True):
            if isinstance(mine, torch.Tensor) and mine.is_leaf:
                torch.testing.assert_close(mine.grad, its.grad)


def leaf(*sizes):
    return torch.randn(*sizes, requires_grad=True)


def product(x, y):
    return (x * y).sin().sum(1)


def with_break(x):
    y = x * 2
    print(end="")
    return y.sin() * x


def views(x):
    return x[1:], x.t(), x * 2


def writes(x, y):
    x.add_(y)
    return x * 2


def takes_number(x, number):
    return x * number + number


def chooses(x):
    return torch.cond(x.sum() > 0, torch.sin, torch.cos, (x,)) * 2


def derives_inside(x):
    y = x.detach().requires_grad_(True)
    (y**3).sum().backward()
    return y.grad * x


def selects(x):
    return x[x > 0].sum() * 2


PROGRAMS = {
    "recompiled": (product, [(leaf(n, 4), leaf(n, 4)) for n in (3, 5, 7, 1)]),
    "break": (with_break, [(leaf(n),) for n in (3, 4, 5)]),
    "views": (views, [(leaf(n, 2),) for n in (3, 4, 5)]),
    "writes": (writes, [(torch.randn(n), torch.randn(n)) for n in (3, 4, 5)]),
    "writes what has a gradient": (
        writes,
        [(torch.randn(n), leaf(n)) for n in (3, 4, 5)],
    ),
    "ints": (takes_number, [(leaf(3), n) for n in (2, 3, 4, 1, 0)]),
    "floats": (takes_number, [(leaf(3), n) for n in (2.5, 3.5, 4.5)]),
    "control flow": (chooses, [(torch.ones(3),), (-torch.ones(3),)]),
    "leaf inside": (derives_inside, [(leaf(n),) for n in (3, 4)]),
    "data-dependent size": (selects, [(leaf(n),) for n in (4, 5)]),
}


@pytest.mark.parametrize(
    ("name", "dynamic", "backend"),
    # In the short form half of the pairs of a program and a backend.
    spread(PROGRAMS, [None, True], NAMES, every=4),
    indirect=["backend"],
)
@pytest.mark.filterwarnings("error::girih.fallbacks.FallbackWarning")
def test_results_and_gradients_are_eagers(name, dynamic, backend):
    function, calls = PROGRAMS[name]
    if name == "leaf inside" and backend is forward:
        calls = []  # a callable gets the graph as it is, with the leaf in it
    torch.manual_seed(0)
    compiled = girih.compile(function, backend=backend, dynamic=dynamic)
    expect_eagers(function, compiled, calls)


def test_symbolic_sizes_are_compiled_once(backend):
    compiled = girih.compile(product, backend=backend, dynamic=True, fullgraph=True)
    sizes = ((3, 4), (5, 4), (7, 6))
    expect_eagers(product, compiled, [(leaf(*s), leaf(*s)) for s in sizes])
    assert compiled.cache_statistics()["captures"] == 1


def test_fullgraph_refuses_breaks(backend):
    compiled = girih.compile(with_break, backend=backend, fullgraph=True)
    with pytest.raises(girih.UnsupportedError):
        compiled(torch.ones(3))


def net():
    torch.manual_seed(0)
    first, norm = torch.nn.Linear(4, 8, bias=False), torch.nn.BatchNorm1d(8)
    rest = torch.nn.ReLU(inplace=True), torch.nn.Linear(8, 2)
    return torch.nn.Sequential(first, norm, *rest)


def test_training_steps(backend):
    plain, mine = net(), net()
    compiled = girih.compile(mine, backend=backend)
    optimizers = [torch.optim.SGD(m.parameters(), 0.1, 0.9) for m in (plain, mine)]
    for rows in (5, 6, 7, 5):
        x = torch.randn(rows, 4)
        for module, optimizer in zip((plain, compiled), optimizers, strict=True):
            optimizer.zero_grad()
            module(x).square().mean().backward()
            optimizer.step()
    torch.testing.assert_close(mine.state_dict(), plain.state_dict())


def test_states_of_torch_are_guarded(backend):
    compiled = girih.compile(lambda x: x @ x, backend=backend)
    x = leaf(4, 4)
    for _ in range(2):
        assert compiled(x).dtype == torch.float32
        with torch.autocast("cpu", torch.bfloat16):
            assert compiled(x).dtype == torch.bfloat16
        with torch.no_grad():
            assert not compiled(x).requires_grad
        assert compiled(x).requires_grad


@pytest.mark.parametrize("orders", [(0, 1, 0, 1), (1, 0, 1, 0)])
def test_an_argument_that_is_written_overlaps_another_one(backend, orders):
    compiled = girih.compile(writes_first, backend=backend)
    for overlaps in orders:
        ours, theirs = torch.arange(8.0), torch.arange(8.0)
        start = 1 if overlaps else 4
        with warnings.catch_warnings(record=True) as caught:
            found = compiled(ours[:3], ours[start : start + 3])
        assert torch.equal(found, writes_first(theirs[:3], theirs[start : start + 3]))
        assert torch.equal(ours, theirs)
        assert overlaps or not caught


def writes_first(x, y):
    x.add_(1)
    return y * 2


def test_overlaps_are_told():
    girih.reset()
    compiled = girih.compile(writes_first, backend="aot_eager")
    x = torch.arange(8.0)
    with pytest.warns(girih.FallbackWarning, match="shares memory"):
        compiled(x[:3], x[1:4])
    assert [f.kind for f in girih.report(compiled).fallbacks] == ["overlap"]
    strict = girih.compile(writes_first, backend="aot_eager", fullgraph=True)
    with pytest.raises(girih.UnsupportedError, match="shares memory"):
        strict(x[:3], x[1:4])


def test_reports_name_the_backend():
    compiled = girih.compile(product, backend="aot_eager")
    compiled(torch.ones(2, 2), torch.ones(2, 2))
    (report,) = girih.report(compiled).graphs
    assert str(report).startswith("graph0: compiled by aot_eager in ")
    girih.reset()
    assert girih.report(compiled).graphs == []
    explanation = girih.explain(product, backend="aot_eager")(leaf(2, 2), leaf(2, 2))
    assert "backend " in str(explanation)


def test_copies_and_pickles_compile_anew():
    module = girih.compile(torch.nn.Linear(3, 2), backend="aot_eager")
    x = torch.randn(4, 3)
    expected = module(x)
    for other in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert girih.report(other).graphs == []
        torch.testing.assert_close(other(x), expected)
        assert len(girih.report(other).graphs) == 1


@pytest.mark.skipif(not HAS_COMPILER, reason="needs a C++ compiler")
def test_inductor_gets_mode_and_options():
    from torch._inductor import config

    met = []

    def peek(graph):
        met.append((config.max_autotune, config.epilogue_fusion))
        return graph

    for arguments in (
        {"options": {"epilogue_fusion": False, "post_grad_custom_pre_pass": peek}},
        {"mode": "max-autotune-no-cudagraphs"},
    ):
        with config.patch(post_grad_custom_pre_pass=peek):
            compiled = girih.compile(product, backend="inductor", **arguments)
            x = torch.randn(3, 3)
            torch.testing.assert_close(compiled(x, x), product(x, x))
    assert met == [(False, False), (True, True)]


def test_wrong_modes_and_options_of_inductor():
    for arguments, words in (
        ({"mode": "max-autotun"}, "mode 'max-autotun' .did you mean 'max-autotune'"),
        ({"options": {"epilog_fusion": True}}, "did you mean 'epilogue_fusion'"),
        ({"options": {"trace.enable": True}}, "did you mean 'trace.enabled'"),
    ):
        with pytest.raises(ValueError, match=words):
            girih.compile(product, backend="inductor", **arguments)


def test_a_callable_gets_mode_and_options_as_from_torch():
    met = []

    def backend(gm, example_inputs, mode=None, options=None):
        met.append((mode, options))
        return gm.forward

    for arguments in (
        {},
        {"mode": "default"},
        {"mode": "mine"},
        {"options": {"a": 1, "recompile_limit": 4}},
    ):
        girih.compile(lambda x: x + 1, backend=backend, **arguments)(torch.ones(3))
    assert met == [(None, None), (None, None), ("mine", None), (None, {"a": 1})]
    with pytest.raises(TypeError, match="does not take options"):
        girih.compile(product, backend=forward, options={"verify": True})
