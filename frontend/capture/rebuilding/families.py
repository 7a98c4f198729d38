"""Imports every family of values, which registers their writers."""

from girih.frontend.capture.rebuilding import (
    containers,
    exceptions,
    functions,
    generators,
    iterators,
    numbers,
    objects,
    values,
)

LOADED = (
    containers,
    exceptions,
    functions,
    generators,
    iterators,
    numbers,
    objects,
    values,
)
