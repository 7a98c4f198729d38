"""The runtime: a host program becomes one C object that is called with tensors.

What lives here, in the order to read it:

* ``_program.h``   the instructions of a program and its data
* ``_runtime.c``   runs them, with ``_sizes.c`` and ``_ranges.c``; ``_validate.c``
                   checks them once
* ``assembler``    writes them from Python
* ``torch_entry``  the entry points of torch that programs call; of girih's own they
                   call ``vjp`` and ``writing_calls``
* ``sizes``        dim expressions as arithmetic on registers
* ``buffers``      when buffers become tensors or pointers
* ``device``       what differs for buffers and kernels on a device
* ``mutation``     which arguments are written
* ``events``       what profilers see of it, as ``event`` says, with ``_events.c``;
                   ``flops`` of its calls
* ``program``      host function to program
* ``differentiable`` programs with derivatives, to autograd; ``interface`` what of them
                   the compiler says, ``nodes`` what autograd sees, ``kept`` what a call
                   keeps, ``watches`` whose versions count

Graphs of CUDA (and what plays them in tests):

* ``cuda_graphs``  when a program is recorded, and which recording a call replays
* ``recording``    one recording; ``recorded_inputs``, ``recorded_results``
* ``recordable``   what has to be known of a program
* ``cuda_capture`` recording through torch
* ``addresses``    where tensors are, and who uses their memory, with ``_addresses.c``
"""

from girih.codegen.runtime._runtime import release_memory

__all__ = ["release_memory"]
