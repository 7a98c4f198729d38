"""``torch.compiler.set_stance`` and ``reset``, which mean girih too.

What these two set is torch's compiler's own state, so girih has to be told. torch loads
its compiler in the first call of either; girih never does.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from girih import stance


def follow_torch() -> None:
    """Makes torch's stance count for girih, and its reset reset girih."""
    compiler = sys.modules["torch"].compiler
    _extend(compiler, "set_stance", lambda: _follow_stances() and _mirror_stance())
    _extend(compiler, "reset", _reset)
    if _follow_stances() and _their_stance() != "default":
        _mirror_stance()


def _extend(module: ModuleType, name: str, then: Callable[[], Any]) -> bool:
    """Calls ``then`` after each call of a function; False where that is so already."""
    original = getattr(module, name)
    if hasattr(original, "girih_follows"):
        return False

    @functools.wraps(original)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        then()
        return result

    wrapper.girih_follows = True
    setattr(module, name, wrapper)
    return True


def _follow_stances() -> bool:
    """Mirrors each change of torch's stance; True where that begins now."""
    decorators = sys.modules.get("torch._dynamo.decorators")
    if not hasattr(decorators, "_set_stance"):
        return False
    return _extend(decorators, "_set_stance", _mirror_stance)


def _their_stance() -> str:
    theirs = sys.modules["torch._dynamo.eval_frame"]._stance.stance
    return theirs if theirs in stance.STANCES else "default"


def _mirror_stance() -> None:
    stance.set_current(_their_stance())


def _reset() -> None:
    from girih.api import reset

    reset()
