"""Rules of ops, and how a broken one reads."""

from typing import Any


class InvalidOp(ValueError):
    """An op breaks a rule: ``expected <subject> to <rule>, got <value>``."""

    def __init__(self, subject: str, rule: str, got: Any):
        super().__init__(f"expected {subject} to {rule}, got {got}")


def expect(condition: bool, subject: str, rule: str, got: Any) -> None:
    """Raises ``InvalidOp`` unless the condition holds."""
    if not condition:
        raise InvalidOp(subject, rule, got)
