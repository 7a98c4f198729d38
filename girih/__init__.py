"""girih: a compiler for PyTorch programs, built on MLIR.

``girih.compile`` takes a function or a module and returns it compiled; it has the
signature and the meaning of ``torch.compile``.

What lives here, in the order to read it:

* ``api``       the public functions: ``compile``, ``reset``, ``report``, ...
* ``control``   what programs say about functions: ``disable``, ``graph_break``, ...
* ``marks``     how that is kept, and read by capture
* ``dynamic``   marks on dims of tensors: ``mark_dynamic``, ``mark_static``
* ``stance``    ``set_stance``
* ``twins``     ``torch.compiler.set_stance`` and ``reset``, which mean girih too
* ``explanation``  ``explain``: graphs, breaks, guards and what they cost
* ``checking``  ``check``: compiled graphs beside eager, on copies
* ``options``   names and values that ``compile`` accepts, and their checks
* ``option_list``  what each option is, as ``list_options`` tells
* ``backend``   the function that serves both doors (ours and ``torch.compile``)
* ``registry``  backends by name: torch's registry, and the default
* ``torch_backend``  a backend of torch behind girih's capture
* ``torch_compiled``  what ``torch.compile(f, backend="girih")`` returned
* ``compiler``  the driver: the one file that sees every stage
* ``reports``   what a compilation did: kernels, calls, seconds, files
* ``fallbacks`` what runs eager although it was to be compiled: one mechanism for all
* ``tally``     ``counters``: numbers of the process
* ``collector`` the garbage collector, paused while girih compiles
* ``exclusive`` one compilation at a time
* ``plugins``   ops, rules and passes of others: ``plugin``
* ``signals``   handlers of the program, which wait while girih compiles
* ``config``    environment variables, read in one place
* ``private_folder``  folders that nobody but the user can change, for caches and such
* ``errors``    the exceptions
* ``log``       loggers and ``GIRIH_LOGS``
"""

import sys
from importlib import import_module

__version__ = "0.1.0"

_EXPORTS = {
    "CompileError": "girih.errors",
    "DifferenceWarning": "girih.errors",
    "Fallback": "girih.fallbacks",
    "FallbackWarning": "girih.fallbacks",
    "GirihError": "girih.errors",
    "RecompileError": "girih.errors",
    "SwitchWarning": "girih.torch_switches",
    "UnsupportedError": "girih.errors",
    "allow_in_graph": "girih.control",
    "assume_constant_result": "girih.control",
    "check": "girih.checking.api",
    "compile": "girih.api",
    "compile_module": "girih.api",
    "counters": "girih.tally",
    "disable": "girih.control",
    "explain": "girih.explanation",
    "get_default_backend": "girih.registry",
    "graph_break": "girih.control",
    "is_compiling": "girih.control",
    "list_backends": "girih.registry",
    "list_mode_options": "girih.api",
    "list_modes": "girih.api",
    "list_options": "girih.api",
    "mark_dynamic": "girih.dynamic",
    "mark_static": "girih.dynamic",
    "maybe_mark_dynamic": "girih.dynamic",
    "plugin": "girih.plugins",
    "register_backend": "girih.registry",
    "report": "girih.api",
    "reset": "girih.api",
    "set_default_backend": "girih.registry",
    "set_logs": "girih.log",
    "set_stance": "girih.stance",
    "substitute_in_graph": "girih.control",
}

__all__ = sorted([*_EXPORTS, "__version__"])


def __getattr__(name: str):
    """Loads the public names, all of them, on first use (PEP 562).

    A program that is traced may use one that it had not used before: it is there then.
    """
    if name not in _EXPORTS:
        raise AttributeError(f"module 'girih' has no attribute {name!r}")
    if name == "plugin":  # it works without torch, as girih-opt does
        return import_module("girih.plugins").plugin
    modules = {path: import_module(path) for path in _EXPORTS.values()}
    globals().update({n: getattr(modules[path], n) for n, path in _EXPORTS.items()})
    return globals()[name]


def __dir__():
    return __all__


# A program that has torch loaded wants the compiler: it is loaded now, so that no
# import is left for the first call. Meanwhile the garbage collector would take a fifth
# of the time. girih-opt and the passes run without torch, and then nothing but this
# file is loaded.
if "torch" in sys.modules:
    with import_module("girih.collector").paused():
        __getattr__("compile")
        import_module("girih.compiler").preload()
        import_module("girih.twins").follow_torch(import_module("girih.api").reset)
