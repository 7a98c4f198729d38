"""lit: the tests in test/**/*.mlir.

They run girih-opt and check its output with FileCheck patterns (the PyPI package
``filecheck``). Starting Python costs a third of a second for each RUN line, so a file
holds many functions and few RUN lines.
"""

import os
import sys

import lit.formats

config.name = "girih"  # noqa: F821 - lit provides ``config``.
config.test_format = lit.formats.ShTest(execute_external=False)  # noqa: F821
config.suffixes = [".mlir"]  # noqa: F821

_root = os.path.dirname(os.path.abspath(__file__))
config.test_source_root = _root  # noqa: F821
config.test_exec_root = os.path.join(_root, "build", "lit")  # noqa: F821

_opt = f"{sys.executable} -m girih.tools.girih_opt"
_filecheck = f"{sys.executable} -m filecheck"

# The patterns are written in MLIR's generic form. ``%girih-opt-readable`` has girih's.
_generic = f"{_opt} --print-op-generic"

# In this order: a substitution must not be found inside another.
config.substitutions += [  # noqa: F821
    ("%girih-opt-readable", _opt),
    ("%girih-opt", _generic),
    (r"\bgirih-opt\b", _generic),
    (r"\bfilecheck\b", _filecheck),
]

# `make test` has malloc overwrite what is freed.
if "GLIBC_TUNABLES" in os.environ:
    config.environment["GLIBC_TUNABLES"] = os.environ["GLIBC_TUNABLES"]  # noqa: F821
