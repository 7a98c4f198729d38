"""``python -m benchmarks.decode``: tokens of language models, one after the other.

What lives here, in the order to read it:

* ``models``      what decodes: models of transformers, and those of ``llama``
* ``llama``       Llama in plain PyTorch, with a static cache, also with int8 weights
* ``generating``  ``generate()`` of both kinds, with a clock at ``model.forward``
* ``traffic``     the bytes that a decoded token has to read
* ``worker``      one model in a fresh process: all engines, in turn
* ``report``      tables
* ``__main__``    the command
"""
