"""Machine code for GPUs, made by Triton's compiler and run by the GPU's driver.

Read in this order: `target` (which GPU), `compile` (Triton IR to a `Binary`, in
threads), `cache` (binaries on disk), `link` (binaries loaded on a device, by
`_driver.c`), `launch` (loaded kernels as a launch program wants them), `tables`
(launches as data, for files), `cards` (what code is made for where no GPU is).

Nothing here loads Triton or opens a driver before it is used.
"""
