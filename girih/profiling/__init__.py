"""``girih.profile``: kernels and library calls of compiled calls, with their times.

What lives here, in the order to read it:

* ``api``        ``profile``
* ``found``      what it returns: rows, and their table
* ``steps``      one timed call, with its backward pass where that is wanted
* ``spans``      times on the host: what programs on the CPU do
* ``records``    times that ``torch.profiler`` has: kernels of a GPU, eager operations
* ``bandwidth``  bytes per second of a copy
"""
