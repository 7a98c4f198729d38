"""Import rules of ATen's backward ops of views: gradients of the views' own rules."""

from __future__ import annotations

from collections.abc import Callable

from girih.dialects.dims import Dim
from girih.frontend.importer import views
from girih.frontend.importer.builder import Builder, Operand
from girih.frontend.importer.gradients import gradients_of
from girih.frontend.importer.registry import ViewStep, imports


def _gradient(b: Builder, grad: Operand, sizes, view: Callable[[tuple], ViewStep]):
    """The gradient of a view of a tensor of these sizes, whose elements don't count."""
    shape = tuple(sizes)
    x = b.full(shape, 0, grad.dtype)
    found = gradients_of(b, lambda x: view(shape).forward(x), [x], grad)
    return found if found is NotImplemented else found[0]


@imports("select_backward")
def select_backward(b: Builder, grad_output, input_sizes, dim, index):
    """Zeros around one entry of a dim."""
    return _gradient(
        b, grad_output, input_sizes, lambda shape: views.select(b, shape, dim, index)
    )


@imports("slice_backward")
def slice_backward(b: Builder, grad_output, input_sizes, dim, start, end, step):
    """Zeros around, and between, the elements of a slice."""
    if isinstance(step, Dim):
        return NotImplemented
    return _gradient(
        b,
        grad_output,
        input_sizes,
        lambda shape: views.slice_(b, shape, dim, start, end, step),
    )


@imports("diagonal_backward")
def diagonal_backward(b: Builder, grad_output, input_sizes, offset, dim1, dim2):
    """Zeros around a diagonal."""
    return _gradient(
        b,
        grad_output,
        input_sizes,
        lambda shape: views.diagonal(b, shape, offset, dim1, dim2),
    )
