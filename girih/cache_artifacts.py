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
import platform
import re
import warnings
from dataclasses import dataclass, field
from importlib import metadata

import girih
from girih import config, private_folder
from girih.codegen import disk_cache

_MAGIC = b"girih cache artifacts 1\n"
_DIGEST_BYTES = hashlib.sha256().digest_size
_NAME = re.compile(r"[0-9a-f]{64}\.girih")


@dataclass(frozen=True)
class CacheInfo:
    """Which artifacts were saved or loaded.

    Attributes:
        artifacts: Keys in the cache, by kind: ``"girih object"`` is code for a
            processor, ``"girih binary"`` for a GPU.
    """

    artifacts: dict[str, list[str]] = field(default_factory=dict)


def save_cache_artifacts() -> tuple[bytes, CacheInfo] | None:
    """All compiled code that this process used so far, for ``load_cache_artifacts``.

    Code that was compiled with ``options={"cache": False}``, or that the cache has
    dropped since, is not in it.

    Returns:
        The bytes, and what is in them. None: there is no such code.
    """
    files: dict[str, bytes] = {}
    info = CacheInfo()
    for folder, key in disk_cache.used_entries():
        content = disk_cache.content_of(folder, key)
        if content is not None:
            files[disk_cache.file_name(key)] = content
            info.artifacts.setdefault(disk_cache.kind_of(content), []).append(key)
    if not files:
        return None
    head = {
        "versions": _versions(),
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
    head, files = _unpacked(bytes(serialized_artifacts))
    if head["versions"] != (own := _versions()):
        theirs = _text({k: v for k, v in head["versions"].items() if own.get(k) != v})
        ours = _text({k: v for k, v in own.items() if head["versions"].get(k) != v})
        _refuse(
            f"they were made with {theirs}, but this process has {ours}. Save them "
            "again with these versions."
        )
        return None
    folder = config.cache_dir()
    if folder is None:
        _refuse("there is no cache of compiled code here (GIRIH_NO_CACHE)")
        return None
    info = CacheInfo()
    with private_folder.opened(folder) as opened:
        for name, content in files.items():
            private_folder.write(opened, name, content)
            key = name.partition(".")[0]
            info.artifacts.setdefault(disk_cache.kind_of(content), []).append(key)
    return info


def _unpacked(data: bytes) -> tuple[dict, dict[str, bytes]]:
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


def _versions() -> dict[str, str]:
    """What code depends on that another machine may have otherwise."""
    found = {"girih": girih.__version__, "Python": platform.python_version()}
    for package in ("torch", "torch-mlir", "llvmlite", "triton"):
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def _text(versions: dict[str, str]) -> str:
    return ", ".join(f"{k} {v}" for k, v in versions.items()) or "fewer packages"


def _refuse(reason: str) -> None:
    warnings.warn(f"girih did not load the cache artifacts: {reason}", stacklevel=3)
