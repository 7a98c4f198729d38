"""Tensors made of nothing depend on nothing."""

from girih.passes.autograd.rules import not_differentiable

not_differentiable("it has no operands", "constant", "full", "iota", "size")
