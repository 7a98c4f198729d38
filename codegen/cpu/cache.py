"""Compiled objects on disk: a JSON line with names, then the object."""

from __future__ import annotations

import json

from girih.codegen.cpu.object_code import ObjectCode
from girih.codegen.disk_cache import DiskCache, cache_key

__all__ = ["ObjectCache", "cache_key"]


class ObjectCache(DiskCache[ObjectCode]):
    """A folder of objects with the names that they export and import."""

    magic = b"girih object 2\n"

    def encode(self, entry: ObjectCode) -> bytes:
        """Names as JSON, a line end, the object."""
        names = json.dumps({"exports": entry.exports, "imports": entry.imports})
        return names.encode() + b"\n" + entry.data

    def decode(self, body: bytes) -> ObjectCode:
        """The object of a file."""
        names, _, data = body.partition(b"\n")
        table = json.loads(names)
        return ObjectCode(data, tuple(table["exports"]), tuple(table["imports"]))
