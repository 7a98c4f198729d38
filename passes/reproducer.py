"""Files that replay a failure: a module, and the pipeline in their first line."""

from pathlib import Path

from girih.dialects.bindings import ir

_PREFIX = "// RUN pipeline: girih-opt --pass-pipeline="
_SUFFIX = " %s"


def write(path: Path, module: ir.Operation, pipeline: str) -> Path:
    """Writes the module and the pipeline to replay on it; returns the path."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    text = module.get_asm(enable_debug_info=True)
    path.write_text(f"{_PREFIX}'{pipeline}'{_SUFFIX}\n{text}\n")
    return path


def pipeline_of(text: str) -> str:
    """Returns the pipeline that the first line of a reproducer holds.

    Raises:
        ValueError: The text is no reproducer.
    """
    line = text.partition("\n")[0]
    if not (line.startswith(_PREFIX) and line.endswith(_SUFFIX)):
        raise ValueError(f"expected a first line '{_PREFIX}...', got {line!r}")
    return line[len(_PREFIX) : -len(_SUFFIX)].strip("'")
