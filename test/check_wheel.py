"""Builds the wheel and runs the README's quick start where no compiler is.

``make check-wheel`` runs this. The wheel goes into a clean virtual environment, with
the dependencies that the constraints pin, and the quick start runs with a ``PATH`` on
which there is no program at all.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import tomllib
import venv
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "support"))

from readme import python_blocks  # noqa: E402

ROOT = Path(__file__).parent.parent


def build_wheel(folder: Path) -> Path:
    """Builds the wheel with the build tools of this environment."""
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps"]
    command += ["--no-build-isolation", "-w", str(folder), str(ROOT)]
    subprocess.run(command, check=True)
    (wheel,) = folder.glob("girih-*.whl")
    return wheel


def check_contents(wheel: Path) -> None:
    """Checks that each package and extension of the tree is in the wheel.

    Raises:
        SystemExit: Something is missing.
    """
    names = set(zipfile.ZipFile(wheel).namelist())
    for folder in ("girih", "frontend", "dialects", "passes", "codegen", "tools"):
        prefix = "" if folder == "girih" else "girih/"
        for source in (ROOT / folder).rglob("*.py"):
            name = prefix + str(source.relative_to(ROOT))
            if name not in names:
                sys.exit(f"{name} is not in {wheel.name}")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = len(project["tool"]["setuptools"]["ext-modules"])
    extensions = [name for name in names if name.endswith(".so")]
    if len(extensions) != wanted:
        sys.exit(f"{wheel.name} holds {extensions}, expected {wanted} C extensions")
    print(f"{wheel.name}: {len(names)} files, {len(extensions)} C extensions")


def install(wheel: Path, folder: Path) -> Path:
    """Installs the wheel into a new environment; returns its interpreter."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    pip = [str(python), "-m", "pip", "install", "-q", "--only-binary=:all:"]
    constraints = ["-c", str(ROOT / "constraints.txt")]
    environment = without_programs(folder)
    subprocess.run([*pip, *constraints, str(wheel)], check=True, env=environment)
    return python


def without_programs(folder: Path) -> dict[str, str]:
    """The environment variables with a ``PATH`` that leads nowhere."""
    nowhere = folder / "empty"
    nowhere.mkdir(exist_ok=True)
    unset = {"CC", "CXX", "VIRTUAL_ENV", "PYTHONPATH"}
    kept = {k: v for k, v in os.environ.items() if k not in unset}
    return {**kept, "PATH": str(nowhere), "GIRIH_CACHE_DIR": str(folder / "cache")}


def main() -> None:
    """Builds, installs and runs."""
    with tempfile.TemporaryDirectory(prefix="girih-wheel-") as name:
        folder = Path(name)
        wheel = build_wheel(folder)
        check_contents(wheel)
        python = install(wheel, folder / "venv")
        environment = without_programs(folder / "venv")
        script = folder / "quick_start.py"
        script.write_text(python_blocks("Quick start"))
        subprocess.run(
            [str(python), str(script)], check=True, env=environment, cwd=name
        )
    print("the quick start of the README ran with an empty PATH")


if __name__ == "__main__":
    main()
