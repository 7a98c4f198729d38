"""``torch.nn.Module`` objects."""

from __future__ import annotations

import torch
from torch.nn.modules import module as module_file

from girih.frontend.capture.values.base import Value
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
# As torch defines them: a program may replace them.
_GETTER = torch.nn.Module.__getattr__
_CALL, _IMPLEMENTATION = torch.nn.Module.__call__, torch.nn.Module._call_impl


class ModuleValue(ObjectValue):
    """A module; its parameters and buffers become inputs of the graph."""

    def generic_get_attr(self, tracer, name):
        """Parameters, buffers and submodules before the slow way."""
        found = self._find_member(tracer, name)
        return super().generic_get_attr(tracer, name) if found is None else found

    def _find_member(self, tracer, name: str) -> Value | None:
        if name in _MEMBERS or self._holds(name):
            return None
        if tracer.lookup(self.cls, "__getattr__")[0] is not _GETTER:
            return None  # the class may have another opinion
        if tracer.lookup(self.cls, name)[1] is not None:
            return None
        return self._find_in_dicts(tracer, name)

    def _holds(self, name: str) -> bool:
        """Whether the module's own ``__dict__`` has the attribute."""
        if name in self.attributes:
            return self.attributes[name] is not None
        return self.real is not None and name in self.real.__dict__

    def _find_in_dicts(self, tracer, name: str) -> Value | None:
        for members in _MEMBERS:
            found = self._find_in(tracer, members, name)
            if found is not None:
                return found
        return None

    def _find_in(self, tracer, members: str, name: str) -> Value | None:
        """A parameter, buffer or submodule; the dict is read where it was met."""
        held = self.real.__dict__.get(members) if self.real is not None else None
        met = self.attributes.get(members)
        if met is None and held is not None and members not in self.attributes:
            met = tracer.known_value(held)
        if isinstance(met, DictValue):
            return met.find(tracer, tracer.constant(name))
        if held is None or name not in held:
            return None
        source = self.source.in_instance(members).dict_item(name)
        return tracer.wrap_found(held[name], source)

    def call_getattr(self, tracer, name):
        """The attribute is missing, unless the class has its own ``__getattr__``."""
        getter, _ = tracer.lookup(self.cls, "__getattr__")
        if getter is not _GETTER or self.real is None:
            return super().call_getattr(tracer, name)
        found = self._find_in_dicts(tracer, name)
        if found is not None:  # though the class has the name
            return found
        for members in _MEMBERS:
            if members in self.real.__dict__ and members not in self.attributes:
                source = self.source.in_instance(members)
                tracer.guards.add(source, "absent", name)
        message = f"'{self.cls.__name__}' object has no attribute '{name}'"
        tracer.throw(AttributeError, message)

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
