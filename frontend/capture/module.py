"""Compiled modules: an ``nn.Module`` that shares everything with the original."""

from __future__ import annotations

import copy
import functools
import types
import weakref

import torch

from girih.frontend.capture import api
from girih.frontend.capture.resume.identity import ByIdentity
from girih.marks import disabled_function, leave_alone


def compile_module(module: torch.nn.Module, settings: api.Settings) -> torch.nn.Module:
    """Makes a compiled twin of a module.

    The twin's class is a subclass of the module's, and its ``__dict__`` is the module's
    own: parameters, buffers, attributes and ``state_dict`` are shared, under the same
    names. Calling the twin runs the compiled code.
    """
    call = api.compile_function(_function_of(type(module), "__call__"), settings)
    return _twin_of(module, call, (compile_module, settings))


def disabled_module(
    module: torch.nn.Module, recursive: bool, reason: str | None
) -> torch.nn.Module:
    """Makes a twin, as ``compile_module`` does, whose calls are left alone."""
    if not recursive:
        leave_alone(type(module).forward)
    call = _function_of(type(module), "__call__")
    call = disabled_function(call, recursive, reason)
    return _twin_of(module, call, (_disabled_module, (recursive, reason)))


def _disabled_module(module: torch.nn.Module, settings: tuple) -> torch.nn.Module:
    return disabled_module(module, *settings)


def _twin_of(module: torch.nn.Module, call, made_by: tuple) -> torch.nn.Module:
    twin = object.__new__(_twin_class(type(module)))
    object.__setattr__(twin, "__dict__", module.__dict__)
    _ORIGINAL.__set__(twin, module)
    _MADE_BY.__set__(twin, made_by)
    _CALL.__set__(twin, call)
    _FORWARD.__set__(twin, _forward_of(call, module))
    return twin


class _Forward:
    """``forward`` of twins: a method, whose function compiles ahead of time, too."""

    def __get__(self, twin: _Twin | None, owner: type | None = None):
        if twin is None:
            return _forward
        return types.MethodType(twin.girih_forward, twin)


def _forward(self, *args, **kwargs):
    """The compiled call, with the module's hooks."""
    return self.girih_call(self.girih_original, *args, **kwargs)


def _forward_of(call, module: torch.nn.Module) -> types.FunctionType:
    """``forward`` for a twin: it compiles ahead of time what takes the module first."""
    function = types.FunctionType(_forward.__code__, globals(), "forward")
    function.__doc__ = _forward.__doc__
    if isinstance(call, api.CompiledFunction):
        function.aot_compile = functools.partial(call.aot_compile, owner=module)
    return function


class _Twin:
    """What a compiled module has besides the original's attributes."""

    __slots__ = (
        "girih_call",
        "girih_forward",
        "girih_original",
        "girih_made_by",
        "__weakref__",
    )

    def __call__(self, *args, **kwargs):
        return self.girih_call(self.girih_original, *args, **kwargs)

    forward = _Forward()

    @property
    def _orig_mod(self):
        """The original, under the name that libraries look for to unwrap a module."""
        return self.girih_original

    def _load_from_state_dict(self, state_dict, prefix, *args):
        """Takes also the names that a module of ``torch.compile`` gives its state."""
        if "_orig_mod" not in self._modules:
            _drop_prefix(state_dict, prefix, "_orig_mod.")
        super()._load_from_state_dict(state_dict, prefix, *args)

    def __copy__(self):
        make, settings = self.girih_made_by
        return make(copy.copy(self.girih_original), _for_copy(settings))

    def __deepcopy__(self, memo):
        make, settings = self.girih_made_by
        original = copy.deepcopy(self.girih_original, memo)
        if id(self) in memo:  # the original holds it
            return memo[id(self)]
        return make(original, _for_copy(settings))

    def __reduce__(self):
        make, settings = self.girih_made_by
        return make, (self.girih_original, _for_copy(settings))


def _drop_prefix(state: dict, before: str, prefix: str) -> None:
    """Renames entries in place, but for those whose new name stands there already."""
    for name in [name for name in state if name.startswith(before + prefix)]:
        new = before + name.removeprefix(before + prefix)
        if new not in state:
            state[new] = state.pop(name)


_CALL = _Twin.__dict__["girih_call"]
_FORWARD = _Twin.__dict__["girih_forward"]
_ORIGINAL = _Twin.__dict__["girih_original"]
_MADE_BY = _Twin.__dict__["girih_made_by"]


def _for_copy(settings):
    return settings.for_copy() if isinstance(settings, api.Settings) else settings


def _function_of(cls: type, name: str):
    return getattr(cls, name)


# Weak in both directions, for a twin's class refers to the class that it is made of.
_twin_classes: ByIdentity[type, weakref.ref[type]] = ByIdentity()


def _twin_class(cls: type) -> type:
    """The class of a module's twins, which they share as long as one of them lives."""
    reference = _twin_classes.get(cls)
    found = reference and reference()
    if found is None:
        found = _new_twin_class(cls)
        _twin_classes.set(cls, weakref.ref(found))
    return found


def _new_twin_class(cls: type) -> type:
    namespace = {
        "__module__": cls.__module__,
        "__qualname__": cls.__qualname__,
        "__doc__": cls.__doc__,
        "__slots__": (),
    }
    return type(cls)(cls.__name__, (_Twin, cls), namespace)
