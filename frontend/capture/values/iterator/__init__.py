"""Iterators with explicit state, so that each can be rebuilt as a real one.

* ``base``       ``IteratorValue``: the protocol, and iterators over known items
* ``generator``  ``GeneratorValue``: suspended frames
* ``containers`` over lists, tuples, dicts, sets, constants, and objects by index
* ``making``     ``iter(value)``: which of them a value gives
* ``builtin``    enumerate, zip, map, filter, ``iter(callable, sentinel)``
* ``library``    itertools: those that pass items on
* ``grouping``   itertools: those that keep or combine items
"""

from girih.frontend.capture.values.iterator.base import IteratorValue
from girih.frontend.capture.values.iterator.generator import GeneratorValue

__all__ = ["GeneratorValue", "IteratorValue"]
