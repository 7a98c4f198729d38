"""Classes that are registered as nodes of pytrees."""

import dataclasses

import torch
from torch.utils._pytree import register_dataclass, register_pytree_node


@dataclasses.dataclass(frozen=True)
class Fields:
    a: torch.Tensor
    b: torch.Tensor


class Registered:
    def __init__(self, content, context=None):
        self.content = content
        self.context = context


class Counted(Registered):
    seen = []


class Computing(Registered):
    pass


def _apart_counting(x):
    Counted.seen.append(x)
    return x.content, x.context


class RegisteredDict(dict):
    """A subclass of a container that torch would take for a leaf."""


register_dataclass(Fields)
register_pytree_node(
    RegisteredDict,
    lambda x: (list(x.values()), list(x)),
    lambda parts, keys: RegisteredDict(zip(keys, parts, strict=True)),
)
register_pytree_node(
    Registered, lambda x: (x.content, x.context), lambda a, b: Registered(tuple(a), b)
)
register_pytree_node(Counted, _apart_counting, lambda a, b: Counted(tuple(a), b))
register_pytree_node(
    Computing, lambda x: ([c * 2 for c in x.content], None), lambda a, b: Computing(a)
)
