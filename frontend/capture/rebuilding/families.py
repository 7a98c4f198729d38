"""Imports every family of values, which registers their writers."""

from girih.frontend.capture.rebuilding import containers, functions, objects, values

LOADED = (containers, functions, objects, values)
