"""Random modules against eager; ``make fuzz-programs``.

What lives here, in the order to read it:

* ``program``     a random module with its inputs, as Python text
* ``builder``     writes a program line by line, running each line in eager
* ``layers``      lines that call modules: convolutions, norms, attention, cells, ...
* ``operations``  lines on tensors: elementwise, views, joins, indices, losses
* ``writes``      lines that write: to values, views, arguments and buffers
* ``grammar``     draws a program for a seed
* ``observation`` what a call of a program leaves behind
* ``judgement``   whether a compiled program is eager's
* ``shrinking``   the smallest program that fails alike
* ``run``         programs in child processes
* ``record``      what a run saw, as JSON
* ``__main__``    the command line
"""
