"""Functions that are compiled ahead of time, for one kind of call, and kept in files.

``compiled.aot_compile((args, kwargs))`` captures a call without running it, compiles
it with its derivatives, and returns what never compiles again. ``girih.package`` is for
machines without a compiler; a file of this kind is for Python programs that train or
serve, and holds a function with all that it may return to.

What lives here:

* ``compiled``   ``aot_compile`` and what it returns
* ``example``    what is known of the call that it was compiled for
* ``functions``  functions as bytes: by name, or with their code
* ``file``       the file: what it holds, and its checks
"""
