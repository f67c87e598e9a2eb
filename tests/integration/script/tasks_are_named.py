# SPDX-License-Identifier: Apache-2.0
"""The task that blocks in tasks.py, and those that await it, innermost first, as sonde reads them.

tasks_are_named.py SONDE PYTHON TASKS.PY
"""
import json
import subprocess
import sys
import time

EXPECTED = ["save order 7", "gathers", "has a long name: " + 19 * "\U0001f40d", "shields",
            "waits \u00e9 \u20ac", "groups", "Task-1"]  # a long name is cut between characters


def tasks(frames):
    found = []
    for frame in frames:
        if frame.get("task"):
            found.append((frame["task"], frame["function"].rsplit(".", 1)[-1]))
    return found


def read(sonde, pid):
    out = subprocess.run([sonde, "stacks", "--json", "--no-network", str(pid)],
                         capture_output=True, text=True)
    thread = json.loads(out.stdout)["threads"][0]
    waiting = [tasks(stack["frames"]) for stack in thread.get("awaited_by", [])]
    return tasks(thread["frames"]) + sum(waiting, [])


def main():
    sonde, python, program = sys.argv[1:]
    child = subprocess.Popen([python, program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        child.stdout.readline()
        for _ in range(100):
            found = read(sonde, child.pid)
            if found:
                break
            time.sleep(0.1)
    finally:
        child.kill()
    print(found)
    names = [name for name, function in found]
    functions = ["save", "by_gather", "by_wait_for", "by_shield", "by_wait", "by_group", "main"]
    sys.exit(names != EXPECTED or [function for name, function in found] != functions)


main()
