"""Guards on which objects from outside are one object, where the trace depends on it.

Two values with sources of their own are traced as two objects. That matters only if one
of them is written, or if the program asks ``is``; tensors need nothing here, as the
inputs of a graph are always checked to be distinct.
"""

from __future__ import annotations

import torch

from girih.frontend.capture.guard import DISTINCT_SET
from girih.frontend.capture.source import Source
from girih.frontend.capture.values.base import Value
from girih.frontend.capture.values.deque import DequeValue
from girih.frontend.capture.values.mapping import DictValue
from girih.frontend.capture.values.object import ObjectValue
from girih.frontend.capture.values.outside import OutsideValue
from girih.frontend.capture.values.sequence import SequenceValue
from girih.frontend.capture.values.set import SetValue

# All other kinds are guarded by identity at each of their sources, or by value.
_KINDS = (
    DequeValue,
    DictValue,
    ObjectValue,
    OutsideValue,
    SequenceValue,
    SetValue,
)


def may_be_one(left: Value, right: Value) -> bool:
    """Whether another call could give one object for two values, or two for one."""
    return (
        isinstance(left, _KINDS)
        and isinstance(right, _KINDS)
        and left.python_type() is right.python_type()
        and _are_apart(left.source, right.source)
    )


def _are_apart(left: Source | None, right: Source | None) -> bool:
    if left is None or right is None or left is right:
        return False
    return not (left.access == right.access == "constant")


def guard_written(tracer) -> None:
    """Guards that no object that was written is another object that was met."""
    effects = tracer.effects
    written = [change.owner for change in effects.objects.values()]
    written += effects.containers.values()
    known = list(tracer.outside_values())
    done: set[Source] = set()
    for value in written:
        done.add(value.source)
        for other in known:
            if other.source not in done and may_be_one(value, other):
                tracer.guards.add(value.source, "distinct", other.source)
            for owner, namespace in ((value, other), (other, value)):
                if _may_be_namespace(owner, namespace):
                    source = owner.source.instance_dict()
                    tracer.guards.add(source, "distinct", namespace.source)


def guard_told_apart(tracer) -> None:
    """Guards that the objects that were told apart by identity are as many objects."""
    by_class: dict[type, list[Source]] = {}
    told_apart = list(tracer.told_apart.values())
    for value in told_apart if len(told_apart) > 1 else ():
        if isinstance(value, _KINDS):
            by_class.setdefault(value.python_type(), []).append(value.source)
        else:
            value.identity()  # which guards it
    for sources in by_class.values():
        varying = any(source.access != "constant" for source in sources)
        if len(sources) > 1 and varying:
            tracer.guards.add(sources[0], DISTINCT_SET, tuple(sources))


def _may_be_namespace(owner: Value, mapping: Value) -> bool:
    """Whether another call could give an object's own ``__dict__`` as a dict.

    Modules keep theirs to themselves.
    """
    return (
        isinstance(owner, ObjectValue)
        and isinstance(mapping, DictValue)
        and mapping.cls is dict
        and not issubclass(owner.cls, torch.nn.Module)
        and hasattr(owner.real, "__dict__")
        and _are_apart(owner.source, mapping.source)
    )
