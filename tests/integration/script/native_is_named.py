# SPDX-License-Identifier: Apache-2.0
"""The functions that called native code without frame pointers are shown while it runs.

native_is_named.py SONDE NODE PROGRAM

By frame pointers alone, two or three looks of LOOKS have them. A look may fail: the thread ran before its
functions were read. A function that V8 has compiled has no line.
"""
import json
import subprocess
import sys

LOOKS, NAMED = 60, 20
CALLS = [("work", (7, 0)), ("start", (12, 0))]


def named(sonde, pid, program):
    """The program's own functions in the stack of the main thread, innermost first."""
    out = subprocess.run([sonde, "stacks", "--json", "--no-network", f"--thread={pid}", str(pid)],
                         capture_output=True, text=True)
    thread = json.loads(out.stdout)["threads"][0]
    return [(f["function"], f.get("line", 0)) for f in thread["frames"]
            if f.get("kind") == "script" and f.get("file", "") == program]


def main():
    sonde, node, program = sys.argv[1:]
    child = subprocess.Popen([node, program])
    seen = 0
    try:
        for _ in range(LOOKS):
            functions = named(sonde, child.pid, program)
            if "work" in [name for name, _ in functions]:
                for (name, line), (call, lines) in zip(functions, CALLS):
                    assert name == call and line in lines, functions
                seen += 1
            if seen == NAMED:
                return
    finally:
        child.kill()
        child.wait()
    sys.exit(f"{seen} of {LOOKS} stacks have the functions")


main()
