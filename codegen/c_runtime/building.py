"""Builds ``libgirih_runtime.so`` beside the extensions of Python, for the wheel.

setuptools loads this file on its own, when the wheel is built.
"""

from __future__ import annotations

import os

from setuptools.command.build_ext import build_ext

_LIBRARY = "libgirih_runtime"


class BuildExtensions(build_ext):
    """Builds extensions; the name of the library has no version of Python in it."""

    def get_ext_filename(self, fullname: str) -> str:
        """The file of an extension."""
        *folders, name = fullname.split(".")
        if name != _LIBRARY:
            return super().get_ext_filename(fullname)
        return os.path.join(*folders, f"{name}.so")
