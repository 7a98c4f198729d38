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
* ``import_hooks``  what is done when a module is imported
* ``explanation``  ``explain``: graphs, breaks, guards and what they cost
* ``checking``  ``check``: compiled graphs beside eager, on copies
* ``profiling``  ``profile``: kernels and library calls of compiled calls, timed
* ``bisection``  ``bisect``, and ``girih-bisect``: the pass that is wrong
* ``evaluation``  what IR of each level computes, without compiling it
* ``running``   ``run``, and ``girih-run``: IR of any level, executed
* ``options``   names and values that ``compile`` accepts, and their checks
* ``option_list``  what each option is, as ``list_options`` tells
* ``backend``   the function that serves both doors (ours and ``torch.compile``)
* ``registry``  backends by name: torch's registry, and the default
* ``torch_backend``  a backend of torch behind girih's capture
* ``torch_compiled``  what ``torch.compile(f, backend="girih")`` returned
* ``torch_switches``  which switches of ``torch._dynamo.config`` count
* ``torch_options``  options by Inductor's names
* ``compiler``  the driver: the one file that sees every stage
* ``reports``   what a compilation did: kernels, calls, seconds, files
* ``html_report``  that as a page for browsers
* ``fallbacks`` what runs eager although it was to be compiled: one mechanism for all
* ``tally``     ``counters``: numbers of the process
* ``loading``   what the first ``compile`` imports
* ``collector`` the garbage collector, paused while girih compiles
* ``exclusive`` one compilation at a time
* ``plugins``   ops, rules and passes of others: ``plugin``
* ``signals``   handlers of the program, which wait while girih compiles
* ``config``    environment variables, read in one place
* ``processors``  for which processors code is made: this one, or levels
* ``private_folder``  folders that nobody but the user can change, for caches and such
* ``cache_artifacts``  compiled code as bytes for another machine
* ``ahead``     ``aot_compile``: a function with its compiled code, as one file
* ``packaging``  ``package`` and ``load``: a program as one file
* ``versions``  what code depends on that another machine may have otherwise
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
    "PackageError": "girih.errors",
    "RecompileError": "girih.errors",
    "SwitchWarning": "girih.errors",
    "UnsupportedError": "girih.errors",
    "allow_in_graph": "girih.control",
    "assume_constant_result": "girih.control",
    "bisect": "girih.bisection.api",
    "check": "girih.checking.api",
    "compile": "girih.api",
    "compile_module": "girih.api",
    "counters": "girih.tally",
    "disable": "girih.control",
    "explain": "girih.explanation",
    "get_default_backend": "girih.registry",
    "graph_break": "girih.control",
    "is_compiling": "girih.control",
    "load": "girih.packaging.loading",
    "load_cache_artifacts": "girih.cache_artifacts",
    "load_compiled_function": "girih.ahead.api",
    "list_backends": "girih.registry",
    "list_mode_options": "girih.api",
    "list_modes": "girih.api",
    "list_options": "girih.api",
    "mark_dynamic": "girih.dynamic",
    "mark_static": "girih.dynamic",
    "maybe_mark_dynamic": "girih.dynamic",
    "package": "girih.packaging.building",
    "plugin": "girih.plugins",
    "profile": "girih.profiling.api",
    "register_backend": "girih.registry",
    "report": "girih.api",
    "reset": "girih.api",
    "save_cache_artifacts": "girih.cache_artifacts",
    "run": "girih.running.api",
    "set_default_backend": "girih.registry",
    "set_logs": "girih.log",
    "set_stance": "girih.stance",
    "substitute_in_graph": "girih.control",
}

__all__ = sorted([*_EXPORTS, "__version__"])


_HEAVY = (
    "girih.ahead.api",
    "girih.bisection.api",
    "girih.cache_artifacts",
    "girih.checking.api",
    "girih.explanation",
    "girih.packaging.building",
    "girih.packaging.loading",
    "girih.plugins",
    "girih.profiling.api",
    "girih.running.api",
)


def __getattr__(name: str):
    """Loads the module of a public name on first use (PEP 562)."""
    if name not in _EXPORTS:
        raise AttributeError(f"module 'girih' has no attribute {name!r}")
    module = import_module(_EXPORTS[name])
    globals().update({n: getattr(module, n) for n in _names_of(_EXPORTS[name])})
    return globals()[name]


def __dir__():
    return __all__


def _names_of(module: str) -> list[str]:
    return [name for name, path in _EXPORTS.items() if path == module]


# What programs say in functions that TorchDynamo traces is there before it does, and
# torch's switches count from here on. The compiler itself takes a second to load, which
# the first ``compile`` does (``loading``). girih-opt and the passes run without torch,
# and then nothing but this file is loaded.
if "torch" in sys.modules:
    for path in {*_EXPORTS.values()} - {*_HEAVY}:
        __getattr__(_names_of(path)[0])
    import_module("girih.twins").follow_torch(import_module("girih.api").reset)
