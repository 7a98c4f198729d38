"""Objects of classes that ``torch.utils._pytree`` knows, in templates.

``torch.func`` takes such an object apart, and puts another one together for the
function that it transforms. Its class is the program's own. So the program's functions
that do this are traced where Python would call them, and the transform itself sees a
``RegisteredNode`` instead, which calls nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch.utils import _pytree
from torch.utils._pytree import register_pytree_node, tree_map

from girih.errors import unsupported
from girih.frontend.capture.values.base import NotConstant, Value
from girih.frontend.capture.values.constant import Constant
from girih.frontend.capture.values.symbol import SymbolValue


class NodeContext:
    """What a class gives besides the content: equal to another one by value.

    The program's functions get the traced value itself, as changes of it, and its
    identity, are visible.

    Attributes:
        known: It, as Python has it.
        index: Its place in the tracer's list. A graph outlives the tracer, and so may
            hold no traced value.
    """

    def __init__(self, known: Any, index: int):
        self.known = known
        self.index = index

    def __eq__(self, other: object) -> bool:
        """As pytrees compare contexts: the same one is equal."""
        if not isinstance(other, NodeContext):
            return NotImplemented
        return self.known is other.known or self.known == other.known

    __hash__ = None


class RegisteredNode:
    """What stands for an object in a template.

    Attributes:
        cls: Its class.
        items: What the class gives for its content.
        context: What else the class needs to make one.
    """

    def __init__(self, cls: type, items: list, context: NodeContext):
        self.cls = cls
        self.items = items
        self.context = context

    def __repr__(self) -> str:
        items = ", ".join(map(repr, self.items))
        return f"{self.cls.__name__}({items})"


register_pytree_node(
    RegisteredNode,
    lambda node: (node.items, (node.cls, node.context)),
    lambda items, known: RegisteredNode(known[0], list(items), known[1]),
)


def is_registered(cls: type) -> bool:
    """Whether pytrees take objects of a class apart."""
    return cls in _pytree.SUPPORTED_NODES


def _apart(tree: Any) -> tuple:
    items, context = _pytree.SUPPORTED_NODES[type(tree)].flatten_fn(tree)
    return list(items), context


def _together(cls: type, items: list, context: Any) -> Any:
    return _pytree.SUPPORTED_NODES[cls].unflatten_fn(items, context)


def taken_apart(tracer, value: Value) -> tuple[type, list[Value], NodeContext]:
    """The class of an object, its content and its context.

    Args:
        tracer: The tracer; it traces what the class was registered with.
        value: An object of a class that is registered.
    """
    cls = value.python_type()
    items, context = _called(tracer, cls, _apart, [value]).items
    try:
        known = context.as_python()
    except NotConstant:
        unsupported(
            kind="context of a pytree node that varies",
            context=cls.__name__,
            explanation="What the function that flattens the class gives besides the "
            "content is not known while tracing.",
        )
    # Numbers are fixed, and a body would compute with the symbol of a size.
    kept = Constant(known) if isinstance(context, SymbolValue) else context
    tracer.contexts.append(kept)
    return cls, items.items, NodeContext(known, len(tracer.contexts) - 1)


def _called(tracer, cls: type, function: Callable, args: list[Value]) -> Value:
    """Calls what a class is registered with.

    A transform makes the call several times, at levels of its own. So the call has to
    be one that computes no tensors.
    """
    before = _count_of_operations(tracer)
    result = tracer.call(tracer.held(function), args, {})
    if _count_of_operations(tracer) != before:
        unsupported(
            kind="pytree node that computes its content",
            context=cls.__name__,
            explanation="A transform takes the object apart and puts it together as "
            "often as it likes, and each time would compute anew.",
            hints=("Compute in the function that the transform is given.",),
        )
    return result


def _count_of_operations(tracer) -> int:
    """How many nodes there are besides inputs, which reading an object may add."""
    return sum(node.op.startswith("call_") for node in tracer.graph.fx.nodes)


def put_together(tracer, filled: Any) -> Value:
    """The traced value of a template that was filled.

    Args:
        tracer: The tracer; it traces what the classes were registered with.
        filled: Containers and nodes of values and constants.
    """

    def made(leaf: Any) -> Any:
        if not isinstance(leaf, RegisteredNode):
            return leaf
        items = tracer.list_of([put_together(tracer, item) for item in leaf.items])
        given = [tracer.held(leaf.cls), items, tracer.contexts[leaf.context.index]]
        return _called(tracer, leaf.cls, _together, given)

    return tracer.from_python(
        tree_map(made, filled, is_leaf=lambda part: isinstance(part, RegisteredNode))
    )
