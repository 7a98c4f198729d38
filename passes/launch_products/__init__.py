"""launch-products: products of matrices stand in launch tables, beside kernels.

``aten.mm`` and the like cost the host more than the launch of a kernel. A product whose
sizes are known is planned when the program is built, and launched with the kernels
around it by one native call; its result is a buffer like any other.

Requires:
    A launch program as `convert-graph-to-host` makes it, before `group-launches`.

Establishes:
    With ``library=cublaslt``, a `host.extern` of ``aten.mm``, ``bmm``, ``addmm`` or
    ``linear`` is a `host.launch` of `@matmul`, which is no kernel of the module: its
    buffers are two matrices (or batches of them), a bias or none, and the result, whose
    rows are contiguous, though there may be gaps between them.

Before::

    %0 = host.extern (%b, %x, %y) {op = "aten.addmm.default"}

After::

    %0 = host.alloc
    host.launch (%x, %y, %b, %0) {kernel = @matmul, outputs = 1}

Large products of 16-bit floats are split where a size is no multiple of 8: of 8192 x
768 x 50257, cuBLAS makes 95 TFLOP/s, of 8192 x 768 x 50256 it makes 770, whatever the
distance of rows (H200, cuBLAS 13). The rest is a product of its own, `@matmul_add`
where it has to be added.

It leaves to ATen what has symbolic or empty sizes, factors, other dtypes, a bias that
is no vector, and matrices that are not dense along a dim or begin at odd addresses.

A product that is only copied, because rows of results lie without gaps, is computed in
blocks of rows, each copied at once: no second matrix of its size is alive.

What lives here: ``product`` (what is a product), ``blocks`` (its launches), ``rows``
(products that are copied).
"""

from dataclasses import dataclass

from girih.dialects.bindings import ir
from girih.passes.launch_products.blocks import launch
from girih.passes.launch_products.product import is_plain, product_of
from girih.passes.launch_products.rows import find_copy, launch_in_rows
from girih.passes.registry import register_pass


@dataclass(frozen=True)
class LaunchProductsOptions:
    """Options of `launch-products`."""

    library: str = "aten"
    """Library of the launches: ``cublaslt``. With ``aten`` the pass changes nothing."""

    row_bytes: int = 67108864
    """Most bytes of a block of rows of a product that is only copied. The default is
    the largest buffer of a workspace."""


@register_pass("launch-products", options=LaunchProductsOptions)
def run(op: ir.OpView, options: LaunchProductsOptions) -> None:
    """Turns calls of ATen that multiply matrices into launches."""
    if options.library == "aten":
        return
    if options.library != "cublaslt":
        raise ValueError(f"library must be aten or cublaslt, got {options.library!r}")
    # Launches, views and kernels are erased on the way, calls only each in its turn.
    for function in _named("func.func", op):
        for call in _named("host.extern", function):
            product = product_of(call)
            if product is None or not is_plain(product, call.results[0]):
                continue
            copy = find_copy(call, op, options.row_bytes)
            if copy is None:
                launch(call, product)
            else:
                launch_in_rows(call, product, copy)


def _named(name: str, parent: ir.OpView) -> list[ir.OpView]:
    operations = parent.operation.regions[0].blocks[0].operations
    return [op for op in operations if op.operation.name == name]
