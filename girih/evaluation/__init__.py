"""The values of IR without compiling it: a reference for each level.

It is slow and plain on purpose: PyTorch computes each op of ``graph``, NumPy each op of
a scheduled kernel, and what a pass does to a module must not change what comes out.

What lives here, in the order to read it:

* ``state``       values and symbols of one evaluation, and the table of rules
* ``primitives``, ``composites``, ``attention``, ``derivatives``  rules of ``graph``;
  ``philox`` random words
* ``reference``   a function of ``graph``
* ``kernels``     a scheduled ``tile.kernel``, on NumPy
* ``native``      kernels as functions of a processor, up to LLVM's dialect
* ``launches``    a launch program, with kernels scheduled or not
"""
