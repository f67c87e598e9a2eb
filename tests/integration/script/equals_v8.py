# SPDX-License-Identifier: Apache-2.0
"""A program of Node.js tells its stack, then blocks in the same calls; sonde must show the same
functions, files and lines.

equals_v8.py SONDE [--compiled] NODE PROGRAM [ARGUMENT...]
--compiled: the program has a function that V8 compiles. Its line may be missing, and V8's own functions.
"""
import itertools
import json
import subprocess
import sys
import time


def shown(sonde, pid):
    """The script frames of the main thread, once it is blocked in them, and the images of Node that
    are taken for the program's own: none is, V8's copy of its builtins neither."""
    for _ in range(200):
        out = subprocess.run([sonde, "stacks", "--json", "--no-network", str(pid)],
                             capture_output=True, text=True)
        report = json.loads(out.stdout)
        thread = next(t for t in report["threads"] if t.get("main"))
        frames = [(f["function"], f.get("file", ""), f.get("line", 0))
                  for f in thread["frames"] if f.get("kind") == "script"]
        if thread.get("syscall", {}).get("name") == "futex" and frames:
            return frames, thread, [i for i in report["images"] if i["app"] and i["main"] and
                                    i["path"].endswith("/bin/node")]
        time.sleep(0.05)
    sys.exit(f"the program does not block: {out.stdout[:3000]}{out.stderr}")


COMPILED = "functions that V8 compiled have no line here, and those in them no name"


def main():
    sonde, command = sys.argv[1], sys.argv[2:]
    is_compiled = command[0] == "--compiled"
    child = subprocess.Popen(command[is_compiled:], stdout=subprocess.PIPE, text=True)
    try:
        told = [(f or "<anonymous>", file, line)
                for f, file, line in json.loads(child.stdout.readline())[1:]]
        frames, thread, apps = shown(sonde, child.pid)
    finally:
        child.kill()
    if is_compiled:
        told, frames = [f for f in told if f[1]], [f for f in frames if f[1]]
    differ = [(v8, ours) for v8, ours in itertools.zip_longest(told, frames) if v8 != ours and
              not (is_compiled and v8 and ours and v8[:2] == ours[:2] and ours[2] == 0)]
    for pair in differ:
        print("V8: %s  sonde: %s" % pair)
    print(len(told), "frames;", thread.get("note"), apps)
    sys.exit(1 if differ or apps or len(told) < 8 or thread.get("note", COMPILED) != COMPILED
             or ("note" in thread) != is_compiled else 0)


main()
