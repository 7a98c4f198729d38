"""Machine code for this host's processor, made and loaded in this process.

Read in this order: `compile` (module to object code and a loaded library), `link`
(object code from elsewhere to a loaded library), `cache` (objects on disk), `symbols`
(what compiled code may call), `_openmp.c` (parallel loops on PyTorch's thread pool),
`target` (which processor this is).
"""
