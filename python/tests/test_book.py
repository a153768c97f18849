"""The chapter on Python shows what happens: its blocks are executed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT


def blocks(document: str, language: str) -> list[tuple[str, str]]:
    """What follows the language behind the fences of a document, and the text between."""
    text = (ROOT / document).read_text()
    return re.findall(rf"^```{language}(?: ([^\n]*))?\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def test_the_blocks_of_the_chapter_do_what_they_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for language in ("ptx", "toml", "rules"):
        for name, text in blocks("README.md", language):
            (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    executed = blocks("book/src/python.md", "python")
    assert len(executed) >= 5
    for _, text in executed:
        exec(compile(text, "book/src/python.md", "exec"), names)  # What it says must hold.
    assert "test_half" in names


def test_the_readme_of_the_package_is_of_names_that_exist() -> None:
    import oriole

    [(_, text)] = blocks("python/README.md", "python")
    compile(text, "python/README.md", "exec")
    assert all(hasattr(oriole, name) for name in re.findall(r"oriole\.(\w+)", text))
