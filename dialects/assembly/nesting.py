"""A bound on how deep an input may be nested: MLIR's parser calls itself."""

import re

from girih.dialects.assembly.parsing import AssemblyError

DEEPEST = 500
"""More than any program has; the parser's stack ends at several thousand."""

_TOKEN = re.compile(
    r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|->|(?P<open>[({\[<])|(?P<close>[)}\]>])'
)


def check_nesting(text: str) -> None:
    """Checks that no bracket stands too deep.

    Raises:
        AssemblyError: One does.
    """
    if sum(map(text.count, "({[<")) <= DEEPEST:
        return
    depth = 0
    for match in _TOKEN.finditer(text):
        if match["open"]:
            depth += 1
            if depth > DEEPEST:
                message = f"brackets are nested deeper than {DEEPEST}"
                raise AssemblyError(text, match.start(), message)
        elif match["close"]:
            depth = max(depth - 1, 0)
