"""Imports every family of opcodes and their models, which registers them."""

from girih.frontend.capture.bytecode import (
    build,
    call,
    exception,
    jump,
    load_store,
    operator,
    unpack,
)
from girih.frontend.capture.models import iterators

LOADED = (build, call, exception, jump, load_store, operator, unpack, iterators)
