"""Methods, operators and attributes of tensors."""

import torch

from differential.program import ints, program, rand


@program(rand(3), rand(3))
def arithmetic(x, y):
    return x + y, x - y, x * y, x / (y * y + 1), x**2, -x, +x, abs(x)


@program(rand(3))
def arithmetic_with_numbers(x):
    return x + 1, 1 + x, 2 - x, x - 2, 3 * x, x / 2, 1 / (x * x + 1), 2**x


@program(rand(3))
def floor_division_and_modulo(x):
    return x // 0.5, x % 0.7, 5 // (x.abs() + 1), divmod(x, 1)[0]


@program(ints(4), ints(4, high=5))
def integer_arithmetic(a, b):
    return a + b, a * b, a // (b + 1), a % (b + 1), a / 2, a << 1, a >> 1, ~a


@program(ints(4), ints(4, high=5))
def integer_logic(a, b):
    return a & b, a | b, a ^ b, a & 3, a == b, (a > 2) & (b < 3), ~(a > 2)


@program(rand(3), rand(3))
def comparisons(x, y):
    return x > y, x >= 0, x < y, x <= 0, x == y, x != y, 0 < x


@program(rand(2, 3), rand(3, 2))
def matrix_products(x, y):
    return x @ y, x.mm(y), x.matmul(y), torch.einsum("ij,jk->ik", x, y), x.t() @ x


@program(rand(3), ints(3), rand(3).double())
def type_promotion(x, n, d):
    return x + n, n + 1.5, x + d, n / 2, n * True, x.half() + x, (n > 1) + 1


@program(rand(2, 3))
def attributes(x):
    facts = x.shape, x.dtype, x.device, x.ndim, x.requires_grad, x.is_cuda, x.layout
    return x, facts, x.T.shape, x.is_leaf, x.is_sparse, x.itemsize, x.nbytes


@program(rand(2, 3))
def size_methods(x):
    sizes = x.size(), x.size(0), x.size(-1), x.dim(), x.numel(), x.nelement()
    return x * x.size(1), sizes, x.stride(), x.stride(0), x.element_size()


@program(rand(2, 3))
def predicates(x):
    y = x.t()
    kinds = x.is_floating_point(), x.is_complex(), x.is_signed(), x.is_inference()
    return y, x.is_contiguous(), y.is_contiguous(), kinds, x.is_same_size(y)


@program(rand(3))
def conversions(x):
    return x.double(), x.half().float(), x.long(), x.int(), x.bool(), x.bfloat16()


@program(rand(3), ints(3))
def conversions_by_to(x, n):
    a = x.to(torch.float64), x.to("cpu"), x.to(n), x.to(dtype=torch.int32)
    return a, x.to(x.dtype) is x, x.type(torch.float64), x.type_as(n), x.to("cpu") is x


@program(rand(3))
def clones(x):
    y = x.clone()
    z = x.detach()
    y += 1
    return y, z, x, x.contiguous() is x, x.clone().data


@program(rand(2, 3))
def reductions(x):
    return x.sum(), x.mean(), x.max(), x.min(), x.prod(), x.std(), x.var(), x.norm()


@program(rand(2, 3))
def reductions_over_dims(x):
    a = x.sum(0), x.mean(dim=1), x.sum((0, 1)), x.amax(-1), x.amin(0, keepdim=True)
    return a, x.std(1), x.logsumexp(1), x.softmax(-1), x.log_softmax(0), x.median()


@program(rand(2, 3))
def reductions_with_indices(x):
    values, indices = x.max(dim=1)
    low = x.min(0)
    return values, indices, low.values, low.indices, x.argmax(), x.argmin(1), low


@program(rand(4))
def sorts(x):
    values, indices = x.sort(descending=True)
    top = x.topk(2)
    return values, indices, top.values, top.indices, x.argsort()


@program(rand(2, 3))
def named_results(x):
    result = torch.max(x, 1)
    return result, type(result).__name__, result[0] + 1, tuple(result)


@program(rand(3))
def cumulations(x):
    return x.cumsum(0), x.cumprod(0), x.cummax(0).values, x.diff(), x.flip(0), x.roll(1)


@program(rand(3))
def elementwise(x):
    a = x.exp(), x.sin(), x.cos(), x.tanh(), x.sigmoid(), x.relu(), x.abs().sqrt()
    return (
        a,
        x.abs().log(),
        x.floor(),
        x.ceil(),
        x.round(),
        x.sign(),
        x.erf(),
        x.square(),
    )


@program(rand(3))
def clamps(x):
    return (
        x.clamp(-1, 1),
        x.clamp(min=0),
        x.clip(max=0.5),
        x.clamp_min(0),
        x.nan_to_num(),
    )


@program(rand(3), rand(3))
def selections(x, y):
    return torch.where(x > 0, x, y), x.where(x > 0, y), x.maximum(y), x.fmin(y)


@program(rand(3))
def masks(x):
    return x.masked_fill(x > 0, 0), x.masked_fill(x < 0, float("-inf")).softmax(0)


@program(rand(3))
def tests_of_values(x):
    return (
        x.isnan(),
        x.isinf(),
        x.isfinite(),
        x.any(),
        (x > 0).all(),
        x.isclose(x + 1e-9),
    )


@program(rand(3))
def functions_of_torch(x):
    return (
        torch.add(x, x, alpha=2),
        torch.relu(x),
        torch.sum(x),
        torch.exp(x),
        torch.neg(x),
    )


@program(rand(2, 3))
def methods_called_on_the_class(x):
    return torch.Tensor.sum(x, 1), torch.Tensor.add(x, 1), torch.Tensor.__mul__(x, 2)


@program(rand(2, 3), rand(2, 3), rand(2, 3))
def fused_arithmetic(x, y, z):
    return x.addcmul(y, z, value=2), x.lerp(y, 0.5), torch.addcdiv(x, y, z.abs() + 1)


@program(rand(2, 2), rand(2, 2))
def linear_algebra(x, y):
    return (
        x.trace(),
        x.diagonal(),
        torch.dot(x[0], y[0]),
        torch.outer(x[0], y[0]),
        x.triu(),
    )


@program(rand(3), 2)
def unknown_arguments(x, n):
    return x.sum(nope=n)


@program(rand(3))
def wrong_types(x):
    return x + "a"


@program(rand(3, dtype=torch.complex64))
def complex_numbers(x):
    return x * 2j, x.real, x.imag, x.abs(), x.conj() + 1, torch.view_as_real(x)


@program(ints(5, high=3))
def counting(n):
    return n.bincount(minlength=4), n.float().histc(3), torch.bucketize(n, n.sort()[0])


@program(rand(3))
def python_numbers_of_tensors(x):
    return len(x), x.shape[0] * 2, x.numel() // 2, x.ndim == 1


@program(rand(3), rand(3))
def equality_is_elementwise(x, y):
    return x == y, x.eq(y), (x == x).all(), x is x, x is not y


@program(rand(3))
def chained_methods(x):
    return x.add(1).mul(2).sub(3).div(4).pow(2).neg().exp().log()


@program(rand(3))
def attributes_set_on_tensors(x):
    y = x + 1
    y.tag = "made"
    return y, y.tag, hasattr(x, "tag")


@program(rand(3, 3))
def property_transposes(x):
    return x.T, x.mT, x.H, x.real, x.data


@program(torch.tensor(2.5))
def scalars(x):
    return x + 1, x.dim(), x.shape, x * torch.tensor(2), x.view(1), x.expand(3)


@program(rand(0))
def empty(x):
    return x + 1, x.sum(), x.numel(), x.shape, torch.cat([x, x])
