"""The option ``freezing``: what depends on weights alone is computed once.

Every way to change a weight that autograd or the tensor itself can tell is seen at the
next call.
"""

import copy
import gc
import threading
import weakref

import pytest
import torch
import torch.nn.functional as F
from extent import spread
from frozen_modules import ACTIVATIONS, OPTIONS, assert_like, frozen, settle
from torch import nn

import girih


class Products(nn.Module):
    """Large products of each kind, between others."""

    def __init__(self, depth: int, columns: int, bias: bool):
        super().__init__()
        self.up = nn.Linear(depth, columns, bias=bias)
        self.norm = nn.LayerNorm(columns)
        self.down = nn.Parameter(torch.randn(columns, depth) / columns**0.5)
        self.offset = nn.Parameter(torch.randn(depth))

    def forward(self, x):
        y = self.norm(F.gelu(self.up(x)))
        z = y.flatten(0, -2) @ self.down
        return torch.addmm(self.offset, y.flatten(0, -2), self.down) + z


@pytest.mark.parametrize(
    ("depth_and_columns", "shape", "bias", "dynamic"),
    spread(
        [(256, 512), (330, 400), (64, 2064)],
        [(1,), (2,), (3, 7), (2, 0), (5, 1, 4)],
        (False, True),
        (False, True),
        every=3,
    ),
)
def test_large_products(depth_and_columns, shape, bias, dynamic):
    torch.manual_seed(0)
    depth, columns = depth_and_columns
    module = Products(depth, columns, bias).eval()
    compiled = girih.compile(module, dynamic=dynamic, options=OPTIONS)
    for more in (0, 1) if dynamic else (0,):
        x = torch.randn(shape[0] + more, *shape[1:], depth)
        assert_like(compiled, module, x)
    with torch.no_grad():
        module.up.weight.mul_(-1.5)
        module.down.add_(0.125)
    assert_like(compiled, module, x)


class Residual(nn.Module):
    """A block of a residual network whose last convolution is of pixels."""

    def __init__(self, channels: int):
        super().__init__()
        self.first = nn.Conv2d(channels, channels, 3, padding=1)
        self.own = nn.Conv2d(channels, channels, 3, padding=1, groups=channels)
        self.last = nn.Conv2d(channels, channels, 1)
        self.norm = nn.BatchNorm2d(channels)

    def forward(self, x):
        y = F.relu(self.norm(self.own(F.relu(self.first(x) + x))))
        return F.relu(self.last(y) + x)


@pytest.mark.parametrize("of_weights", [False, True])
@pytest.mark.parametrize(("batch", "channels", "size"), [(1, 384, 7), (3, 10, 5)])
def test_models_with_channels_last(batch, channels, size, of_weights):
    module = settle(
        nn.Sequential(Residual(channels), nn.MaxPool2d(2), nn.Conv2d(channels, 8, 1))
    )
    if of_weights:
        module = module.to(memory_format=torch.channels_last)
    compiled = frozen(module)
    x = torch.randn(batch, channels, size, size).to(memory_format=torch.channels_last)
    assert_like(compiled, module, x)
    with torch.no_grad():
        assert compiled(x).stride() == module(x).stride()
    usual = frozen(copy.deepcopy(module).to(memory_format=torch.contiguous_format))
    assert_like(usual, module, x.contiguous())
    packed = [
        girih.report(each).graphs[0].constants.externs for each in (compiled, usual)
    ]
    assert packed[0] == packed[1] > 2


@pytest.mark.parametrize("batch", [1, 2])
def test_norms_of_instances(batch):
    """Their numbers are computed behind the convolution, of one image folded."""
    norm = nn.InstanceNorm2d(4, affine=True, track_running_stats=True)
    module = settle(nn.Sequential(nn.Conv2d(3, 4, 3), norm, nn.ReLU()))
    assert_like(frozen(module), module, torch.randn(batch, 3, 12, 12))


@pytest.mark.parametrize("size", [14, 28, 56])
def test_windows_do_not_compute_expensive_ops_again(size):
    """A stride of 2 lets windows of 3 x 3 read each pixel 2.25 times."""
    module = nn.Sequential(
        nn.Conv2d(16, 96, 1),
        nn.SiLU(),
        nn.Conv2d(96, 96, 3, stride=2, padding=1, groups=96),
        nn.Conv2d(96, 16, 1),
    )
    compiled = frozen(module.eval())
    x = torch.randn(1, 16, size, size)
    assert_like(compiled, module, x)
    with torch.no_grad():
        names = [row.name for row in girih.profile(compiled)(x).rows]
    assert any("sigmoid" in name and "sum" not in name for name in names)


# Channels of the results lie in panels of 64, 80, 48, 96, 32, or in none.
@pytest.mark.parametrize("channels", [512, 160, 144, 288, 416, 330])
@pytest.mark.parametrize(
    ("batch", "size", "stride"), spread((1, 3), (1, 7, 14), (1, 2), every=2)
)
def test_many_channels_lie_in_panels(channels, batch, size, stride):
    depth = 1 + (1 << 17) // channels
    module = nn.Sequential(
        nn.Conv2d(3, depth, 3, padding=1),
        nn.Conv2d(depth, channels, 1, stride=stride),
        nn.BatchNorm2d(channels),
        nn.ReLU(),
        nn.Conv2d(channels, 8, 1, bias=False),
    )
    compiled = frozen(settle(module))
    assert_like(compiled, module, torch.randn(batch, 3, size, size))
    with torch.no_grad():
        module[1].weight.mul_(-2)
    assert_like(compiled, module, torch.randn(batch, 3, size, size))


class Block(nn.Module):
    """Two convolutions with batch norms, an activation, a sum, a pooling."""

    def __init__(self, channels=8, activation="relu", **convolution):
        super().__init__()
        self.first = nn.Conv2d(channels, 16, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(16)
        self.second = nn.Conv2d(16, channels, 1, **convolution)
        self.last = nn.BatchNorm2d(channels)
        self.activation = ACTIVATIONS[activation]
        self.pool = nn.MaxPool2d(2)

    def forward(self, x):
        y = self.activation(self.norm(self.first(x)))
        y = self.activation(self.last(self.second(y)) + x)
        return self.pool(y), y.mean((2, 3))


def calls_of(compiled) -> list[str]:
    """The reports of what is computed once."""
    return [g.constants for g in girih.report(compiled).graphs if g.constants]


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_activations(activation):
    torch.manual_seed(0)
    module = settle(Block(activation=activation))
    compiled = frozen(module)
    for _ in range(2):
        assert_like(compiled, module, torch.randn(2, 8, 9, 7))
    (report,) = girih.report(compiled).graphs[:1]
    assert report.constants.kernels == 1 and report.constants.externs == 4


WINDOWS = [(1, 0), (3, 1), (5, 2), ((3, 1), (1, 0))]


@pytest.mark.parametrize(
    ("groups", "stride", "window"), spread([1, 2, 8], [1, 2, (2, 1)], WINDOWS, every=2)
)
def test_geometry(groups, stride, window):
    kernel, padding = window
    torch.manual_seed(0)
    module = nn.Sequential(
        nn.Conv2d(8, 16, kernel, stride, padding, groups=groups),
        nn.BatchNorm2d(16),
        nn.SiLU(),
        nn.Conv2d(16, 16, 3, dilation=2, padding=2, groups=16, bias=False),
        nn.BatchNorm2d(16, affine=False),
    )
    compiled = frozen(settle(module))
    for shape in ((1, 8, 12, 11), (3, 8, 12, 11), (3, 8, 5, 6)):
        assert_like(compiled, module, torch.randn(shape))
    for layout in (torch.channels_last, torch.contiguous_format):
        x = torch.randn(2, 8, 12, 11).to(memory_format=layout)
        assert_like(compiled, module, x)


def test_symbolic_sizes():
    torch.manual_seed(0)
    module = settle(Block())
    compiled = girih.compile(module, dynamic=True, options=OPTIONS)
    for shape in ((2, 8, 9, 7), (3, 8, 12, 8), (5, 8, 4, 6)):
        assert_like(compiled, module, torch.randn(shape))
    assert len(girih.report(compiled).graphs) == 1


@pytest.mark.parametrize(
    "module, shape",
    [
        (nn.Sequential(nn.Conv1d(4, 6, 3), nn.BatchNorm1d(6), nn.ReLU()), (2, 4, 9)),
        (nn.Sequential(nn.Conv3d(2, 3, 2), nn.BatchNorm3d(3)), (1, 2, 4, 5, 3)),
        (nn.Sequential(nn.ConvTranspose2d(4, 6, 3), nn.BatchNorm2d(6)), (2, 4, 5, 5)),
        (
            nn.Sequential(nn.ConvTranspose2d(4, 6, 3, groups=2), nn.BatchNorm2d(6)),
            (2, 4, 5, 5),
        ),
        (nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6)), (3, 4)),
        (nn.Sequential(nn.BatchNorm2d(4), nn.Conv2d(4, 4, 1)), (3, 4, 2, 2)),
    ],
    ids=lambda value: type(value[0]).__name__ if isinstance(value, nn.Module) else "",
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_other_modules(module, shape, dtype):
    torch.manual_seed(0)
    module = settle(copy.deepcopy(module).to(dtype))
    compiled = frozen(module)
    for _ in range(2):
        assert_like(compiled, module, torch.randn(shape, dtype=dtype))


def test_a_convolution_that_others_read_keeps_its_batch_norm():
    convolution, norm = nn.Conv2d(4, 4, 3), nn.BatchNorm2d(4)
    settle(norm)

    def function(x):
        y = convolution(x)
        return norm(y).relu(), y.relu() + 1, y

    assert_like(frozen(function), function, torch.randn(2, 4, 6, 6))


def test_training_norms_and_gradients_are_left_alone():
    torch.manual_seed(0)
    module = Block()
    expected, compiled = copy.deepcopy(module), frozen(module)
    x = torch.randn(4, 8, 6, 6)
    for _ in range(2):
        for each in (compiled, expected):
            sum(y.square().sum() for y in each(x)).backward()
        for mine, theirs in zip(
            (*module.parameters(), *module.buffers()),
            (*expected.parameters(), *expected.buffers()),
            strict=True,
        ):
            torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-4)
    with torch.no_grad():
        torch.testing.assert_close(compiled(x), expected(x), rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(module.norm.running_mean, expected.norm.running_mean)


# Changes ----------------------------------------------------------------------------


def _in_place(module):
    module.first.weight.mul_(2)


def _of_a_norm(module):
    module.norm.running_var.add_(1)
    module.last.bias.zero_()


def _by_index(module):
    module.second.weight[1] += 3


def _through_a_view(module):
    module.second.bias.view(2, -1)[1].add_(5)


def _data(module):
    module.first.weight.data = torch.randn_like(module.first.weight)


def _data_twice(module):
    # The second assignment could come to lie where the first tensor was.
    for _ in range(2):
        module.first.weight.data = torch.randn_like(module.first.weight)
        gc.collect()


def _parameter(module):
    module.second.weight = nn.Parameter(torch.randn_like(module.second.weight))


def _module(module):
    module.first = nn.Conv2d(8, 16, 3, padding=1, bias=False)


def _state(module):
    settle(other := Block(bias=True))
    module.load_state_dict(other.state_dict())


def _assigned_state(module):
    settle(other := Block(bias=True))
    module.load_state_dict(other.state_dict(), assign=True)


def _step(module):
    with torch.enable_grad():
        optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
        sum(y.sum() for y in module(torch.randn(2, 8, 6, 6))).backward()
        optimizer.step()


def _foreach(module):
    torch._foreach_mul_(list(module.parameters()), 0.9)


def _average(module):
    averaged = torch.optim.swa_utils.AveragedModel(Block(bias=True))
    averaged.update_parameters(module)
    for mine, theirs in zip(
        module.parameters(), averaged.module.parameters(), strict=True
    ):
        mine.lerp_(theirs + 1, 0.5)


def _moved(module):
    module.double().float()


def _layout(module):
    module.to(memory_format=torch.channels_last)
    module.first.weight.add_(1)


def _vector(module):
    vector = nn.utils.parameters_to_vector(module.parameters())
    nn.utils.vector_to_parameters(vector * 2, module.parameters())


def _swapped(module):
    other = nn.Parameter(torch.randn_like(module.first.weight))
    torch.utils.swap_tensors(module.first.weight, other)


def _trained(module):
    module.train()(torch.randn(4, 8, 6, 6))
    module.eval()


def _statistics(module):
    """A batch norm writes them without counting the write."""
    norm, x = module.norm, torch.randn(4, 16, 2, 2)
    F.batch_norm(x, norm.running_mean, norm.running_var, training=True)


def _data_of_a_norm(module):
    module.norm.weight.data.mul_(2)
    module.last.running_mean.numpy()[1] += 1


CHANGES = [
    _statistics,
    _data_of_a_norm,
    _in_place,
    _of_a_norm,
    _by_index,
    _through_a_view,
    _data,
    _data_twice,
    _parameter,
    _module,
    _state,
    _assigned_state,
    _step,
    _foreach,
    _average,
    _moved,
    _layout,
    _vector,
    _swapped,
    _trained,
]


@pytest.mark.parametrize("door", ["girih", "dynamo"])
@pytest.mark.parametrize("change", CHANGES, ids=lambda f: f.__name__.strip("_"))
def test_what_changes_is_seen(change, door):
    torch.manual_seed(0)
    module = settle(Block(bias=True))
    compiled = (
        frozen(module)
        if door == "girih"
        else torch.compile(module, backend="girih", options=OPTIONS)
    )
    x = torch.randn(2, 8, 6, 6)
    for _ in range(2):
        assert_like(compiled, module, x)
    for _ in range(2):
        with torch.no_grad():
            before = module(x)
            change(module)
            assert change is _moved or not torch.equal(before[1], module(x)[1])
        assert_like(compiled, module, x)
        assert_like(compiled, module, x)


def test_modules_that_share_weights():
    torch.manual_seed(0)
    one = settle(Block(bias=True))
    other = copy.deepcopy(one)
    other.first.weight = one.first.weight
    third = copy.deepcopy(one)
    compiled = [frozen(module) for module in (one, other, third)]
    x = torch.randn(2, 8, 6, 6)
    for _ in range(3):
        for each, module in zip(compiled, (one, other, third), strict=True):
            assert_like(each, module, x)
        with torch.no_grad():
            one.first.weight.add_(0.5)


def test_results_are_the_callers():
    """What is kept is never returned, nor what shares memory with it."""
    weight = nn.Parameter(torch.randn(3, 4))

    def function(x):
        scaled = weight * 2
        return x + scaled, scaled, scaled.t(), weight.exp().view(-1)

    compiled = frozen(function)
    for _ in range(3):
        with torch.no_grad():
            results = compiled(torch.ones(3, 4))
            expected = function(torch.ones(3, 4))
            torch.testing.assert_close(results, expected)
            for result in results:
                result.zero_()


def test_what_is_written_is_no_constant():
    class Counter(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", torch.zeros(4))
            self.weight = nn.Parameter(torch.ones(4))

        def forward(self, x):
            self.count.add_(self.weight * 2)
            return x * self.count.exp() + self.weight.exp()

    one, other = Counter(), Counter()
    compiled = frozen(one)
    for _ in range(3):
        with torch.no_grad():
            x = torch.randn(4)
            torch.testing.assert_close(compiled(x), other(x))
    torch.testing.assert_close(one.count, other.count)


def test_casts_under_autocast_are_constants():
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 4)).eval()
    compiled = frozen(module)
    for _ in range(3):
        # Eager itself would keep casts, until the outermost region ends.
        with torch.no_grad(), torch.autocast("cpu", cache_enabled=False):
            for _ in range(2):
                x = torch.randn(3, 8)
                expected = module(x)
                torch.testing.assert_close(compiled(x), expected, rtol=2e-2, atol=2e-2)
        with torch.no_grad():
            module[0].weight.mul_(2)
    assert calls_of(compiled)


def test_weights_of_inference_mode_have_no_versions():
    with torch.inference_mode():
        module = settle(Block())
        compiled, x = frozen(module), torch.randn(2, 8, 6, 6)
        for _ in range(3):
            torch.testing.assert_close(compiled(x), module(x), rtol=1e-4, atol=1e-4)
            module.first.weight.mul_(2)


def test_a_large_constant_is_computed_at_each_call():
    table = nn.Parameter(torch.randn(3000, 1))
    compiled = frozen(lambda x: (table @ table.t()).sum() * x)
    with torch.no_grad():
        expected = (table @ table.t()).sum() * 2
        actual = compiled(torch.tensor(2.0))
        torch.testing.assert_close(actual, expected, rtol=1e-3, atol=1e-2)
    assert not calls_of(compiled)


def test_a_compiled_module_that_nobody_holds_is_freed():
    module = settle(Block())
    compiled = frozen(module)
    with torch.no_grad():
        compiled(torch.randn(2, 8, 6, 6))
    weight = weakref.ref(module.first.weight)
    del module, compiled
    gc.collect()
    assert weight() is None


def test_threads():
    torch.manual_seed(0)
    module = settle(Block())
    compiled, x = frozen(module), torch.randn(2, 8, 6, 6)
    with torch.no_grad():
        expected = module(x)
        compiled(x)
    wrong = []

    def run():
        with torch.no_grad():
            for _ in range(50):
                for mine, theirs in zip(compiled(x), expected, strict=True):
                    if not torch.allclose(mine, theirs, rtol=1e-4, atol=1e-4):
                        wrong.append(1)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        with torch.no_grad():
            module.first.weight.mul_(1)  # another version, the same values
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_check_that_fails_runs_eager():
    """The graph itself does not get the constants."""
    table = nn.Parameter(torch.randn(5, 3))

    def function(x, index):
        return F.embedding(index, table) * (table.exp().sum() * 2) + x

    compiled, x = frozen(function), torch.randn(2, 3)
    with torch.no_grad():
        index = torch.tensor([1, 4])
        torch.testing.assert_close(compiled(x, index), function(x, index))
        with pytest.raises(IndexError):
            compiled(x, torch.tensor([1, 5]))
