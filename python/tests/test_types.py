"""The package is typed, its stub says what the extension has, and everything public is described."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import oriole
from oriole import errors, foreign, launches, results

FOLDER = Path(__file__).parents[1]


MYPY = ["mypy", "--config-file", "pyproject.toml"]
STUBTEST = ["mypy.stubtest", "--ignore-disjoint-bases", "oriole._oriole"]


@pytest.mark.parametrize("command", [MYPY, STUBTEST], ids=["mypy", "stubtest"])
def test_types_hold(command: list[str]) -> None:
    pytest.importorskip("mypy")
    done = subprocess.run([sys.executable, "-m", *command], cwd=FOLDER, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def public() -> list[tuple[str, object]]:
    modules = [oriole, errors, foreign, launches, results]
    named = [(f"{module.__name__}.{name}", getattr(module, name)) for module in modules for name in module.__all__]
    members = [
        (f"{name}.{member}", value)
        for name, item in named
        if inspect.isclass(item)
        for member, value in vars(item).items()
        if not member.startswith("_") and (callable(value) or isinstance(value, (property, classmethod)))
    ]
    return named + members


def test_everything_public_is_described() -> None:
    described = [(name, item) for name, item in public() if callable(item) or isinstance(item, property)]
    assert len(described) > 60
    # Names of unions are described where they are defined.
    bare = [name for name, item in described if not inspect.getdoc(item) and not hasattr(item, "__args__")]
    assert bare == []


def test_attributes_of_answers_are_described() -> None:
    for name in results.__all__:
        item = getattr(results, name)
        text = inspect.getdoc(item) or ""
        for field in item.__dataclass_fields__:
            assert field.startswith("_") or f"{field}:" in text, f"{name} does not say what {field} is"
