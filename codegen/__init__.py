"""From IR to something that can be called; it knows kernels and buffers, not tensors.

- ``cpu``: functions of the LLVM dialect become machine code in this process.
- ``runtime``: the launch program becomes one C object that is called with tensors.
"""
