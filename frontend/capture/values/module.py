"""``torch.nn.Module`` objects."""

from __future__ import annotations

import torch
from torch.nn.modules import module as module_file

from girih.frontend.capture.values.base import Value
from girih.frontend.capture.values.key import Key
from girih.frontend.capture.values.mapping import DictValue
from girih.frontend.capture.values.object import ObjectValue

_HOOKS = (
    "_forward_hooks",
    "_forward_pre_hooks",
    "_backward_hooks",
    "_backward_pre_hooks",
)
_GLOBAL_HOOKS = (
    "_global_forward_hooks",
    "_global_forward_pre_hooks",
    "_global_backward_hooks",
    "_global_backward_pre_hooks",
)
_MEMBERS = ("_parameters", "_buffers", "_modules")
_MISSING = object()
# As torch defines them: a program may replace them.
_GETTER, _SETTER = torch.nn.Module.__getattr__, torch.nn.Module.__setattr__
_CALL, _IMPLEMENTATION = torch.nn.Module.__call__, torch.nn.Module._call_impl


class ModuleValue(ObjectValue):
    """A module; its parameters and buffers become inputs of the graph."""

    def generic_get_attr(self, tracer, name):
        """Parameters, buffers and submodules before the slow way."""
        if name not in self.attributes:
            found = self._find_member(tracer, name)
            if found is not None:
                return found
        return super().generic_get_attr(tracer, name)

    def _find_member(self, tracer, name: str) -> Value | None:
        namespace = self.real.__dict__ if self.real is not None else {}
        if name in namespace or name in _MEMBERS:
            return None
        if tracer.lookup(self.cls, "__getattr__")[0] is not _GETTER:
            return None  # the class may have another opinion
        if tracer.lookup(self.cls, name)[1] is not None:
            return None
        for members in _MEMBERS:
            found = self._find_in(tracer, members, name)
            if found is not None:
                return found
        return None

    def _find_in(self, tracer, members: str, name: str) -> Value | None:
        """A parameter, buffer or submodule; the dict is read where it was met."""
        met = self.attributes.get(members)
        if isinstance(met, DictValue):
            return met.find(tracer, tracer.constant(name))
        held = self.real.__dict__.get(members) if self.real is not None else None
        if held is None or name not in held:
            return None
        source = self.source.in_instance(members).dict_item(name)
        return tracer.wrap(held[name], source)

    def call_getattr(self, tracer, name):
        """The attribute is missing, unless the class has its own ``__getattr__``."""
        getter, _ = tracer.lookup(self.cls, "__getattr__")
        if getter is not _GETTER or self.real is None:
            return super().call_getattr(tracer, name)
        for members in _MEMBERS:
            if members in self.real.__dict__ and members not in self.attributes:
                source = self.source.in_instance(members)
                tracer.guards.add(source, "absent", name)
        message = f"'{self.cls.__name__}' object has no attribute '{name}'"
        tracer.throw(AttributeError, message)

    def set_attr(self, tracer, name, value):
        """``setattr`` is replayed as it is, so that buffers stay buffers."""
        setter, _ = tracer.lookup(self.cls, "__setattr__")
        is_plain = setter is _SETTER and self.real is not None
        if not is_plain or value is None or self._is_property(tracer, name):
            super().set_attr(tracer, name, value)
            return
        previous = self._current(tracer, name)
        tracer.effects.set_attr(self, name, previous, through="setattr")
        self.attributes[name] = value
        for members in _MEMBERS:
            met = self.attributes.get(members)
            if isinstance(met, DictValue) and met.find(tracer, tracer.constant(name)):
                met.items[Key(tracer.constant(name))] = value

    def _is_property(self, tracer, name: str) -> bool:
        member, _ = tracer.lookup(self.cls, name)
        return isinstance(member, property)

    def _current(self, tracer, name: str):
        if name in self.attributes:
            return self.attributes[name]
        found = self._find_member(tracer, name) or self.find_in_instance(tracer, name)
        return _MISSING if found is None else found

    def call(self, tracer, args, kwargs):
        """Calls ``forward``; goes through ``_call_impl`` only where hooks exist."""
        for name, own in (("__call__", _CALL), ("_call_impl", _IMPLEMENTATION)):
            if tracer.lookup(self.cls, name)[0] is not own:
                return super().call(tracer, args, kwargs)
        if self._has_hooks(tracer):
            implementation = tracer.class_member(self.cls, "_call_impl")
            return tracer.call(implementation, [self, *args], kwargs)
        return tracer.call(self.get_attr(tracer, "forward"), args, kwargs)

    def _has_hooks(self, tracer) -> bool:
        if self.real is None:
            return any(self.attributes[name].truth(tracer) for name in _HOOKS)
        found = False
        for name in _HOOKS:
            met = self.attributes.get(name)
            if met is not None:
                found = met.truth(tracer) or found
                continue
            hooks = self.real.__dict__[name]
            source = self.source.in_instance(name)
            tracer.guards.add(source, "length", len(hooks))
            found = found or bool(hooks)
        for name in _GLOBAL_HOOKS:
            hooks = getattr(module_file, name)
            met = tracer.known_value(hooks)
            if met is not None:
                found = met.truth(tracer) or found
                continue
            source = tracer.roots.constant(hooks, name)
            tracer.guards.add(source, "length", len(hooks))
            found = found or bool(hooks)
        return found
