"""The error of code generation, where this folder looks for it."""

from girih.codegen.errors import CodegenError

__all__ = ["CodegenError"]
