"""Machine code for this host's processor, made and loaded in this process.

Read in this order: `compile` (module to object code and a loaded library), `guard`
(LLVM in a thread that may be lost, by `_guard.c`), `culprit` (which kernel it was),
`link` (object code to a loaded library, by `loader_core.c`), `cache` (objects on disk),
`symbols` (what compiled code may call), `openmp_core.c` (parallel loops on PyTorch's
thread pool), `fma` and `half_core.c` (what old processors lack), `target` (which
processor this is, and levels of processors). The C files `*_core.c` need no Python;
`codegen/c_runtime` uses them, too.
"""
