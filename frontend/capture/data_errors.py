"""What operations raise because of their data.

Shapes and dtypes are known while tracing, and so are their errors. An index out of
range or a singular matrix is found where the graph runs. The tables say which classes
an operation raises then, exactly: a handler for a subclass of one does not catch it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch

from girih.frontend.capture.operations import is_torchs_own, name_of

Errors = tuple[type[BaseException], ...]

# Code that is not torch's own may raise anything.
ANYTHING: Errors = (BaseException,)

_INDEX: Errors = (IndexError,)
_RUNTIME: Errors = (RuntimeError,)
_EITHER: Errors = (IndexError, RuntimeError)
_SOLVING: Errors = (torch.linalg.LinAlgError, RuntimeError)

# Names are without underscores around them, overloads and "linalg_".
_NAMES: dict[Errors, tuple[str, ...]] = {
    _INDEX: (
        *("getitem", "setitem", "index", "unsafe_index", "index_select", "index_copy"),
        *("index_put", "index_put_impl", "unsafe_index_put", "index_fill"),
        *("index_reduce", "take", "put", "embedding", "embedding_renorm"),
        *("unsafe_masked_index", "unsafe_masked_index_put_accumulate"),
        *("nll_loss", "nll_loss2d", "nll_loss_nd", "nll_loss_forward"),
        *("nll_loss2d_forward", "nll_loss_backward", "nll_loss2d_backward"),
        *("cross_entropy", "cross_entropy_loss", "linear_cross_entropy"),
    ),
    _EITHER: (
        *("index_add", "index_select_backward", "embedding_backward"),
        *("embedding_dense_backward", "embedding_sparse_backward"),
    ),
    _RUNTIME: (
        *(
            "gather",
            "gather_backward",
            "gather_sparse_backward",
            "scatter",
            "scatter_add",
            "scatter_reduce",
        ),
        *("masked_scatter", "embedding_bag", "embedding_bag_forward_only", "one_hot"),
        *("embedding_bag_backward", "embedding_bag_dense_backward"),
        *("embedding_bag_sparse_backward", "embedding_bag_per_sample_weights_backward"),
        *("binary_cross_entropy", "binary_cross_entropy_backward"),
        *("multi_margin_loss", "multi_margin_loss_backward"),
        *("multilabel_margin_loss", "multilabel_margin_loss_forward"),
        *("multilabel_margin_loss_backward", "ctc_loss", "ctc_loss_backward"),
        *("cudnn_ctc_loss", "miopen_ctc_loss", "use_cudnn_ctc_loss"),
        *("max_unpool1d", "max_unpool2d", "max_unpool3d", "use_miopen_ctc_loss"),
        *("segment_reduce", "segment_reduce_backward", "repeat_interleave"),
        *("multinomial", "bernoulli", "poisson", "normal", "bincount"),
        *("histc", "histogram", "histogramdd", "histogramdd_bin_edges"),
        *("histogramdd_from_bin_cts", "histogramdd_from_bin_tensors"),
        *("assert", "assert_async", "assert_scalar"),
        *("functional_assert_async", "functional_assert_scalar"),
        *("lu_unpack", "quantile", "nanquantile", "cov", "istft"),
        *("fake_quantize_per_channel_affine", "batch_norm_gather_stats"),
        *("batch_norm_gather_stats_with_counts",),
        *("floordiv", "ifloordiv", "rfloordiv", "floor_divide", "div", "divide"),
        *("mod", "imod", "rmod", "fmod", "remainder"),
    ),
    _SOLVING: (
        *("cholesky", "cholesky_ex", "cholesky_inverse", "cholesky_solve"),
        *("cholesky_solve_helper", "check_errors", "inv", "inv_ex", "inverse"),
        *("pinv", "pinverse", "svd", "svdvals", "lu", "lu_factor", "lu_factor_ex"),
        *("lu_solve", "eig", "eigvals", "eigh", "eigvalsh", "lstsq", "solve"),
        *("solve_ex", "spsolve", "tensorinv", "tensorsolve", "cond", "norm"),
        *("matrix_norm", "matrix_rank", "matrix_power", "ldl_factor"),
        *("ldl_factor_ex", "ldl_solve", "lobpcg", "svd_lowrank", "pca_lowrank"),
    ),
    (ValueError,): ("gaussian_nll_loss",),
}
_ERRORS = {name: errors for errors, names in _NAMES.items() for name in names}


def errors_of(node: torch.fx.Node) -> Errors:
    """The classes of what an operation may raise because of its data.

    Args:
        node: The operation, in a graph that is being captured.
    """
    if node.op != "call_method" and not is_torchs_own(node.target):
        return ANYTHING
    name = plain_name(name_of(node))
    may_fail = _CONDITIONS.get(name)
    if may_fail is not None and not may_fail(node):
        return ()
    return _ERRORS.get(name, ())


def plain_name(name: str) -> str:
    """A name as the tables have it."""
    return name.split(".")[0].strip("_").removeprefix("linalg_").strip("_")


def _values(node: torch.fx.Node) -> list:
    """All that an operation is given beside what it is done to."""
    return [*node.args[1:], *node.kwargs.values()]


def _tensors(values: Iterable) -> list[torch.Tensor]:
    """The tensors among arguments, also in tuples and lists."""
    nodes: list[torch.fx.Node] = []
    torch.fx.map_arg(tuple(values), nodes.append)
    fakes = [node.meta.get("val") for node in nodes]
    return [fake for fake in fakes if isinstance(fake, torch.Tensor)]


def _indexes_by_numbers(node: torch.fx.Node) -> bool:
    """Whether an index is a tensor of numbers: those of masks are known by shape."""
    masks = (torch.bool, torch.uint8)
    return any(tensor.dtype not in masks for tensor in _tensors(node.args[1:2]))


def _divides_by_zero(node: torch.fx.Node) -> bool:
    """Whether integers are divided by what may be zero."""
    result = node.meta.get("val")
    if isinstance(result, torch.Tensor) and result.is_floating_point():
        return False
    divisor = node.args[1] if len(node.args) > 1 else node.kwargs.get("other")
    return not (isinstance(divisor, int) and divisor)


def _draws_by_tensor(node: torch.fx.Node) -> bool:
    """Whether the parameters of random numbers are tensors."""
    return bool(_tensors(_values(node)))


def _draws_by_itself(node: torch.fx.Node) -> bool:
    """Whether ``bernoulli`` takes its probabilities from a tensor."""
    parameters = [
        value for value in _values(node) if isinstance(value, (int, float))
    ]  # a generator is none
    in_place = name_of(node).split(".")[0].endswith("_")
    return _draws_by_tensor(node) or not (parameters or in_place)


def _is_spectral(node: torch.fx.Node) -> bool:
    """Whether a norm may be one of singular values."""
    orders = {"nuc", 2, -2} if "linalg_" in name_of(node) else {"nuc"}
    return any(isinstance(v, (str, int, float)) and v in orders for v in _values(node))


_CONDITIONS: dict[str, Callable[[torch.fx.Node], bool]] = {
    **dict.fromkeys(("getitem", "setitem", "index"), _indexes_by_numbers),
    **dict.fromkeys(("index_put", "index_put_impl"), _indexes_by_numbers),
    **dict.fromkeys(("unsafe_index", "unsafe_index_put"), _indexes_by_numbers),
    **dict.fromkeys(("floordiv", "ifloordiv", "floor_divide"), _divides_by_zero),
    **dict.fromkeys(("div", "divide", "mod", "imod"), _divides_by_zero),
    **dict.fromkeys(("fmod", "remainder"), _divides_by_zero),
    **dict.fromkeys(("norm", "matrix_norm"), _is_spectral),
    "normal": _draws_by_tensor,
    "bernoulli": _draws_by_itself,
}
