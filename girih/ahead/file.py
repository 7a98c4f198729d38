"""The file of a function that was compiled ahead of time.

A line that names the format, the SHA-256 of what follows, a line of JSON, and three
parts one after the other: the function with its settings (``functions``), the cache
artifacts with its programs (``girih.cache_artifacts``), and what is known of the call
that it was compiled for, as JSON.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from girih.errors import PackageError
from girih.versions import told, versions

_MAGIC = b"girih function 1\n"
_DIGEST_BYTES = hashlib.sha256().digest_size


@dataclass(frozen=True)
class Content:
    """What a file holds.

    Attributes:
        function: The function with its settings, as bytes that can run any code.
        artifacts: Its programs.
        example: What is known of the call, as JSON.
    """

    function: bytes
    artifacts: bytes
    example: Mapping[str, Any]


def packed(content: Content) -> bytes:
    """The bytes of a file."""
    parts = content.function, content.artifacts, json.dumps(content.example).encode()
    head = {"versions": versions(), "sizes": [len(part) for part in parts]}
    body = b"".join((json.dumps(head).encode(), b"\n", *parts))
    return _MAGIC + hashlib.sha256(body).digest() + body


def unpacked(data: bytes) -> Content:
    """What a file holds, checked but for malice.

    Raises:
        PackageError: It is no such file, is damaged, or is of other versions.
    """
    start = len(_MAGIC) + _DIGEST_BYTES
    if not data.startswith(_MAGIC):
        raise PackageError("this is no file of girih's save_compiled_function")
    body = data[start:]
    if hashlib.sha256(body).digest() != data[len(_MAGIC) : start]:
        raise PackageError("this compiled function is damaged: its checksum is wrong")
    line, _, rest = body.partition(b"\n")
    head = json.loads(line)
    own = versions()
    if head["versions"] != own:
        theirs, ours = told(head["versions"], own), told(own, head["versions"])
        raise PackageError(
            f"the function was compiled with {theirs}, but this process has {ours}. "
            "Compile it again with these versions."
        )
    parts = []
    for size in head["sizes"]:
        parts.append(rest[:size])
        rest = rest[size:]
    function, artifacts, example = parts
    return Content(function, artifacts, json.loads(example))


def write(path: str | os.PathLike, data: bytes) -> None:
    """Replaces a file at once: readers see all of it or what was there before."""
    path = Path(path)
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        try:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
            os.replace(file.name, path)
        except BaseException:
            os.unlink(file.name)
            raise
