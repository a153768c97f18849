"""The fixture for pytest fails tests of kernels that go wrong, and writes down what shows it."""

from __future__ import annotations

import pytest

TESTS = """
import numpy as np
from oriole import Launch

HALF = {half!r}
RULE = "rule half priority 20: idiv.s32(x, 2) => shr.s32(x, 1)\\n"

def launch():
    return Launch(1, 32, [np.arange(-16, 16, dtype=np.int32)])

def test_right(oriole):
    assert len(oriole.check(HALF, launch()).cases) == 6
    assert oriole.judge(HALF, launch(), compiler="oriole", sm="sm_90").equal
    assert oriole.compare(HALF, HALF, launch())[0].equal

def test_wrong(oriole):
    oriole.check(HALF, launch(), rules=[RULE], phase="GeneralOptimizeEarly")

def test_different(oriole):
    oriole.compare(HALF, HALF.replace("2;", "3;", 1), launch())

def test_unknown(oriole):
    oriole.judge(HALF, Launch(1, 32, [np.zeros(1, np.int32)]), compiler="oriole", sm="sm_90")
"""


def test_the_fixture_fails_what_is_wrong_and_writes_it_down(pytester: pytest.Pytester) -> None:
    from conftest import HALF

    pytester.makepyfile(TESTS.format(half=HALF.replace("%r2, 2", "%r2,  2")))
    options = ["-p", "oriole.pytest_plugin"] if not _is_installed() else []
    result = pytester.runpytest_subprocess("--oriole-randoms=5", "--oriole-reduce=20", *options)
    result.assert_outcomes(passed=1, failed=3)
    result.stdout.fnmatch_lines(["*mismatch in GeneralOptimizeEarly*", "*half differs*", "*out of bounds*"])
    folder = pytester.path / "oriole-findings"
    assert sorted(path.name.split(".", 1)[1] for path in folder.glob("test_wrong-0.*")) == ["launch.toml", "ori", "txt"]
    assert "reduced:" in (folder / "test_wrong-0.txt").read_text()


def _is_installed() -> bool:
    from importlib.metadata import entry_points

    return any(entry.name == "oriole" for entry in entry_points(group="pytest11"))
