"""Compiled kernels on disk: a JSON line with their metadata, then the code."""

from __future__ import annotations

import json
from dataclasses import asdict

from girih.codegen.disk_cache import DiskCache
from girih.codegen.gpu.binary import Binary


class BinaryCache(DiskCache[Binary]):
    """A folder of cubins and hsacos. It may be the folder of CPU objects, too."""

    magic = b"girih gpu binary 2\n"

    def encode(self, entry: Binary) -> bytes:
        """Metadata as JSON, a line end, the code."""
        metadata = asdict(entry)
        del metadata["data"]
        return json.dumps(metadata).encode() + b"\n" + entry.data

    def decode(self, body: bytes) -> Binary:
        """The kernel of a file."""
        metadata, _, data = body.partition(b"\n")
        return Binary(data=data, **json.loads(metadata))
