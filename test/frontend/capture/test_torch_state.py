"""torch's global state: guarded where it is read, switched where it is written."""

import pytest
import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.overrides import TorchFunctionMode
from torch.utils.flop_counter import FlopCounterMode

import girih
from girih.frontend.capture.switches import SWITCHES

BACKENDS = pytest.mark.parametrize("backend", ["eager", "girih"])


def whole(function, backend="eager", **options):
    # Some of the graphs are left to eager, which is an error with fullgraph.
    options.setdefault("fullgraph", backend == "eager")
    return girih.compile(function, backend=backend, **options)


def values():
    return [switch.read() for switch in SWITCHES]


@pytest.fixture(autouse=True)
def same_state():
    before = values(), torch.is_grad_enabled(), torch.is_inference_mode_enabled()
    yield
    after = values(), torch.is_grad_enabled(), torch.is_inference_mode_enabled()
    assert before == after


def attention(x):
    with sdpa_kernel(SDPBackend.MATH):
        return F.scaled_dot_product_attention(x, x, x)


def default_dtype(x):
    torch.set_default_dtype(torch.float64)
    y = torch.zeros(3) + x.sum()
    torch.set_default_dtype(torch.float32)
    return y


def deterministic(x):
    torch.use_deterministic_algorithms(True)
    try:
        return x.cumsum(0), torch.are_deterministic_algorithms_enabled()
    finally:
        torch.use_deterministic_algorithms(False)


def anomaly(x):
    with torch.autograd.set_detect_anomaly(True):
        y = x + 1
    return y, torch.is_anomaly_enabled()


def inference(x):
    with torch.inference_mode():
        y = x * 2
    return y, y.is_inference(), torch.is_inference_mode_enabled()


def precision(x):
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    y = x @ x.mT
    torch.set_float32_matmul_precision(before)
    return y


@BACKENDS
@pytest.mark.parametrize(
    "function",
    [attention, default_dtype, deterministic, anomaly, inference, precision],
)
def test_state_is_switched_in_the_graph(function, backend):
    x = torch.randn(1, 2, 3, 3)
    compiled = whole(function, backend)
    for _ in range(2):
        torch.testing.assert_close(compiled(x), function(x))


@pytest.mark.parametrize("switch", SWITCHES, ids=lambda switch: switch.name)
def test_each_switch_takes_what_it_gives(switch):
    switch.write(*switch.read())


def test_a_read_is_guarded():
    compiled = whole(lambda x: (x + 1, torch.is_anomaly_enabled()))
    x = torch.ones(2)
    assert not compiled(x)[1]
    with torch.autograd.set_detect_anomaly(True):
        assert compiled(x)[1]
    assert not compiled(x)[1]
    assert compiled.cache_statistics()["entries"] == 2


def test_the_dtype_of_autocast_is_guarded():
    compiled = whole(lambda x: x @ x)
    x = torch.randn(3, 3)
    for dtype in (torch.bfloat16, torch.float16, torch.bfloat16):
        with torch.autocast("cpu", dtype=dtype):
            assert compiled(x).dtype == dtype


@BACKENDS
def test_a_default_device_inside(backend):
    def function(x):
        with torch.device("meta"):
            y, device = torch.ones(3), torch.get_default_device()
        return y.device.type, device.type, x + torch.ones(3)

    found = whole(function, backend)(torch.ones(3))
    assert found[:2] == ("meta", "meta")
    assert found[2].device.type == "cpu"


@BACKENDS
def test_a_default_device_outside_is_guarded(backend):
    compiled = whole(lambda: torch.ones(3), backend)
    assert compiled().device.type == "cpu"
    with torch.device("meta"):
        assert compiled().device.type == "meta"
    torch.set_default_device("meta")
    try:
        assert compiled().device.type == "meta"
    finally:
        torch.set_default_device(None)
    assert compiled().device.type == "cpu"


@BACKENDS
def test_function_modes_see_the_calls(backend):
    class Names(TorchFunctionMode):
        def __init__(self):
            super().__init__()
            self.names = []

        def __torch_function__(self, function, types, args=(), kwargs=None):
            self.names.append(function.__name__)
            return function(*args, **(kwargs or {}))

    compiled = girih.compile(lambda x: torch.relu(x + 1), backend=backend)
    x = torch.randn(3)
    compiled(x)
    with Names() as mode:
        compiled(x)
    assert mode.names == ["add", "relu"]


@BACKENDS
@pytest.mark.parametrize(
    "region",
    [
        torch.no_grad,
        torch.inference_mode,
        lambda: torch.autocast("cpu", dtype=torch.bfloat16),
    ],
    ids=["no_grad", "inference_mode", "autocast"],
)
def test_state_goes_back_where_the_graph_raises(region, backend):
    def function(x, index):
        with region():
            return x[index]

    compiled = girih.compile(function, backend=backend)
    compiled(torch.ones(3), torch.tensor([0, 1]))
    with pytest.raises(IndexError):
        compiled(torch.ones(3), torch.tensor([0, 9]))
    assert torch.is_grad_enabled()
    assert not torch.is_autocast_enabled("cpu")
    assert not torch.is_inference_mode_enabled()


@BACKENDS
def test_a_segment_may_end_in_regions(backend):
    def function(x):
        with torch.no_grad(), torch.inference_mode(), torch.device("cpu"):
            y = x * 2
            print(end="")
            z = y + 1, torch.is_inference_mode_enabled(), torch.is_grad_enabled()
        return z, x * 3

    x = torch.ones(3, requires_grad=True)
    (z, *flags), after = girih.compile(function, backend=backend)(x)
    assert flags == [True, False] and after.requires_grad
    torch.testing.assert_close(z, x.detach() * 2 + 1)


@BACKENDS
def test_a_segment_may_end_with_other_switches(backend):
    def function(x):
        torch.set_default_dtype(torch.float64)
        y = x + torch.ones(2)
        print(end="")
        z = torch.zeros(2)
        torch.set_default_dtype(torch.float32)
        return y.dtype, z.dtype

    found = girih.compile(function, backend=backend)(torch.ones(2))
    assert found == (torch.float64, torch.float64)


# Random numbers


def seeds(x):
    torch.manual_seed(5)
    a = torch.rand(3)
    torch.manual_seed(5)
    return x + a, torch.rand(3)


def state_is_restored(x):
    state = torch.get_rng_state()
    a = torch.rand(2)
    torch.set_rng_state(state)
    return x, a, torch.rand(2)


def fork(x):
    with torch.random.fork_rng():
        a = torch.rand(1)
    return x + a, torch.rand(1)


@BACKENDS
@pytest.mark.parametrize("function", [seeds, state_is_restored, fork])
def test_the_generator_of_random_numbers(function, backend):
    compiled, x = whole(function, backend), torch.ones(3)
    for _ in range(2):
        torch.manual_seed(1)
        expected, state = function(x), torch.get_rng_state()
        torch.manual_seed(1)
        torch.testing.assert_close(compiled(x), expected)
        assert torch.equal(torch.get_rng_state(), state)


def count_dispatch_modes(number):
    return number + torch._C._len_torch_dispatch_stack()


def test_dispatch_modes_are_counted():
    compiled = girih.compile(count_dispatch_modes)
    assert compiled(1) == 1
    with FlopCounterMode(display=False):
        assert compiled(1) == 2
    assert compiled(1) == 1


def test_attention_in_eval_mode_is_one_graph():
    attention = torch.nn.MultiheadAttention(8, 2, batch_first=True).eval()
    x = torch.randn(2, 3, 8)
    with torch.no_grad():
        expected = attention(x, x, x)
        actual = girih.compile(attention, fullgraph=True)(x, x, x)
    torch.testing.assert_close(actual, expected)


def raises_where_compiled(x, mask=None):
    if mask is None and not torch.compiler.is_compiling():
        mask = torch.ones(x.shape[-1])
    return x * mask.shape[0] + mask


def test_a_path_for_compilers_that_raises_is_not_taken():
    x = torch.randn(2, 3)
    for backend in ("eager", "girih"):
        actual = whole(raises_where_compiled, backend, fullgraph=True)(x)
        torch.testing.assert_close(actual, raises_where_compiled(x))


def test_what_raises_either_way_raises():
    def fails(x):
        raise ValueError("compiled" if girih.is_compiling() else "eager")

    with pytest.raises(ValueError, match="eager"):
        girih.compile(fails)(torch.ones(2))


@pytest.mark.filterwarnings("ignore:torch.is_autocast_cpu_enabled")
@pytest.mark.parametrize(
    "ask", [torch._C._is_any_autocast_enabled, torch.is_autocast_cpu_enabled]
)
def test_other_questions_about_autocast(ask):
    compiled = whole(lambda x: x + ask())
    for enabled in (True, False, True):
        with torch.autocast("cpu", enabled=enabled):
            assert compiled(torch.zeros(1)) == enabled
    with torch.autocast("cpu"):
        assert whole(inside)(torch.zeros(2)).tolist() == [1, 0]


def inside(x):
    before = torch._C._is_any_autocast_enabled()
    with torch.autocast("cpu", enabled=False):
        return x + torch.tensor([before, torch._C._is_any_autocast_enabled()])


def test_layers_ask_about_autocast_where_dtypes_differ():
    layers = torch.nn.GRU(4, 4)
    compiled = whole(lambda x: layers(x)[0])
    x = torch.randn(3, 2, 4)
    with pytest.raises(ValueError, match="does not match weight dtype"):
        girih.compile(lambda x: layers(x)[0])(x.bfloat16())
    with torch.autocast("cpu"):
        torch.testing.assert_close(compiled(x.bfloat16()), layers(x.bfloat16())[0])


@pytest.mark.parametrize("dtype", [torch.int32, "float32"])
def test_a_dtype_that_torch_refuses_is_the_programs_error(dtype):
    def program(x):
        try:
            torch.set_default_dtype(dtype)
        except TypeError as error:
            return x + 1, str(error)
        return x + 2

    def raises(x):
        torch.set_default_dtype(dtype)
        return x + 1

    x = torch.ones(2)
    assert whole(program)(x)[1] == program(x)[1]
    with pytest.raises(TypeError) as expected:
        raises(x)
    with pytest.raises(TypeError) as actual:
        whole(raises)(x)
    assert str(actual.value) == str(expected.value)
