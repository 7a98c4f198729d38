"""Compiled modules: an ``nn.Module`` that shares everything with the original."""

from __future__ import annotations

from functools import lru_cache

import torch

from girih.frontend.capture import api


def compile_module(module: torch.nn.Module, settings: tuple) -> torch.nn.Module:
    """Makes a compiled twin of a module.

    The twin's class is a subclass of the module's, and its ``__dict__`` is the module's
    own: parameters, buffers, attributes and ``state_dict`` are shared, under the same
    names. Calling the twin runs the compiled code.
    """
    cls = _twin_class(type(module))
    twin = object.__new__(cls)
    object.__setattr__(twin, "__dict__", module.__dict__)
    _ORIGINAL.__set__(twin, module)
    _SETTINGS.__set__(twin, settings)
    call = api.compile_function(_function_of(type(module), "__call__"), settings)
    _CALL.__set__(twin, call)
    return twin


class _Twin:
    """What a compiled module has besides the original's attributes."""

    __slots__ = ("girih_call", "girih_original", "girih_settings", "__weakref__")

    def __call__(self, *args, **kwargs):
        return self.girih_call(self.girih_original, *args, **kwargs)

    def forward(self, *args, **kwargs):
        """The compiled call, with the module's hooks."""
        return self.girih_call(self.girih_original, *args, **kwargs)

    def __deepcopy__(self, memo):
        import copy

        return compile_module(
            copy.deepcopy(self.girih_original, memo), self.girih_settings
        )

    def __reduce__(self):
        return compile_module, (self.girih_original, self.girih_settings)


_CALL = _Twin.__dict__["girih_call"]
_ORIGINAL = _Twin.__dict__["girih_original"]
_SETTINGS = _Twin.__dict__["girih_settings"]


def _function_of(cls: type, name: str):
    return getattr(cls, name)


@lru_cache(maxsize=1024)
def _twin_class(cls: type) -> type:
    namespace = {
        "__module__": cls.__module__,
        "__qualname__": cls.__qualname__,
        "__doc__": cls.__doc__,
        "__slots__": (),
    }
    return type(cls)(cls.__name__, (_Twin, cls), namespace)
