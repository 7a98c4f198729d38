"""Attention kernels: online softmax over blocks of keys, and its derivative.

A program of the forward pass has a block of queries and walks over blocks of keys and
values; scores exist in registers only. The backward pass makes the scores again: one
grid of programs that have a block of keys each (gradients of keys and values), and one
of programs with a block of queries. Nothing is added up in memory, so results are the
same in each run.

Read in this order: ``source`` (what the IR says), ``score`` (the score function as
nodes), ``policy`` (sizes of blocks), ``blocks`` (loads, products, rows), ``walk``
(grids and loops), ``forward``, ``backward``, ``schedule``, ``tuning``.
Source: https://arxiv.org/abs/2307.08691.
"""

from girih.passes.tile.gpu.attention.schedule import (
    has_attention,
    plan_attention,
    schedule_attention,
)

__all__ = ["has_attention", "plan_attention", "schedule_attention"]
