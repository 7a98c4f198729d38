"""What eager's kernels demand of sizes, where meta kernels demand nothing.

A meta kernel says what a call gives; that of many an op takes sizes which the kernel
refuses (a layer norm's weight of another shape, a part that does not fit its place).
The code that girih makes trusts the sizes, so what is not refused here is read beyond
its end. A symbolic size that is compared becomes a guard, and two that have to be equal
become one.

Each demand has the signature of its op and raises ``Refused`` where eager raises; eager
then runs the call itself, so the text is for logs only.
Found by test/frontend/fake/test_refused_sizes.py, which compares all ops with eager.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import torch

from girih.dialects.rule_table import RuleTable
from girih.frontend.fake.geometry import VIEW_RULES
from girih.frontend.fake.layout import broadcast, wrap_dims

DEMANDS: dict[str, Callable] = RuleTable("demand of aten.")


class Refused(RuntimeError):
    """Eager refuses this call for the sizes of its operands."""


def demands(*names: str):
    """Registers a function as what ATen ops demand, named ``add.Tensor``."""
    return DEMANDS.registering(*names)


@functools.cache
def demand_of(func: torch._ops.OpOverload) -> Callable | None:
    """What an op demands of its sizes; an op in place demands what its twin does."""
    namespace, name = func.name().split("::")
    if namespace != "aten":
        return None
    base, _, overload = name.partition(".")
    twin = base.removesuffix("_") + ("." + overload if overload else "")
    return DEMANDS.get(name) or DEMANDS.get(twin)


def is_undecided(error: Exception) -> bool:
    """Whether an error says that a size is known only when the program runs.

    By name: its module needs sympy, which programs without symbols never load.
    """
    return type(error).__name__ == "GuardOnDataDependentSymNode"


def check_demand(func: torch._ops.OpOverload, args: tuple, kwargs: dict) -> None:
    """Raises ``Refused`` where eager is known to refuse the sizes of a call.

    Sizes that only the program's data tell are left to the program.
    """
    demand = demand_of(func)
    if demand is None:
        return
    try:
        demand(*args, **kwargs)
    except Exception as error:
        if not is_undecided(error):
            raise


def _check(holds: bool, what: str) -> None:
    if not holds:
        raise Refused(what)


def _check_size(tensor: torch.Tensor | None, size: tuple, what: str) -> None:
    if tensor is not None:
        _check(tuple(tensor.size()) == tuple(size), f"{what} is not of size {size}")


def _check_dim(tensor: torch.Tensor, dim: int) -> None:
    _check(wrap_dims(dim, tensor.dim()) is not None, f"no dim {dim}")


# Normalisation ----------------------------------------------------------------------


@demands("native_layer_norm")
def _layer_norm(input, normalized_shape, weight, bias, eps):
    _check(len(normalized_shape) > 0, "normalized_shape has no dims")
    _check_size(weight, normalized_shape, "weight")
    _check_size(bias, normalized_shape, "bias")


@demands("native_group_norm")
def _group_norm(input, weight, bias, N, C, HxW, group, eps):
    _check(input.numel() == N * C * HxW, "input has not N * C * HxW elements")
    for name, parameter in (("weight", weight), ("bias", bias)):
        _check_size(parameter, (C,), name)


@demands(
    "native_batch_norm",
    "cudnn_batch_norm",
    "_native_batch_norm_legit",
    "_native_batch_norm_legit_no_training",
    "_native_batch_norm_legit.no_stats",
    "_batch_norm_with_update",
    "_batch_norm_no_update",
)
def _batch_norm(input, *parameters, **options):
    _check(input.dim() >= 2, "input has no channels")
    for parameter in parameters:
        if isinstance(parameter, torch.Tensor):
            _check_size(parameter, (input.size()[1],), "parameter")


@demands("_softmax", "_log_softmax")
def _softmax(self, dim, half_to_float):
    _check_dim(self, dim)


@demands("logsumexp")
def _logsumexp(self, dim, keepdim=False):
    # ATen adds the maxima of kept dims to a result without dims.
    is_mixed = len(dim) == 0 and self.dim() > 0 and not keepdim
    _check(
        not is_mixed or self.numel() == 0,
        "logsumexp got an empty dim for a tensor with dims",
    )


@demands("sort")
def _sort(self, dim=-1, descending=False):
    _check_dim(self, dim)


@demands("sort.stable")
def _sort_stably(self, stable=None, dim=-1, descending=False):
    _check_dim(self, dim)


# Products ---------------------------------------------------------------------------


@demands("addmv")
def _addmv(self, mat, vec, *, beta=1, alpha=1):
    fits = mat.dim() == 2 and vec.dim() == 1 and self.dim() <= 1
    _check(fits, "mat must have 2 dims, vec 1, and input at most 1")
    rows, columns = mat.size()
    _check_size(vec, (columns,), "vec")
    fits = broadcast([self.size(), (rows,)])
    _check(fits is not None and fits[0] == rows, "self does not expand to the product")


# Padding ----------------------------------------------------------------------------


@demands("constant_pad_nd")
def _constant_pad(self, pad, value=0):
    size = list(reversed(self.size()))
    for extent, before, after in zip(size, pad[::2], pad[1::2], strict=False):
        # Eager cuts off before it pads, one end after the other.
        for cut in (before, after):
            if cut < 0:
                extent = extent + cut
                _check(extent >= 0, "the padding cuts off more than the size")


# Pixels and channels ----------------------------------------------------------------


@demands("pixel_shuffle")
def _pixel_shuffle(self, upscale_factor):
    _check(self.dim() >= 3, "input must have at least 3 dims")
    _check(upscale_factor > 0, "the factor is not positive")
    _check(self.size()[-3] % upscale_factor**2 == 0, "channels are not divisible")


@demands("pixel_unshuffle")
def _pixel_unshuffle(self, downscale_factor):
    _check(self.dim() >= 3, "input must have at least 3 dims")
    _check(downscale_factor > 0, "the factor is not positive")
    fits = all(size % downscale_factor == 0 for size in self.size()[-2:])
    _check(fits, "height or width is not divisible")


@demands("channel_shuffle")
def _channel_shuffle(self, groups):
    _check(self.dim() > 2, "input must have at least 3 dims")
    _check(groups > 0, "the number of groups is not positive")
    _check(self.size()[1] % groups == 0, "channels are not divisible")


# Resized images ---------------------------------------------------------------------

RESIZED = tuple(
    f"{kind}{rank}d"
    for rank, kinds in {
        1: ("upsample_nearest", "_upsample_nearest_exact", "upsample_linear"),
        2: (
            *("upsample_nearest", "_upsample_nearest_exact"),
            *("upsample_bilinear", "upsample_bicubic"),
        ),
        3: ("upsample_nearest", "_upsample_nearest_exact", "upsample_trilinear"),
    }.items()
    for kind in kinds
)


@demands(*RESIZED)
def _resized(self, output_size, *options, **named):
    rank = len(output_size) + 2
    _check(self.dim() == rank, f"input must have {rank} dims")
    _check(all(size > 0 for size in self.size()[1:]), "the image is empty")
    _check(all(size > 0 for size in output_size), "the result is empty")


@demands(*(f"{name}.vec" for name in RESIZED))
def _resized_by_factors(input, output_size, *options, **named):
    if output_size is None:
        factors = named["scale_factors"] if "scale_factors" in named else options[-1]
        pairs = zip(input.size()[2:], factors, strict=True)
        output_size = [torch.sym_int(size * factor) for size, factor in pairs]
    _resized(input, output_size)


# Losses -----------------------------------------------------------------------------


@demands("nll_loss_forward")
def _nll_loss(self, target, weight, reduction, ignore_index):
    fits = self.dim() in (1, 2) and target.dim() <= 1
    _check(fits, "input must have 1 or 2 dims, target at most 1")
    # A target of one class is taken for one sample with a batch of one or without it.
    if self.dim() == 2 and target.dim() == 1:
        _check_size(target, self.size()[:1], "target")
    elif target.dim() == 1:
        _check_size(target, (1,), "target")
    elif self.dim() == 2:
        fits = self.size()[0] == 1
        _check(fits, "a target without dims needs an input with a batch of 1")
    _check_size(weight, self.size()[-1:], "weight")


@demands("nll_loss2d_forward")
def _nll_loss_of_images(self, target, weight, reduction, ignore_index):
    fits = self.dim() == 4 and target.dim() == 3
    _check(fits, "input must have 4 dims, target 3")
    batch, classes, rows, columns = self.size()
    _check_size(target, (batch, rows, columns), "target")
    _check_size(weight, (classes,), "weight")


@demands("smooth_l1_loss")
def _smooth_l1_loss(self, target, reduction=1, beta=1.0):
    _check(beta >= 0, "beta is negative")


@demands("huber_loss")
def _huber_loss(self, target, reduction=1, delta=1.0):
    _check(delta > 0, "delta is not positive")


@demands("softshrink")
def _softshrink(self, lambd=0.5):
    if self.dtype.is_floating_point:
        _check(0 <= lambd <= torch.finfo(self.dtype).max, "lambd is not in range")


@demands("soft_margin_loss")
def _soft_margin_loss(self, target, reduction=1):
    _expands_to(target, self.size(), "target")


@demands("_softmax_backward_data", "_log_softmax_backward_data")
def _softmax_backward(grad_output, output, dim, input_dtype):
    _check_size(grad_output, output.size(), "grad_output")


# Writing ----------------------------------------------------------------------------


def _expands_to(tensor: torch.Tensor, size: tuple, what: str) -> None:
    fits = broadcast([tensor.size(), size])
    expands = fits is not None and len(fits) == len(size) and fits == tuple(size)
    _check(expands, f"{what} does not expand to {size}")


def _viewed_size(view: str, self, args: tuple, kwargs: dict) -> tuple:
    """The size of a view by torch's own kernel, which refuses what eager refuses."""
    base, _, overload = view.partition(".")
    operator = getattr(getattr(torch.ops.aten, base), overload or "default")
    try:
        return tuple(operator(self, *args, **kwargs).size())
    except (IndexError, RuntimeError) as error:
        raise Refused(str(error)) from error


def _put_into_view(view: str) -> Callable:
    def demand(self, src, *args, **kwargs):
        place = VIEW_RULES[view](self, *args, **kwargs)
        size = (
            _viewed_size(view, self, args, kwargs)
            if place is NotImplemented
            else place[0]
        )
        _check_size(src, size, "src")

    return demand


for _name, _view in (
    ("diagonal_scatter", "diagonal"),
    ("select_scatter", "select.int"),
    ("slice_scatter", "slice.Tensor"),
):
    if _view in VIEW_RULES:
        demands(_name)(_put_into_view(_view))


@demands(
    "gather",
    "index_add",
    "index_copy",
    "index_fill.int_Scalar",
    "index_fill.int_Tensor",
    "scatter.src",
    "scatter.value",
    "scatter.reduce",
    "scatter.value_reduce",
    "scatter_add",
    "scatter_reduce.two",
)
def _along_dim(self, dim, *args, **kwargs):
    _check_dim(self, dim)


@demands("masked_fill.Tensor")
def _masked_fill(self, mask, value):
    _check(value.dim() == 0, "value is no number")


@demands("index_put", "_unsafe_index_put", "_index_put_impl")
def _index_put(self, indices, values, accumulate=False, unsafe=False):
    used = [index for index in indices if index is not None]
    if any(index.dtype in _MASKS for index in used):
        _check_masks(self, indices)
        return  # how many elements a mask takes is data
    shape = broadcast([index.size() for index in used])
    _check(shape is not None, "indices do not expand to one shape")
    _check(len(indices) <= self.dim(), "more indices than dims")
    taken = [dim for dim, index in enumerate(indices) if index is not None]
    rest = [size for dim, size in enumerate(self.size()) if dim not in taken]
    adjacent = taken[-1] - taken[0] == len(taken) - 1
    first = taken[0] if adjacent else 0
    _fills(values, (*rest[:first], *shape, *rest[first:]))


_MASKS = (torch.bool, torch.uint8)


def _check_masks(self: torch.Tensor, indices: list) -> None:
    """A mask has the sizes of the dims that it stands for; none is broadcast."""
    place = 0
    for index in indices:
        is_mask = index is not None and index.dtype in _MASKS
        count = index.dim() if is_mask else 1
        _check(place + count <= self.dim(), "more indices than dims")
        if is_mask:
            _check_size(index, self.size()[place : place + count], "mask")
        place += count


def _fills(values: torch.Tensor, size: tuple) -> None:
    """Leading dims of one element are dropped."""
    given = list(values.size())
    while len(given) > len(size) and given[0] == 1:
        del given[0]
    fits = broadcast([given, size])
    _check(fits is not None and fits == size, f"values do not expand to {size}")
