"""The dialects of girih and what they share.

Read in this order:

- ``bindings``: the only module that names the MLIR Python bindings.
- ``dims``: sizes, integers or canonical integer expressions over symbols.
- ``types``: tensor and buffer types with symbolic sizes; element types.
- ``attributes``: how Python values are written as attributes and read back.
- ``fields``, ``rules``: operands, results and attributes of an op; broken rules.
- ``definition``: what an op is: its fields, type rule, verifier and builder.
- ``regions``, ``locations``: checks of regions, positions in the user's files.
- ``verifier``: checks a module against all of them.
- ``graph``, ``tile``, ``host``: the dialects, one file for each family of ops.
- ``tt``: that of GPUs, loaded by those who import it.
- ``context``: contexts with all of these loaded.
"""


def load_all() -> None:
    """Registers the op classes of girih, save those of GPUs; later calls do nothing."""
    from girih.dialects import graph, host, tile

    for dialect in (graph, tile, host):
        dialect.load()
