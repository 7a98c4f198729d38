"""Tensor subclasses, overrides, custom operators, torch.compiler."""

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from differential.program import program, rand


class Tagged(torch.Tensor):
    """A tensor subclass without behaviour of its own."""

    def __deepcopy__(self, memo):
        return self.as_subclass(torch.Tensor).clone().as_subclass(type(self))


class Logged(Tagged):
    names = []

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        cls.names.append(getattr(function, "__name__", "?"))
        return super().__torch_function__(function, types, args, kwargs or {})


class Duck:
    """Not a tensor, but overrides torch's functions."""

    def __init__(self, value):
        self.value = value

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        values = [a.value if isinstance(a, cls) else a for a in args]
        return cls(function(*values, **(kwargs or {})))


@torch.library.custom_op("girih_differential::halve", mutates_args=())
def halve(x: torch.Tensor) -> torch.Tensor:
    """Divides by two."""
    return x / 2


@halve.register_fake
def _(x):
    return torch.empty_like(x)


@torch.library.custom_op("girih_differential::grow", mutates_args=("x",))
def grow(x: torch.Tensor, n: int) -> None:
    """Adds in place."""
    x.add_(n)


class Names(TorchFunctionMode):
    def __init__(self):
        super().__init__()
        self.count = 0

    def __torch_function__(self, function, types, args=(), kwargs=None):
        self.count += 1
        return function(*args, **(kwargs or {}))


class Calls(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.names.append(str(function))
        return function(*args, **(kwargs or {}))


@program(rand(3).as_subclass(Tagged))
def subclass_argument(x):
    return x + 1, type(x * 2).__name__, isinstance(x, torch.Tensor)


@program(rand(3))
def subclass_made_inside(x):
    y = x.as_subclass(Tagged)
    return y * 2, type(y).__name__


@program(rand(3).as_subclass(Logged))
def subclass_with_function_override(x):
    return x + 1, torch.relu(x)


@program(rand(3))
def duck_argument(x):
    return torch.add(Duck(x), 1).value


@program(rand(3))
def function_mode(x):
    with Names() as mode:
        y = x + 1
        z = torch.relu(y)
    return z, mode.count


@program(rand(3))
def dispatch_mode(x):
    with Calls() as mode:
        y = x * 2 + 1
    return y, mode.names


@program(rand(4))
def custom_operator(x):
    return halve(x) + 1, torch.ops.girih_differential.halve(x * 2)


@program(rand(3))
def custom_operator_with_mutation(x):
    grow(x, 3)
    y = x + 1
    torch.ops.girih_differential.grow(y, 2)
    return y


@program(rand(3))
def aten_operators(x):
    return (
        torch.ops.aten.add.Tensor(x, 1),
        torch.ops.aten.relu(x),
        torch.ops.aten.sin.default(x),
    )


@program(rand(3))
def graph_break_is_asked_for(x):
    y = x + 1
    torch._dynamo.graph_break() if torch.compiler.is_compiling() else None
    return y * 2


@torch.compiler.disable
def left_alone(x):
    return x.sum().item()


@program(rand(3))
def disabled_callee(x):
    return x * left_alone(x + 1)


@program(torch.eye(3).to_sparse())
def sparse_argument(x):
    return x.to_dense() * 2, x.is_sparse


@program(rand(3))
def sparse_made_inside(x):
    y = torch.diag(x).to_sparse()
    return (y @ torch.ones(3, 1)).flatten()


@program(rand(3))
def meta_tensors(x):
    y = torch.empty(3, 2, device="meta")
    return x + 1, (y @ torch.empty(2, 4, device="meta")).shape


@program(rand(3, dtype=torch.complex64))
def complex_views(x):
    return torch.view_as_real(x) * 2, x.conj(), x.conj().is_conj()


@program(rand(4))
def fourier_transform(x):
    return torch.fft.rfft(x), torch.fft.irfft(torch.fft.rfft(x), n=4)


@program(rand(3, 3))
def decompositions(x):
    a = x @ x.t() + torch.eye(3)
    return torch.linalg.cholesky(a), torch.linalg.solve(a, x), torch.linalg.det(a)


@program(rand(3))
def distributions(x):
    normal = torch.distributions.Normal(x, 1.0)
    return normal.log_prob(torch.zeros(3)), normal.mean


@program(rand(3))
def scripted_callee(x):
    return _scripted(x) * 2


@torch.jit.script
def _scripted(x):
    return x + 1


@program(rand(3))
def tensor_printing_options(x):
    return str(torch.zeros(2)), x + 1


@program(rand(3))
def named_tensors(x):
    y = x.rename("n")
    return (y + 1).names, y.rename(None) * 2
