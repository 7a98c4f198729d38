"""Compiled code that travels: what a process compiled, as bytes for another machine.

The bytes are a line that names the format, the SHA-256 of what follows, a line of JSON
(versions, and the name and length of each file), and the files of the code cache one
after the other. A file of the cache holds only under its own key (see
``codegen/disk_cache.py``), and the key covers all that the code depends on. So what
does not fit the other machine, such as code for another processor, is never found.
"""

from __future__ import annotations

import hashlib
import json
import re
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from girih import config, private_folder
from girih.codegen import disk_cache
from girih.versions import told, versions

_MAGIC = b"girih cache artifacts 1\n"
_DIGEST_BYTES = hashlib.sha256().digest_size
_NAME = re.compile(r"[0-9a-f]{64}\.girih")


@dataclass(frozen=True)
class CacheInfo:
    """Which artifacts were saved or loaded.

    Attributes:
        artifacts: Keys in the cache, by kind: ``"girih object"`` is code for a
            processor, ``"girih binary"`` for a GPU, ``"girih program"`` what calls
            such code, ``"girih ir"`` what pipelines made.
    """

    artifacts: dict[str, list[str]] = field(default_factory=dict)


def save_cache_artifacts() -> tuple[bytes, CacheInfo] | None:
    """All compiled code that this process used so far, for ``load_cache_artifacts``.

    Code that was compiled with ``options={"cache": False}``, or that the cache has
    dropped since, is not in it.

    Returns:
        The bytes, and what is in them. None: there is no such code.
    """
    return packed(disk_cache.used_entries())


def packed(entries: Iterable[tuple[Path, str]]) -> tuple[bytes, CacheInfo] | None:
    """Some entries of the code cache, as bytes.

    Args:
        entries: The folder and key of each.

    Returns:
        As ``save_cache_artifacts``.
    """
    files: dict[str, bytes] = {}
    info = CacheInfo()
    for folder, key in sorted(entries, key=lambda entry: entry[1]):
        content = disk_cache.content_of(folder, key)
        if content is not None:
            files[disk_cache.file_name(key)] = content
            info.artifacts.setdefault(disk_cache.kind_of(content), []).append(key)
    if not files:
        return None
    head = {
        "versions": versions(),
        "files": {name: len(content) for name, content in files.items()},
    }
    body = json.dumps(head).encode() + b"\n" + b"".join(files.values())
    return _MAGIC + hashlib.sha256(body).digest() + body, info


def load_cache_artifacts(serialized_artifacts: bytes) -> CacheInfo | None:
    """Puts what ``save_cache_artifacts`` gave into the code cache of this machine.

    Later compilations take it from there. The bytes hold machine code that girih will
    run, so load only what you would run.

    Args:
        serialized_artifacts: The bytes.

    Returns:
        What was loaded. None, with a warning: other versions of girih, torch or MLIR
        made the bytes, or there is no cache (``GIRIH_NO_CACHE``).

    Raises:
        TypeError: They are no bytes.
        ValueError: They are no artifacts, or were damaged; nothing was loaded.
    """
    if not isinstance(serialized_artifacts, (bytes, bytearray, memoryview)):
        kind = type(serialized_artifacts).__name__
        raise TypeError(f"girih.load_cache_artifacts expects bytes, got {kind}")
    head, files = unpacked(bytes(serialized_artifacts))
    if head["versions"] != (own := versions()):
        theirs, ours = told(head["versions"], own), told(own, head["versions"])
        _refuse(
            f"they were made with {theirs}, but this process has {ours}. Save them "
            "again with these versions."
        )
        return None
    folder = config.cache_dir()
    if folder is None:
        _refuse("there is no cache of compiled code here (GIRIH_NO_CACHE)")
        return None
    return put(files, folder)


def put(files: Mapping[str, bytes], folder: Path) -> CacheInfo:
    """Writes files of artifacts into a cache folder."""
    info = CacheInfo()
    with private_folder.opened(folder) as opened:
        for name, content in files.items():
            private_folder.write(opened, name, content)
            key = name.partition(".")[0]
            info.artifacts.setdefault(disk_cache.kind_of(content), []).append(key)
    return info


def unpacked(data: bytes) -> tuple[dict, dict[str, bytes]]:
    """The head and the files of artifacts, all checked.

    Raises:
        ValueError: They are not what ``save_cache_artifacts`` makes.
    """
    start = len(_MAGIC) + _DIGEST_BYTES
    body = data[start:]
    if not data.startswith(_MAGIC):
        raise ValueError("these bytes are no cache artifacts of girih")
    if hashlib.sha256(body).digest() != data[len(_MAGIC) : start]:
        raise ValueError("these cache artifacts are damaged: their checksum is wrong")
    line, _, rest = body.partition(b"\n")
    head, files, at = json.loads(line), {}, 0
    for name, size in head["files"].items():
        content = rest[at : at + size]
        at += size
        key = name.partition(".")[0]
        if not _NAME.fullmatch(name) or not disk_cache.is_entry(key, content):
            raise ValueError(f"these cache artifacts have a wrong file {name!r}")
        files[name] = content
    if at != len(rest):
        raise ValueError(
            "these cache artifacts are damaged: there are bytes after the last file"
        )
    return head, files


def _refuse(reason: str) -> None:
    warnings.warn(f"girih did not load the cache artifacts: {reason}", stacklevel=3)
