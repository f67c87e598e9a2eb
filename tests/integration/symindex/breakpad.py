# SPDX-License-Identifier: Apache-2.0
"""Breakpad symbol files (.sym) of programs, as dump_syms writes them, made of what llvm-symbolizer
says of every address of every function.

breakpad.py make PROGRAM [short]
    prints the file; short: without INFO CODE_ID, as old versions of dump_syms do
breakpad.py compare SONDE FOLDER COMPILER FLAG...
    builds work.cc, makes its file, and an index of that (`sonde index`): the index names every
    address of every function as llvm-symbolizer does, with files, lines and inlined calls
Exit 0: equal, 1: not, 77: no such compiler or judge."""
import json
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SYMBOLIZER = "llvm-symbolizer-19"


def need(program):
    if shutil.which(program) is None:
        print("skip: no", program)
        sys.exit(77)
    return program


def run(*argv, given=None):
    done = subprocess.run(argv, input=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=240, universal_newlines=True)
    if done.returncode != 0:
        sys.exit("%s: %s" % (" ".join(argv), done.stderr))
    return done.stdout


def functions_of(program):
    """{start: (size, name)} of all functions that have code."""
    functions = {}
    for line in run("nm", "-S", "-C", "--defined-only", program).splitlines():
        match = re.match(r"([0-9a-f]+) ([0-9a-f]+) [tTwWi] (.*)", line)
        if match:
            functions[int(match[1], 16)] = (int(match[2], 16), match[3])
    return functions


def frames_of(program, addresses):
    """Of each address its frames, the innermost first: (name, file, line)."""
    need(SYMBOLIZER)
    out = run(SYMBOLIZER, "--output-style=JSON", "-i", "-e", program,
              given="".join("0x%x\n" % address for address in addresses))
    return [[(symbol["FunctionName"], symbol["FileName"] if symbol["Line"] else "", symbol["Line"])
             for symbol in json.loads(line)["Symbol"]] for line in out.splitlines()]


def ranges_of(addresses):
    ranges = []
    for address in addresses:
        if ranges and sum(ranges[-1]) == address:
            ranges[-1][1] += 1
        else:
            ranges.append([address, 1])
    return ranges


class Numbers(dict):
    def __missing__(self, key):
        self[key] = len(self)
        return self[key]


def records_of_function(start, size, frames, files, origins):
    """The records of a function. frames: of each of its addresses."""
    records = ["FUNC %x %x 0 %s" % (start, size, frames[0][-1][0])]
    calls = {}  # a call: its way from the function in, (name, file and line of the call) each
    lines = []
    for address, stack in enumerate(frames, start):
        way = ()
        for inner, outer in zip(stack[-2::-1], stack[:0:-1]):
            way += ((inner[0], outer[1], outer[2]),)
            calls.setdefault(way, []).append(address)
        inner = stack[0][1:]
        if lines and lines[-1][2] == inner:
            lines[-1][1] += 1
        else:
            lines.append([address, 1, inner])

    def put_calls(outer):
        for way in [way for way in calls if way[:-1] == outer]:
            name, file, line = way[-1]
            ranges = " ".join("%x %x" % tuple(r) for r in ranges_of(calls[way]))
            records.append("INLINE %d %d %d %d %s" % (len(outer), line, files[file], origins[name],
                                                      ranges))
            put_calls(way)
    put_calls(())
    return records + ["%x %x %d %d" % (at, length, line, files[file])
                      for at, length, (file, line) in lines if line]


def make(program, is_short):
    functions = functions_of(program)
    code_id = re.search("Build ID: ([0-9a-f]+)", run("readelf", "-n", program))[1]
    raw = bytes.fromhex(code_id)
    guid = raw[3::-1] + raw[5:3:-1] + raw[7:5:-1] + raw[8:16]
    machine = re.search("Machine: *(.*)", run("readelf", "-h", program))[1]
    head = ["MODULE Linux %s %s0 %s" % ("arm64" if "AArch64" in machine else "x86_64",
                                        guid.hex().upper(), os.path.basename(program))]
    if not is_short:
        head.append("INFO CODE_ID " + code_id.upper())
    files, origins, body, publics = Numbers(), Numbers(), [], []
    starts = sorted(functions)
    addresses = [start + i for start in starts for i in range(functions[start][0])]
    frames = iter(frames_of(program, addresses))
    for start in starts:
        size, name = functions[start]
        of_it = [next(frames) for _ in range(size)]
        if size and any(frame[2] for stack in of_it for frame in stack):
            body += records_of_function(start, size, of_it, files, origins)
        else:
            publics.append("PUBLIC %x 0 %s" % (start, name))
    return "\n".join(head + ["FILE %d %s" % (number, file or "?") for file, number in files.items()] +
                     ["INLINE_ORIGIN %d %s" % (number, name) for name, number in origins.items()] +
                     body + publics + ["STACK CFI INIT %x 10 .cfa: $rsp 8 +" % starts[0]]) + "\n"


def frames_of_index(sonde, index, addresses):
    out = run(sonde, "symbolize", "--no-demangle", "--no-cache", "--json", "--image", index,
              *("0x%x" % address for address in addresses))
    return [[(frame["raw_name"], frame.get("file", "") if frame.get("line", 0) else "",
              frame.get("line", 0)) for frame in answer["frames"]] for answer in json.loads(out)]


def compare(sonde, folder, compiler, flags):
    program, sym = folder + "/work", folder + "/work.sym"
    run(need(compiler), "-o", program, HERE + "/../inlined/work.cc", *flags, "-lpthread")
    with open(sym, "w") as file:
        file.write(make(program, False))
    line = run(sonde, "index", "-o", folder, sym)
    index = re.match(r"(.*\.sndidx)  ", line)[1]
    build_id = re.search("Build ID: ([0-9a-f]+)", run("readelf", "-n", program))[1]
    if os.path.basename(index) != build_id + ".sndidx":
        sys.exit("the index is %s, the build-id %s" % (index, build_id))
    addresses = [start + i for start, (size, _) in functions_of(program).items()
                 for i in range(size)]
    described = different = inlined = 0
    for address, wanted, got in zip(addresses, frames_of(program, addresses),
                                    frames_of_index(sonde, index, addresses)):
        if not any(frame[2] for frame in wanted):
            continue  # it has no debug information
        described += 1
        inlined += len(wanted) > 1
        if wanted != got:
            different += 1
            print("0x%x: llvm-symbolizer %s, index %s" % (address, wanted, got))
    print("%d addresses, %d in inlined calls, %d differ" % (described, inlined, different))
    sys.exit(different != 0 or described < 1000 or inlined < 1000)


if sys.argv[1] == "make":
    sys.stdout.write(make(sys.argv[2], sys.argv[3:] == ["short"]))
else:
    compare(sys.argv[2], sys.argv[3], sys.argv[4], sys.argv[5:])
