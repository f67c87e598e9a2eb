# SPDX-License-Identifier: Apache-2.0
"""records.py SONDE FILE DUMP: is what `sonde types` shows of the structures in FILE what the compiler
laid out (clang -Xclang -fdump-record-layouts, in DUMP)? Prints each difference, and a last line."""
import json
import re
import subprocess
import sys

sonde, path, dump = sys.argv[1:4]
records = {}
for part in open(dump).read().split("*** Dumping AST Record Layout")[1:]:
    lines = part.strip("\n").split("\n")
    match = re.match(r"\s*0 \| (struct|union) (\w+)$", lines[0])
    if not match or match.group(2).startswith("__"):
        continue
    members = []
    for line in lines[1:]:
        line = re.match(r"\s*(\d+)(?::(\d+)-(\d+)|:-)? \|   (\S.*)$", line)
        if line is None or line.group(0).split("|")[0].strip().endswith(":-"):
            continue
        at = int(line.group(1)) * 8 + int(line.group(2) or 0)
        bits = int(line.group(3)) - int(line.group(2)) + 1 if line.group(2) else 0
        name = re.search(r"(\w+)$", line.group(4))
        members.append([name.group(1) if name else None, at, bits])
    size = re.search(r"\[sizeof=(\d+)", part)
    records[match.group(1) + " " + match.group(2)] = (int(size.group(1)), members)
shown = json.loads(subprocess.run([sonde, "types", "--json", path] + list(records),
                                  stdout=subprocess.PIPE, text=True).stdout)
wrong = 0
for item in shown:
    size, members = records.pop(item["asked"])
    ours = [[m["name"], m["offset"] * 8 + m.get("bit_offset", 0), m.get("bit_size", 0)]
            for m in item["members"]]
    if item["size"] != size or ours != members:
        wrong += 1
        print(item["asked"], item["size"], size, ours, members)
print("%d types, %d missing, %d differences" % (len(shown), len(records), wrong))
