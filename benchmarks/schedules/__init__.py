"""Kernels under several schedules on a GPU: what the numbers of the policy come from.

Read in this order: ``kernels`` (what is measured, and under which schedules),
``children`` (each in a process of its own, timed one after the other), ``__main__``.
"""
