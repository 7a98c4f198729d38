"""Products of matrices as calls in launch tables: cuBLASLt, planned once.

``aten.mm`` takes 11 to 13 us of the host for each call (H200, torch 2.11); a planned
product takes what the library needs to launch, and stands in one native call with the
kernels around it. Its result may lie in a workspace as a kernel's does.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from girih.codegen.errors import CodegenError
from girih.codegen.gpu import _products

if TYPE_CHECKING:  # packages plan products without the compiler
    from girih.dialects.types import BufferParts

MAX_WORKSPACE_BYTES = 32 << 20
"""What NVIDIA recommends for Hopper, and torch takes."""

_LIBRARIES = ("libcublasLt.so.13", "libcublasLt.so.12")

# Element type -> the library's numbers: of the type, of the type that it adds in, of
# the type of factors.
_FLOAT, _DOUBLE, _TF32 = 68, 70, 77
_TYPES = {
    "bf16": (14, _FLOAT, 0),
    "f16": (2, _FLOAT, 0),
    "f32": (0, _FLOAT, 0),
    "f64": (1, _DOUBLE, 1),
}


class Product(NamedTuple):
    """What is multiplied, as the library's numbers: sizes count along columns.

    Attributes:
        kinds: numbers of the element type, of the type that it adds in, of that of
            factors.
        turned: for both operands whether rows are contiguous in memory.
        sizes: rows, columns, depth, matrices of the batch.
        leading: elements from one column in memory to the next, of both operands and
            the result.
        strides: elements from one matrix of the batch to the next, likewise.
        has_bias: whether a vector is added.
        adds: whether the product is added to what the result holds.
    """

    kinds: tuple[int, int, int]
    turned: tuple[bool, bool]
    sizes: tuple[int, int, int, int]
    leading: tuple[int, int, int]
    strides: tuple[int, int, int]
    has_bias: bool
    adds: bool


@dataclass(frozen=True)
class Plan:
    """A product that launch tables can call.

    Attributes:
        call: the capsule; it takes a, b, the bias if there is one, the result, and a
            workspace if it needs one.
        workspace_bytes: 0 for none.
    """

    call: Any
    workspace_bytes: int


@dataclass(frozen=True)
class _Matrix:
    """A matrix, or a batch of them, as the library sees it: columns first.

    Attributes:
        turned: whether rows are contiguous in memory, where columns are expected.
        leading: elements from one column in memory to the next.
        stride: elements from one matrix of the batch to the next.
    """

    turned: bool
    leading: int
    stride: int


def plan_product(
    device: int,
    a: BufferParts,
    b: BufferParts,
    result: BufferParts,
    *,
    has_bias: bool,
    adds: bool = False,
    tf32: bool = False,
    library: str | None = None,
) -> Plan:
    """Plans result = a @ b (+ bias) for a device, which has to be current.

    Args:
        device: its number.
        a: [..., rows, depth], with at most one batch dim; sizes and strides are ints.
        b: [..., depth, columns].
        result: [..., rows, columns], contiguous.
        has_bias: whether a vector of [columns] is added.
        adds: whether the product is added to what the result holds.
        tf32: whether float32 may be multiplied with 10 bits of mantissa.
        library: the file to use, else torch's.

    Raises:
        CodegenError: the library is missing or refused the product.
    """
    product = describe_product(a, b, result, has_bias=has_bias, adds=adds, tf32=tf32)
    return plan_described(device, product, library=library)


def describe_product(
    a: BufferParts,
    b: BufferParts,
    result: BufferParts,
    *,
    has_bias: bool,
    adds: bool,
    tf32: bool,
) -> Product:
    """The product of `plan_product`, which no library has planned yet."""
    element = str(a.element_type)
    kinds = _TYPES[element]
    if tf32 and element == "f32":
        kinds = (kinds[0], _TF32, kinds[2])
    *batch, rows, columns = result.shape
    # The library sees the transposes, so the operands change places.
    first, second, third = _matrix(b), _matrix(a), _matrix(result)
    return Product(
        kinds,
        (first.turned, second.turned),
        (columns, rows, a.shape[-1], batch[0] if batch else 1),
        (first.leading, second.leading, third.leading),
        (first.stride, second.stride, third.stride),
        has_bias,
        adds,
    )


def plan_described(
    device: int,
    product: Product,
    *,
    most_workspace: int = MAX_WORKSPACE_BYTES,
    library: str | None = None,
) -> Plan:
    """Plans a product for a device, which has to be current.

    Args:
        device: its number.
        product: what is multiplied.
        most_workspace: bytes that the plan may need.
        library: the file to use, else torch's.

    Raises:
        CodegenError: the library is missing or refused the product.
    """
    try:
        call, workspace = _products.product(
            library or _library(), device, *product, most_workspace
        )
    except (OSError, RuntimeError) as error:
        columns, rows, depth, _ = product.sizes
        raise CodegenError(f"{error}: {rows} x {columns} x {depth}") from error
    return Plan(call, workspace)


def _matrix(parts: BufferParts) -> _Matrix:
    *batch, rows, columns = parts.shape
    *outer, down, right = parts.strides
    stride = outer[0] if batch else 0
    if right == 1 or columns == 1:
        return _Matrix(False, max(down, columns), stride)
    return _Matrix(True, max(right, rows), stride)


@cache
def _library() -> str:
    """The library that torch has loaded."""
    with open("/proc/self/maps") as file:
        paths = {line.split()[-1] for line in file if "libcublasLt.so" in line}
    return min(paths, default=_LIBRARIES[0])
