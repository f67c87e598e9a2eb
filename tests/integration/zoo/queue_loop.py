# SPDX-License-Identifier: Apache-2.0
"""A loop of the only thread that waits at a queue with a time-out: queue_loop.py MILLISECONDS
KIND...; sleep, burn, child, idle."""
import queue, subprocess, sys, time

duration = int(sys.argv[1]) / 1000
inbox = queue.Queue()


def turn():
    try:
        inbox.get(timeout=0.02)
    except queue.Empty:
        pass


def burn():
    until = time.monotonic() + duration
    while time.monotonic() < until:
        pass


stalls = {"sleep": lambda: time.sleep(duration), "burn": burn,
          "child": lambda: subprocess.run(["sleep", str(duration)])}
print("started", flush=True)
for kind in sys.argv[2:]:
    for _ in range(25):
        turn()
    begin = time.monotonic()
    if kind == "idle":
        while time.monotonic() < begin + duration:
            turn()
    else:
        stalls[kind]()
        print("injected", kind, round((time.monotonic() - begin) * 1000), "ms", flush=True)
for _ in range(25):
    turn()
