"""What girih and torch's own compiler have to know of each other.

What ``torch.compiler.set_stance``, ``reset`` and ``torch._logging.set_logs`` set is
torch's compiler's own state, so girih has to be told. torch loads its compiler in the
first call of one of the former; girih never does. Where a program does, TorchDynamo's
classes of errors become bases of girih's, so that its handlers catch those, too.
TorchDynamo in turn is told which files are girih's: it would capture what runs inside
of a function of its own, such as the backward pass of a compiled graph.
"""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Callable
from importlib import import_module
from types import MethodType, ModuleType
from typing import Any

from girih import log, stance
from girih.errors import (
    RecompileError,
    RecompileLimitError,
    UnknownBackendError,
    UnsupportedError,
)
from girih.fallbacks import FallbackWarning
from girih.import_hooks import when_imported
from girih.torch_switches import users_level

_told_of_replicas: list[str] = []

# All of girih, but for what programs say in functions that TorchDynamo captures:
# ``disable``, ``is_compiling``, ``mark_dynamic``, ``compile``, ...
_NOT_FOR_DYNAMO = tuple(
    "ahead backend bisection cache_artifacts checking codegen collector compiler "
    "config dialects errors evaluation exclusive explanation fallbacks frontend "
    "html_report import_hooks loading log option_list options packaging passes "
    "plugins private_folder processors profiling registry reports running signals "
    "stance tally tools torch_backend torch_compiled torch_options torch_switches "
    "twins user_backend versions".split()
)


def follow_torch(reset: Callable[[], None]) -> None:
    """Makes torch's stance count for girih, and its reset reset girih.

    Args:
        reset: What resets girih.
    """
    compiler = sys.modules["torch"].compiler
    _extend(compiler, "set_stance", lambda: _follow_stances() and _mirror_stance())
    when_imported("torch._dynamo", lambda dynamo: _follow_resets(dynamo, reset))
    when_imported("torch._dynamo.exc", _join_errors)
    _follow_logs()
    if _follow_stances() and _is_set():
        _mirror_stance()
    capture_modules_of_torch()


@functools.cache
def hide_from_dynamo() -> None:
    """Has TorchDynamo, which is loaded, leave girih's own files alone.

    It looks at a file once, so that costs calls nothing.
    """
    rules = import_module("torch._dynamo.trace_rules")
    for name in _NOT_FOR_DYNAMO:
        rules.add(f"girih.{name}")


def _follow_resets(dynamo: ModuleType, reset: Callable[[], None]) -> None:
    """Resets girih by ``torch._dynamo.reset``, which ``torch.compiler.reset`` calls."""

    def reset_too() -> None:
        # ``explain`` and ``export`` reset what they are about to capture.
        if sys._getframe(2).f_globals.get("__name__") not in _RESET_THEMSELVES:
            reset()

    _extend(dynamo, "reset", reset_too)


_RESET_THEMSELVES = ("torch._dynamo.eval_frame", "torch._dynamo.functional_export")


def _join_errors(theirs: ModuleType) -> None:
    """Has handlers of TorchDynamo's errors catch those of girih that mean the same."""
    for own, name in _SAME_ERRORS.items():
        kind = getattr(theirs, name)
        if not issubclass(own, kind):
            own.__bases__ = (*own.__bases__, kind)


_SAME_ERRORS = {
    UnsupportedError: "Unsupported",
    RecompileLimitError: "FailOnRecompileLimitHit",
    RecompileError: "RecompileError",
    UnknownBackendError: "InvalidBackend",
}
"""TorchDynamo's name for each."""


def capture_modules_of_torch() -> None:
    """Has ``module.compile(backend="girih")`` compile modules of torch's own classes.

    TorchDynamo skips each frame in a file of torch, and so every frame of such a
    module. ``torch.compile(module)`` puts a frame of its own around them, which
    ``module.compile`` does not. torch may import girih in the middle of that call, so
    what TorchDynamo does next is extended, too, where TorchDynamo is loaded.
    """
    if "torch" not in sys.modules:
        return
    original = sys.modules["torch"].nn.Module.compile
    if not hasattr(original, "girih_follows"):

        @functools.wraps(original)
        def compile_module(self: Any, *args: Any, **kwargs: Any) -> Any:
            _frame_modules()
            return original(self, *args, **kwargs)

        compile_module.girih_follows = True
        sys.modules["torch"].nn.Module.compile = compile_module
    if hasattr(sys.modules.get("torch._dynamo.eval_frame"), "OptimizeContext"):
        _frame_modules()


@functools.cache
def _frame_modules() -> None:
    """Has TorchDynamo capture a frame around the calls that it would skip."""
    context = import_module("torch._dynamo.eval_frame").OptimizeContext
    original = context.__call__

    @functools.wraps(original)
    def capture(self: Any, function: Any) -> Any:
        if _is_for_girih(self):
            _warn_of_replicas(function)
            if _is_skipped(function):
                function = _framed(function)
        return original(self, function)

    context.__call__ = capture


def _is_for_girih(context: Any) -> bool:
    """Whether a context of TorchDynamo hands its graphs to girih."""
    backend = context.callback
    while hasattr(backend, "_torchdynamo_orig_backend"):
        backend = backend._torchdynamo_orig_backend
    return getattr(backend, "compiler_name", None) == "girih"


def _is_skipped(function: Any) -> bool:
    """Whether a function is the call of a module whose frames TorchDynamo skips."""
    if getattr(function, "__name__", None) != "_call_impl":
        return False
    forward = getattr(getattr(function, "__self__", None), "forward", None)
    rules = import_module("torch._dynamo.trace_rules")
    return isinstance(forward, MethodType) and bool(rules.check(forward))


def _warn_of_replicas(function: Any) -> None:
    """Warns, once, of a replica around which TorchDynamo skips every frame."""
    replica = getattr(function, "__self__", function)
    kind = import_module("torch.nn.parallel").DistributedDataParallel
    if not isinstance(replica, kind) or _told_of_replicas:
        return
    rules = import_module("torch._dynamo.trace_rules")
    if not all(rules.check(inner.forward) for inner in replica.module.modules()):
        return
    _told_of_replicas.append(replica.module.__class__.__name__)
    text = (
        f"DistributedDataParallel({_told_of_replicas[0]}) runs eager: TorchDynamo "
        "hands nothing of it to girih, since it skips modules of torch's own classes "
        "inside of a replica. Compile the module, and wrap the result: "
        "DistributedDataParallel(torch.compile(module, backend='girih')). "
        "docs/distributed.md has more."
    )
    warnings.warn(text, FallbackWarning, stacklevel=users_level())


def _framed(function: Callable) -> Callable:
    """The function with a frame around it, whose code no other function has.

    TorchDynamo keeps what it compiled, and counts it, for each code.
    """
    framed = import_module("torch._dynamo.external_utils").wrap_inline(function)
    framed.__code__ = framed.__code__.replace()
    return framed


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


def _follow_logs() -> None:
    """Switches girih's logs, too, by each call of ``torch._logging.set_logs``."""
    logging = sys.modules["torch"]._logging
    original = logging.set_logs
    if hasattr(original, "girih_follows"):
        return

    @functools.wraps(original)
    def set_logs(*args: Any, **kwargs: Any) -> None:
        original(*args, **kwargs)
        log.follow_torch(**kwargs)

    set_logs.girih_follows = True
    logging.set_logs = set_logs


def _follow_stances() -> bool:
    """Mirrors each change of torch's stance; True where that begins now."""
    decorators = sys.modules.get("torch._dynamo.decorators")
    if not hasattr(decorators, "_set_stance"):
        return False
    return _extend(decorators, "_set_stance", _mirror_stance)


def _their_stance() -> str:
    theirs = sys.modules["torch._dynamo.eval_frame"]._stance.stance
    return theirs if theirs in stance.STANCES else "default"


def _is_set() -> bool:
    """Whether torch's stance is another one than at its start."""
    theirs = sys.modules["torch._dynamo.eval_frame"]._stance
    return theirs != type(theirs)()


def _mirror_stance() -> None:
    theirs = sys.modules["torch._dynamo.eval_frame"]._stance
    if getattr(theirs, "skip_guard_eval_unsafe", False):
        stance.warn_of_guards()
    forced = stance.forced_by(getattr(theirs, "backend", None))
    stance.set_current(_their_stance(), forced)
