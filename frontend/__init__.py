"""From Python programs to ``graph``.

What lives here, in the order to read it:

* ``capture``   Python bytecode becomes a torch FX graph with guards
* ``fake``      fake tensors that are quick to make and to compute with
* ``importer``  the FX graph becomes a ``graph`` module
"""
