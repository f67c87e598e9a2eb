# SPDX-License-Identifier: Apache-2.0
"""The functions, files and lines of Python that sonde shows for each recorded call of open() are
those that the interpreter's own audit hook saw at these calls (recorded.py): the same stacks, equally
often. Calls that Python makes without an audit event are left out: those with another native caller.

recorded_equals.py SONDE PYTHON RECORDED.PY PROGRAM [ARGUMENT...]
"""
import collections
import json
import os
import subprocess
import sys
import tempfile

FUNCTIONS = "open64\nopen\nopenat64\nopenat\ngetppid\n"


def seen(path):
    with open(path) as file:
        return collections.Counter(
            tuple(tuple(f) for f in json.loads(line)) for line in file)


def recorded(report):
    """The script frames of each call, and how often."""
    found, without = collections.Counter(), 0
    for call in report["calls"]:
        stack = tuple((f["function"], os.path.expanduser(f.get("file", "")), f.get("line", 0))
                      for f in call.get("frames", []) if f.get("kind") == "script")
        if stack:
            found[stack] += call["count"]
        else:
            without += call["count"]
    return found, without


def main():
    sonde, python, runner = sys.argv[1:4]
    with tempfile.TemporaryDirectory() as folder:
        names, out, report = (f"{folder}/{n}" for n in ("list", "seen", "report.json"))
        with open(names, "w") as file:
            file.write(FUNCTIONS)
        run = subprocess.run([sonde, "run", "--record", names, "--json", report, "--frames", "1000000",
                              "--follow", "--", python, "-B", runner, out, *sys.argv[4:]],
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        wanted = seen(out)
        with open(report) as file:
            got, without = recorded(json.load(file))
    with open(runner) as file: # calls before this line come before the hook
        begins = next(i for i, line in enumerate(file, 1) if line.startswith("runpy."))
    after = collections.Counter({s: n for s, n in got.items() if s[-1][1:] == (runner, begins)
                                 or s in wanted})
    missing = wanted - after
    extra = after - wanted
    print(f"{sum(wanted.values())} calls, {len(wanted)} stacks, {sum(len(s) for s in wanted)} frames; "
          f"{sum(missing.values())} missing, {sum(extra.values())} more; "
          f"{sum((got - after).values())} before the hook, {without} without functions")
    for name, some in (("missing", missing), ("more", extra)):
        for stack, count in list(some.items())[:3]:
            print(name, count, *stack, sep="\n    ")
    print(run.stderr[-2000:])
    sys.exit(bool(missing or extra or not wanted))


main()
