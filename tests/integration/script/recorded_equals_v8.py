# SPDX-License-Identifier: Apache-2.0
"""The functions, files and lines of JavaScript that sonde shows for each recorded call of getppid() are
those that V8 told at these calls (recorded_calls.js): the same stacks, equally often. V8's own
functions are left out: those without a file. Node.js' own code is not app code.

recorded_equals_v8.py SONDE PROGRAM ROUNDS COMMAND...
With --compiled as the first of COMMAND: V8 compiles. A stack may lack lines, and functions that are
inlined in others; those that it has are those of one that V8 told.
"""
import collections
import json
import os
import subprocess
import sys
import tempfile


def shown(frames):
    return tuple((f["function"], os.path.expanduser(f.get("file", "")), f.get("line", 0))
                 for f in frames if f.get("kind") == "script" and f.get("file"))


def seen(paths):
    found = collections.Counter()
    for path in paths:
        with open(path) as file:
            for line in file:
                stack, count = json.loads(line)
                found[tuple((f or "<anonymous>", name, at) for f, name, at in stack if name)] += count
    return found


def is_part(stack, whole):
    """Are the frames those of a stack that V8 told, in its order? A line may be missing."""
    frames = iter(whole)
    return all(any(s[:2] == w[:2] and s[2] in (0, w[2]) for w in frames) for s in stack)


def main():
    sonde, program, rounds, command = *sys.argv[1:4], sys.argv[4:]
    is_compiled = command[0] == "--compiled"
    with tempfile.TemporaryDirectory() as folder:
        names, out, report = (f"{folder}/{n}" for n in ("list", "seen", "report.json"))
        with open(names, "w") as file:
            file.write("getppid\n")
        run = subprocess.run([sonde, "run", "--record", names, "--json", report, "--frames", "1000000",
                              "--", *command[is_compiled:], program, out, rounds],
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if not os.path.exists(out):
            sys.exit(f"status {run.returncode}: {run.stderr[-2000:]}")
        told = seen([out, out + ".worker"])
        with open(report) as file:
            shown_report = json.load(file)
    calls = shown_report["calls"]
    for image in shown_report["images"]:
        if image["app"] and os.path.basename(image["path"]).startswith("node"):
            sys.exit(f"app code: {image}")
    got, cut = collections.Counter(), 0
    for call in calls:
        got[shown(call.get("frames", []))] += call["count"]
        cut += call["count"] if call.get("end") != "root" and call.get("frames") else 0
    count = sum(told.values())
    if is_compiled:
        wrong = [s for s in got if s and not any(is_part(s, w) for w in told)]
        missing = abs(sum(got.values()) - count) + got[()]
    else:
        wrong, missing = list(got - told), sum((told - got).values())
    for stack in wrong[:5]:
        print("wrong:", got[stack], told[stack], stack[:8])
    for stack in list(told - got)[:5] if not is_compiled else []:
        print("missing:", told[stack], got[stack], stack[:8])
    print(f"{count} calls, {sum(len(s) * n for s, n in told.items())} frames: {missing} missing, "
          f"{len(wrong)} wrong, {cut} cut")
    sys.exit(1 if wrong or missing or cut or count < 100 else 0)


main()
