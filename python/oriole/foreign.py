"""Kernels as other compilers make them: PTX, machine code and a launch, to be run and judged.

``oriole.triton``, ``oriole.numba`` and ``oriole.warp`` make a ``Compiled`` of a kernel of theirs, without a GPU. Of any
other compiler, give the three yourself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import oriole

from .errors import InputError
from .launches import Launch
from .results import Judgement, Report, Run

__all__ = ["Compiled", "architecture"]


@dataclass(frozen=True, eq=False)
class Compiled:
    """A kernel that another compiler has made.

    Attributes:
        ptx: its PTX.
        launch: a launch of it, whose arrays it reads and writes.
        cubin: its machine code, where the compiler makes some.
        sm: the architecture that it is for: ``sm_90``.
        name: for messages.
    """

    ptx: str
    launch: Launch
    cubin: bytes | None = None
    sm: str | None = None
    name: str = "the kernel"

    @property
    def module(self) -> oriole.Module:
        """The PTX, parsed.

        Raises:
            InputError: it holds what Oriole does not read, with the line.
        """
        return oriole.parse(self.ptx if "\n" in self.ptx else self.ptx + "\n", name=f"{self.name}.ptx")

    def run(self, **options: Any) -> Run:
        """Executes the PTX, and writes what it leaves back into the arrays; see ``oriole.run``."""
        return oriole.run(self.module, self.launch, **options)

    def check(self, **options: Any) -> Report:
        """Checks the phases of Oriole's optimizer on the kernel; see ``oriole.check``."""
        return oriole.check(self.module, self.launch, **options)

    def judge(self, **options: Any) -> Judgement:
        """Judges the machine code that the compiler made, or else what ptxas makes of the PTX; see ``oriole.judge``.

        The code may fuse products with sums, where the PTX leaves that open.
        """
        module = self.module
        if self.cubin is not None and "cubin" not in options and not {"sm", "levels", "compiler"} & options.keys():
            options["cubin"] = oriole.Cubin(self.cubin, f"the cubin of {self.name}")
        elif "cubin" not in options:
            options.setdefault("sm", self.sm)
        return oriole.judge(module, self.launch, **options)


def architecture(sm: str | int) -> tuple[str, int]:
    """The name and the number of an architecture: ``sm_90`` and 90, of either.

    Raises:
        InputError: it is none.
    """
    number = str(sm).removeprefix("sm_")
    if not number.isdecimal():
        raise InputError(f"`{sm}` is no architecture", None, "write sm_80, sm_90, sm_100 or sm_120")
    return f"sm_{number}", int(number)
