"""Work without the interpreter's lock, that Ctrl-C ends, and whose panics are exceptions."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from conftest import ENDLESS

import oriole
from oriole import Launch, _oriole


def test_a_panic_is_an_exception_of_the_package(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(oriole.InternalError, match="planted by a test") as raised:
        _oriole._panic_for_tests()
    assert raised.value.place is not None and "work.rs:" in raised.value.place
    assert isinstance(raised.value, Exception) and type(raised.value).__name__ != "PanicException"
    assert capfd.readouterr().err == ""


def test_other_threads_work_meanwhile() -> None:
    counted, done = [0], threading.Event()

    def count() -> None:
        while not done.is_set():
            counted[0] += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    began = time.monotonic()
    with pytest.raises(oriole.ExecutionError, match="out of steps"):
        oriole.run(ENDLESS, Launch(1, 32, [np.zeros(1, np.uint32)]), steps=20_000_000)
    took = time.monotonic() - began
    done.set()
    thread.join()
    assert took > 0.05, "the kernel ends too early to tell"
    assert counted[0] > took * 100


@pytest.mark.skipif(os.name == "nt", reason="there is no SIGINT to send")
def test_ctrl_c_ends_a_run() -> None:
    program = f"""
import numpy as np, oriole, sys
print("ready", flush=True)
try:
    oriole.run({ENDLESS!r}, oriole.Launch(1, 32, [np.zeros(1, np.uint32)]), steps=10**15)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    time.sleep(0.5)
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline() == "interrupted\n"
    assert process.wait(timeout=20) == 0
    assert time.monotonic() - began < 10


def test_findings_are_found_by_several_threads_at_once() -> None:
    from conftest import HALF, WRONG_RULE

    found: list[int] = []

    def check() -> None:
        launch = Launch(1, 32, [np.arange(-16, 16, dtype=np.int32)])
        found.append(len(oriole.check(HALF, launch, rules=[WRONG_RULE], phase="GeneralOptimizeEarly").findings))

    threads = [threading.Thread(target=check) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert found == [1, 1, 1, 1]
