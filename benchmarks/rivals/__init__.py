"""Whole networks on the CPU, beside the runtimes that are made for them.

``networks`` makes the networks, ``engines`` what runs them, ``worker`` measures one
engine in a process of its own, ``report`` puts the rows into a table.
"""
