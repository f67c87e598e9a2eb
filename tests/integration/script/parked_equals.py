# SPDX-License-Identifier: Apache-2.0
"""The tasks of loops that wait, as sonde reads them, are those that the program has (parked.py).

parked_equals.py SONDE PYTHON PARKED.PY
"""
import collections
import json
import os
import subprocess
import sys

# The awaiters of what is not awaited by another name: names of tasks from the innermost on.
AWAITED = {"client": ["Task"], "in a circle": ["in a circle"], "waits for an event": ["Task"],
           "reads a stream": []}


def script(frames):
    return tuple((f["function"].rsplit(".", 1)[-1], os.path.basename(f["file"]), f["line"])
                 for f in frames)


def kind(name):
    return name.rstrip("0123456789").rstrip(" -")


def main():
    sonde, python, program = sys.argv[1:]
    child = subprocess.Popen([python, program], stdout=subprocess.PIPE)
    try:
        dumps = json.loads(child.stdout.readline())
        out = subprocess.run([sonde, "stacks", "--json", "--no-network", str(child.pid)],
                             capture_output=True, text=True)
    finally:
        child.kill()
    report = json.loads(out.stdout)
    loops = collections.defaultdict(collections.Counter)
    bad = []
    for group in report.get("tasks", []):
        loops[group["tid"]][script(group["frames"])] += group["count"]
        name = kind(group["frames"][-1]["task"])
        awaiters = [kind(s["frames"][-1]["task"]) for s in group.get("awaited_by", [])]
        if AWAITED.get(name) != awaiters:
            bad.append((name, awaiters))
    theirs = []
    for dump in dumps:
        counts = collections.Counter()
        for task in dump:
            # wait_for has a task of its own up to 3.11; later it awaits the given one
            if kind(task["name"]) in AWAITED:
                counts[tuple(tuple(f) for f in task["frames"])] += 1
        theirs.append(counts)
    ours = sorted(loops.values(), key=lambda c: -sum(c.values()))
    # of a circle, the other task is among the awaiters
    for counts in ours:
        for chain in counts:
            if chain[-1][0] == "waits_for" and len(chain) == 1:
                counts[chain] += 1
    if ours != theirs or bad or not theirs:
        print(bad, ours, theirs, [t.get("note") for t in report["threads"]], out.stderr)
        sys.exit(1)


main()
