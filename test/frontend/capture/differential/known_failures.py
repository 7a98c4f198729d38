"""Programs that do not work yet, with the reason; never silently wrong ones."""

KNOWN_FAILURES: dict[str, str] = {}
"""By name, for the calls that the program gives."""
