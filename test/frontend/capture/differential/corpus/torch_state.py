"""torch's global state, as it is guarded and as it is changed."""

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from differential.program import compiles, program, rand


@program(rand(3))
def reads_state(x):
    state = (
        torch.is_grad_enabled(),
        torch.get_default_dtype(),
        torch.is_inference_mode_enabled(),
    )
    return x * 2, state, torch.are_deterministic_algorithms_enabled()


@program(rand(3, requires_grad=True))
def grad_mode_branches(x):
    if torch.is_grad_enabled():
        return x * 2
    return x * 3


@program(rand(3, requires_grad=True))
def grad_mode_is_left_off(x):
    torch.set_grad_enabled(False)
    return x * 2


@compiles(rand(3, requires_grad=True))
def called_in_both_grad_modes(compile, x):
    f = compile(lambda v: (v * 2, torch.is_grad_enabled()))
    first = f(x)
    with torch.no_grad():
        second = f(x)
    return first, second, f(x)


@compiles(rand(3))
def called_with_other_default_dtype(compile, x):
    f = compile(lambda v: v + torch.zeros(3).sum() + torch.ones(3))
    first = f(x)
    torch.set_default_dtype(torch.float64)
    try:
        return first, f(x), f(x.double())
    finally:
        torch.set_default_dtype(torch.float32)


@program(rand(3))
def default_dtype_is_changed(x):
    torch.set_default_dtype(torch.float64)
    y = torch.zeros(3) + x
    torch.set_default_dtype(torch.float32)
    return y


@compiles(rand(3))
def called_in_inference_mode(compile, x):
    f = compile(lambda v: v * 2)
    with torch.inference_mode():
        y = f(x)
        kind = y.is_inference()
    return f(x), kind, (y + 1).sum().item() < 1e9


@compiles(rand(3, 3))
def called_in_autocast(compile, x):
    f = compile(lambda v: v @ v)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        low = f(x)
    return low, f(x)


@program(rand(3, 3))
def autocast_by_decorator(x):
    @torch.autocast("cpu", dtype=torch.bfloat16)
    def product(a):
        return a @ a

    return product(x), x @ x


@program(rand(3))
def seeds_inside(x):
    torch.manual_seed(5)
    a = torch.rand(3)
    torch.manual_seed(5)
    return x + a, torch.rand(3)


@program(rand(3))
def random_numbers(x):
    return x + torch.rand(3), torch.randn(2), torch.randint(5, (3,)), torch.rand_like(x)


@program(rand(3))
def random_order(x):
    a = torch.rand(2)
    b = torch.randperm(4)
    c = F.dropout(x, 0.5)
    return a, b, c, torch.bernoulli(torch.full((3,), 0.5))


@program(rand(3))
def random_state_is_restored(x):
    state = torch.get_rng_state()
    a = torch.rand(2)
    torch.set_rng_state(state)
    return x, a, torch.rand(2)


@program(rand(3))
def own_generator(x):
    generator = torch.Generator().manual_seed(3)
    return x + torch.rand(3, generator=generator)


@program(torch.Generator().manual_seed(1).get_state(), rand(3))
def generator_state(state, x):
    generator = torch.Generator()
    generator.set_state(state)
    return torch.randn(3, generator=generator) + x


@program(rand(3))
def forks_random_state(x):
    with torch.random.fork_rng():
        a = torch.rand(1)
    return x + a, torch.rand(1)


@program(rand(1, 2, 3, 4))
def attention_kernel(x):
    with sdpa_kernel(SDPBackend.MATH):
        a = F.scaled_dot_product_attention(x, x, x)
    return a, F.scaled_dot_product_attention(x, x, x, is_causal=True)


@program(rand(3))
def default_device(x):
    with torch.device("cpu"):
        y = torch.ones(3)
    return x + y, y.device


@program(rand(3))
def deterministic_mode(x):
    torch.use_deterministic_algorithms(True)
    try:
        y = x.cumsum(0)
    finally:
        torch.use_deterministic_algorithms(False)
    return y


@program(rand(3))
def compiler_queries(x):
    if torch.jit.is_scripting() or torch.jit.is_tracing():
        return x * 0
    return x + 1


@program(rand(3))
def dtype_facts(x):
    info = torch.finfo(x.dtype)
    return (
        x + info.eps,
        info.max,
        torch.iinfo(torch.int8).min,
        torch.promote_types(torch.int8, x.dtype),
    )


@program(rand(3))
def dtype_attributes(x):
    d = torch.float16
    return (
        x.to(d),
        d.is_floating_point,
        d.itemsize,
        d == torch.half,
        str(d),
        torch.int.is_signed,
    )


@program(rand(3), torch.float64).then(rand(3), torch.int32)
def dtype_argument(x, dtype):
    return x.to(dtype), dtype is torch.float64, dtype.is_floating_point


@program(rand(3), torch.device("cpu")).then(rand(3), "cpu")
def device_argument(x, device):
    return x.to(device), torch.zeros(2, device=device), torch.device(device).type


@program(rand(3))
def availability(x):
    return x, torch.cuda.is_available(), torch.backends.mps.is_available()


@program(rand(3))
def memory_format_and_layout(x):
    y = x.view(1, 1, 1, 3).contiguous(memory_format=torch.channels_last)
    return y, x.layout == torch.strided, torch.preserve_format


@program(rand(3))
def threads(x):
    return x + 1, torch.get_num_threads() > 0


@program(rand(3))
def overrides_are_asked(x):
    return (
        x,
        torch.is_tensor(x),
        torch.is_floating_point(x),
        torch.is_nonzero(torch.ones(1)),
    )


@program(rand(2, 3), rand(3))
def shapes_are_asked(x, y):
    return (
        x + y,
        torch.broadcast_shapes(x.shape, y.shape),
        torch.numel(x),
        torch.result_type(x, 1),
    )
