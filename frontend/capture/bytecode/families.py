"""Imports every family of opcodes, which registers their handlers."""

from girih.frontend.capture.bytecode import (
    build,
    call,
    exception,
    jump,
    load_store,
    operator,
    unpack,
)

LOADED = (build, call, exception, jump, load_store, operator, unpack)
