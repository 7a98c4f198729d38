"""One folder of kept programs for all settings: what is found is what was asked for."""

import contextlib
import linecache
import random
import warnings

import pytest
import torch
from torch.nn import functional as F

import girih
from girih.compiler import keeping, sources
from girih.passes import choices, remarks
from test.support.extent import extent

# Programs -----------------------------------------------------------------------------


def pointwise(x, y):
    return torch.tanh(x) * y + torch.full((6,), 0.1)


def product(x, y):
    return torch.softmax(x @ y, -1).sum(0), x.mean()


def convolution(x, y):
    return F.conv2d(x.view(1, 1, 6, 6), y[:3, :3].view(1, 1, 3, 3)).relu()


def drawn(x, y):
    return F.dropout(x, 0.5) * y, torch.rand(3)


def indexed(x, y):
    at = y.abs().argmax(-1)
    return x[at], torch.zeros(6, 6).index_add(0, at, x), x.cumsum(0)


def written(x, y):
    z = x * 2
    z[1:].add_(y[1:])
    y.add_(1)
    return z


def sizes(x, y):
    return x * x.shape[0], torch.arange(x.shape[1]) + 0.5, float("nan") * y


def failing(x, y):
    return torch.rand(2), x[torch.tensor([0, 9])]


def user(x, y):
    return torch.ops.kept_settings.scaled(x, y) + x.exp()


PROGRAMS = [
    pointwise,
    product,
    convolution,
    drawn,
    indexed,
    written,
    sizes,
    failing,
    user,
]

# Settings -----------------------------------------------------------------------------


@contextlib.contextmanager
def restored(get, put, value):
    before = get()
    put(value)
    try:
        yield
    finally:
        put(before)


def threads(number):
    return restored(torch.get_num_threads, torch.set_num_threads, number)


def default_dtype():
    return restored(torch.get_default_dtype, torch.set_default_dtype, torch.float64)


def precision():
    get = torch.get_float32_matmul_precision
    return restored(get, torch.set_float32_matmul_precision, "medium")


def deterministic():
    get = torch.are_deterministic_algorithms_enabled
    return restored(get, torch.use_deterministic_algorithms, True)


def variable(name, value):
    @contextlib.contextmanager
    def set_variable():
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(name, value)
            yield

    return set_variable


@contextlib.contextmanager
def operator(tags=(), returns="Tensor", dtype=None):
    library = torch.library.Library("kept_settings", "DEF")
    library.define(f"scaled(Tensor x, Tensor y) -> {returns}", tags=tags)

    def scaled(x, y):
        made = (x * 3).to(dtype or x.dtype)
        made = made + torch.rand(6) if tags else made
        return [made] if returns.endswith("[]") else made

    library.impl("scaled", scaled, "CompositeExplicitAutograd")
    try:
        yield
    finally:
        library._destroy()


SETTINGS = {
    "plain": contextlib.nullcontext,
    "threads": lambda: threads(1),
    "float64": default_dtype,
    "precision": precision,
    "deterministic": deterministic,
    "no oneDNN": lambda: torch.backends.mkldnn.flags(enabled=False),
    "no workspace": variable("GIRIH_WORKSPACE", "0"),
    "older processor": variable("GIRIH_CPU", "x86-64-v2"),
    "no fallback": variable("GIRIH_FALLBACK", "0"),
    "no_grad": torch.no_grad,
    "inference": torch.inference_mode,
    "autocast": lambda: torch.autocast("cpu", torch.bfloat16),
}
OPERATORS = [
    {},
    {"tags": (torch.Tag.nondeterministic_seeded,)},
    {"dtype": torch.float64},
]
OPTIONS = [
    {},
    {"vector_bits": 128},
    {"parallel_grain": 1},
    {"emulate_precision_casts": True},
    {"fallback_random": True},
    {"freezing": True},
    {"memory_budget": 0.3},
    {"max_fusion_inputs": 1},
    {"check": 1},
    {"codegen_seconds": 25},
]


def outcome(function, setting, definition, options, dynamic, requires_grad, size):
    """What a compilation computes, raises, and says of itself."""
    torch.manual_seed(7)
    x = torch.randn(6, 6).to(size[1])[: size[0]]
    y = torch.randn(6, 6).to(size[1])
    x.requires_grad_(requires_grad)
    compiled = girih.compile(function, options=options, dynamic=dynamic)
    results = []
    told = pytest.MonkeyPatch.context()
    with told, operator(**definition), SETTINGS[setting](), torch.random.fork_rng():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                results += torch.utils._pytree.tree_leaves(compiled(x, y))
                if requires_grad:
                    kept = [r for r in results if r.requires_grad]
                    sum((r.double().sum() for r in kept), x.new_zeros(())).backward()
                    results.append(x.grad)
            except Exception as error:
                results.append(f"{type(error).__name__}: {error}")
        results += [y, torch.rand(2)]
    reports = [
        each for graph in girih.report(compiled).graphs for each in graph.and_derived()
    ]
    said = [
        (
            (r.name, r.kernels, r.launches, r.externs, r.native_calls),
            (r.workspace_bytes, r.events, [str(f) for f in r.fallbacks]),
        )
        for r in reports
    ]
    said.append(sorted(str(w.message) for w in caught))
    found = sum("graph" not in r.stage_seconds for r in reports)
    return results, said, found


def assert_same(given, expected):
    assert len(given) == len(expected)
    for one, other in zip(given, expected, strict=True):
        if torch.is_tensor(one) and torch.is_tensor(other):
            assert one.is_inference() == other.is_inference()
            assert one.requires_grad == other.requires_grad
            assert one.stride() == other.stride()
            torch.testing.assert_close(
                one, other, rtol=0, atol=0, equal_nan=True, check_dtype=True
            )
        else:
            assert one == other


SIZES = [(6, torch.float32), (6, torch.bfloat16), (6, torch.float64)]


@pytest.mark.parametrize("seed", range(extent(2, long=40)))
def test_programs_of_all_settings_in_one_folder(seed, tmp_path, monkeypatch):
    """Each is found by what it was made for alone, in any order."""
    draw = random.Random(seed)
    made = [
        (
            draw.choice(PROGRAMS),
            *draw.choice(
                [(setting, {}) for setting in SETTINGS]
                + [("plain", each) for each in OPERATORS]
            ),
            draw.choice(OPTIONS) if draw.random() < 0.5 else {},
            draw.choice([False, False, True]),
            draw.random() < 0.4,
            draw.choice(SIZES) if draw.random() < 0.3 else SIZES[0],
        )
        for _ in range(20)
    ]
    others = [
        (function, setting, *rest)
        for function, _, *rest in made
        for setting in draw.sample(sorted(SETTINGS), 2)
    ]
    cases = made + draw.sample(others, 20) + draw.sample(made, 10)
    found = 0
    for number, case in enumerate(cases):
        girih.reset()
        monkeypatch.setenv("GIRIH_CACHE_DIR", str(tmp_path / "fresh" / str(number)))
        expected = outcome(*case)
        girih.reset()
        monkeypatch.setenv("GIRIH_CACHE_DIR", str(tmp_path / "one"))
        given = outcome(*case)
        try:
            assert_same(given[0], expected[0])
            assert given[1] == expected[1]
        except AssertionError as error:
            raise AssertionError(f"{number}: {case}") from error
        found += given[2]
    assert found


# Operators ----------------------------------------------------------------------------

TAKES_FIRST = """
def f(x, many):
    t = torch.ops.kept_settings.scaled(x, x)
    t = t[0] if many else t
    return t.exp() + 1
"""


def test_an_operator_that_returns_a_list_now_is_another_one(tmp_path, monkeypatch):
    """The graph is the same one: that it takes the first of one is no operation."""
    monkeypatch.setenv("GIRIH_CACHE_DIR", str(tmp_path))
    scope = {"torch": torch}
    linecache.cache["takes_first.py"] = len(TAKES_FIRST), None, [], "takes_first.py"
    exec(compile(TAKES_FIRST, "takes_first.py", "exec"), scope)
    x = torch.randn(6)
    for many in (False, True, True, False):
        girih.reset()
        with operator(returns="Tensor[]" if many else "Tensor"):
            compiled = girih.compile(scope["f"], options={"fallback": False})
            torch.testing.assert_close(compiled(x, many), (x * 3).exp() + 1)


# Blocks -------------------------------------------------------------------------------


def test_blocks_are_those_of_the_function_that_is_compiled_ahead(tmp_path, monkeypatch):
    """Lines may move there; two functions may differ in the name of a block alone."""
    monkeypatch.setenv("GIRIH_CACHE_DIR", str(tmp_path))

    def first(x):
        with torch.profiler.record_function("first"):
            return x.exp() + 1

    def second(x):
        with torch.profiler.record_function("second"):
            return x.exp() + 1

    for function in (first, second):
        with keeping.keeping():
            compiled = girih.compile(function)
            compiled(torch.ones(3))
        (graph,) = girih.report(compiled).graphs
        assert {e.regions for e in graph.events} == {(function.__name__,)}


# Who listens, and what runs -----------------------------------------------------------


@pytest.mark.parametrize("requires_grad", [False, True], ids=["plain", "gradients"])
def test_who_listens_hears_all_passes(requires_grad, tmp_path, monkeypatch):
    monkeypatch.setenv("GIRIH_CACHE_DIR", str(tmp_path))

    def heard():
        girih.reset()
        said = []
        with choices.recorded() as decisions, remarks.heard_by(said.append):
            girih.compile(product)(x, x)
        return list(map(str, decisions)), said

    x = torch.randn(6, 6, requires_grad=requires_grad)
    girih.compile(product)(x, x)
    first = heard()
    assert all(first)
    assert heard() == first


def test_keys_name_all_that_runs_programs():
    """In an editable installation; a wheel has one digest for all."""
    names = {part.split()[0:2][-1] for part in sources._sources()}
    assert len(names) == 1 or {"constants.py", "assembler.py"} <= {
        name.rpartition("/")[-1] for name in names
    }
    assert len(names) == 1 or any("runtime/_runtime." in name for name in names)
