"""Which files of a checkout changed, by git."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

MAIN = "origin/main"


class NoComparison(Exception):
    """git can't tell what changed: no checkout, or no such commit."""


@dataclass(frozen=True)
class ChangeSet:
    """Files that differ from a commit, as paths from the root of the checkout.

    Attributes:
        base: The commit, in words.
        files: What was added, changed or deleted since, committed or not, sorted.
    """

    base: str
    files: tuple[str, ...]


def change_set(root: Path, since: str | None = None) -> ChangeSet:
    """The files that differ from where the work began.

    Args:
        root: Of the checkout.
        since: A commit. Default: where HEAD left the main branch of the remote. Where
            there is none it is HEAD if anything is not committed, else HEAD~1.

    Raises:
        NoComparison: With a text for the user.
    """
    if Path(_git(root, "rev-parse", "--show-toplevel").strip()) != root.resolve():
        raise NoComparison(f"{root} is not the root of a git checkout")
    if since is not None and not _is_commit(root, since):
        raise NoComparison(f"SINCE={since} names no commit of this checkout")
    if since is None and _is_commit(root, MAIN):
        since = MAIN
    if since is not None:
        return _since(root, since)
    uncommitted = _since(root, "HEAD")
    if uncommitted.files or not _is_commit(root, "HEAD~1"):
        return uncommitted
    return _since(root, "HEAD~1")


def _since(root: Path, reference: str) -> ChangeSet:
    """What differs from the commit that HEAD and a reference have in common."""
    found = _run(root, "merge-base", reference, "HEAD")
    base = found.stdout.strip() if found.returncode == 0 else reference
    # Without renames: what had the old name is tested, too.
    changed = _git(root, "diff", "--name-only", "--no-renames", "-z", base)
    untracked = _git(root, "ls-files", "--others", "--exclude-standard", "-z")
    files = {name for name in (changed + untracked).split("\0") if name}
    short = _git(root, "rev-parse", "--short", base).strip()
    return ChangeSet(f"{reference} ({short})", tuple(sorted(files)))


def _is_commit(root: Path, reference: str) -> bool:
    name = f"{reference}^{{commit}}"
    arguments = ("rev-parse", "--verify", "--quiet", "--end-of-options", name)
    return _run(root, *arguments).returncode == 0


def _git(root: Path, *arguments: str) -> str:
    done = _run(root, *arguments)
    if done.returncode:
        raise NoComparison(f"git {arguments[0]}: {done.stderr.strip()}")
    return done.stdout


def _run(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = ["git", "-C", str(root), *arguments]
    try:
        return subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError:
        raise NoComparison("git is not installed") from None
