"""Packages that write their weights own them: batch norms in training, caches."""

import copy

import pytest
import torch

import girih


class Cached(torch.nn.Module):
    """A cache of keys that grows with each call, and a counter."""

    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(4, 4)
        self.register_buffer("keys", torch.zeros(5, 4))
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))

    def forward(self, x):
        self.keys.index_copy_(0, self.count[None], self.inner(x)[None])
        self.count.add_(1)
        return (self.keys @ x).softmax(0), self.keys


def packaged(path, model, *args):
    girih.package(model, args, path=path / "p.girih")
    return girih.load(path / "p.girih")


def test_batch_norm_in_training(tmp_path):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 5, 3), torch.nn.BatchNorm2d(5))
    eager = copy.deepcopy(model)
    loaded = packaged(tmp_path, model, torch.randn(2, 3, 7, 7))
    assert model[1].num_batches_tracked == 0
    compiled = girih.compile(model)
    for _ in range(3):
        x = torch.randn(2, 3, 7, 7)
        with torch.no_grad():
            found, wanted = loaded(x), compiled(x)
            torch.testing.assert_close(found, eager(x))
        torch.testing.assert_close(found, wanted, rtol=0, atol=0)
    state = loaded.state_dict()
    assert set(state) == {
        "1.running_mean", "1.running_var", "1.num_batches_tracked"
    }  # fmt: skip
    for name, value in state.items():
        wanted = model.state_dict()[name]
        torch.testing.assert_close(value, wanted, rtol=0, atol=0)
    assert state["1.num_batches_tracked"] == 3


def test_a_cache_that_is_reset_and_restored(tmp_path):
    model, x = Cached().eval(), torch.randn(4)
    loaded = packaged(tmp_path, model, x)
    first = [loaded(x)[0].clone() for _ in range(3)]
    assert loaded.state_dict()["count"] == 3
    assert loaded(x)[1] is loaded.state_dict()["keys"]
    with pytest.raises(IndexError, match="out of bounds"):
        for _ in range(3):
            loaded(x)
    loaded.reset()
    assert not loaded.state_dict()["keys"].any()
    torch.testing.assert_close(loaded(x)[0], first[0], rtol=0, atol=0)
    kept = {name: value.clone() for name, value in loaded.state_dict().items()}
    torch.testing.assert_close(loaded(x)[0], first[1], rtol=0, atol=0)
    loaded.load_state_dict(kept)
    torch.testing.assert_close(loaded(x)[0], first[1], rtol=0, atol=0)


def test_each_load_has_its_own_state_and_the_file_stays(tmp_path):
    x = torch.randn(4)
    one = packaged(tmp_path, Cached().eval(), x)
    content = (tmp_path / "p.girih").read_bytes()
    other = girih.load(tmp_path / "p.girih")
    results = one(x)[0], one(x)[0]
    torch.testing.assert_close(other(x)[0], results[0], rtol=0, atol=0)
    assert one.state_dict()["count"] == 2 and other.state_dict()["count"] == 1
    assert (tmp_path / "p.girih").read_bytes() == content
    assert girih.load(tmp_path / "p.girih").state_dict()["count"] == 0


def test_an_exported_program_with_state(tmp_path):
    model, x = Cached().eval(), torch.randn(4)
    loaded = packaged(tmp_path, torch.export.export(model, (x,)))
    with torch.no_grad():
        for _ in range(3):
            torch.testing.assert_close(loaded(x)[0], model(x)[0])
    assert set(loaded.state_dict()) == {"keys", "count"}


def test_wrong_states(tmp_path):
    loaded = packaged(tmp_path, Cached().eval(), torch.randn(4))
    state = loaded.state_dict()
    with pytest.raises(KeyError, match="the state has"):
        loaded.load_state_dict({"count": state["count"]})
    with pytest.raises(ValueError, match=r"keys must be float32\[5, 4\]"):
        loaded.load_state_dict(state | {"keys": torch.zeros(4, 5)})
    with pytest.raises(ValueError, match=r"count must be int64\[\], got float32"):
        loaded.load_state_dict({"keys": state["keys"] + 1, "count": torch.zeros(())})
    assert not loaded.state_dict()["keys"].any()


def test_a_program_without_state(tmp_path):
    loaded = packaged(tmp_path, torch.nn.Linear(4, 4), torch.randn(3, 4))
    assert loaded.state_dict() == {}
    loaded.reset()


def test_state_that_shares_memory_is_refused(tmp_path):
    class Shared(torch.nn.Module):
        def __init__(self):
            super().__init__()
            whole = torch.zeros(8)
            self.register_buffer("one", whole[:5])
            self.register_buffer("two", whole[3:])

        def forward(self, x):
            self.one.add_(x)
            return self.two * 2

    with pytest.raises(girih.UnsupportedError):
        girih.package(Shared(), (torch.randn(5),), path=tmp_path / "p")
    assert not (tmp_path / "p").exists()
