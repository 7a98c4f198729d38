"""The call `girih.vjp.default`: ATen's own derivative of a call, to any order."""

import torch

from girih.codegen.runtime import torch_entry
from girih.codegen.runtime.vjp import NAME, vjp


def randn(*shape):
    return torch.randn(shape, dtype=torch.float64)


def gradients(name, args, wanted, cotangents, **keywords):
    return vjp(name, args, list(keywords), list(keywords.values()), wanted, cotangents)


def test_it_is_found_by_name():
    assert torch_entry.entry(NAME) is vjp
    assert torch_entry.returns_tensors(NAME, 3)
    assert not torch_entry.returns_one_tensor(NAME)


def test_wanted_tensors_are_counted_as_they_are_met():
    x, y, z = randn(2), randn(3), randn(4)
    g = randn(9)
    found = gradients("aten.cat.default", [[x, y, z]], [0, 2], [g])
    torch.testing.assert_close(found, [g[:2], g[5:]])


def test_each_occurrence_has_its_own_gradient():
    x, g = randn(3), randn()
    found = gradients("aten.dot.default", [x, x], [0, 1], [g])
    torch.testing.assert_close(found, [g * x, g * x])
    (only,) = gradients("aten.dot.default", [x, x], [1], [g])
    torch.testing.assert_close(only, g * x)


def test_keywords():
    x, y, g = randn(3), randn(3), randn(3)
    (found,) = gradients("aten.add.Tensor", [x], [1], [g], other=y, alpha=3)
    torch.testing.assert_close(found, 3 * g)


def test_results_without_a_cotangent():
    x, g = randn(4, 4), randn()
    _, logarithm = torch.linalg.slogdet(x.requires_grad_())
    (expected,) = torch.autograd.grad(logarithm, x, g)
    (found,) = gradients("aten.linalg_slogdet.default", [x], [0], [None, g])
    torch.testing.assert_close(found, expected)


def test_results_that_have_no_derivative():
    x = randn(5, 3)
    name = "aten.kthvalue.default"
    (found,) = gradients(name, [x, 2], [0], [None, torch.zeros(5).long()])
    torch.testing.assert_close(found, torch.zeros_like(x))


def test_what_the_results_do_not_depend_on():
    x, y, g = randn(3), randn(3), randn(3)
    found = gradients("aten.copysign.Tensor", [x, y], [0, 1], [g])
    torch.testing.assert_close(found[1], torch.zeros_like(y))


def test_gradients_have_no_history():
    x, g = randn(3).requires_grad_(), randn(3).requires_grad_()
    with torch.no_grad():
        (found,) = gradients("aten.sin.default", [x], [0], [g])
    assert not found.requires_grad
    assert x.grad is None


def test_a_derivative_of_a_derivative():
    x, g, h = randn(3), randn(3), randn(3)
    inner = ["aten.sin.default", [x], [], [], [0], [g]]
    by_x, by_g = gradients(NAME, inner, [0, 1], [h])
    torch.testing.assert_close(by_x, -h * g * x.sin())
    torch.testing.assert_close(by_g, h * x.cos())


def test_a_third_derivative():
    x, g, h, k = randn(3), randn(3), randn(3), randn(3)
    inner = ["aten.sin.default", [x], [], [], [0], [g]]
    outer = [NAME, inner, [], [], [0], [h]]
    (by_x,) = gradients(NAME, outer, [0], [k])
    torch.testing.assert_close(by_x, -k * h * g * x.cos())


def test_autocast_does_not_reach_the_call():
    x, y, g = torch.randn(3, 4), torch.randn(4, 5), torch.randn(3, 5)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        (found,) = gradients("aten.mm.default", [x, y], [0], [g])
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, g @ y.T)


def test_gradients_have_memory():
    x, g, h = randn(3), randn(3), randn(3)
    # Autograd knows the derivative of a sign to be zero: its tensor has no memory.
    inner = ["aten.linalg_vector_norm.default", [x, 1.0], [], [], [0], [g.sum()]]
    (found,) = gradients("girih.vjp.default", inner, [0], [h])
    assert found.data_ptr()
    assert not found.any()
