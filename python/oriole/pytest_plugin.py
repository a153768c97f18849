"""A fixture for pytest, by which tests judge kernels.

    def test_saxpy(oriole):
        oriole.judge("saxpy.ptx", Launch(1, 256, [2.0, x, y]), sm="sm_90")

A test fails where something is wrong, with the finding as its message, and where nothing could be judged. The kernel,
its launch and the finding are written into a folder, made smaller before where ``--oriole-reduce`` says so.
"""

from __future__ import annotations

import os
import re
from typing import Any, Callable, TypeVar

import pytest

import oriole as package

from .foreign import Compiled
from .launches import as_launches
from .results import Comparison, Judgement, Report

__all__ = ["Oriole"]

Answer = TypeVar("Answer", Judgement, Report)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("oriole", "kernels that are judged by Oriole")
    group.addoption("--oriole-seed", type=int, default=1, help="the seed of random data of launches (1)")
    group.addoption("--oriole-randoms", type=int, default=4, help="variants of each launch with random data (4)")
    group.addoption("--oriole-findings", default="oriole-findings", help="the folder where findings are written")
    group.addoption("--oriole-reduce", type=float, default=0.0, help="make kernels small for so many seconds (0)")


class Oriole:
    """What the fixture ``oriole`` is: the functions of the package, which fail the test where something is wrong."""

    def __init__(self, config: pytest.Config, test: str):
        self._seed: int = config.getoption("--oriole-seed")
        self._randoms: int = config.getoption("--oriole-randoms")
        self._folder: str = config.getoption("--oriole-findings")
        self._seconds: float = config.getoption("--oriole-reduce")
        self._test = re.sub(r"[^A-Za-z0-9_.-]+", "_", test)

    def judge(self, kernel: Any, launches: Any = None, **options: Any) -> Judgement:
        """Judges machine code of a kernel; see ``oriole.judge``. A ``Compiled`` has launch and code itself."""
        options = {"seed": self._seed, "randoms": self._randoms, **options}
        if isinstance(kernel, Compiled):
            return self._required(kernel.module, kernel.launch, lambda: kernel.judge(**options))
        return self._required(kernel, launches, lambda: package.judge(kernel, launches, **options))

    def check(self, kernel: Any, launches: Any = None, **options: Any) -> Report:
        """Checks the phases of Oriole's optimizer on a kernel; see ``oriole.check``."""
        options = {"seed": self._seed, "randoms": self._randoms, **options}
        if isinstance(kernel, Compiled):
            kernel, launches = kernel.module, kernel.launch
        return self._required(kernel, launches, lambda: package.check(kernel, launches, **options))

    def compare(self, before: Any, after: Any, launches: Any, **options: Any) -> list[Comparison]:
        """Compares two programs; see ``oriole.compare``."""
        options = {"seed": self._seed, "randoms": self._randoms, **options}
        return [kernel.require() for kernel in package.compare(before, after, launches, **options)]

    def _required(self, kernel: Any, launches: Any, work: Callable[[], Answer]) -> Answer:
        answer = work()
        for number, finding in enumerate(answer.findings):
            if self._seconds > 0:
                try:
                    finding.reduce(seconds=self._seconds)
                except package.InputError:
                    # It cannot be shown again, as of code that was given: it is written as it is.
                    pass
            self._write(kernel, launches, finding, number)
        answer.require()
        return answer

    def _write(self, kernel: Any, launches: Any, finding: package.Finding, number: int) -> None:
        os.makedirs(self._folder, exist_ok=True)
        stem = f"{self._test}-{number}"
        module = package.parse(kernel)
        text, launch = module.ori, as_launches(launches)[0]
        if finding.reduced is not None:
            text, launch = finding.reduced.ori, finding.reduced.launch or launch
        for ending, content in ((".ori", text), (".txt", f"{finding}\n")):
            with open(os.path.join(self._folder, stem + ending), "w", encoding="utf-8") as file:
                file.write(content)
        launch.save(self._folder, stem, module)


@pytest.fixture
def oriole(request: pytest.FixtureRequest) -> Oriole:
    """Judges kernels: the test fails where something is wrong."""
    return Oriole(request.config, request.node.name)
