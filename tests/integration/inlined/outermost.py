# SPDX-License-Identifier: Apache-2.0
"""outermost.py SONDE FOLDER COMPILER FLAG...: does sonde symbolize call functions by their symbols?

Asks for every fourth byte of each function of outermost.cc: from the program, from an index file, and
from a stripped program with a separate debug file. The name is one of those that nm has for the
function there, and llvm-symbolizer's name is, too. Exit 0: yes, 1: no, 77: no such compiler or judge."""
import json
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SONDE, FOLDER, COMPILER = sys.argv[1:4]
FLAGS = sys.argv[4:]
KINDS = {"g++": (".cold", "C1E", "C2E", "other_name"), "clang++-19": ("C1E", "C2E", "other_name")}


def run(*argv, **more):
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120,
                          universal_newlines=True, cwd=FOLDER, **more)
    if done.returncode != 0:
        sys.exit("%s: %d: %s%s" % (argv, done.returncode, done.stdout, done.stderr))
    return done.stdout


def functions(program):
    """(start, end) -> names"""
    found = {}
    for line in run("nm", "-S", "--defined-only", program).splitlines():
        words = line.split()
        if len(words) == 4 and words[2] in "tTwW":
            start = int(words[0], 16)
            found.setdefault((start, start + int(words[1], 16)), set()).add(words[3])
    return found


def outermost(text):
    return [answer["frames"][-1] if answer.get("frames") else {} for answer in json.loads(text)]


def check(kind, known, ours, theirs):
    for (address, names), frame, judge in zip(known, ours, theirs):
        name = frame.get("raw_name")
        if name not in names or judge not in names:
            sys.exit("%s: 0x%x: sonde: %s, llvm-symbolizer: %s, nm: %s"
                     % (kind, address, name, judge, " ".join(sorted(names))))
    print(kind, len(known), "addresses")


def main():
    for program in (COMPILER, "llvm-symbolizer-19", "nm", "objcopy"):
        if shutil.which(program) is None:
            print("skip: no", program)
            sys.exit(77)
    run(COMPILER, *FLAGS, "-Wl,--build-id", "-o", "program", os.path.join(HERE, "outermost.cc"))
    known = [(address, names) for (start, end), names in sorted(functions("program").items())
             for address in range(start, end, 4)]
    every = " ".join(name for _, names in known for name in names)
    for part in KINDS[COMPILER]:
        if part not in every:
            sys.exit("nothing is called *%s*: the test proves nothing" % part)
    wanted = ["0x%x" % address for address, _ in known]
    judged = json.loads("[" + ",".join(
        run("llvm-symbolizer-19", "--no-demangle", "--output-style=JSON", "--obj=program",
            input="\n".join(wanted) + "\n").splitlines()) + "]")
    judged = [answer["Symbol"][-1]["FunctionName"] for answer in judged]
    ask = (SONDE, "symbolize", "--no-demangle", "--json", "--no-cache")
    check("program", known, outermost(run(*ask, "-m", "program", *wanted)), judged)
    os.makedirs(os.path.join(FOLDER, "indexes"))
    run(SONDE, "index", "-o", "indexes", "program")
    index = os.path.join("indexes", os.listdir(os.path.join(FOLDER, "indexes"))[0])
    check("index file", known, outermost(run(*ask, "-m", "program=" + index, *wanted)), judged)
    run("objcopy", "--only-keep-debug", "program", "program.debug")
    run("objcopy", "--strip-all", "--add-gnu-debuglink=program.debug", "program", "bare")
    check("debug file", known, outermost(run(*ask, "-m", "bare", *wanted)), judged)


main()
