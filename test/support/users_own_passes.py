"""Passes as a user writes them, for test/girih/test_user_passes.py."""

from __future__ import annotations


def count(module):
    """A pass that changes nothing."""
    assert module.name == "builtin.module"


def fails(module):
    raise KeyError("mine")


def breaks(module):
    """Leaves a function without its end."""
    module.regions[0].blocks[0].operations[0].regions[0].blocks[0].operations[
        -1
    ].operation.erase()


def erases(module):
    """Erases an op whose result is used."""
    function = module.regions[0].blocks[0].operations[0]
    function.regions[0].blocks[0].operations[0].operation.erase()


def renames(module):
    """Changes how the program is called."""
    from girih.dialects.bindings import ir

    function = module.regions[0].blocks[0].operations[0]
    function.attributes["sym_name"] = ir.StringAttr.get("other")


def inside(function):
    """The same pass, defined in a function."""
    if function is fails:

        def fails_inside(module):
            raise KeyError(message)

        message = "mine"
        fails_inside.__name__ = "fails_inside"
        return fails_inside

    if function is breaks:

        def breaks_inside(module):
            breaks(module)

        return breaks_inside

    def erases_inside(module):
        function(module)

    return erases_inside
