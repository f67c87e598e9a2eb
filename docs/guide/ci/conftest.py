# SPDX-License-Identifier: Apache-2.0
"""A test that takes longer than SONDE_TEST_TIMEOUT seconds (default 60) says where it is: the stacks
of all threads, by `sonde stacks`, in the log and in sonde-TEST.sonde; then its process ends."""
import os
import re
import subprocess
import sys
import threading

import pytest

SECONDS = float(os.environ.get("SONDE_TEST_TIMEOUT", "60"))
SONDE = os.environ.get("SONDE", "sonde")


def end_process(name):
    error = os.fdopen(os.dup(2), "w") if STDERR is None else STDERR
    error.write("\n%s still runs after %g s\n" % (name, SECONDS))
    error.flush()
    report = "sonde-%s.sonde" % re.sub(r"[^\w.-]+", "-", name)
    try:
        subprocess.run([SONDE, "stacks", str(os.getpid()), "--report", report, "--tag",
                        "test=" + re.sub(r"[^ -~]", "?", name)[:200]],
                       stdout=error, stderr=error, timeout=60)
    finally:
        os.abort()


STDERR = None  # before pytest captures it


def pytest_configure(config):
    global STDERR
    STDERR = os.fdopen(os.dup(2), "w")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item, nextitem):
    timer = threading.Timer(SECONDS, end_process, [item.nodeid])
    timer.daemon = True
    timer.start()
    yield
    timer.cancel()
