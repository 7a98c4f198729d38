"""Transforms, custom operators, subclasses, random numbers: what torch adds."""

import torch
from torch import nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from differential.program import compiles, ints, program, rand


class Cube(torch.autograd.Function):
    """Keeps its input."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return 3 * x * x * gradient


class Split(torch.autograd.Function):
    """Has two results, one of them without a derivative."""

    @staticmethod
    def forward(ctx, x, n):
        ctx.n = n
        sign = x.sign()
        ctx.mark_non_differentiable(sign)
        return x * n, sign

    @staticmethod
    def backward(ctx, gradient, _):
        return gradient * ctx.n, None


class Units(torch.Tensor):
    """A subclass that carries a name through operations."""

    @staticmethod
    def __new__(cls, data, unit="m"):
        made = torch.Tensor._make_subclass(cls, data)
        made.unit = unit
        return made

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        result = super().__torch_function__(function, types, args, kwargs or {})
        units = [a.unit for a in args if isinstance(a, Units)]
        if isinstance(result, Units) and units:
            result.unit = units[0]
        return result


class Boxed:
    """No tensor, but takes part in torch's functions."""

    def __init__(self, value):
        self.value = value

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        plain = [a.value if isinstance(a, Boxed) else a for a in args]
        return Boxed(function(*plain, **(kwargs or {})))


class Doubles(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        return result * 2 if function is torch.sin else result


@torch.library.custom_op("girih_differential::scaled", mutates_args=())
def scaled(x: torch.Tensor, n: float = 2.0) -> torch.Tensor:
    """Has a derivative."""
    return x * n


@scaled.register_fake
def _(x, n=2.0):
    return torch.empty_like(x)


def _set_up(ctx, inputs, output):
    ctx.n = inputs[1]


scaled.register_autograd(lambda ctx, g: (g * ctx.n, None), setup_context=_set_up)


@torch.library.custom_op("girih_differential::halves", mutates_args=())
def halves(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Gives two tensors."""
    return x[: len(x) // 2].clone(), x[len(x) // 2 :].clone()


@halves.register_fake
def _(x):
    return x[: len(x) // 2].clone(), x[len(x) // 2 :].clone()


def seeded(make):
    """A module with the same numbers each time."""
    torch.manual_seed(0)
    return make()


@program(rand(3, requires_grad=True))
def function_with_saved_tensor(x):
    y = Cube.apply(x)
    (gradient,) = torch.autograd.grad(y.sum(), x)
    return gradient, y.detach()


@program(rand(3, requires_grad=True))
def function_with_two_results(x):
    y, sign = Split.apply(x, 3)
    return y * 2, sign.requires_grad, sign


@program(rand(3, requires_grad=True))
def function_is_used_twice(x):
    return Cube.apply(Cube.apply(x)).sum(), Cube.apply(x.detach())


@program(rand(2, 3), seeded(lambda: nn.Linear(3, 3)))
def checkpoint_of_a_function(x, net):
    def block(v, n):
        return net(v).relu() * n

    return torch.utils.checkpoint.checkpoint(block, x, 2, use_reentrant=False).sum()


@program(rand(2, 3), seeded(lambda: nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5))))
def checkpoint_with_random_numbers(x, net):
    y = torch.utils.checkpoint.checkpoint(net, x, use_reentrant=False)
    torch.utils.checkpoint.checkpoint_sequential(net, 2, x, use_reentrant=False)
    return y


@program(rand(3), rand(3))
def grad_with_several_arguments(x, y):
    def f(a, b):
        return (a * b.sin()).sum()

    a, b = torch.func.grad(f, argnums=(0, 1))(x, y)
    return a + b, torch.func.grad_and_value(f)(x, y)


@program(rand(3))
def grad_of_grad(x):
    f = lambda v: (v**3).sum()
    return torch.func.grad(lambda v: torch.func.grad(f)(v).sum())(x)


@program(rand(4, 3), rand(3))
def vmap_over_rows(x, w):
    return torch.vmap(lambda row: (row * w).sum())(x), torch.vmap(torch.dot)(x, x)


@program(rand(4, 3))
def vmap_with_dimensions(x):
    f = torch.vmap(lambda a, b: a + b, in_dims=(1, None), out_dims=1)
    return f(x, x[:, 0])


@program(rand(4, 3))
def vmap_of_grad(x):
    return torch.vmap(torch.func.grad(lambda row: row.sin().sum()))(x)


@program(rand(3))
def forward_derivative(x):
    value, tangent = torch.func.jvp(torch.sin, (x,), (torch.ones_like(x),))
    return value + tangent


@program(rand(3))
def reverse_derivative(x):
    value, pullback = torch.func.vjp(lambda v: v * v, x)
    return value, pullback(torch.ones_like(x))[0]


@program(rand(3))
def hessian(x):
    return torch.func.hessian(lambda v: (v**3).sum())(x)


@program(rand(2, 3), seeded(lambda: nn.Linear(3, 3)))
def functional_call_with_gradient(x, net):
    parameters = {k: v.detach() for k, v in net.named_parameters()}

    def loss(p):
        return torch.func.functional_call(net, p, (x,)).square().sum()

    return torch.func.grad(loss)(parameters)


@program(rand(3), True).then(-rand(3), False)
def cond_with_closure(x, flag):
    scale = 3

    def yes(v):
        return v * scale

    def no(v):
        return v - scale

    return torch.cond(x.sum() > 0, yes, no, (x,)) + 1


@program(rand(3), 1).then(rand(3), 5)
def cond_on_a_python_value(x, n):
    return torch.cond(n > 2, lambda v: v.sin(), lambda v: v.cos(), (x,))


@program(rand(3))
def custom_operator(x):
    return scaled(x) + scaled(x, 3.0), torch.ops.girih_differential.scaled(x, n=0.5)


@program(rand(3, requires_grad=True))
def custom_operator_with_derivative(x):
    (gradient,) = torch.autograd.grad(scaled(x * 2, 5.0).sum(), x)
    return gradient


@program(rand(4))
def custom_operator_with_two_results(x):
    a, b = halves(x + 1)
    return a * b, halves(b)[0]


@program(torch.arange(3.0))
def subclass_keeps_its_attribute(x):
    y = Units(x, "km") * 2 + 1
    return y, y.unit, type(y).__name__, y.sum().unit


@program(rand(3))
def subclass_is_made_and_used(x):
    u = Units(x, "s")
    return (u + u).unit, torch.Tensor(u.as_subclass(torch.Tensor)) + 1


@program(torch.arange(3.0), rand(3))
def subclass_meets_tensor(x, y):
    x = Units(x)
    z = torch.stack([y, x.as_subclass(torch.Tensor)])
    return z, (y + x).unit, isinstance(y + x, Units)


@program(rand(3))
def other_class_takes_part(x):
    boxed = torch.add(Boxed(x), 1)
    return torch.sin(boxed).value, type(boxed).__name__


@program(rand(3))
def function_mode_changes_results(x):
    with Doubles():
        y = torch.sin(x)
        z = torch.cos(x)
    return y, z, torch.sin(x)


@program(nn.Parameter(torch.ones(3)), rand(3))
def parameters_as_arguments(p, x):
    y = p * x
    return y, isinstance(p, nn.Parameter), type(p).__name__, isinstance(y, nn.Parameter)


@program(rand(3))
def parameter_is_made_inside(x):
    p = nn.Parameter(x * 2)
    return p + 1, p.requires_grad, p.is_leaf


@program(rand(2, 3))
def dropout_follows_the_seed(x):
    torch.manual_seed(7)
    a = F.dropout(x, 0.5)
    b = F.dropout(x, 0.5, training=False)
    return a, b, torch.rand(2), torch.randint(5, (3,)), torch.randperm(4)


@program(rand(2, 3))
def distributions_of_random_numbers(x):
    a = torch.empty(3).uniform_(0, 1)
    b = torch.normal(x, 1.0)
    c = torch.bernoulli(torch.full((3,), 0.5))
    d = torch.multinomial(torch.tensor([0.1, 0.9]), 3, replacement=True)
    return a, b, c, d, torch.empty(2).exponential_(), torch.randn_like(x)


@program(rand(3))
def state_of_random_numbers(x):
    state = torch.get_rng_state()
    a = torch.rand(3)
    torch.set_rng_state(state)
    return a, torch.equal(a, torch.rand(3)), x + 1


@program(rand(3))
def generators_of_random_numbers(x):
    generator = torch.Generator().manual_seed(3)
    a = torch.rand(3, generator=generator)
    return a + torch.randn(3, generator=generator), generator.initial_seed()


@compiles(rand(3))
def default_device_is_guarded(compile, x):
    f = compile(lambda: torch.ones(2).device.type)
    first = f()
    with torch.device("meta"):
        second = f()
    return first, second, f()


@program(rand(3))
def default_device_by_with(x):
    with torch.device("cpu"):
        y = torch.zeros(3)
    return x + y, y.device


@compiles(rand(3))
def deterministic_mode_is_guarded(compile, x):
    f = compile(lambda v: v + torch.are_deterministic_algorithms_enabled())
    first = f(x)
    torch.use_deterministic_algorithms(True)
    try:
        return first, f(x)
    finally:
        torch.use_deterministic_algorithms(False)


@program(rand(1, 2, 4, 8))
def kernel_of_attention_is_chosen(q):
    from torch.nn.attention import SDPBackend, sdpa_kernel

    with sdpa_kernel([SDPBackend.MATH]):
        y = F.scaled_dot_product_attention(q, q, q, is_causal=True)
    return y, F.scaled_dot_product_attention(q, q, q)


@program(rand(3, 4)).then(rand(4, 3).t())
def layout_as_python_values(x):
    facts = x.is_contiguous(), x.stride(), x.storage_offset(), x.element_size()
    return x.t().is_contiguous(), facts, x.contiguous().stride(0), x.nbytes


@program(rand(3, 4))
def sizes_as_python_values(x):
    a, b = x.shape
    return (
        x.size(0) * b,
        x.size(),
        x.shape[-1:],
        len(x),
        x.ndim,
        x.numel(),
        x.size(dim=1),
    )


@program(rand(3))
def device_and_dtype_as_python_values(x):
    if x.device.type == "cpu" and x.dtype.is_floating_point:
        x = x.to(torch.float64)
    return x, str(x.device), x.dtype, x.device == torch.device("cpu"), x.is_cpu


@program(rand(3), torch.empty(3), torch.empty(0))
def results_are_written_to_out(x, a, b):
    torch.add(x, 1, out=a)
    y = torch.mul(a, 2, out=b)
    return y is b, torch.stack([x, a], out=torch.empty(2, 3))


@program(rand(3, 4))
def out_of_a_view(x):
    y = torch.zeros(4, 4)
    torch.sin(x[0], out=y[1])
    return y, torch.max(x, 1, out=(torch.empty(3), torch.empty(3, dtype=torch.long)))


@program(rand(2, 3, 4))
def factory_functions(x):
    like = torch.zeros_like(x), torch.full_like(x, 2), torch.ones_like(x, dtype=int)
    new = x.new_zeros(2), x.new_ones(3), x.new_full((2,), 5), x.new_tensor([1, 2])
    return like, new, torch.eye(x.shape[0]), torch.linspace(0, 1, 3), torch.tri(2)


@program(ints(2, 3), rand(2, 3))
def factories_from_data(n, x):
    a = torch.tensor([[1, 2], [3, x.shape[0]]])
    return a, torch.as_tensor(n), torch.asarray([1.5]), torch.scalar_tensor(2)


@compiles(rand(3))
def autocast_is_guarded(compile, x):
    f = compile(lambda v: v.unsqueeze(0) @ v.unsqueeze(1))
    first = f(x).dtype
    with torch.autocast("cpu", torch.bfloat16):
        second = f(x).dtype
    return first, second, f(x)


@compiles(rand(3, requires_grad=True))
def grad_mode_is_guarded(compile, x):
    f = compile(lambda v: v * 2)
    with torch.no_grad():
        a = f(x)
    with torch.enable_grad():
        b = f(x)
    return a.requires_grad, b.requires_grad, f(x)


@program(seeded(lambda: nn.ParameterList([nn.Parameter(torch.ones(3))] * 2)), rand(3))
def list_of_parameters(net, x):
    for p in net:
        x = x * p
    return x + net[0], len(net)


@program(nn.ParameterDict({"a": nn.Parameter(torch.ones(3))}), rand(3))
def dict_of_parameters(net, x):
    return [x * p + len(name) for name, p in net.items()], "a" in net, net["a"] + 1


@program(seeded(lambda: nn.ModuleDict({"a": nn.Linear(3, 3), "b": nn.ReLU()})), rand(3))
def dict_of_modules(net, x):
    for name in net:
        x = net[name](x)
    return x, list(net.keys()), [type(m).__name__ for m in net.values()]


@program(seeded(lambda: nn.Linear(3, 3)), rand(2, 3))
def global_pre_hook(net, x):
    from torch.nn.modules import module

    handle = module.register_module_forward_pre_hook(lambda m, args: (args[0] + 1,))
    try:
        return net(x)
    finally:
        handle.remove()


@program(seeded(lambda: nn.Linear(3, 2)), rand(2, 3))
def orthogonal_parametrisation(net, x):
    class Positive(nn.Module):
        def forward(self, w):
            return w.abs()

    nn.utils.parametrize.register_parametrization(net, "weight", Positive())
    y = net(x)
    nn.utils.parametrize.remove_parametrizations(net, "weight")
    return y, net(x)


@compiles(rand(2, 3))
def module_is_edited_between_calls(compile, x):
    net = seeded(lambda: nn.Sequential(nn.Linear(3, 3), nn.ReLU()))
    compiled = compile(net)
    first = compiled(x)
    net.append(nn.Linear(3, 1))
    second = compiled(x)
    del net[1]
    net[0].bias = None
    return first, second, compiled(x)


@compiles(rand(2, 3))
def buffers_are_registered_between_calls(compile, x):
    net = seeded(lambda: nn.BatchNorm1d(3))
    compiled = compile(net)
    a = compiled(x)
    net.eval()
    b = compiled(x)
    net.running_mean = torch.ones(3)
    return a, b, compiled(x), net.num_batches_tracked
