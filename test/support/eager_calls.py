"""What of a call runs in eager mode."""

import warnings

import girih


def eager_calls(function, *arguments):
    """The kinds of what runs eager in a call."""
    girih.reset()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        girih.compile(function)(*arguments)
    return set(girih.counters()["eager_calls"])
