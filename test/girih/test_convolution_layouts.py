"""On the CPU, convolutions have a layout of girih's choice where that was measured."""

import pytest
import torch
from processes import run_after_torch
from torch import nn

import girih
from girih.compiler import convolution_layouts as layouts
from girih.compiler.convolution_layouts import Call, Times, is_faster, steady_times

CALL = Call((1, 8, 8, 8), (8, 8, 3, 3), False, (1, 1), (1, 1), (1, 1), 1)
OTHER = CALL._replace(weight=(16, 8, 3, 3))


@pytest.fixture(autouse=True)
def forgets():
    layouts.forget()
    yield
    layouts.forget()


@pytest.fixture
def measured(monkeypatch):
    """Calls that are measured; the layout that is to win is given by a number."""

    class Measured(list):
        times = (2.0, 1.0)

        def __call__(self, call):
            self.append(call)
            return self.times

    found = Measured()
    monkeypatch.setattr(layouts, "measure", found)
    return found


def network(bias=False):
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, bias=bias), nn.ReLU(), nn.Conv2d(8, 8, 3, stride=2)
    )


def run(model, x, folder, **options):
    """The result, and whether convolutions got channels-last results."""
    folder = str(folder)
    given = {"fallback": False, "cache_dir": folder, "dump_dir": folder} | options
    compiled = girih.compile(model, fullgraph=True, options=given)
    result = compiled(x)
    text = girih.report(compiled).ir_paths["graph0/fused"].read_text()
    return result, "operand_strides" in text


@pytest.mark.parametrize("times", [(2.0, 1.0), (1.0, 2.0), (1.0, 0.95), None])
def test_layout_is_chosen_only_if_clearly_faster(measured, tmp_path, times):
    measured.times = times
    model, x = network().eval(), torch.randn(2, 3, 9, 11)
    with torch.no_grad():
        actual, is_chosen = run(model, x, tmp_path)
        expected = model(x)
    assert is_chosen == (times == (2.0, 1.0))
    torch.testing.assert_close(actual, expected)
    assert actual.stride() == expected.stride()


def test_training_measures_the_gradients_that_are_needed(measured, tmp_path):
    model, x = network(bias=True), torch.randn(2, 3, 9, 11)
    actual, is_chosen = run(model, x, tmp_path)
    assert is_chosen
    assert [call.gradients for call in measured] == [(False, True, True), (True,) * 3]
    gradients = torch.autograd.grad(actual.sum(), model.parameters())
    expected = torch.autograd.grad(model(x).sum(), model.parameters())
    torch.testing.assert_close(gradients, expected)


def test_one_convolution_and_symbolic_sizes_are_not_measured(measured, tmp_path):
    with torch.no_grad():
        run(nn.Conv2d(3, 8, 3), torch.randn(2, 3, 9, 11), tmp_path)
        dynamic = girih.compile(network(), dynamic=True, options={"fallback": False})
        dynamic(torch.randn(2, 3, 9, 11))
    assert not measured


def test_torch_compile_measures_too(measured):
    model, x = network().eval(), torch.randn(2, 3, 9, 11)
    with torch.no_grad():
        actual = torch.compile(model, backend="girih")(x)
        torch.testing.assert_close(actual, model(x))
    assert len(measured) == 2


def test_each_call_is_measured_once_and_kept_on_disk(measured, tmp_path):
    assert is_faster([CALL, OTHER, CALL], Times(measured, tmp_path))
    assert measured == [CALL, OTHER]
    assert is_faster([CALL, OTHER], Times(measured))
    layouts.forget()
    assert is_faster([CALL, OTHER], Times(measured, tmp_path))
    assert measured == [CALL, OTHER]
    layouts.forget()
    assert is_faster([CALL, OTHER], Times(measured))
    assert len(measured) == 4


def test_other_threads_have_other_times(measured, monkeypatch):
    is_faster([CALL, OTHER], Times(measured))
    monkeypatch.setattr(torch, "get_num_threads", lambda: 77)
    is_faster([CALL, OTHER], Times(measured))
    assert len(measured) == 4


def test_layout_stays_where_time_is_out(measured, tmp_path):
    ticks = iter(range(100))
    times = Times(measured, tmp_path, seconds=1, clock=lambda: next(ticks))
    assert not is_faster([CALL, OTHER], times)
    assert measured == [CALL]
    # What was measured is kept, so that the next compilation gets to the rest.
    assert is_faster([CALL, OTHER], Times(measured, tmp_path, seconds=1))
    assert measured == [CALL, OTHER]


def test_unsteady_calls_are_measured_by_three_processes(measured, tmp_path):
    measured.times = None
    for number in range(1, 6):
        layouts.forget()
        for _ in range(2):
            assert not is_faster([CALL, OTHER], Times(measured, tmp_path))
        assert measured == [CALL] * min(number, 3)
    measured.times = (2.0, 1.0)
    layouts.forget()
    assert is_faster([CALL, OTHER], Times(measured, tmp_path / "other"))


def test_large_calls_are_not_measured_and_batches_in_part(measured):
    large = CALL._replace(image=(1, 512, 64, 64), weight=(1024, 512, 3, 3))
    assert not is_faster([CALL, large], Times(measured))
    assert not measured
    batch = CALL._replace(image=(1 << 20, 8, 8, 8))
    assert is_faster([batch, batch], Times(measured))


def test_unsteady_times_are_none():
    def clock(durations):
        now = 0
        for duration in durations:
            yield now
            now += duration
            yield now

    runs = [lambda: None] * 2
    given = [clock([5, 3, 5.1, 3.1]), clock([1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6])]
    found = [steady_times(runs, lambda ticks=ticks: next(ticks)) for ticks in given]
    assert found[1] is None
    assert found[0] == pytest.approx((5, 3))


@pytest.mark.parametrize("gradients", [(False,) * 3, (False, True, True), (True,) * 3])
def test_measuring_disturbs_nothing(gradients):
    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            raise AssertionError(function)

    call = CALL._replace(has_bias=True, gradients=gradients, groups=2)
    call = call._replace(weight=(8, 4, 3, 3))
    before = torch.get_rng_state()
    with Mode(), torch.autocast("cpu"):
        found = layouts.measure(call)
    assert found is None or min(found) > 0
    assert torch.equal(torch.get_rng_state(), before)


def test_a_second_process_measures_nothing(tmp_path):
    text = """
        import sys
        import torch
        import girih
        from girih.compiler import convolution_layouts as layouts

        measured = []
        layouts.measure = lambda call: measured.append(call) or (2.0, 1.0)
        model = torch.nn.Sequential(*(torch.nn.Conv2d(3, 3, 3) for _ in range(2)))
        options = {"fallback": False, "cache_dir": sys.argv[1]}
        with torch.no_grad():
            girih.compile(model, options=options)(torch.randn(1, 3, 9, 9))
        assert len(measured) == int(sys.argv[2]), measured
    """
    run_after_torch(text, str(tmp_path), "2")
    run_after_torch(text, str(tmp_path), "0")


def test_girihs_own_convolutions_are_not_measured(monkeypatch):
    def fail(call):
        raise AssertionError(f"{call} was measured")

    monkeypatch.setattr(layouts, "measure", fail)
    model = nn.Sequential(
        nn.Conv2d(16, 32, 1),
        nn.Conv2d(32, 32, 3, padding=1, groups=32),
        nn.Conv2d(32, 16, 1),
        nn.Conv2d(16, 16, 1),
    ).eval()
    compiled = girih.compile(model, options={"fallback": False})
    x = torch.randn(2, 16, 9, 8)
    with torch.no_grad():
        actual, expected = compiled(x), model(x)
    torch.testing.assert_close(actual, expected)
    assert actual.stride() == expected.stride()
    assert girih.report(compiled).graphs[0].externs == 0
