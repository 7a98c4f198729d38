"""What pipelines make of modules, on disk: for those that lead to no kept program.

These are the derivatives of a function, what depends on constants alone, and all of a
program for a GPU up to the IR of its kernels. The key covers the module as bytecode,
with its locations, and the steps with their options.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from girih.codegen.disk_cache import DiskCache, cache_key
from girih.compiler import keeping
from girih.compiler.modules import bytecode_of
from girih.compiler.sources import added, versions
from girih.dialects.bindings import ir
from girih.passes.pipeline_syntax import Step
from girih.passes.user_passes import key_of


class IrCache(DiskCache[bytes]):
    """A folder of modules as bytecode."""

    magic = b"girih ir 1\n"

    def encode(self, entry: bytes) -> bytes:
        """Bytecode as it is."""
        return entry

    def decode(self, body: bytes) -> bytes:
        """Likewise."""
        return body


class KeptIr:
    """Where the result of a pipeline is kept.

    Args:
        folder: The folder.
        module: What the pipeline runs on.
        steps: The pipeline.
    """

    def __init__(self, folder: Path, module: ir.Operation, steps: Sequence[Step]):
        self._cache = IrCache(folder)
        parts = (keeping.identity(module), key_of(steps), versions(), added())
        self._key = cache_key(*parts)

    def put_into(self, module: ir.Operation) -> bool:
        """Makes the module what the pipeline makes of it, if that is kept.

        All operations are others then: who holds one has to ask for it again.
        """
        kept = self._cache.load(self._key) if keeping.is_there(self._key) else None
        if kept is None:
            keeping.miss()
            return False
        _become(module, kept)
        return True

    def keep(self, module: ir.Operation) -> None:
        """Keeps what the pipeline made.

        The module becomes what others will read: uses in another order would be another
        key of what comes next.
        """
        made = bytecode_of(module)
        self._cache.store(self._key, made)
        _become(module, made)


def _become(module: ir.Operation, bytecode: bytes) -> None:
    """Puts a module into the place of another one's content."""
    found = ir.Module.parse(bytecode, module.context)
    body = module.regions[0].blocks[0]
    for op in reversed(list(body.operations)):
        op.operation.erase()
    at = ir.InsertionPoint(body)
    for op in found.body.operations:
        op.operation.clone(ip=at)
    for attribute in list(module.attributes):
        del module.attributes[attribute.name]
    for attribute in found.operation.attributes:
        module.attributes[attribute.name] = attribute.attr
