"""Answers: what runs leave, what checks and judges find."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Mapping

import numpy as np
import numpy.typing as npt

from . import _oriole
from .errors import FoundError, InconclusiveError, number
from .launches import Launch, dtype_of

__all__ = [
    "Axis",
    "Case",
    "Comparison",
    "Content",
    "Finding",
    "Judgement",
    "Reduced",
    "Report",
    "Rewrite",
    "Run",
    "SassFunction",
    "SassInstruction",
    "Step",
]


@dataclass(frozen=True, eq=False)
class Content:
    """A buffer behind a run.

    Attributes:
        name: its argument, or its image.
        argument: the argument's place, from 0; ``None`` of an image.
        array: its content; of the shape and type of the array that was passed, else of its elements in a row.
        undefined: a flag for each byte, in C order, where nothing has defined some; else ``None``.
    """

    name: str
    argument: int | None
    array: npt.NDArray[Any]
    undefined: npt.NDArray[np.bool_] | None


@dataclass(frozen=True, eq=False)
class Run:
    """A run of a kernel on a launch.

    Attributes:
        finished: whether every thread came to its end.
        outcome: ``finished``, or why not, with thread and line.
        executed: warp instructions.
        steps: what the run took of its budget of steps.
        buffers: what buffers hold, in the order of the arguments, then images; none unless it finished.
        races: data races, where they were looked for.
        statistics: executed instructions of threads by opcode, where they were counted.
        differences: elements that are not as the launch expects.
    """

    finished: bool
    outcome: str
    executed: int
    steps: int
    buffers: list[Content]
    races: list[str]
    statistics: dict[str, int]
    differences: list[str]

    @property
    def good(self) -> bool:
        """Whether it finished without a race, and left what the launch expects."""
        return self.finished and not self.races and not self.differences

    @classmethod
    def _of(cls, left: Mapping[str, Any], launch: Launch) -> Run:
        buffers = []
        for name, argument, element, data, undefined in left["buffers"]:
            flat = np.frombuffer(data, np.uint8).copy()
            given = launch.array(argument) if argument is not None else None
            dtype = dtype_of(element)
            if given is not None:
                array = flat.view(given.dtype.newbyteorder("<")).reshape(given.shape).astype(given.dtype, copy=False)
            else:
                array = flat.view(dtype) if flat.size % dtype.itemsize == 0 else flat
            flags = None if undefined is None else np.frombuffer(undefined, np.bool_)
            buffers.append(Content(name, argument, array, flags))
        names = ("finished", "outcome", "executed", "steps", "races", "statistics", "differences")
        return cls(buffers=buffers, **{name: left[name] for name in names})

    def _write_back(self, launch: Launch) -> None:
        """Puts what the kernel left into the arrays that were passed and can be written."""
        for content in self.buffers:
            given = launch.array(content.argument) if content.argument is not None else None
            if given is not None and given.flags.writeable:
                given[...] = content.array


@dataclass(frozen=True)
class Rewrite:
    """A single change that a phase made.

    Attributes:
        index: its number among the phase's changes, from 1.
        rule: the rule, where it has a name.
        function: the function it was made in.
        diff: the lines of Ori that it changes, as a unified diff.
        removed_and_added: the operations that it removes and adds.
    """

    index: int
    rule: str | None
    function: str | None
    diff: str
    removed_and_added: str


@dataclass(frozen=True, eq=False)
class Reduced:
    """A kernel and a launch that show a finding, as small as could be made.

    Attributes:
        ptx: the kernel as PTX; ``None`` where it has no words in PTX.
        ori: the kernel as Ori.
        launch: the launch; ``None`` where the finding takes none.
        complete: whether nothing more can go; else a limit was met.
        evaluations: candidates that were tried.
        before: instructions of the kernel before.
        after: instructions of it now.
    """

    ptx: str | None
    ori: str
    launch: Launch | None
    complete: bool
    evaluations: int
    before: int
    after: int

    @property
    def text(self) -> str:
        """The kernel as PTX, or as Ori where that has no words for it."""
        return self.ori if self.ptx is None else self.ptx


@dataclass(eq=False)
class Finding:
    """Something that is wrong: with a phase, with machine code, or with a program that is compared.

    Attributes:
        kernel: the program, as messages call it.
        launch: the case that shows it: a launch, and the seed of its data.
        verdict: ``mismatch``, ``panic``, ``hang``, ``out of memory``, ``refused``, ``invalid IR``, ``unexpected``.
        detail: what differs, in a sentence.
        argument: the argument whose buffer differs, or a variable of the module; ``None`` if no bytes differ.
        argument_index: the argument's place, from 0.
        offset: the first byte of it that differs.
        expected: the bytes that are right, from there to the next multiple of 16.
        actual: the bytes that are there.
        element: the first element that differs, on both sides, where its type is known.
        differing: how many bytes differ.
        phase: the phase, or the step, that is to blame; ``None`` of machine code.
        rewrite: the single change that is to blame.
        axis: how machine code was compiled, or what it is called; ``None`` of phases.
        right_store: the instruction that stored the right bytes, with its thread.
        wrong_store: the instruction that stored the wrong ones, with its thread.
        order: in which order of lanes machine code goes wrong, where it does in another than the usual one.
        replay: a command of ``oriole`` that shows it again, where there is one.
        reduced: the smallest kernel that shows it, once ``reduce`` was called.
    """

    kernel: str
    launch: str
    verdict: str
    detail: str
    argument: str | None
    argument_index: int | None
    offset: int | None
    expected: bytes | None
    actual: bytes | None
    element: str | None
    differing: int
    phase: str | None
    rewrite: Rewrite | None
    axis: str | None
    right_store: str | None
    wrong_store: str | None
    order: str | None
    replay: str | None
    reduced: Reduced | None = None
    _inner: _oriole.Finding | None = field(default=None, repr=False)

    @classmethod
    def _of(cls, inner: _oriole.Finding) -> Finding:
        facts = json.loads(inner.facts())
        differing = facts["bytes"] or {}
        rewrite = facts["rewrite"]
        made = rewrite and Rewrite(
            rewrite["index"], rewrite["rule"], rewrite["function"], rewrite["diff"], rewrite["change"]
        )
        names = ["kernel", "launch", "verdict", "detail", "phase", "axis", "right_store", "wrong_store", "order"]
        names.append("replay")
        return cls(
            argument=differing.get("argument"),
            argument_index=differing.get("index"),
            offset=differing.get("offset"),
            expected=bytes(differing["expected"]) if differing else None,
            actual=bytes(differing["actual"]) if differing else None,
            element=differing.get("element"),
            differing=differing.get("count", 0),
            rewrite=made,
            _inner=inner,
            **{name: facts[name] for name in names},
        )

    def reduce(self, *, seconds: float = 60.0, evaluations: int = 20_000) -> Reduced:
        """Makes kernel and launch smaller while they show the same; Ctrl-C ends it.

        Args:
            seconds: the time limit.
            evaluations: the most candidates that are tried.

        Returns:
            What is left, which is also kept as ``reduced``.

        Raises:
            InputError: what is wrong cannot be shown again, as of code that was given and not compiled.
        """
        if self._inner is None:
            raise RuntimeError("a finding of a comparison has no step that could be taken again")
        left = self._inner.reduce(float(seconds), number("evaluations", evaluations, 2**64 - 1))
        launch = left.pop("launch")
        left.pop("module")
        self.reduced = Reduced(launch=None if launch is None else Launch._of(launch), **left)
        return self.reduced

    def __str__(self) -> str:
        guilty = self.phase or self.axis or "the second program"
        lines = [f"{self.verdict} in {guilty}: {self.kernel}, {self.launch}", f"  {self.detail}"]
        stores = (("the right one", self.right_store), ("the wrong one", self.wrong_store))
        lines += [f"  {which} is stored by {store}" for which, store in stores if store is not None]
        if self.rewrite is not None:
            lines.append(f"  rewrite {self.rewrite.index} ({self.rewrite.rule or 'no named rule'})")
            lines += [f"    {line}" for line in self.rewrite.diff.splitlines()]
        if self.replay is not None:
            lines.append(f"  replay: {self.replay}")
        if self.reduced is not None:
            lines.append("  reduced:")
            lines += [f"    {line}" for line in self.reduced.text.splitlines()]
        return "\n".join(lines)


@dataclass(frozen=True)
class Case:
    """The original on a launch, with its own data or with random data.

    Attributes:
        name: the launch, and the seed of its data.
        outcome: ``finished``, or why it says nothing.
        detail: how the run ended, where it did not finish.
        steps: warp instructions.
        expected: whether it left what the launch expects; ``None`` where that expects nothing.
        differences: the first elements that differ from that.
    """

    name: str
    outcome: str
    detail: str
    steps: int
    expected: bool | None
    differences: list[str]


@dataclass(frozen=True)
class Step:
    """A step of a check.

    Attributes:
        name: the phase, or the step that is none.
        skipped: why it was not taken; else ``None``.
        changed: whether it changed the program.
        rewrites: changes that it made.
        verdict: the worst over all cases; ``None`` where nothing was compared.
        instructions_before: instructions before it.
        instructions_after: instructions behind it.
        microseconds: how long it took.
    """

    name: str
    skipped: str | None
    changed: bool
    rewrites: int
    verdict: str | None
    instructions_before: int
    instructions_after: int
    microseconds: int


def _some(kind: type[Any], facts: Mapping[str, Any]) -> Any:
    return kind(**{name: facts[name] for name in kind.__dataclass_fields__})


@dataclass(frozen=True, eq=False)
class Report:
    """What a check found.

    Attributes:
        kernel: the program, as messages call it.
        clean: whether nothing is wrong, and some case says so.
        judged: whether some case says what the kernel should do.
        data: how many different data the cases have that do.
        cases: the original on every case.
        steps: the steps, in their order.
        findings: what is wrong.
    """

    kernel: str
    clean: bool
    judged: bool
    data: int
    cases: list[Case]
    steps: list[Step]
    findings: list[Finding]

    @classmethod
    def _of(cls, text: str, findings: list[_oriole.Finding]) -> Report:
        facts = json.loads(text)
        return cls(
            kernel=facts["kernel"],
            clean=facts["clean"],
            judged=facts["judged"],
            data=facts["data"],
            cases=[_some(Case, case) for case in facts["cases"]],
            steps=[_some(Step, step) for step in facts["phases"]],
            findings=[Finding._of(finding) for finding in findings],
        )

    def require(self) -> Report:
        """This report, where it is clean.

        Raises:
            FoundError: something is wrong.
            InconclusiveError: no case says anything.
        """
        missed = [f"{case.name}: {line}" for case in self.cases for line in case.differences]
        reasons = [f"{case.name}: {case.detail}" for case in self.cases]
        _require(self.kernel, self.findings, missed, self.judged, reasons)
        return self


def _require(
    kernel: str, findings: list[Finding], missed: list[str], judged: bool, reasons: list[str]
) -> None:
    if findings:
        raise FoundError("\n".join(str(finding) for finding in findings), findings)
    if missed:
        raise FoundError("\n".join([f"{kernel} itself does not do what its launch expects", *missed]), [])
    if not judged:
        raise InconclusiveError("\n".join([f"nothing is judged of {kernel}", *reasons]))


@dataclass(frozen=True)
class Axis:
    """Machine code that was judged.

    Attributes:
        name: how it was compiled, ``sm_90 -O3``, or what the cubin is called.
        answer: ``equal``, ``different``, ``crashed``, ``refused``, ``refused here`` or ``unjudged``.
        compared: cases that were compared.
        data: how many different data these have.
        reason: why some were not, or why there is no code.
        hazards: what its scheduling does not cover. Of Oriole's own compiler that is a finding; of others a remark,
            since how long instructions take is measured over code of ptxas 13.0.
        steps: what the thread that stored the first wrong byte did, in the PTX and in the code: pairs of an instruction
            with its value, ``None`` where one side has none, and whether the two are the same.
    """

    name: str
    answer: str
    compared: int
    data: int
    reason: str | None
    hazards: list[str]
    steps: list[dict[str, Any]]


@dataclass(frozen=True, eq=False)
class Judgement:
    """What is known of machine code.

    Attributes:
        equal: whether all code does what the PTX says, and the PTX what its launches expect.
        axes: the code of each way to compile, or each cubin.
        findings: what is wrong with it.
        data: how many different data the cases have that say something.
        inconclusive: cases on which the PTX itself does not say what should happen, with the reason.
        unexpected: what the PTX itself does not leave that its launches expect.
    """

    equal: bool
    axes: list[Axis]
    findings: list[Finding]
    data: int
    inconclusive: list[str]
    unexpected: list[str]

    @classmethod
    def _of(cls, text: str, findings: list[_oriole.Finding]) -> Judgement:
        facts = json.loads(text)
        axes = [
            Axis(
                axis["axis"],
                axis["answer"],
                axis["compared"],
                axis["data"],
                axis["reason"],
                axis["hazards"],
                (axis["difference"] or {}).get("steps", []),
            )
            for axis in facts["axes"]
        ]
        return cls(
            equal=not facts["unexpected"] and all(axis.answer == "equal" for axis in axes),
            axes=axes,
            findings=[Finding._of(finding) for finding in findings],
            data=facts["data"],
            inconclusive=[f"{case['case']}: {case['why']}" for case in facts["inconclusive"]],
            unexpected=facts["unexpected"],
        )

    def require(self) -> Judgement:
        """This judgement, where some code was judged and nothing is wrong with any.

        Raises:
            FoundError: something is wrong.
            InconclusiveError: nothing was judged.
        """
        reasons = [f"{axis.name}: {axis.reason}" for axis in self.axes if axis.reason] + self.inconclusive
        judged = any(axis.answer == "equal" for axis in self.axes)
        _require("the code", self.findings, self.unexpected, judged, reasons)
        return self


@dataclass(frozen=True)
class Comparison:
    """What is known of a kernel of two programs.

    Attributes:
        kernel: its name in the first.
        answer: ``equal``, ``different`` or ``inconclusive``.
        compared: launches and variants that were compared.
        data: how many different data these have.
        inconclusive: cases on which the first program does not say what should happen, with the reason.
        unexpected: what launches expect that the first program itself does not leave.
        tolerated: floats that are not the same, and no further apart than they may be.
        difference: what differs, with the case; ``None`` if nothing does.
        explained_by_fusion: whether both do the same once each fused product is a product and a sum.
    """

    kernel: str
    answer: str
    compared: int
    data: int
    inconclusive: list[str]
    unexpected: list[str]
    tolerated: list[str]
    difference: str | None
    explained_by_fusion: bool

    @classmethod
    def _of(cls, facts: Mapping[str, Any]) -> Comparison:
        difference = facts["difference"]
        return cls(
            kernel=facts["name"],
            answer=facts["answer"],
            compared=facts["compared"],
            data=facts["data"],
            inconclusive=[f"{case['case']}: {case['why']}" for case in facts["inconclusive"]],
            unexpected=facts["unexpected"],
            tolerated=facts["tolerated"],
            difference=difference and f"{difference['case']}: {difference['detail']}",
            explained_by_fusion=bool(difference and difference["explained_by_fusion"]),
        )

    @property
    def equal(self) -> bool:
        """Whether it does the same on every case that says something, of which there are some."""
        return self.answer == "equal"

    def require(self) -> Comparison:
        """This comparison, where both programs do the same.

        Raises:
            FoundError: they do not.
            InconclusiveError: no case says anything.
        """
        if self.difference is not None:
            raise FoundError(f"{self.kernel} differs: {self.difference}", [])
        _require(self.kernel, [], self.unexpected, self.equal, self.inconclusive)
        return self


@dataclass(frozen=True)
class SassInstruction:
    """A machine word.

    Attributes:
        address: bytes from the start of its section.
        word: its 128 bits.
        text: as nvdisasm prints it, with targets of branches as addresses; ``.word`` of one that is not known.
        control: stall, yield, barriers and wait mask.
    """

    address: int
    word: int
    text: str
    control: str


@dataclass(frozen=True)
class SassFunction:
    """A function of a cubin.

    Attributes:
        name: its name.
        is_kernel: whether a launch can begin with it.
        registers: registers of a thread, where the file says.
        shared: bytes of static shared memory.
        frame: bytes of its own stack frame.
        instructions: its words.
    """

    name: str
    is_kernel: bool
    registers: int | None
    shared: int
    frame: int
    instructions: list[SassInstruction]

    def __str__(self) -> str:
        return "\n".join([f"{self.name}:", *(f"  /*{it.address:04x}*/ {it.text}" for it in self.instructions)])
