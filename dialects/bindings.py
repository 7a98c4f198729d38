"""The MLIR Python bindings: the one place that names the wheel they come from.

Everything else imports from here: ``from girih.dialects.bindings import ir, arith``.
Upstream dialect modules are imported when they are first named, because each of them
costs milliseconds that a short run of girih-opt does not need.

Another build of the bindings is used by changing ``_PACKAGE``.
"""

import ctypes
import importlib
from types import ModuleType

from girih.dialects import guards

_PACKAGE = "torch_mlir"

_CORE_MODULES = frozenset({"ir", "passmanager", "rewrite"})
_DIALECT_MODULES = frozenset(
    {
        "arith",
        "builtin",
        "cf",
        "func",
        "index",
        "llvm",
        "math",
        "memref",
        "scf",
        "ub",
        "vector",
    }
)
_RENAMED_DIALECT_MODULES = {"omp": "openmp"}


def __getattr__(name: str) -> ModuleType:
    """Imports a module of the bindings at its first use.

    Raises:
        AttributeError: The bindings have no such module, or girih does not use it.
    """
    if name in _CORE_MODULES:
        module = importlib.import_module(f"{_PACKAGE}.{name}")
        if name == "ir":
            guards.install(module)
    elif name in _DIALECT_MODULES or name in _RENAMED_DIALECT_MODULES:
        path = _RENAMED_DIALECT_MODULES.get(name, name)
        module = importlib.import_module(f"{_PACKAGE}.dialects.{path}")
    else:
        raise AttributeError(f"the MLIR bindings have no module named {name!r}")
    globals()[name] = module
    return module


def library_function(name: str) -> int:
    """The address of a function of the library under the bindings.

    Raises:
        AttributeError: The library exports no such function.
    """
    extension = importlib.import_module(f"{_PACKAGE}._mlir_libs._mlir")
    function = getattr(ctypes.CDLL(extension.__file__), name)
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def register_operation_class(dialect: type, operation: type) -> None:
    """Makes walks of the IR return ``operation`` for the ops that carry its name."""
    extension = importlib.import_module(f"{_PACKAGE}._mlir_libs._mlir")
    extension.register_operation(dialect, replace=True)(operation)


def add_dialect_package(package: str) -> None:
    """Names the package in which the bindings look for a dialect's Python module.

    Without it every access to an op of ours would first try, and fail, to import
    a module from the bindings' own package (14 us instead of 0.4, 2026-11-20).
    """
    extension = importlib.import_module(f"{_PACKAGE}._mlir_libs._mlir")
    extension.globals.append_dialect_search_prefix(package)
