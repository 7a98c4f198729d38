"""Classes that a program registers with ``torch.utils._pytree``.

``torch.vmap`` and its like take objects of such a class apart, and put others together.
In what an operation is given, ``RegisteredPlaces`` stands for the object: the program's
functions are traced outside of the operation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch.utils import _pytree as pytree

from girih.frontend.capture.values.base import Value


@dataclass(frozen=True)
class RegisteredPlaces:
    """The place of an object of a registered class in a template.

    Attributes:
        cls: The class.
        items: What the class's function makes of the object, as templates.
        context: What else that function returns.
    """

    cls: type
    items: tuple
    context: Any

    def put_together(self, tracer) -> Value:
        """The object, made by the program's own function, which is traced."""
        function = tracer.held(pytree.SUPPORTED_NODES[self.cls].unflatten_fn)
        items = tracer.list_of([tracer.from_python(item) for item in self.items])
        return tracer.call(function, [items, tracer.from_python(self.context)], {})


pytree.register_pytree_node(
    RegisteredPlaces,
    lambda places: (list(places.items), (places.cls, places.context)),
    lambda items, context: RegisteredPlaces(context[0], tuple(items), context[1]),
)


def is_registered(cls: type) -> bool:
    """Whether PyTorch takes objects of a class apart."""
    return cls in pytree.SUPPORTED_NODES


def flattening(cls: type) -> Callable:
    """The function that takes objects of a registered class apart."""
    return pytree.SUPPORTED_NODES[cls].flatten_fn


def holds_registered(template: Any) -> bool:
    """Whether a template has a place for an object of a registered class."""
    found = pytree.tree_leaves(
        template, is_leaf=lambda part: isinstance(part, RegisteredPlaces)
    )
    return any(isinstance(part, RegisteredPlaces) for part in found)
