"""Which functions are the user's: not torch's, not Python's, not girih's own."""

from __future__ import annotations

import importlib.util
import os
import sysconfig
import types

import torch

import girih
from girih import frontend


def is_users_code(code: types.CodeType) -> bool:
    """Whether a function is worth capturing on its own: not torch's, not Python's."""
    filename = code.co_filename
    if (
        filename.startswith("<")
        or code.co_name.startswith("<")
        and (code.co_name != "<lambda>")
    ):
        return False
    if filename.startswith(_SKIPPED):
        return False
    return not filename.startswith(_LIBRARIES) or filename.startswith(_SITE_PACKAGES)


def is_in_a_library(code: types.CodeType) -> bool:
    """Whether a function is Python's, or of an installed package."""
    return code.co_filename.startswith((*_LIBRARIES, *_SITE_PACKAGES))


_SITE_PACKAGES = tuple(
    sysconfig.get_path(name) + os.sep for name in ("purelib", "platlib")
)
_LIBRARIES = (sysconfig.get_path("stdlib") + os.sep,)
_SKIPPED = tuple(
    os.path.dirname(os.path.abspath(package.__file__)) + os.sep
    for package in (torch, frontend, girih)
)


def _folder_of(package: str) -> str:
    """Where a package lies, which is not imported for that."""
    (folder,) = importlib.util.find_spec(package).submodule_search_locations
    return os.path.abspath(folder) + os.sep


def is_import(code: types.CodeType) -> bool:
    """Whether a function is one with which Python runs an ``import``.

    It calls finders of installed packages and bodies of modules, once in a process.
    """
    return code.co_filename.startswith("<frozen importlib.")


def is_own_code(code: types.CodeType) -> bool:
    """Whether a function is girih's and calls no function of the user."""
    return code.co_filename.startswith(_OWN)


_OWN = tuple(
    map(
        _folder_of,
        ("girih.codegen", "girih.compiler", "girih.dialects", "girih.passes"),
    )
)
