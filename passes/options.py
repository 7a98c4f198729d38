"""Options of passes: fields of a frozen dataclass, written ``key=value key=value``."""

import ast
import dataclasses
import difflib
import functools
import inspect
import textwrap
import typing
from types import ModuleType
from typing import Any


class UnknownPass(ValueError):
    """A pipeline names a pass or an option that does not exist."""


def parse_options(
    pass_name: str, options: type | None, text: str, base: Any = None
) -> Any:
    """Returns the options dataclass that ``key=value key=value`` describes.

    Args:
        pass_name: for messages.
        options: the dataclass, or None for a pass without options.
        text: what stands between the braces of a pipeline.
        base: an object of that class, whose fields hold where the text says nothing;
            None: their defaults do.

    Raises:
        UnknownPass: There is no such option, or the value is of another type.
    """
    if options is None:
        if text:
            raise UnknownPass(f"the pass {pass_name!r} has no options, got {text!r}")
        return None
    if base is not None and not text.strip():
        return base
    hints = _hints(options)
    values = {}
    for item in text.split():
        key, _, value = item.partition("=")
        field = key.replace("-", "_")
        if field not in hints:
            valid = [option.replace("_", "-") for option in hints]
            close = difflib.get_close_matches(key, valid, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            has = f"{' It' if close else '; it'} has: {', '.join(valid)}"
            raise UnknownPass(
                f"the pass {pass_name!r} has no option {key!r}{hint}{has}"
            )
        values[field] = _parse_value(pass_name, key, value, hints[field])
    return options(**values) if base is None else dataclasses.replace(base, **values)


def expect_options(name: str, options: type | None) -> type | None:
    """Returns the options of a pass, if a pipeline can say them.

    Raises:
        TypeError: They are no dataclass, a field has no default, or it is of a type
            that has no text.
    """
    if options is None:
        return None
    if not dataclasses.is_dataclass(options):
        raise TypeError(f"the options of {name!r} must be a dataclass, got {options!r}")
    hints = _hints(options)
    for field in dataclasses.fields(options):
        what = f"the option {field.name!r} of {name!r}"
        if field.default is dataclasses.MISSING:
            raise TypeError(f"{what} needs a default")
        if hints[field.name] not in _KINDS:
            kinds = "bool, int, float, str or tuple[int, ...]"
            raise TypeError(f"{what} must be {kinds}, got {hints[field.name]}")
    return options


@functools.cache
def _hints(options: type) -> dict[str, Any]:
    return typing.get_type_hints(options)


_KINDS = (bool, int, float, str, tuple[int, ...])
_TRUTH = {"": True, "true": True, "1": True, "false": False, "0": False}


def _parse_value(pass_name: str, key: str, text: str, hint: Any) -> Any:
    try:
        if hint is bool:
            return _TRUTH[text]
        if typing.get_origin(hint) is tuple:
            return tuple(int(part) for part in text.split(",") if part)
        return hint(text)
    except (KeyError, ValueError, TypeError):
        kind = getattr(hint, "__name__", str(hint))
        message = f"expected option {key!r} of {pass_name!r} to be {kind}, got {text!r}"
        raise UnknownPass(message) from None


def options_text(options: Any) -> str:
    """Returns the text that ``parse_options`` reads back as these options."""
    parts = []
    for field in dataclasses.fields(options):
        value = getattr(options, field.name)
        if value != field.default:
            is_tuple = isinstance(value, tuple)
            shown = ",".join(map(str, value)) if is_tuple else str(value)
            shown = shown.lower() if isinstance(value, bool) else shown
            parts.append(f"{field.name.replace('_', '-')}={shown}")
    return " ".join(parts)


def documented(source: type | ModuleType) -> dict[str, str]:
    """Returns the string that stands below each field of a class or each constant.

    Args:
        source: a class or a module, whose source can be read.
    """
    if not isinstance(source, type):
        return _documented(ast.parse(inspect.getsource(source)).body)
    docs: dict[str, str] = {}
    for base in reversed(source.__mro__):
        if dataclasses.is_dataclass(base) or base is source:
            tree = ast.parse(textwrap.dedent(inspect.getsource(base)))
            docs |= _documented(tree.body[0].body)
    return docs


def _documented(body: list[ast.stmt]) -> dict[str, str]:
    docs, name = {}, None
    for node in body:
        match node:
            case ast.AnnAssign(target=ast.Name(id=name)):
                pass
            case ast.Assign(targets=[ast.Name(id=name)]):
                pass
            case ast.Expr(value=ast.Constant(value=str(text))) if name:
                docs[name] = " ".join(text.split())
            case _:
                name = None
    return docs
