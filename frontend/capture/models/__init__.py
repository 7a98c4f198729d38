"""Functions whose meaning the interpreter knows.

``registry`` holds the table; ``python`` has builtins, ``library`` the standard library,
``torch_calls`` torch's functions that are no operations of a graph.
"""
