"""The error of code generation, where this folder looks for it."""

from collections.abc import Sequence

from girih.codegen.errors import CodegenError

__all__ = ["CodegenError", "UnknownSymbols"]


class UnknownSymbols(CodegenError):
    """A module calls functions that no library has; ``names`` are theirs."""

    def __init__(self, names: Sequence[str]):
        super().__init__(f"no loaded library exports {', '.join(names)}")
        self.names = tuple(names)
