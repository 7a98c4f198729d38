"""Whole programs in the disk cache: found again, they are what was compiled."""

import pytest
import torch
from torch.nn import functional as F

import girih
from girih.codegen.runtime import torch_entry
from girih.compiler import kept_programs


@torch.library.custom_op("kept::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2


@twice.register_fake
def _(x):
    return torch.empty_like(x)


twice.register_autograd(lambda context, gradient: gradient * 2)


def pointwise(x, y):
    return torch.tanh(x) * y + 1


def reduction(x, y):
    return torch.softmax(x @ y, -1).sum(0)


def written(x, y):
    x.mul_(2)
    y[1:].add_(x[1:])
    return x + y


def view(x, y):
    return x.transpose(0, 1)[1:], (x + y).view(-1)


def drawn(x, y):
    return F.dropout(x, 0.5) + torch.rand_like(y)


def checked(x, y):
    return x[torch.arange(3)] + F.embedding(torch.tensor([1, 0, 2]), y)


def numbers(x, y):
    return x * x.shape[0], x.shape[1] + 2, float("inf") * y, 1j * x


def library(x, y):
    return torch.linalg.inv(x @ x.T + torch.eye(6)), twice(y), torch.sort(x)[1]


def region(x, y):
    with torch.no_grad():
        z = x * 2
    with torch.profiler.record_function("block"):
        return z + y.exp()


PROGRAMS = [
    pointwise,
    reduction,
    written,
    view,
    drawn,
    checked,
    numbers,
    library,
    region,
]


def leaves(x):
    return torch.utils._pytree.tree_leaves(x)


def run(function, requires_grad, **options):
    """What a new compilation computes and says of itself."""
    torch.manual_seed(5)
    x, y = torch.randn(6, 6), torch.randn(6, 6)
    if requires_grad:
        x.requires_grad_(), y.requires_grad_()
    compiled = girih.compile(function, **options)
    with torch.random.fork_rng():
        results = leaves(compiled(x, y))
        if requires_grad:
            made = [r for r in results if torch.is_tensor(r) and r.requires_grad]
            sum(r.abs().sum() for r in made).backward()
            results += [x.grad, y.grad]
        results += [torch.rand(3)]
    (graph,) = girih.report(compiled).graphs
    reports = list(graph.and_derived())
    said = [
        (r.name, r.kernels, r.launches, r.externs, r.native_calls, r.workspace_bytes)
        for r in reports
    ]
    return results + [x, y], said, [r.events for r in reports], reports


def is_from_disk(report):
    return not {"graph", "fusions", "host"} & report.stage_seconds.keys()


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize("requires_grad", [False, True], ids=["plain", "gradients"])
@pytest.mark.parametrize("function", PROGRAMS)
def test_what_is_found_is_what_was_compiled(
    function, requires_grad, dynamic, tmp_path, monkeypatch
):
    if requires_grad and function in (written,):
        pytest.skip("leaves that require a gradient can't be written")
    monkeypatch.setenv("GIRIH_CACHE_DIR", str(tmp_path))
    first = run(function, requires_grad, dynamic=dynamic)
    assert not any(map(is_from_disk, first[3]))
    girih.reset()
    second = run(function, requires_grad, dynamic=dynamic)
    assert all(map(is_from_disk, second[3])), second[3]
    for before, now in zip(first[0], second[0], strict=True):
        if torch.is_tensor(before):
            torch.testing.assert_close(now, before, rtol=0, atol=0, equal_nan=True)
        else:
            assert before == now
    assert first[1:3] == second[1:3]


def test_failed_checks_are_left_to_eager(tmp_path, monkeypatch):
    """Numbers that were drawn before the check are drawn again."""

    def f(x, index):
        return torch.rand(3) + x[index]

    monkeypatch.setenv("GIRIH_CACHE_DIR", str(tmp_path))
    x, good, bad = torch.randn(4), torch.tensor([1, 2, 3]), torch.tensor([1, 2, 9])
    for _ in range(2):
        girih.reset()
        compiled = girih.compile(f)
        torch.manual_seed(1)
        expected = f(x, good)
        torch.manual_seed(1)
        assert torch.equal(compiled(x, good), expected)
        with pytest.raises(IndexError, match="out of bounds"):
            compiled(x, bad)


@pytest.mark.parametrize(
    "options",
    [
        {"vector_bits": 128},
        {"parallel_grain": 7},
        {"max_fusion_inputs": 1},
        {"emulate_precision_casts": True},
        {"fallback_random": True, "memory_budget": 0.5},
    ],
    ids=lambda options: next(iter(options)),
)
def test_other_options_are_other_programs(options, tmp_path, monkeypatch):
    monkeypatch.setenv("GIRIH_CACHE_DIR", str(tmp_path))
    plain = run(reduction, False)[3]
    other = run(reduction, False, options=options)[3]
    again = run(reduction, False, options=options)[3]
    assert not is_from_disk(plain[0])
    if "memory_budget" not in options:
        assert not is_from_disk(other[0])
    assert is_from_disk(again[0])


@pytest.mark.parametrize(
    "options",
    [
        {"verify": True},
        {"choices_seed": 1},
        {"passes": {"before:fuse": lambda module: None}},
        {"dump_dir": "dump"},
        {"cache": False},
    ],
    ids=lambda options: next(iter(options)),
)
def test_what_somebody_sees_or_changes_is_compiled(options, tmp_path, monkeypatch):
    monkeypatch.setenv("GIRIH_CACHE_DIR", str(tmp_path / "cache"))
    if "dump_dir" in options:
        options = {"dump_dir": str(tmp_path / "dump")}
    for _ in range(2):
        (report,) = run(reduction, False, options=options)[3]
        assert not is_from_disk(report)


def test_a_program_whose_operator_is_gone_is_compiled(tmp_path, monkeypatch):
    monkeypatch.setenv("GIRIH_CACHE_DIR", str(tmp_path))
    first = run(library, False)
    with monkeypatch.context() as patch:
        missing = dict(kept_programs.constants._DECODERS)

        def gone(name):
            raise LookupError(name)

        missing["operator"] = gone
        patch.setattr(kept_programs.constants, "_DECODERS", missing)
        assert not is_from_disk(run(library, False)[3][0])
    assert is_from_disk(run(library, False)[3][0])
    assert first[1] == run(library, False)[1]
    assert torch_entry.entry("aten.sort.default")


def test_programs_without_their_code_are_compiled(tmp_path, monkeypatch):
    monkeypatch.setenv("GIRIH_CACHE_DIR", str(tmp_path))
    run(pointwise, False)
    for path in tmp_path.iterdir():
        if path.read_bytes().startswith(b"girih object"):
            path.unlink()
    girih.reset()
    assert not is_from_disk(run(pointwise, False)[3][0])


def test_damaged_programs_are_compiled(tmp_path, monkeypatch):
    monkeypatch.setenv("GIRIH_CACHE_DIR", str(tmp_path))
    first = run(pointwise, False)
    (path,) = (
        p for p in tmp_path.iterdir() if p.read_bytes().startswith(b"girih program")
    )
    content = bytearray(path.read_bytes())
    content[-3] ^= 4
    path.write_bytes(content)
    girih.reset()
    second = run(pointwise, False)
    assert not is_from_disk(second[3][0])
    assert torch.equal(first[0][0], second[0][0])
