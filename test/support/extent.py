"""How much tests try: samples in ``make test``, all of it in ``make test-long``."""

from __future__ import annotations

import os
from typing import TypeVar

T = TypeVar("T")
IS_LONG = os.environ.get("GIRIH_TEST_LONG", "0") != "0"


def extent(short: T, *, long: T) -> T:
    """One of both."""
    return long if IS_LONG else short
