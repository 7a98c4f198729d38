"""The sweeps of kernels that people write by hand, from plain PyTorch, on a GPU.

``sweeps`` holds the functions and their shapes, ``timing`` a case's row, measured with
a cold L2 cache, ``report`` the tables.
"""
