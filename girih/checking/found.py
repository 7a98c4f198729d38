"""What came of comparing a graph with eager, as an object that prints well."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class GraphCheck:
    """What came of comparing the calls of one graph with eager.

    Attributes:
        graph: The graph's name in ``girih.report``.
        calls: Calls that were compared.
        differences: What differed in the first call in which something did, as text:
            results, arguments that were written, gradients, errors, random numbers.
        operations: Where the two part: operations whose own results differ, though
            what they read does not, each with the user's line.
        not_checked: Why a call was not compared, or None.
        not_found: Why girih could not look for the operations, or None.
    """

    graph: str
    calls: int = 0
    differences: list[str] = field(default_factory=list)
    operations: list[str] = field(default_factory=list)
    not_checked: str | None = None
    not_found: str | None = None

    @property
    def ok(self) -> bool:
        """Whether all that was compared is as in eager."""
        return not self.differences

    def __str__(self) -> str:
        if self.ok:
            reason = f"not checked: {self.not_checked}" if self.not_checked else ""
            if reason and not self.calls:
                return f"{self.graph}: {reason}"
            reason = reason and f", then {reason}"
            calls = "1 call" if self.calls == 1 else f"{self.calls} calls"
            return f"{self.graph}: eager gives the same results in {calls}{reason}"
        lines = [f"{self.graph} differs from eager:"]
        lines += [f"  {text}" for text in self.differences]
        lines += [f"  first at {text}" for text in self.operations]
        if self.not_found is not None:
            lines.append(f"  the operation could not be found: {self.not_found}")
        return "\n".join(lines)
