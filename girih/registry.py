"""Backends by name: torch's registry, and which one ``girih.compile`` takes by default.

torch's compiler holds the registry, so girih loads ``torch._dynamo`` where a program
lists or registers backends, or names one that is not girih's own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any, NamedTuple

from girih.errors import UnknownBackendError
from girih.options import unknown_name

OWN = ("eager", "girih")
"""Names that girih knows without torch's registry."""


class Provider(NamedTuple):
    """What a backend of torch needs.

    Attributes:
        module: The module without which it does not work; importing it may register it.
        install: What a user does to get it.
    """

    module: str
    install: str


_TENSORRT = Provider("torch_tensorrt", "pip install torch-tensorrt")
_ONNXRUNTIME = Provider(
    "onnxruntime.training.torchdynamo.register_backend",
    "pip install onnxruntime-training; the versions of torch that girih works with do "
    "not register this name themselves, so register the package's backend: "
    "girih.register_backend(aot_ort, name='onnxrt')",
)
_XLA = Provider("torch_xla", "pip install torch_xla")

PROVIDERS = {
    "hpu_backend": Provider(
        "habana_frameworks.torch", "install the Intel Gaudi software"
    ),
    "ipex": Provider(
        "intel_extension_for_pytorch", "pip install intel-extension-for-pytorch"
    ),
    "migraphx": Provider("torch_migraphx", "install torch_migraphx of AMD"),
    "onnxrt": _ONNXRUNTIME,
    "onnxruntime": _ONNXRUNTIME,
    "openvino": Provider("openvino.torch", "pip install openvino"),
    "openxla": _XLA,
    "openxla_eval": _XLA,
    "tensorrt": _TENSORRT,
    "torch_tensorrt": _TENSORRT,
    "tvm": Provider("tvm", "pip install apache-tvm"),
    "zentorch": Provider("zentorch", "pip install zentorch"),
}
"""Backends whose package may be missing, by name."""

_default: str | Callable = "girih"


def register_backend(
    compiler_fn: Callable | None = None,
    name: str | None = None,
    tags: Sequence[str] = (),
) -> Callable:
    """Gives a backend a name, for ``girih.compile`` and ``torch.compile``.

    Use it as a function or as a decorator, with or without arguments. It is torch's
    own function, and loads ``torch._dynamo``.

    Args:
        compiler_fn: ``(gm, example_inputs) -> callable``; with ``mode`` and ``options``
            if it takes them.
        name: The name; by default that of the function.
        tags: Such as ``"debug"``, by which ``list_backends`` leaves it out.

    Returns:
        ``compiler_fn``, or a decorator where that is None.

    Raises:
        TypeError: ``compiler_fn`` is not callable.
        ValueError: Another backend has this name.
    """
    if compiler_fn is None:
        return lambda function: register_backend(function, name, tags)
    if not callable(compiler_fn):
        kind = type(compiler_fn).__name__
        raise TypeError(f"girih.register_backend expects a callable, got {kind}")
    taken = name or getattr(compiler_fn, "__name__", None)
    if taken is None:
        raise TypeError("girih.register_backend needs a name for this callable")
    if taken in (*OWN, *_names(())):
        raise ValueError(f"a backend called {taken!r} is there already")
    return torchs().register_backend(compiler_fn, taken, tags)


def list_backends(exclude_tags: Any = ("debug", "experimental")) -> list[str]:
    """Names that ``backend`` accepts, girih's and torch's; loads ``torch._dynamo``.

    Args:
        exclude_tags: Backends with one of these tags are left out. None or ``()``: none
            is. As for ``torch.compiler.list_backends``.
    """
    return sorted({"girih", *_names(exclude_tags)})


def _names(exclude_tags: Any) -> list[str]:
    return torchs().list_backends(exclude_tags)


def set_default_backend(backend: str | Callable | None) -> None:
    """Sets the backend of ``girih.compile`` where its argument is not given.

    What ``torch.compiler.set_default_backend`` sets is for ``torch.compile`` alone.

    Args:
        backend: A name or a callable; None: ``"girih"``.

    Raises:
        TypeError: It is neither.
    """
    global _default
    if backend is not None and not isinstance(backend, str) and not callable(backend):
        kind = type(backend).__name__
        raise TypeError(f"backend must be a name or a callable, got {kind}")
    _default = "girih" if backend is None else backend


def get_default_backend() -> str | Callable:
    """The backend of ``girih.compile`` where its argument is not given."""
    return _default


def torchs() -> ModuleType:
    """torch's registry, with ``torch._dynamo``."""
    from girih.twins import hide_from_dynamo

    found = import_module("torch._dynamo.backends.registry")
    hide_from_dynamo()
    return found


def expect_registered(name: str) -> None:
    """Makes sure that torch's registry has a backend, and what that needs.

    Raises:
        ImportError: Its package is not installed.
        ValueError: Nobody knows the name.
    """
    provider = PROVIDERS.get(name)
    if provider is not None and not _is_installed(provider.module):
        raise ImportError(
            f"the backend {name!r} needs the package "
            f"{provider.module.partition('.')[0]}, which is not installed: "
            f"{provider.install}"
        )
    if name in _names(()):
        return
    if provider is not None:
        import_module(provider.module)  # which registers it
        if name in _names(()):
            return
        raise ImportError(
            f"the package {provider.module.partition('.')[0]} is installed, but "
            f"registers no backend {name!r}. To get one: {provider.install}"
        )
    known = {*OWN, *_names(()), *PROVIDERS}
    names = unknown_name("backend", name, filter(_is_for_users, known))
    text = f"{names}, or a callable (gm, example_inputs) -> callable"
    raise UnknownBackendError(text)


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ImportError:  # a package around it
        return False


def _is_for_users(name: str) -> bool:
    return not name.endswith("_TESTING_ONLY")
