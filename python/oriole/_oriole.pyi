"""The extension: see the package for what it does."""

import os
from typing import Any, Sequence, final

__all__ = [
    "Cubin",
    "Finding",
    "Launch",
    "Module",
    "__version__",
    "_panic_for_tests",
    "check",
    "compare",
    "compile",
    "judge",
    "optimize",
    "run",
    "run_code",
]

__version__: str

@final
class Module:
    @staticmethod
    def parse(text: str, name: str, opaque: Sequence[str]) -> Module: ...
    @staticmethod
    def load(path: str | os.PathLike[str], opaque: Sequence[str]) -> Module: ...
    @property
    def name(self) -> str: ...
    @property
    def target(self) -> str: ...
    @property
    def instructions(self) -> int: ...
    def kernels(self) -> list[tuple[str, list[tuple[str, str, int | None, int]]]]: ...
    def ori(self) -> str: ...
    def ptx(self) -> str: ...

@final
class Cubin:
    @staticmethod
    def parse(data: bytes, name: str) -> Cubin: ...
    @property
    def name(self) -> str: ...
    @property
    def target(self) -> str: ...
    def data(self) -> bytes: ...
    def functions(self) -> list[dict[str, Any]]: ...

@final
class Launch:
    @staticmethod
    def parse(name: str, text: str, files: dict[str, bytes]) -> Launch: ...
    @staticmethod
    def load(path: str | os.PathLike[str]) -> Launch: ...
    def save(self, folder: str | os.PathLike[str], stem: str) -> os.PathLike[str]: ...
    @property
    def name(self) -> str: ...
    @property
    def kernel(self) -> str | None: ...
    @property
    def grid(self) -> list[int]: ...
    @property
    def block(self) -> list[int]: ...
    @property
    def cluster(self) -> list[int] | None: ...
    @property
    def dynamic_shared(self) -> int: ...
    def arguments(self) -> list[dict[str, Any]]: ...

@final
class Finding:
    def facts(self) -> str: ...
    def reduce(self, time: float, evaluations: int) -> dict[str, Any]: ...

def run(
    module: Module, launch: Launch, steps: int | None, races: bool, stats: bool
) -> dict[str, Any]: ...
def run_code(cubin: Cubin, launch: Launch, steps: int | None) -> dict[str, Any]: ...
def optimize(module: Module, settings: dict[str, Any]) -> Module: ...
def check(
    module: Module,
    launches: Sequence[Launch],
    settings: dict[str, Any],
    randoms: int,
    seed: int,
    steps: int | None,
    races: bool,
) -> tuple[str, list[Finding]]: ...
def compare(
    before: Module,
    after: Module,
    launches: Sequence[Launch],
    randoms: int,
    seed: int,
    steps: int | None,
    races: bool,
    tolerance: str | None,
) -> str: ...
def judge(
    module: Module,
    launches: Sequence[Launch],
    cubins: Sequence[Cubin],
    compiling: dict[str, Any],
    randoms: int,
    seed: int,
    races: bool,
) -> tuple[str, list[Finding]]: ...
def compile(module: Module, compiling: dict[str, Any]) -> Cubin: ...
def _panic_for_tests() -> None: ...
