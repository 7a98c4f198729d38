"""Calls of ATen whose results have memory of their own.

``graph.extern`` may return a view of an operand, so it has the trait ``MAY_ALIAS``. The
calls listed here never do, on any device. So a kernel may write over their results, and
what a result is written to leaves the operands alone.
"""

from girih.dialects.bindings import ir
from girih.dialects.definition import has, role_of
from girih.dialects.traits import MAY_ALIAS, Role

_DIMS = (1, 2, 3)
_RESAMPLED = (
    *(f"upsample_{kind}" for kind in ("linear1d", "bilinear2d", "trilinear3d")),
    *(f"_upsample_{kind}2d_aa" for kind in ("bilinear", "bicubic")),
    *(f"upsample_nearest{dims}d" for dims in _DIMS),
    *(f"_upsample_nearest_exact{dims}d" for dims in _DIMS),
    "upsample_bicubic2d",
)
_POOLED = (
    *(f"_adaptive_avg_pool{dims}d" for dims in (2, 3)),
    *(f"{kind}_pool{dims}d" for kind in ("avg", "adaptive_max") for dims in (2, 3)),
    *(f"max_pool{dims}d_with_indices" for dims in (2, 3)),
    *(f"fractional_max_pool{dims}d" for dims in (2, 3)),
    *(f"grid_sampler_{dims}d" for dims in (2, 3)),
)
_BOTH_WAYS = (*_RESAMPLED, *_POOLED, "convolution", "multi_margin_loss")
_ONE_WAY = (
    "_euclidean_dist",
    "_fft_c2r",
    "_pdist_backward",
    "_pdist_forward",
    "col2im",
    "embedding",
    "embedding_dense_backward",
    "im2col",
    "native_dropout_backward",
    "renorm",
    "unfold_backward",
    "view_as_real_copy",
)
FRESH_CALLS = frozenset(
    f"aten.{name}.default"
    for name in (*_BOTH_WAYS, *(f"{name}_backward" for name in _BOTH_WAYS), *_ONE_WAY)
)
_FAMILIES = (
    *("mkldnn.", "girih.fold_batch_norm."),
    *("girih.add_windows.", "girih.add_identity."),
)


def has_fresh_results(op: ir.OpView) -> bool:
    """Whether a library call gives each result memory of its own."""
    name = op.operation.name
    if name == "graph.extern":
        return op.op in FRESH_CALLS or op.op.startswith(_FAMILIES)
    is_call = name.startswith("graph.") and role_of(op) is Role.LIBRARY
    return is_call and not has(op, MAY_ALIAS)
