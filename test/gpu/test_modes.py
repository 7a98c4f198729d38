"""The modes of compilation on a GPU: CUDA graphs and autotuning change no result."""

import pytest
import torch
from gpu_device import DEVICE, FLOATS, HAS_CUDA, assert_as_good_as_eager, normal
from torch import nn
from torch.nn import functional as F

import girih
from girih.compiler import recorded
from girih.options import MODES

pytestmark = pytest.mark.skipif(
    not HAS_CUDA, reason="modes differ on a CUDA device only"
)
CLOSE = {"rtol": 1e-4, "atol": 1e-4}


@pytest.fixture(autouse=True)
def _no_fallback(monkeypatch):
    monkeypatch.setenv("GIRIH_FALLBACK", "0")


def program(x, weight):
    return F.softmax(F.gelu(x) @ weight + 1, -1), x.sum(0)


@pytest.mark.parametrize("dtype", FLOATS.values(), ids=FLOATS)
@pytest.mark.parametrize("mode", MODES)
def test_results(mode, dtype):
    inputs = (normal(128, 256, dtype=dtype), normal(256, 192, dtype=dtype))
    run = girih.compile(program, mode=mode, dynamic=False)
    for _ in range(4):
        assert_as_good_as_eager(program, inputs, run(*inputs), 1e-5)


@pytest.mark.parametrize("mode", MODES)
def test_attention_and_products(mode):
    def attend(query, key, value, weight):
        scores = torch.tanh(query @ key.transpose(-2, -1) / 8) * 5
        return F.gelu((torch.softmax(scores, -1) @ value) @ weight)

    parts = [normal(2, 4, 128, 64, dtype=torch.bfloat16) for _ in range(3)]
    inputs = (*parts, normal(64, 64, dtype=torch.bfloat16))
    run = girih.compile(attend, mode=mode, dynamic=False)
    for _ in range(3):
        assert_as_good_as_eager(attend, inputs, run(*inputs), 2e-3)


@pytest.mark.parametrize("mode", MODES)
def test_training(mode):
    torch.manual_seed(0)
    layers = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.LayerNorm(128))
    layers = layers.to(DEVICE)
    run = girih.compile(layers, mode=mode, dynamic=False)
    for _ in range(5):
        x = normal(32, 64)
        gradients = []
        for function in (run, layers):
            layers.zero_grad()
            function(x).square().mean().backward()
            gradients.append([p.grad.clone() for p in layers.parameters()])
        for mine, theirs in zip(*gradients, strict=True):
            torch.testing.assert_close(mine, theirs, **CLOSE)


class TestGraphs:
    """``mode="reduce-overhead"``: calls that replay what was recorded."""

    @pytest.fixture(autouse=True)
    def _small_programs_too(self, monkeypatch):
        monkeypatch.setattr(recorded, "REPLAY", 0)

    @staticmethod
    def compiled(function, **settings):
        settings.setdefault("dynamic", False)
        return girih.compile(function, mode="reduce-overhead", **settings)

    def test_results_outlive_later_calls(self):
        run = self.compiled(lambda x: (x * 2, x.sum(0)))
        inputs = [normal(64, 64) for _ in range(6)]
        results = [run(x) for x in inputs]
        for x, (doubled, total) in zip(inputs, results, strict=True):
            torch.testing.assert_close(doubled, x * 2)
            torch.testing.assert_close(total, x.sum(0))

    def test_results_fed_back(self):
        run = self.compiled(lambda x: x.sin() + x)
        mine = theirs = normal(100)
        for _ in range(8):
            mine, theirs = run(mine), theirs.sin() + theirs
        torch.testing.assert_close(mine, theirs)

    def test_weights_that_are_updated_in_place(self):
        layer = nn.Linear(32, 32, device=DEVICE)
        run = self.compiled(layer)
        x = normal(8, 32)
        with torch.no_grad():
            for _ in range(4):
                torch.testing.assert_close(run(x), layer(x), **CLOSE)
                layer.weight.mul_(1.5)

    def test_weights_that_are_replaced(self):
        layer = nn.Linear(32, 32, device=DEVICE)
        run = self.compiled(layer)
        x = normal(8, 32)
        with torch.no_grad():
            for _ in range(4):
                torch.testing.assert_close(run(x), layer(x), **CLOSE)
                layer.weight = nn.Parameter(normal(32, 32))

    def test_forward_twice_before_backward(self):
        layer = nn.Linear(32, 32, device=DEVICE)
        run = self.compiled(lambda x: F.gelu(layer(x)))
        for _ in range(4):
            inputs = [normal(8, 32) for _ in range(3)]
            for function in (run, lambda x: F.gelu(layer(x))):
                results = [function(x) for x in inputs]
                sum(r.square().sum() for r in results).backward()
                if function is run:
                    actual = layer.weight.grad.clone()
                    layer.zero_grad()
            torch.testing.assert_close(actual, layer.weight.grad, **CLOSE)
            layer.zero_grad()

    def test_written_inputs(self):
        def write(x, y):
            x.add_(y)
            return x * 2

        run, x, y = self.compiled(write), normal(100), normal(100)
        for _ in range(5):
            expected = x + y
            torch.testing.assert_close(run(x, y), expected * 2)
            torch.testing.assert_close(x, expected)

    def test_many_shapes(self):
        run = self.compiled(lambda x: F.softmax(x, -1), dynamic=True)
        for _ in range(2):
            for rows in range(2, 24):
                x = normal(rows, 10)
                torch.testing.assert_close(run(x), F.softmax(x, -1))

    def test_other_streams(self):
        run, stream = self.compiled(lambda x: x.exp() + 1), torch.cuda.Stream()
        x = normal(1000)
        for _ in range(3):
            run(x)
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            result = run(x)
        stream.synchronize()
        torch.testing.assert_close(result, x.exp() + 1)

    def test_random_numbers_differ_from_call_to_call(self):
        run = self.compiled(lambda x: F.dropout(x, 0.5))
        x = torch.ones(10_000, device=DEVICE)
        masks = [run(x) != 0 for _ in range(4)]
        for one, other in zip(masks, masks[1:], strict=False):
            assert 0.4 < float((one != other).float().mean()) < 0.6

    def test_errors_leave_it_usable(self):
        run = self.compiled(lambda x, y: x + y)
        with pytest.raises(RuntimeError):
            run(normal(3), normal(4))
        x = normal(5)
        torch.testing.assert_close(run(x, x), x * 2)
