"""Differential tests: small programs, plain against captured.

Read ``program`` (how a program is declared), ``observation`` (what is compared),
``session`` (how it is run), then any file of ``corpus``, which has one file a family.
"""
