"""Packages: a program in one file, which runs without a compiler.

What loads a package imports torch and girih's run time alone: no MLIR, no Triton, no
pass, no capture. ``docs/package-format.md`` says what is in the file.

What lives here, in the order to read it:

* ``container``  the file: parts with checksums, and a manifest
* ``tensors``    the part with the weights
* ``constants``  what a program's instructions name: sizes, dtypes, operators
* ``sizes``      conditions on symbolic sizes, written and computed
* ``signature``  arguments of a call, checked, and the program's inputs
* ``quick``      calls like one before, without checks
* ``code``       instructions and machine code, written and linked
* ``gpu_programs``  the same for a GPU, with launch tables; ``gpus`` which one it is
* ``targets``    what code is made for: processors, or GPUs
* ``loading``    ``load``: from a file to a callable
* ``capturing``  from a function and its arguments to a graph; loads the compiler
* ``examples``   what is packaged: functions with the arguments of one call
* ``describing`` what the manifest says of an entry point
* ``weights``    tensors that are no arguments, each memory once
* ``exported``   programs of ``torch.export`` as input
* ``building``   ``package``: from a function to a file; loads the compiler
* ``adding``     code for another processor or GPU; loads the compiler
* ``command``    ``girih-package``
"""
