"""Checks, comparisons, judgements and reductions find what is wrong, and say so as objects."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
from conftest import HALF, WRONG_RULE

import oriole
from oriole import Launch

PTXAS = oriole.find_ptxas()
needs_ptxas = pytest.mark.skipif(PTXAS is None, reason="no ptxas (pip install nvidia-cuda-nvcc)")


def launch() -> Launch:
    return Launch(1, 32, [np.arange(-16, 16, dtype=np.int32)])



def test_a_check_is_clean_without_a_fault() -> None:
    report = oriole.check(HALF, launch()).require()
    assert report.clean and report.judged and report.findings == [] and len(report.cases) == 3
    assert {"GeneralOptimizeEarly", "PTX round trip"} <= {step.name for step in report.steps}
    assert all(step.verdict in (None, "equal", "refined") for step in report.steps)


def test_a_wrong_rule_is_a_finding_with_all_that_is_known() -> None:
    report = oriole.check(HALF, launch(), rules=[WRONG_RULE], phase="GeneralOptimizeEarly")
    [finding] = report.findings
    assert not report.clean and finding.verdict == "mismatch" and finding.phase == "GeneralOptimizeEarly"
    assert finding.argument == "data" and finding.argument_index == 0 and finding.offset == 4
    assert finding.expected is not None and finding.expected[:4] == np.int32(-7).tobytes()
    assert finding.actual is not None and finding.actual[:4] == np.int32(-8).tobytes()
    assert finding.element is not None and "expected -7" in finding.element
    assert finding.wrong_store is not None and "st.global.s32 [%d3], %r5" in finding.wrong_store
    assert "thread (1,0,0)" in finding.wrong_store
    assert finding.rewrite is not None and finding.rewrite.rule == "half" and "+  %r5 = shr.s32" in finding.rewrite.diff
    with pytest.raises(oriole.FoundError) as raised:
        report.require()
    assert raised.value.findings == [finding] and "rewrite 2 (half)" in str(raised.value)


def test_a_finding_is_reduced() -> None:
    [finding] = oriole.check(HALF, launch(), rules=[WRONG_RULE], phase="GeneralOptimizeEarly").findings
    reduced = oriole.reduce(finding, seconds=30)
    assert finding.reduced is reduced and reduced.complete and reduced.after < reduced.before
    assert "div.s32" in reduced.text and "reduced:" in str(finding)
    # What is left shows it again.
    assert reduced.launch is not None
    again = oriole.check(reduced.text, reduced.launch, rules=[WRONG_RULE], phase="GeneralOptimizeEarly", randoms=0)
    assert [one.rewrite and one.rewrite.rule for one in again.findings] == ["half"]


def test_a_finding_of_a_file_has_a_command_that_shows_it(tmp_path: Path) -> None:
    (tmp_path / "half.ptx").write_text(HALF)
    options = {"rules": [WRONG_RULE], "phase": "GeneralOptimizeEarly"}
    [finding] = oriole.check(tmp_path / "half.ptx", launch(), **options).findings  # type: ignore[arg-type]
    assert finding.replay is not None and finding.replay.startswith("oriole check ")
    [finding] = oriole.check(HALF, launch(), **options).findings  # type: ignore[arg-type]
    assert finding.replay is None


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"level": 7}, "level 7"),
        ({"passes": "no-such-pass"}, "no-such-pass"),
        ({"phase": "NoSuchPhase"}, "NoSuchPhase"),
        ({"knobs": {"NoSuchKnob": 1}}, "NoSuchKnob"),
        ({"options": {"no-such-option": 1}}, "no-such-option"),
        ({"disable": ["NoSuchPhase"]}, "NoSuchPhase"),
        ({"rules": ["rule broken: idiv.s32(x, 2) => \n"]}, "the rules:2:1"),
        ({"rules": ["none.rules"]}, "cannot read"),
    ],
)
def test_options_that_are_none_are_refused(options: dict[str, object], said: str) -> None:
    with pytest.raises(oriole.InputError) as raised:
        oriole.check(HALF, launch(), **options)  # type: ignore[arg-type]
    assert said in str(raised.value), raised.value


@pytest.mark.parametrize("options", [{"randoms": -1}, {"seed": 2**64}, {"steps": "7"}, {"randoms": 1.5}])
def test_numbers_that_are_none_are_refused(options: dict[str, object]) -> None:
    [(name, value)] = options.items()
    with pytest.raises(oriole.InputError, match=f"{name} is {value!r}") as raised:
        oriole.check(HALF, launch(), **options)  # type: ignore[arg-type]
    assert raised.value.remedy is not None and "an integer from 0 to" in raised.value.remedy
    with pytest.raises(oriole.InputError, match="dynamic_shared is -1"):
        oriole.run(HALF, Launch(1, 32, [np.zeros(32, np.int32)], dynamic_shared=-1))


def test_launches_are_needed() -> None:
    with pytest.raises(oriole.InputError, match="there is no launch"):
        oriole.check(HALF, [])


def test_optimized_programs_compare_equal_and_wrong_ones_do_not() -> None:
    optimized = oriole.optimize(HALF)
    assert "div.s32" not in optimized.ptx
    [same] = oriole.compare(HALF, optimized, launch())
    assert same.require().equal and same.compared == 9
    [other] = oriole.compare(HALF, HALF.replace("%r2, 2", "%r2, 3"), launch())
    assert other.answer == "different" and other.difference is not None and "`data` differs" in other.difference
    with pytest.raises(oriole.FoundError, match="half differs"):
        other.require()
    with pytest.raises(oriole.InputError, match="floating-point"):
        oriole.compare(HALF, optimized, launch(), tolerance="ulp=2")
    with pytest.raises(oriole.InputError, match="tolerance"):
        oriole.compare(HALF, optimized, launch(), tolerance="much")


def test_a_miscompile_planted_in_a_cubin_is_an_object_with_the_wrong_store() -> None:
    code = oriole.compile(HALF, sm="sm_90")
    assert oriole.judge(HALF, launch(), cubin=code).require().equal
    # The lowest bit of the immediate: a shift by 0 in place of 1.
    [shift] = [word for word in code.functions[0].instructions if word.text.endswith("SHF.R.S32.HI R2, RZ, 0x1, R2")]
    wrong = oriole.Cubin(
        code.data.replace(shift.word.to_bytes(16, "little"), (shift.word ^ 1 << 32).to_bytes(16, "little")), "planted"
    )
    judgement = oriole.judge(HALF, launch(), cubin=wrong)
    [finding] = judgement.findings
    assert not judgement.equal and judgement.axes[0].answer == "different" and finding.axis == "planted"
    assert finding.argument == "data" and finding.offset is not None and finding.verdict == "mismatch"
    assert finding.wrong_store is not None and "STG" in finding.wrong_store and "thread (" in finding.wrong_store
    assert finding.right_store is not None and "st.global.s32" in finding.right_store
    # Both executions of the thread, side by side, up to the store.
    assert any(step["code"] and "STG" in step["code"]["text"] for step in judgement.axes[0].steps)
    with pytest.raises(oriole.FoundError):
        judgement.require()
    with pytest.raises(oriole.InputError, match="was given"):
        finding.reduce()


@needs_ptxas
def test_code_of_ptxas_is_judged_on_every_axis() -> None:
    judgement = oriole.judge(HALF, launch(), sm=["sm_80", "sm_90"], levels=[0, 3, "max"])
    assert judgement.require().equal and judgement.data == 5
    assert [axis.name for axis in judgement.axes[:3]] == ["sm_80 -O0", "sm_80 -O3", "sm_80 -Ofc=max"]
    assert oriole.compile(HALF, sm="sm_80", compiler="ptxas").target == "sm_80"


def test_code_of_our_own_compiler_is_judged() -> None:
    judgement = oriole.judge(HALF, launch(), compiler="oriole", sm=["sm_80", 120], levels=[0, 3]).require()
    assert [axis.answer for axis in judgement.axes] == ["equal"] * 4


@needs_ptxas
def test_a_compiler_that_goes_wrong_is_found_and_reduced(tmp_path: Path) -> None:
    wrapper = tmp_path / "ptxas"
    # What it compiles says 3 where the PTX says 2.
    wrapper.write_text(
        f"""#!/usr/bin/env python3
import re, subprocess, sys
for path in (word for word in sys.argv[1:] if word.endswith(".ptx")):
    text = open(path).read()
    open(path, "w").write(re.sub(r"(div.s32[^;]*), 2;", r"\\1, 3;", text))
sys.exit(subprocess.run(["{PTXAS}", *sys.argv[1:]]).returncode)
"""
    )
    wrapper.chmod(0o755)
    assert subprocess.run([wrapper, "--version"], capture_output=True).returncode == 0
    judgement = oriole.judge(HALF, launch(), sm="sm_90", ptxas=wrapper)
    [finding] = judgement.findings
    assert finding.axis == "sm_90 -O3" and finding.wrong_store is not None and "STG" in finding.wrong_store
    reduced = finding.reduce(seconds=60)
    assert "div.s32" in reduced.text and reduced.after < reduced.before


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"compiler": "gcc"}, "`gcc` is no compiler"),
        ({"sm": "sm_13", "compiler": "oriole"}, "the words of `sm_13` are not known"),
        ({"levels": [9], "compiler": "oriole"}, "`9` is no level"),
        ({"ptxas": "/there/is/none"}, "/there/is/none"),
        ({"cubin": b"no"}, "no cubin"),
    ],
)
def test_compilers_that_are_none_are_refused(options: dict[str, object], said: str) -> None:
    with pytest.raises(oriole.InputError) as raised:
        oriole.judge(HALF, launch(), **options)  # type: ignore[arg-type]
    assert said in str(raised.value) and raised.value.remedy


def test_nothing_judged_is_no_success() -> None:
    # It reads beyond its buffer, so nothing says what code should do.
    judgement = oriole.judge(HALF, Launch(1, 32, [np.zeros(4, np.int32)]), compiler="oriole", sm="sm_90", randoms=0)
    assert not judgement.equal and judgement.findings == []
    with pytest.raises(oriole.InconclusiveError, match="out of bounds"):
        judgement.require()


def test_random_times_do_no_harm() -> None:
    [finding] = oriole.check(HALF, launch(), rules=[WRONG_RULE], phase="GeneralOptimizeEarly").findings
    for seconds in (-1.0, float("nan"), float("inf")):
        with pytest.raises(oriole.InputError, match="no time"):
            finding.reduce(seconds=seconds)
    assert finding.reduce(seconds=0).complete is False
