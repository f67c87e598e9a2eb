#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""sent.py SONDE REPORT DSYM FUNCTION...: what `sonde symbolize` says of the sent report's stall, with the dSYM, is what
llvm-symbolizer says: function, file and line of each frame of the program. The stack has these functions, innermost first."""
import json
import os
import re
import subprocess
import sys

sonde, report, dsym, *functions = sys.argv[1:]


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


told = json.loads(run(sonde, "symbolize", "--json", "--no-cache", "--symbols", os.path.dirname(dsym), "--report", report))
uuid = re.search(r"UUID: (\S+)", run("llvm-dwarfdump-19", "--uuid", dsym))[1].replace("-", "").lower()
image = next(i["id"] for i in told["images"] if i["build_id"] == uuid)
stall = told["stalls"][0]
assert stall["fatal"] and stall["open"] and stall["main"] and stall["app_state"] == "active", stall
frames = [f for f in stall["stacks"][0]["frames"] if f["image"] == image]
while frames[0]["name_source"] == "plt":  # spin() reads the clock
    frames.pop(0)
assert [f["function"] for f in frames][: len(functions)] == functions, frames
binary = os.path.join(dsym, "Contents/Resources/DWARF", os.path.basename(dsym)[: -len(".dSYM")])
for frame in frames:
    call = int(frame["offset"], 16) - (frame["found"] != "registers")
    name, place = run("llvm-symbolizer-19", "--obj=" + binary, "--no-inlines", hex(call)).split("\n")[:2]
    file, line, _ = place.rsplit(":", 2)
    theirs = (name, file, int(line) or None)  # line 0: code of the compiler's own, for which sonde tells no line
    mine = (frame["function"], frame.get("file"), frame.get("line"))
    assert mine == theirs, (mine, theirs, place)
print(f"{len(frames)} frames as llvm-symbolizer has them")
