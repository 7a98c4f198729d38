"""Import rules of pooling."""

from __future__ import annotations

from girih.dialects.dims import Dim
from girih.frontend.importer.builder import Builder
from girih.frontend.importer.contraction import full_list
from girih.frontend.importer.registry import imports


def _window(count: int, kernel, stride, padding, **more) -> dict | None:
    """The lists of a pooling op, with one entry for each dim."""
    kernel = full_list(kernel, count)
    lists = {
        "kernel": kernel,
        "stride": full_list(stride, count) or kernel,
        "padding": full_list(padding, count),
    }
    lists |= {name: full_list(value, count) for name, value in more.items()}
    fixed = all(isinstance(n, int) for values in lists.values() for n in values)
    return lists if fixed else None


def _max_pool(b: Builder, count: int, x, kernel, stride, padding, dilation, ceil_mode):
    window = _window(count, kernel, stride, padding, dilation=dilation)
    if window is None:
        return NotImplemented
    return b.library("max_pool", [x], {**window, "ceil_mode": ceil_mode})


@imports("max_pool2d_with_indices")
def max_pool2d(
    b: Builder, self, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False
):
    """The largest element of each window."""
    return _max_pool(b, 2, self, kernel_size, stride, padding, dilation, ceil_mode)


@imports("max_pool3d_with_indices")
def max_pool3d(
    b: Builder, self, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False
):
    """The largest element of each window."""
    return _max_pool(b, 3, self, kernel_size, stride, padding, dilation, ceil_mode)


def _avg_pool(b: Builder, count: int, x, window: tuple, modes: tuple):
    ceil_mode, count_include_pad, divisor = modes
    lists = _window(count, *window)
    if lists is None or isinstance(divisor, Dim):
        return NotImplemented
    attributes = {
        **lists,
        "ceil_mode": ceil_mode,
        "count_include_pad": count_include_pad,
        "divisor": divisor or 0,
    }
    return b.library("avg_pool", [x], attributes)


@imports("avg_pool2d")
def avg_pool2d(
    b: Builder,
    self,
    kernel_size,
    stride=(),
    padding=0,
    ceil_mode=False,
    count_include_pad=True,
    divisor_override=None,
):
    """The mean of each window."""
    modes = (ceil_mode, count_include_pad, divisor_override)
    return _avg_pool(b, 2, self, (kernel_size, stride, padding), modes)


@imports("avg_pool3d")
def avg_pool3d(
    b: Builder,
    self,
    kernel_size,
    stride=(),
    padding=0,
    ceil_mode=False,
    count_include_pad=True,
    divisor_override=None,
):
    """The mean of each window."""
    modes = (ceil_mode, count_include_pad, divisor_override)
    return _avg_pool(b, 3, self, (kernel_size, stride, padding), modes)


@imports("_adaptive_avg_pool2d", "_adaptive_avg_pool3d")
def adaptive_avg_pool(b: Builder, self, output_size):
    """Means of windows of such sizes that the result has the given size."""
    return b.library("adaptive_avg_pool", [self], {"output_size": list(output_size)})
