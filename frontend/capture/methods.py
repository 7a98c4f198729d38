"""Methods of objects that hold a compiled function, in pickles."""

from __future__ import annotations

import copyreg
import types
from typing import Any

from girih.frontend.capture.api import CompiledFunction


def keep_methods_compiled() -> None:
    """Has methods of compiled functions pickled as such, in the whole process.

    Python keeps a method by its name: what ``m.forward = compile(m.forward)`` put into
    an object would come back as the method of the class, which is not compiled.
    """
    copyreg.pickle(types.MethodType, _reduced_method)


def _reduced_method(method: types.MethodType) -> str | tuple:
    function, owner = method.__func__, method.__self__
    if not isinstance(function, CompiledFunction) or isinstance(owner, type):
        return method.__reduce__()
    if getattr(type(owner), function.__name__, None) is function:
        return method.__reduce__()
    return _method, (function, owner)


def _method(function: CompiledFunction, owner: Any) -> types.MethodType:
    return types.MethodType(function, owner)
