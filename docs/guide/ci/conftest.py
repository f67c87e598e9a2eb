# SPDX-License-Identifier: Apache-2.0
"""If a test takes longer than SONDE_TEST_TIMEOUT seconds (default 60), `sonde stacks` writes the stacks
of all threads to the log and to sonde-TEST.sonde; then the test's process is ended."""
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
