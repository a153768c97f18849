"""Exceptions: each says where the input is wrong, and what to do."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Sequence

if TYPE_CHECKING:
    from .results import Finding, Run

__all__ = ["OrioleError", "InputError", "InternalError", "ExecutionError", "FoundError", "InconclusiveError"]


class OrioleError(Exception):
    """What all exceptions of this package are.

    Attributes:
        message: what is wrong, in a sentence.
        place: where, as ``file:line:column``; ``None`` where it has no place in a text.
        remedy: what to do; ``None`` where nothing is known.
    """

    def __init__(self, message: str, place: str | None = None, remedy: str | None = None, shown: str | None = None):
        super().__init__(message, place, remedy, shown)
        self.message = message
        self.place = place
        self.remedy = remedy
        self._shown = shown

    def __str__(self) -> str:
        if self._shown is not None:
            return self._shown
        return self.message if self.remedy is None else f"{self.message}\n  help: {self.remedy}"


class InputError(OrioleError, ValueError):
    """A kernel, a launch, rules or options are wrong."""


class InternalError(OrioleError, RuntimeError):
    """Oriole itself goes wrong. The input is not to blame; ``place`` is one in Oriole's own source."""


def number(name: str, value: object, most: int) -> int:
    """A count that the user gives: an integer from 0 to `most`.

    Raises:
        InputError: it is none.
    """
    try:
        count = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        count = -1
    if not 0 <= count <= most:
        raise InputError(f"{name} is {value!r}", None, f"give an integer from 0 to {most}")
    return count


class ExecutionError(OrioleError):
    """A kernel does not finish: it traps, depends on something undefined, deadlocks, or runs out of steps.

    Attributes:
        run: the run, with its outcome.
    """

    def __init__(self, message: str, run: Run):
        super().__init__(message, None, "`check=False` returns the run instead; `steps=` raises the limit of steps")
        self.run = run


class FoundError(OrioleError, AssertionError):
    """Something was found where nothing may be.

    Attributes:
        findings: what was found; empty where the kernel itself misses what its launch expects.
    """

    def __init__(self, message: str, findings: Sequence[Finding]):
        super().__init__(message)
        self.findings = list(findings)


class InconclusiveError(OrioleError, AssertionError):
    """Nothing was judged, so that nothing being wrong says nothing. The message says why."""
