"""The entry points of torch that programs call: one seam, the cheapest correct ones.

Measured on torch 2.13, CPython 3.11, 16 floats (2026-11-20): `empty_strided` 0.67 us,
`guards._empty_strided_cpu` 0.30, `as_strided` 0.96, `guards._reinterpret_tensor` 0.40;
`addmm` through its overload's `__call__` 2.2, through `_op` 1.86, through the parser of
`torch._C` 1.47 us; `convolution` through `_op` 13.3, through the parser 7.6 us.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import torch

_guards = torch._C._dynamo.guards  # part of the C library; imports no Python module
_base = torch._C.TensorBase

size = _base.size
stride = _base.stride
data_ptr = _base.data_ptr
storage_offset = _base.storage_offset
as_strided = _base.as_strided
copy_ = _base.copy_
increment_version = torch._C._increment_version
item = _base.item
_is_autocast_on = torch._C._is_any_autocast_enabled


def _empty_strided_generic(
    sizes: Sequence[int], strides: Sequence[int], dtype: torch.dtype
) -> torch.Tensor:
    return torch.empty_strided(sizes, strides, dtype=dtype)


def _reinterpret_generic(
    tensor: torch.Tensor, sizes: Sequence[int], strides: Sequence[int], offset: int
) -> torch.Tensor:
    return tensor.detach().as_strided(sizes, strides, tensor.storage_offset() + offset)


empty_strided: Callable = getattr(_guards, "_empty_strided_cpu", _empty_strided_generic)
"""`(sizes, strides, dtype)` to a fresh CPU tensor."""


def empty_strided_on(device: torch.device) -> Callable:
    """What makes a fresh tensor on a device, called as `empty_strided`."""
    fast = getattr(_guards, "_empty_strided_cuda", None)
    # The fast one allocates on the current device, whichever that is.
    if device.type == "cuda" and fast is not None and torch.cuda.device_count() == 1:
        return fast
    return functools.partial(_empty_strided_on_device, device)


def maker_on_device(function: object) -> str | None:
    """The function of this module that made what makes tensors on a device, or None.

    For who writes the program to a file: another machine makes its own.
    """
    if function is getattr(_guards, "_empty_strided_cuda", _empty_strided_on_device):
        return "empty_strided_on"
    if getattr(function, "func", None) is _empty_strided_on_device:
        return "empty_strided_on"
    return "full_on" if hasattr(function, "girih_fills") else None


def _empty_strided_on_device(
    device: torch.device, sizes: Sequence[int], strides: Sequence[int], dtype
) -> torch.Tensor:
    return torch.empty_strided(sizes, strides, dtype=dtype, device=device)


class MadeOtherwise(RuntimeError):
    """An operator made something else than girih compiled the graph for.

    The data is not to blame, so a run of the graph in eager mode would hide it.
    """


def check_made(name: str, dtype: torch.dtype) -> Callable:
    """What raises where an operator made something else than its fake said.

    Args:
        name: The overload.
        dtype: What the fake implementation said.

    Returns:
        Called with what the operator returned, and the sizes that the fake said.
    """

    def check(made: object, sizes: tuple[int, ...]) -> None:
        is_tensor = isinstance(made, torch.Tensor)
        if is_tensor and made.layout is torch.strided and not made.is_meta:
            if made.dtype is dtype and made.shape == sizes:
                return
        got = f"a {type(made).__name__}"
        if is_tensor:
            got = f"{made.dtype} of {tuple(made.shape)} on {made.device}, {made.layout}"
        raise MadeOtherwise(
            f"the operator {name} made {got}, where its fake implementation says "
            f"{dtype} of {tuple(sizes)}, for which girih compiled the graph"
        )

    check.girih_made = (name, dtype)  # for who writes the program to a file
    return check


def aligned_copy(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor in memory that begins at a multiple of 16 bytes.

    Called where a tensor begins elsewhere, as `x[1:]` does.
    """
    steps = zip(tensor.shape, tensor.stride(), strict=True)
    span = 1 + sum((size - 1) * stride for size, stride in steps)
    elements = tensor.detach().as_strided((max(span, 0),), (1,)).clone()
    return elements.as_strided(tensor.shape, tensor.stride())


def raw_stream(device: torch.device) -> int:
    """The handle of the stream that is current on a CUDA device."""
    return torch._C._cuda_getCurrentRawStream(device.index)


def full_on(device: torch.device) -> Callable:
    """What makes a tensor without dims, `(number, dtype)`, without waiting for it."""

    def full(number: float | int, dtype: torch.dtype) -> torch.Tensor:
        return torch.full((), number, dtype=dtype, device=device)

    full.girih_fills = device
    return full


reinterpret: Callable = getattr(_guards, "_reinterpret_tensor", _reinterpret_generic)
"""`(tensor, sizes, strides, offset)` to a tensor on the same storage, not a view of
`tensor` for autograd; `offset` counts elements from the tensor's own offset."""

# ATen overloads whose torch function takes the same arguments and with these can only
# end in this overload. The value is the path under `torch._C`. These functions hand a
# warning of C++ to Python's `warnings`; an overload's own call prints it on stderr.
FAST_ENTRIES = {
    "aten.addmm.default": "_VariableFunctions.addmm",
    "aten.arange.start_step": "_VariableFunctions.arange",
    "aten.avg_pool1d.default": "_VariableFunctions.avg_pool1d",
    "aten.avg_pool2d.default": "_nn.avg_pool2d",
    "aten.baddbmm.default": "_VariableFunctions.baddbmm",
    "aten.bernoulli.default": "_VariableFunctions.bernoulli",
    "aten.bmm.default": "_VariableFunctions.bmm",
    "aten.cat.default": "_VariableFunctions.cat",
    "aten.clone.default": "_VariableFunctions.clone",
    "aten.constant_pad_nd.default": "_VariableFunctions.constant_pad_nd",
    "aten.convolution.default": "_VariableFunctions.convolution",
    "aten.cumsum.default": "_VariableFunctions.cumsum",
    "aten.flip.default": "_VariableFunctions.flip",
    "aten.full.default": "_VariableFunctions.full",
    "aten.index_select.default": "_VariableFunctions.index_select",
    "aten.linear.default": "_nn.linear",
    "aten.max_pool2d_with_indices.default": "_nn.max_pool2d_with_indices",
    "aten.mm.default": "_VariableFunctions.mm",
    "aten.native_dropout.default": "_VariableFunctions.native_dropout",
    "aten.rand.default": "_VariableFunctions.rand",
    "aten.randint.low": "_VariableFunctions.randint",
    "aten.randn.default": "_VariableFunctions.randn",
    "aten.scaled_dot_product_attention.default": "_nn.scaled_dot_product_attention",
    "aten.scatter.src": "_VariableFunctions.scatter",
    "aten.scatter_add.default": "_VariableFunctions.scatter_add",
    "aten.sort.stable": "_VariableFunctions.sort",
    "aten.std.correction": "_VariableFunctions.std",
    "aten.std_mean.correction": "_VariableFunctions.std_mean",
    "aten.topk.default": "_VariableFunctions.topk",
    "aten.var.correction": "_VariableFunctions.var",
    "aten.var_mean.correction": "_VariableFunctions.var_mean",
}

OWN: dict[str, Callable] = {}
"""Functions of girih that programs call like operators, by name; they return a list of
tensors."""

_DTYPES = {
    "bf16": torch.bfloat16,
    "complex<f16>": torch.complex32,
    "complex<f32>": torch.complex64,
    "complex<f64>": torch.complex128,
    "f16": torch.float16,
    "f32": torch.float32,
    "f64": torch.float64,
    "f8E4M3FN": torch.float8_e4m3fn,
    "f8E4M3FNUZ": torch.float8_e4m3fnuz,
    "f8E5M2": torch.float8_e5m2,
    "f8E5M2FNUZ": torch.float8_e5m2fnuz,
    "i1": torch.bool,
    "i16": torch.int16,
    "i32": torch.int32,
    "i64": torch.int64,
    "i8": torch.int8,
    "ui16": torch.uint16,
    "ui32": torch.uint32,
    "ui64": torch.uint64,
    "ui8": torch.uint8,
}


def dtype(element_type: str) -> torch.dtype:
    """The dtype of an element type, such as "f32"."""
    return _DTYPES[element_type]


def constant(kind: str, name: str) -> object:
    """A constant of torch: `kind` is dtype, device, layout or memory_format."""
    if kind == "device":
        return torch.device(name)
    return getattr(torch, name)


def returns_one_tensor(name: str) -> bool:
    """Whether the overload returns a tensor itself, not a tuple or list."""
    if name in OWN:
        return False
    returns = overload(name)._schema.returns
    return len(returns) == 1 and isinstance(returns[0].type, torch.TensorType)


def returns_tensors(name: str, count: int) -> bool:
    """Whether the overload returns a tuple or list of `count` tensors and no more."""
    if name in OWN:
        return True
    types = [item.type for item in overload(name)._schema.returns]
    if len(types) == 1:
        return isinstance(types[0], torch.ListType)
    return len(types) == count and all(isinstance(t, torch.TensorType) for t in types)


def flatten_tensors(returned: object) -> list[torch.Tensor]:
    """The tensors among what an operator returned, in order."""
    if isinstance(returned, torch.Tensor):
        return [returned]
    if not isinstance(returned, (tuple, list)):
        return []
    return [tensor for item in returned for tensor in flatten_tensors(item)]


def overload(name: str) -> torch._ops.OpOverload:
    """The ATen overload called `name`, such as "aten.mm.default".

    Raises:
        LookupError: torch has no such operator.
    """
    namespace, packet, overload_name = _split_name(name)
    try:
        packet_object = getattr(getattr(torch.ops, namespace), packet)
        return getattr(packet_object, overload_name)
    except AttributeError:
        raise LookupError(f"torch {torch.__version__} has no operator {name}") from None


def _split_name(name: str) -> tuple[str, str, str]:
    parts = name.replace("::", ".").split(".")
    if len(parts) == 2:
        parts.append("default")
    if len(parts) != 3:
        raise LookupError(
            f"expected an operator's name as in aten.mm.default, got {name}"
        )
    return parts[0], parts[1], parts[2]


def entry(name: str) -> Callable:
    """The cheapest callable that runs the ATen overload called `name`.

    Raises:
        LookupError: torch has no such operator.
    """
    if name in OWN:
        return OWN[name]
    found = overload(name)
    target: object = torch._C
    for part in FAST_ENTRIES.get(name, "").split("."):
        target = getattr(target, part, None) if part else None
    return target if callable(target) else found._op


def without_autocast() -> object | None:
    """Switches autocast off until what is returned is dropped.

    What autocast casts was recorded as casts; around a backward program it may be on
    where it was off. Buffers have the dtypes of the program.
    """
    if not _is_autocast_on():
        return None
    guard = torch._C._DisableAutocast()
    guard.__enter__()
    return guard


def tensor_of_number(number: float | int) -> torch.Tensor:
    """A Python number as a tensor without dims, of float64 or int64."""
    kind = torch.float64 if isinstance(number, float) else torch.int64
    return torch.scalar_tensor(number, dtype=kind)


def restride(tensor: torch.Tensor, strides: tuple[int, ...]) -> torch.Tensor:
    """`tensor` laid out with `strides`; itself where only dims of size 1 differ.

    Called when an ATen op chose other strides than its fake-tensor rule had announced.
    """
    actual = tensor.stride()
    if len(actual) == len(strides) and (
        tensor.numel() == 0
        or all(
            size <= 1 or here == there
            for size, here, there in zip(tensor.shape, actual, strides, strict=True)
        )
    ):
        return tensor
    laid_out = torch.empty_strided(
        tensor.shape, strides, dtype=tensor.dtype, device=tensor.device
    )
    return laid_out.copy_(tensor)
