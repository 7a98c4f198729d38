"""Programs that do not work yet, with the reason; never silently wrong ones."""

KNOWN_FAILURES: dict[str, str] = {
    "compiled_objects.module_is_pickled": "compiled modules cannot be pickled",
}
"""By name, for the calls that the program gives."""
