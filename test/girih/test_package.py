"""Packages give what ``girih.compile`` gives, and refuse all else."""

import re
import threading
from dataclasses import dataclass

import fuzz_package
import pytest
import torch
import torch.nn.functional as F
from processes import run_python
from torch.export import Dim

import girih
from girih.packaging import code, command, container, quick, tensors
from girih.packaging.signature import Signature

BATCH = Dim("batch", min=2, max=64)


class Block(torch.nn.Module):
    """Kernels, products, a reduction, an embedding; two weights are one."""

    def __init__(self, dtype=torch.float32):
        super().__init__()
        self.embedding = torch.nn.Embedding(50, 16, dtype=dtype)
        self.inner = torch.nn.Linear(16, 32, dtype=dtype)
        self.head = torch.nn.Linear(16, 50, bias=False, dtype=dtype)
        self.head.weight = self.embedding.weight
        self.norm = torch.nn.LayerNorm(16, dtype=dtype)
        self.register_buffer("scale", torch.linspace(1, 2, 16, dtype=dtype))

    def forward(self, ids, mask=None):
        x = self.norm(self.embedding(ids)) * self.scale
        x = x + F.gelu(self.inner(x))[..., :16]
        if mask is not None:
            x = x.masked_fill(~mask[..., None], 0)
        return {"logits": self.head(x), "mean": x.mean(-1), "ids": ids}


def packaged(path, model, *args, dynamic_shapes=None, options=None, **kwargs):
    """A program, packaged and loaded."""
    more = {"dynamic_shapes": dynamic_shapes, "options": options}
    girih.package(model, args, kwargs, path=path / "p.girih", **more)
    return girih.load(path / "p.girih")


def check_equal(found, wanted):
    flat, tree = torch.utils._pytree.tree_flatten(found)
    expected, other = torch.utils._pytree.tree_flatten(wanted)
    assert tree == other
    for one, two in zip(flat, expected, strict=True):
        if isinstance(two, torch.Tensor):
            assert one.dtype is two.dtype and one.stride() == two.stride()
            torch.testing.assert_close(one, two, rtol=0, atol=0, equal_nan=True)
        else:
            assert one == two


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_equals_compiled_code_bit_for_bit(tmp_path, dtype):
    torch.manual_seed(0)
    model = Block(dtype).eval()
    shapes = {"ids": {0: BATCH, 1: Dim("sequence", min=2, max=4096)}}
    ids = torch.randint(50, (3, 7))
    loaded = packaged(tmp_path, model, ids, dynamic_shapes=shapes)
    compiled = girih.compile(model, dynamic=True)
    for sizes in ((2, 2), (3, 7), (13, 31), (64, 300)):
        ids = torch.randint(50, sizes)
        with torch.no_grad():
            wanted = compiled(ids)
        found = loaded(ids)
        check_equal(found, wanted)
        assert found["ids"] is ids
        assert not found["logits"].requires_grad


def test_sizes_without_a_dim_are_fixed_and_nan_stays(tmp_path):
    def f(x):
        return torch.softmax(x, -1), x.relu().sum(0)

    x = torch.randn(7, 1)
    loaded = packaged(tmp_path, f, x)
    x[3, 0] = float("nan")
    with torch.no_grad():
        check_equal(loaded(x), girih.compile(f)(x))
    for empty in (torch.randn(0, 5), torch.randn(1)):
        with torch.no_grad():
            check_equal(packaged(tmp_path, f, empty)(empty), girih.compile(f)(empty))


def test_arguments_by_name_and_defaults(tmp_path):
    model = Block().eval()
    ids, mask = torch.randint(50, (3, 7)), torch.rand(3, 7) > 0.5
    loaded = packaged(tmp_path, model, ids, mask=mask)
    wanted = loaded(ids, mask=mask)
    check_equal(loaded(ids, mask), wanted)
    check_equal(loaded(mask=mask, ids=ids), wanted)
    for args, kwargs, text in (
        ((ids,), {}, "missing arguments: mask"),
        ((), {"mask": mask}, "missing arguments: ids"),
        ((ids, mask), {"zzz": 1}, "unexpected arguments: zzz"),
        ((ids, mask, mask), {}, "expected 1 arguments by position, got 3"),
        (([ids],), {"mask": mask}, "ids must be one value, got nested as"),
        ((ids,), {"mask": {"a": mask}}, "mask must be one value, got nested as"),
    ):
        with pytest.raises(TypeError, match=re.escape(text)):
            loaded(*args, **kwargs)


@dataclass
class Batch:
    ids: torch.Tensor
    weights: tuple


torch.utils._pytree.register_dataclass(Batch, serialized_type_name="test_package.Batch")


def test_arguments_and_results_with_structure(tmp_path):
    def f(batch, table, scale=2.0):
        first, second = batch.weights
        sums = [first + scale, table["b"] * second]
        return Batch(batch.ids + 1, (sums[0], sums[1])), {"constant": "text"}, None

    batch = Batch(torch.arange(5), (torch.randn(5), torch.randn(3)))
    table = {"b": torch.randn(3)}
    loaded = packaged(tmp_path, f, batch, table)
    with torch.no_grad():
        found, wanted = loaded(batch, table), girih.compile(f)(batch, table)
    check_equal(found, wanted)


def test_strides_of_arguments(tmp_path):
    """What lies otherwise in memory is copied; results are those of the example."""

    def f(x):
        return (x * 2 + 1).sum(1)

    like_image = torch.randn(2, 3, 5, 7).to(memory_format=torch.channels_last)
    loaded = packaged(tmp_path, f, like_image)
    for x in (
        like_image,
        like_image.contiguous(),
        torch.randn(7, 5, 3, 2).permute(3, 2, 1, 0),
    ):
        torch.testing.assert_close(loaded(x), f(x))
    with torch.no_grad():
        check_equal(loaded(like_image), girih.compile(f)(like_image))


def test_arguments_that_are_written(tmp_path):
    def f(cache, x):
        cache[:, 1] = x
        return cache.sum()

    loaded = packaged(tmp_path, f, torch.zeros(4, 3), torch.ones(4))
    cache, other, x = torch.zeros(4, 3), torch.zeros(4, 3), torch.randn(4)
    with torch.no_grad():
        check_equal(loaded(cache, x), girih.compile(f)(other, x))
    check_equal(cache, other)
    with pytest.raises(ValueError, match=r"cache must have the strides \(3, 1\)"):
        loaded(torch.zeros(3, 4).T, x)
    with pytest.raises(ValueError, match="shares memory"):
        loaded(cache, cache.view(-1)[:4])


def test_shared_weights_are_stored_once_and_mapped(tmp_path):
    model = Block().eval()
    loaded = packaged(tmp_path, model, torch.randint(50, (3, 7)))
    stored = tensors.decode(container.read(loaded.path).parts["weights.safetensors"])
    assert set(stored) == {
        *("embedding.weight", "inner.weight", "inner.bias"),
        *("norm.weight", "norm.bias", "scale"),
    }
    assert all(weight.data_ptr() % 64 == 0 for weight in loaded.weights.values())
    whole = torch.randn(6, 4)
    first, second = whole[:4], whole[2:].T
    loaded = packaged(tmp_path, lambda x: (x @ first).sum() + (second.T @ x), whole[:4])
    assert len(loaded.weights) == 2
    stored = tensors.decode(container.read(loaded.path).parts["weights.safetensors"])
    assert [tensor.numel() for tensor in stored.values()] == [24]


def test_safetensors_reads_the_weights(tmp_path):
    library = pytest.importorskip("safetensors.torch")
    model = Block().eval()
    path = girih.package(model, (torch.randint(50, (3, 7)),), path=tmp_path / "p")
    assert command.main(["extract", str(path), str(tmp_path / "parts")]) == 0
    found = library.load_file(tmp_path / "parts" / "weights.safetensors")
    torch.testing.assert_close(found["scale"], model.scale)


# Where no compiler is -----------------------------------------------------------------

WITHOUT_COMPILER = """
    import sys

    BLOCKED = ("torch_mlir", "mlir", "triton", "llvmlite", "torch._dynamo")
    BLOCKED += ("torch._inductor", "sympy", *(f"girih.{name}" for name in (
        "compiler", "dialects", "frontend", "passes", "tools", "packaging.building")))

    class Blocker:
        def find_spec(self, name, path=None, target=None):
            if any(name == b or name.startswith(f"{b}.") for b in BLOCKED):
                raise ImportError(f"{name} is blocked")

    import torch
    assert not [name for name in BLOCKED if name in sys.modules]
    sys.meta_path.insert(0, Blocker())
    import girih

    loaded = girih.load(sys.argv[1])
    x, wanted = torch.load(sys.argv[2])
    assert torch.equal(loaded(x)["logits"], wanted)
    from girih.packaging.command import main
    for arguments in (["inspect"], ["verify"], ["inspect", "--json"]):
        assert main([*arguments, sys.argv[1]]) == 0
    assert not [name for name in BLOCKED if name in sys.modules]
"""


def test_loads_without_a_compiler(tmp_path):
    model, ids = Block().eval(), torch.randint(50, (3, 7))
    loaded = packaged(tmp_path, model, ids)
    torch.save((ids, loaded(ids)["logits"]), tmp_path / "data.pt")
    run_python(WITHOUT_COMPILER, str(tmp_path / "p.girih"), str(tmp_path / "data.pt"))


def test_threads_share_a_program(tmp_path):
    model, ids = Block().eval(), torch.randint(50, (3, 7))
    loaded = packaged(tmp_path, model, ids)
    wanted, failed = loaded(ids), []

    def call():
        try:
            for _ in range(50):
                check_equal(loaded(ids), wanted)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


def test_a_second_call_is_checked_by_its_facts_alone(tmp_path, monkeypatch):
    """Each fact that a check reads makes it another call."""

    def f(x, options, scale=2):
        return (x * scale, {"most": options["y"].amax(0)})

    x, y = torch.randn(3, 4), torch.randn(3)
    shapes = {"x": {0: BATCH}, "options": {"y": {0: BATCH}}}
    loaded = packaged(tmp_path, f, x, {"y": y}, 2, dynamic_shapes=shapes)
    calls, original = [], Signature.leaves_of

    def counted(*args):
        calls.append(args)
        return original(*args)

    monkeypatch.setattr(Signature, "leaves_of", counted)
    for number in (1, 1):
        check_equal(loaded(x, {"y": y}, 2), f(x, {"y": y}, 2))
        assert len(calls) == number
    check_equal(loaded(torch.randn(5, 4)[:3], {"y": y}, 2)[1], {"most": y.amax(0)})
    assert len(calls) == 1
    transposed = torch.randn(4, 3).T
    for number in (2, 3):  # a copy is made, so nothing is remembered
        found = loaded(transposed, {"y": y}, 2)[0]
        torch.testing.assert_close(found, transposed * 2, rtol=0, atol=0)
        assert len(calls) == number
    others = (
        (x.double(), {"y": y}, 2), (x[:2], {"y": y}, 2), (x, {"y": y[:2]}, 2),
        (x, {"z": y}, 2), (x, {"y": y, "z": y}, 2), (x, [y], 2), (x, {"y": y}, 2.0),
        (x, {"y": y}, True), (x, {"y": y}, 3), (x, {"y": y}), (x, {"y": [y]}, 2),
        (x.to_sparse(), {"y": y}, 2), (x.to("meta"), {"y": y}, 2), (x, {"y": None}, 2),
        (x.clone().requires_grad_(), {"y": y}, 2), ([x], {"y": y}, 2),
    )  # fmt: skip
    for wrong in others:
        with pytest.raises((TypeError, ValueError)):
            loaded(*wrong)
    negative = torch._neg_view(x)
    check_equal(loaded(negative, {"y": y}, 2), f(-x, {"y": y}, 2))
    with torch.autograd.forward_ad.dual_level():
        with pytest.raises(ValueError, match="forward-mode"):
            loaded(x, {"y": y}, 2)


def test_remembered_calls_are_few(tmp_path, monkeypatch):
    monkeypatch.setattr(quick, "_MOST_REMEMBERED", 4)
    loaded = packaged(tmp_path, lambda x: x + 1, torch.randn(3),
                      dynamic_shapes={"x": {0: BATCH}})  # fmt: skip
    for size in range(2, 20):
        check_equal(loaded(torch.zeros(size)), torch.ones(size))
        assert 1 <= len(loaded["main"]._arguments._accepted) <= 4


def test_the_same_tensor_twice(tmp_path):
    x = torch.randn(3)
    loaded = packaged(tmp_path, lambda x, y: x + y, x, x)
    for _ in range(2):
        check_equal(loaded(x, x), x + x)
        with pytest.raises(ValueError, match="must be the same tensor as x"):
            loaded(x, x.clone())


# Bad input ----------------------------------------------------------------------------

BAD_ARGUMENTS = {
    "large": (lambda: (torch.randn(65, 4), 3), ValueError, "from 2 to 64, got 65"),
    "one": (lambda: (torch.randn(1, 4), 3), ValueError, "from 2 to 64, got 1"),
    "fixed": (
        lambda: (torch.randn(3, 5), 3),
        ValueError,
        r"size\(1\) must be 4, got 5",
    ),
    "rank": (lambda: (torch.randn(3), 3), TypeError, "must have 2 dims, got 1"),
    "dtype": (
        lambda: (torch.ones(3, 4).long(), 3),
        TypeError,
        "must be float32, got i",
    ),
    "device": (lambda: (torch.ones(3, 4, device="meta"), 3), TypeError, "on the cpu"),
    "sparse": (lambda: (torch.ones(3, 4).to_sparse(), 3), TypeError, "must be strided"),
    "type": (
        lambda: ([1, 2], 3),
        TypeError,
        "x must be one value, got nested",
    ),
    "number": (
        lambda: (torch.ones(3, 4), 4),
        ValueError,
        "n is fixed: expected 3, got",
    ),
    "bool": (
        lambda: (torch.ones(3, 4), 3.0),
        ValueError,
        "n is fixed: expected 3, got",
    ),
    "gradient": (
        lambda: (torch.ones(3, 4, requires_grad=True), 3),
        ValueError,
        "x requires a gradient",
    ),
}


@pytest.mark.parametrize("name", BAD_ARGUMENTS)
def test_bad_arguments(tmp_path, name):
    make, kind, text = BAD_ARGUMENTS[name]
    shapes = {"x": {0: BATCH}}
    loaded = packaged(
        tmp_path, lambda x, n: x * n, torch.randn(3, 4), 3, dynamic_shapes=shapes
    )
    with pytest.raises(kind, match=text):
        loaded(*make())


def test_sizes_that_belong_together(tmp_path):
    shapes = ({0: BATCH}, {0: BATCH})
    x, y = torch.randn(3, 4), torch.randn(3)
    loaded = packaged(
        tmp_path, lambda x, y: (x.sum(), y.exp()), x, y, dynamic_shapes=shapes
    )
    with pytest.raises(ValueError, match=r"x.size\(0\) == y.size\(0\); .* is 5"):
        loaded(torch.randn(5, 4), y)
    shapes = {"x": {0: Dim("a", min=2, max=64)}}
    loaded = packaged(
        tmp_path, lambda x: x.view(-1, 3, 4).sum(0), torch.randn(6, 4),
        dynamic_shapes=shapes,
    )  # fmt: skip
    x = torch.randn(12, 4)
    torch.testing.assert_close(loaded(x), x.view(-1, 3, 4).sum(0))
    with pytest.raises(ValueError, match=r"needs sizes with .*x.size\(0\)"):
        loaded(torch.randn(7, 4))


def test_indices_out_of_range(tmp_path):
    loaded = packaged(tmp_path, Block().eval(), torch.randint(50, (3, 7)))
    with pytest.raises(IndexError, match="out of range"):
        loaded(torch.full((3, 7), 50))


def test_a_wrong_call_of_package(tmp_path):
    x, path = torch.randn(3, 4), tmp_path / "p"
    with pytest.raises(TypeError, match="callable"):
        girih.package(3, (x,), path=path)
    with pytest.raises(TypeError, match="can't take argument 0"):
        girih.package(lambda *a: x, (object(),), path=path)
    with pytest.raises(TypeError, match="names 'y'"):
        girih.package(
            lambda x: x + 1, (x,), path=path, dynamic_shapes={"y": {0: BATCH}}
        )
    with pytest.raises(ValueError, match="is 1, and its Dim"):
        shapes = {"x": {0: BATCH}}
        girih.package(lambda x: x + 1, (x[:1],), path=path, dynamic_shapes=shapes)
    with pytest.raises(ValueError, match="not_known"):
        girih.package(lambda x: x + 1, (x,), path=path, options={"not_known": 1})
    assert not path.exists()
    assert not hasattr(x, "_dynamo_dynamic_indices")


def test_each_break_is_named(tmp_path):
    def f(x):
        y = x.sin()
        print("one")
        y = y + 1
        print("two")
        return y * 2

    with pytest.raises(
        girih.UnsupportedError, match=r"(?s)break 1:.*break 2:"
    ) as found:
        girih.package(f, (torch.randn(3),), path=tmp_path / "p")
    assert "test_package.py" in str(found.value)


def test_what_no_package_can_do(tmp_path):
    x, kept = torch.randn(3, 4), []

    def with_effects(x):
        kept.append(x + 1)
        return x * 2

    def fixes_its_size(x):
        return x.view(3, 2, 2) if x.shape[0] == 3 else x

    refused = {
        "effects on Python objects": (with_effects, None),
        "nothing to package": (lambda x: x, None),
        "has to be fixed": (fixes_its_size, {"x": {0: BATCH}}),
        "number with symbolic sizes": (
            lambda x: (x + 1, x.shape[0]),
            {"x": {0: BATCH}},
        ),
    }
    for text, (function, shapes) in refused.items():
        with pytest.raises(girih.UnsupportedError, match=text):
            girih.package(function, (x,), path=tmp_path / "p", dynamic_shapes=shapes)
    assert not kept and not (tmp_path / "p").exists()


# Bad files ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    return fuzz_package.example(tmp_path_factory.mktemp("package"))


def test_hundreds_of_damaged_files_are_refused(example, tmp_path):
    content = example.read_bytes()
    assert fuzz_package.try_damages(content, tmp_path, 0, 60, 600) >= 300


def test_each_bit_of_the_head_and_each_length(example, tmp_path):
    content, path = example.read_bytes(), tmp_path / "p"
    for at in range(80):
        for bit in range(8):
            flipped = bytes([content[at] ^ 1 << bit])
            path.write_bytes(content[:at] + flipped + content[at + 1 :])
            fuzz_package.check_refused(path)
    for length in range(0, len(content), 97):
        path.write_bytes(content[:length])
        fuzz_package.check_refused(path)


def test_swapped_parts_are_refused(example, tmp_path):
    unread = {"cprogram.bin", "program.mlir"}
    swapped = fuzz_package.parts_swapped(example, tmp_path, unread)
    assert len(swapped) == 14
    for path in swapped:
        with pytest.raises(girih.PackageError):
            girih.load(path)


def remade(example, path, change):
    """A package with right checksums, and another manifest."""
    found = container.read(example)
    change(found.manifest)
    container.write(path, found.manifest, found.parts)
    return path


def main(manifest):
    return manifest["entries"]["main"]


CHANGES = {
    "girih 0.0.0": lambda m: m["made_by"].update(girih="0.0.0"),
    "torch 1.0": lambda m: m["made_by"].update(torch="1.0.1"),
    "its format is 3": lambda m: m.update(format=3),
    "this processor lacks avx1024": lambda m: m["targets"][0]["features"].append(
        "avx1024"
    ),
    "linux on riscv64": lambda m: m["targets"][0].update(machine="riscv64"),
    "outside of its tensor": lambda m: m["weights"]["0.weight"].update(offset=100),
    "there is no result": lambda m: main(m)["outputs"].append(["result", 7]),
    "no expression": lambda m: main(m)["guards"].append(["system", "s0"]),
    "another number": lambda m: main(m)["given"].pop(),
    "a class that is not there": lambda m: main(m).update(
        result_tree=main(m)["result_tree"].replace("null", '"no.such.Class"', 1)
    ),
    "KeyError": lambda m: m["targets"][0].pop("code"),
}


@pytest.mark.parametrize("text", CHANGES)
def test_packages_that_cannot_run_here(example, tmp_path, text):
    path = remade(example, tmp_path / "p", CHANGES[text])
    with pytest.raises(girih.PackageError, match=text):
        girih.load(path)


def test_files_that_are_no_packages(tmp_path):
    with pytest.raises(OSError, match="missing"):
        girih.load(tmp_path / "missing")
    for content in (b"", b"PK\3\4" * 100):
        (tmp_path / "p").write_bytes(content)
        with pytest.raises(girih.PackageError, match="no package of girih"):
            girih.load(tmp_path / "p")


def test_the_command(example, tmp_path, capsys):
    assert command.main(["inspect", str(example)]) == 0
    printed = capsys.readouterr().out
    assert "input: float32[input.size(0), 8]" in printed
    assert "input.size(0) from 2 to 64" in printed
    assert command.main(["verify", str(example)]) == 0
    assert "can be loaded here" in capsys.readouterr().out
    damaged = tmp_path / "damaged"
    damaged.write_bytes(example.read_bytes()[:-1])
    for name in ("inspect", "verify"):
        assert command.main([name, str(damaged)]) == 1
        assert "is damaged" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["crc32", "sha256"])
def test_checksums_of_tensors(example, tmp_path, monkeypatch, kind, capsys):
    """Loading checks the quick one, and the command checks both."""
    original = container._checksums

    def wrong(name, content):
        found = original(name, content)
        return found | {kind: "0" * 64} if name.endswith(".safetensors") else found

    monkeypatch.setattr(container, "_checksums", wrong)
    path = remade(example, tmp_path / "p", lambda manifest: None)
    if kind == "crc32":
        fuzz_package.check_refused(path)
    else:
        girih.load(path)
    assert command.main(["verify", str(path)]) == 1
    assert command.main(["extract", str(path), str(tmp_path / "parts")]) == 1
    assert "'weights.safetensors' is wrong" in capsys.readouterr().err


def test_checksums_of_chunks():
    """Both see the order of chunks, and each bit."""
    content = bytes(container._CHUNK) + b"1" * container._CHUNK + b"2"
    for digest in (container.digest, container.quick_digest):
        assert len(digest(b"")) == 64
        swapped = content[container._CHUNK :] + content[: container._CHUNK]
        assert digest(content) != digest(swapped)
        assert digest(content) != digest(content[:-1] + b"3")
        assert digest(content) != digest(content[1:])
        assert digest(content) == digest(memoryview(content))


def test_words_of_another_run_time(example, monkeypatch):
    monkeypatch.setattr(code, "words", lambda: {"OP_CALL": 7})
    with pytest.raises(girih.PackageError, match="instructions of another girih"):
        girih.load(example)


def test_a_failed_write_leaves_nothing(tmp_path):
    path = tmp_path / "no such folder" / "p"
    with pytest.raises(OSError):
        girih.package(lambda x: x + 1, (torch.randn(3),), path=path)
    assert not list(tmp_path.iterdir())
