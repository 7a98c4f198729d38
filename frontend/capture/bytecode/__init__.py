"""Handlers of CPython's opcodes.

``table`` registers them with the versions in which they hold; one file a family:
``load_store``, ``operator``, ``jump``, ``build``, ``unpack``, ``call``, ``exception``.
"""
