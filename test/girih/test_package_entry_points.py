"""Packages with several entry points, which share weights and state."""

import copy

import pytest
import torch
import torch.nn.functional as F
from torch.export import Dim

import girih
from girih.packaging import command, container, tensors

LENGTH = 24


class Llama(torch.nn.Module):
    """One layer of a Llama with a static cache of keys and values."""

    def __init__(self, width=32, heads=2, words=50):
        super().__init__()
        self.heads, self.head = heads, width // heads
        self.embedding = torch.nn.Embedding(words, width)
        self.norms = torch.nn.ModuleList(torch.nn.RMSNorm(width) for _ in range(3))
        self.projections = torch.nn.Linear(width, 3 * width, bias=False)
        self.output = torch.nn.Linear(width, width, bias=False)
        self.gate = torch.nn.Linear(width, 2 * width, bias=False)
        self.up = torch.nn.Linear(width, 2 * width, bias=False)
        self.down = torch.nn.Linear(2 * width, width, bias=False)
        self.logits = torch.nn.Linear(width, words, bias=False)
        self.logits.weight = self.embedding.weight
        for name in ("keys", "values"):
            self.register_buffer(name, torch.zeros(heads, LENGTH, self.head))
        self.register_buffer("length", torch.zeros((), dtype=torch.int64))
        angles = 1e4 ** (-torch.arange(0, self.head, 2) / self.head)
        self.register_buffer("angles", torch.outer(torch.arange(LENGTH), angles))

    def layer(self, x, at):
        count = x.shape[0]
        turned = self.projections(self.norms[0](x)).view(count, 3, self.heads, -1)
        query, key, value = turned.transpose(0, 2).unbind(1)
        query, key = self.turned(query, at), self.turned(key, at)
        self.keys.index_copy_(1, at, key)
        self.values.index_copy_(1, at, value)
        mask = torch.arange(LENGTH)[None] <= at[:, None]
        mixed = F.scaled_dot_product_attention(
            query, self.keys, self.values, attn_mask=mask
        )
        x = x + self.output(mixed.transpose(0, 1).reshape(count, -1))
        inner = self.norms[1](x)
        x = x + self.down(F.silu(self.gate(inner)) * self.up(inner))
        return self.logits(self.norms[2](x))

    def turned(self, x, at):
        first, second = x.chunk(2, -1)
        cos, sin = self.angles[at].cos(), self.angles[at].sin()
        return torch.cat((first * cos - second * sin, second * cos + first * sin), -1)

    def prefill(self, ids):
        logits = self.layer(self.embedding(ids), torch.arange(ids.shape[0]))
        self.length.fill_(ids.shape[0])
        return logits[-1]

    def decode(self, word):
        logits = self.layer(self.embedding(word[None]), self.length[None])[0]
        self.length.add_(1)
        return {"logits": logits}


IDS, WORD = torch.arange(7) * 5 % 50, torch.tensor(3)
SHAPES = {"prefill": {"ids": {0: Dim("length", min=3, max=LENGTH)}}}


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    return Llama().eval()


@pytest.fixture(scope="module")
def path(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("package") / "llama.girih"
    entry_points = {
        "prefill": (model.prefill, (IDS,)),
        "decode": (model.decode, (WORD,)),
    }
    return girih.package(entry_points, path=path, dynamic_shapes=SHAPES)


def generated(prefill, decode, ids):
    found = [prefill(ids)]
    for _ in range(5):
        found.append(decode(found[-1].argmax())["logits"])
    return torch.stack(found)


@pytest.mark.parametrize("count", [3, 7, 19])
def test_prefill_and_decode_share_a_cache(model, path, count):
    loaded, ids = girih.load(path), torch.randint(50, (count,))
    eager, other = copy.deepcopy(model), copy.deepcopy(model)
    prefill = girih.compile(other.prefill, dynamic=True)
    decode = girih.compile(other.decode)
    with torch.no_grad():
        found = generated(loaded["prefill"], loaded["decode"], ids)
        wanted = generated(prefill, decode, ids)
        torch.testing.assert_close(found, generated(eager.prefill, eager.decode, ids))
    torch.testing.assert_close(found, wanted, rtol=0, atol=0)
    state = loaded.state_dict()
    assert set(state) == {"keys", "values", "length"}
    assert state["length"] == count + 5
    for name, value in state.items():
        torch.testing.assert_close(value, getattr(other, name), rtol=0, atol=0)
    loaded.reset()
    assert not state["length"] and not state["keys"].any()
    with torch.no_grad():
        again = generated(loaded.prefill, loaded.decode, ids)
    torch.testing.assert_close(again, found, rtol=0, atol=0)


def test_weights_are_stored_once(model, path):
    found = container.read(path)
    stored = tensors.decode(found.parts["weights.safetensors"])
    sizes = {id(x): x.nbytes for x in (*model.parameters(), *model.buffers())}
    assert sum(tensor.nbytes for tensor in stored.values()) == sum(sizes.values())
    assert set(stored) <= {*model.state_dict()}
    assert len([name for name in found.parts if name.startswith("weights")]) == 1


def test_names_of_entry_points(path):
    loaded = girih.load(path)
    assert list(loaded.entry_points) == ["prefill", "decode"]
    assert loaded["decode"] is loaded.decode is loaded.entry_points["decode"]
    assert loaded.decode.name == "decode"
    assert {"decode", "reset"} <= {*dir(loaded)}
    with pytest.raises(
        TypeError, match=r"several entry points \('prefill', 'decode'\)"
    ):
        loaded(IDS)
    with pytest.raises(KeyError, match="no entry point 'train'; it has 'prefill', "):
        loaded["train"]
    with pytest.raises(AttributeError, match="no attribute 'train'"):
        _ = loaded.train


def test_one_entry_point_is_called_by_the_package(tmp_path):
    x = torch.randn(3)
    for given in (lambda x: x + 1, {"add": (lambda x: x + 1, (x,))}):
        arguments = () if isinstance(given, dict) else (x,)
        loaded = girih.load(girih.package(given, arguments, path=tmp_path / "p"))
        (name,) = loaded.entry_points
        torch.testing.assert_close(loaded(x), x + 1)
        torch.testing.assert_close(loaded[name](x), x + 1)


def test_modules_with_tensors_of_the_same_name(tmp_path):
    one, other = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)
    x = torch.randn(3, 4)
    entry_points = {"one": (one, (x,)), "other": (other, (), {"input": x})}
    loaded = girih.load(girih.package(entry_points, path=tmp_path / "p"))
    assert set(loaded.weights) == {"weight", "bias", "other.weight", "other.bias"}
    with torch.no_grad():
        torch.testing.assert_close(loaded.one(x), one(x))
        torch.testing.assert_close(loaded.other(x), other(x))


def test_views_of_one_memory_in_different_entry_points(tmp_path):
    """One writes a part, and the other reads all of it."""
    memory = torch.zeros(8)
    part = memory[2:6]

    def write(x):
        part.add_(x)
        return x * 2

    entry_points = {"write": (write, (torch.ones(4),)), "read": (lambda: memory * 2,)}
    loaded = girih.load(girih.package(entry_points, path=tmp_path / "p"))
    for number in (1, 2):
        loaded.write(torch.ones(4))
        wanted = torch.zeros(8)
        wanted[2:6] = 2 * number
        torch.testing.assert_close(loaded.read(), wanted)
    assert not memory.any() and len(loaded.state_dict()) == 1
    loaded.reset()
    assert not loaded.read().any()


def test_views_of_other_dtypes_are_refused(tmp_path):
    memory = torch.zeros(8)
    bits = memory.view(torch.int32)

    def write(x):
        memory.add_(x)
        return x * 2

    entry_points = {"write": (write, (torch.ones(8),)), "read": (lambda: bits + 1,)}
    with pytest.raises(girih.UnsupportedError, match="writes a weight which shares"):
        girih.package(entry_points, path=tmp_path / "p")


def test_exported_programs_are_entry_points(tmp_path):
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU()).eval()
    exported = [torch.export.export(model, (torch.randn(n, 4),)) for n in (2, 3)]
    entry_points = {"two": exported[0], "three": exported[1]}
    loaded = girih.load(girih.package(entry_points, path=tmp_path / "p"))
    for name, count in (("two", 2), ("three", 3)):
        x = torch.randn(count, 4)
        with torch.no_grad():
            torch.testing.assert_close(loaded[name](x), model(x))
    stored = tensors.decode(container.read(loaded.path).parts["weights.safetensors"])
    assert len(stored) == 2


X = torch.randn(3)
WRONG = {
    "empty": ({}, {}, ValueError, "got an empty dict"),
    "a method's": ({"reset": (torch.sin, (X,))}, {}, ValueError, "called 'reset'"),
    "an attribute's": ({"weights": (torch.sin, (X,))}, {}, ValueError, "'weights'"),
    "no name": ({"a b": (torch.sin, (X,))}, {}, ValueError, "called 'a b'"),
    "a keyword": ({"for": (torch.sin, (X,))}, {}, ValueError, "called 'for'"),
    "a number": ({3: (torch.sin, (X,))}, {}, ValueError, "called 3"),
    "arguments": ({"f": (torch.sin, (X,))}, {"args": (X,)}, TypeError, "left out"),
    "too many": ({"f": (torch.sin, (X,), {}, 3)}, {}, TypeError, "'f': .* 4 items"),
    "no function": ({"f": (3, (X,))}, {}, TypeError, "'f': .*callable or a module"),
    "shapes": (
        {"f": (torch.sin, (X,))},
        {"dynamic_shapes": {"x": {0: Dim("n", min=2)}}},
        TypeError,
        r"by entry point \('f'\)",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_entry_points(tmp_path, name):
    entry_points, more, kind, text = WRONG[name]
    with pytest.raises(kind, match=text):
        girih.package(entry_points, path=tmp_path / "p", **more)
    assert not (tmp_path / "p").exists()


def test_the_command_shows_each_entry_point(path, capsys):
    assert command.main(["inspect", str(path)]) == 0
    printed = capsys.readouterr().out
    assert "entry point prefill:" in printed and "entry point decode:" in printed
    assert "ids.size(0) from 3 to 24" in printed
    assert "state: " in printed and "length" in printed
    assert command.main(["verify", str(path)]) == 0


def test_errors_name_the_entry_point(path):
    loaded = girih.load(path)
    with pytest.raises(ValueError, match=r"prefill \(.*ids.size\(0\) must be from 3"):
        loaded.prefill(IDS[:1])
    with pytest.raises(TypeError, match=r"decode \(.*must have 0 dims, got 1"):
        loaded.decode(IDS)
