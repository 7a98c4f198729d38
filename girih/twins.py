"""What girih and torch's own compiler have to know of each other.

What ``torch.compiler.set_stance`` and ``reset`` set is torch's compiler's own state, so
girih has to be told. torch loads its compiler in the first call of either; girih never
does. TorchDynamo in turn is told which files are girih's: it would capture what runs
inside of a function of its own, such as the backward pass of a compiled graph.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

from girih import stance

# All of girih, but for what programs say in functions that TorchDynamo captures:
# ``disable``, ``is_compiling``, ``mark_dynamic``, ``compile``, ...
_NOT_FOR_DYNAMO = tuple(
    "backend bisection cache_artifacts checking codegen collector compiler config "
    "dialects errors evaluation exclusive explanation fallbacks frontend html_report "
    "loading log option_list options passes plugins private_folder profiling registry "
    "reports running signals stance tally tools torch_backend torch_compiled "
    "torch_options torch_switches twins".split()
)


def follow_torch(reset: Callable[[], None]) -> None:
    """Makes torch's stance count for girih, and its reset reset girih.

    Args:
        reset: What resets girih.
    """
    compiler = sys.modules["torch"].compiler
    _extend(compiler, "set_stance", lambda: _follow_stances() and _mirror_stance())
    _extend(compiler, "reset", reset)
    if _follow_stances() and _their_stance() != "default":
        _mirror_stance()


@functools.cache
def hide_from_dynamo() -> None:
    """Has TorchDynamo, which is loaded, leave girih's own files alone.

    It looks at a file once, so that costs calls nothing.
    """
    rules = import_module("torch._dynamo.trace_rules")
    for name in _NOT_FOR_DYNAMO:
        rules.add(f"girih.{name}")


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
    theirs = sys.modules["torch._dynamo.eval_frame"]._stance
    skips = getattr(theirs, "skip_guard_eval_unsafe", False)
    stance.warn_of(skips, getattr(theirs, "backend", None))
    stance.set_current(_their_stance())
