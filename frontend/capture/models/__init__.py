"""Functions whose meaning the interpreter knows.

``registry`` holds the table; ``python`` has builtins, ``sorting`` and ``sums`` larger
ones, ``iterators`` those that iterate and itertools, ``library`` the standard library,
``numpy_calls`` NumPy. Of torch: ``torch_operations`` says what becomes a node,
``torch_state`` and ``torch_random`` are its global state, ``torch_autograd``,
``torch_control``, ``torch_functions`` and ``torch_transforms`` call functions of the
program, and ``torch_calls`` has the rest. ``families`` imports them.
"""
