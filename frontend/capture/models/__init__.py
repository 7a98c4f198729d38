"""Functions whose meaning the interpreter knows.

``registry`` holds the table; ``python`` has builtins, ``iterators`` those that
iterate and itertools, ``library`` the standard library,
``torch_calls`` torch's functions that are no operations of a graph.
"""
