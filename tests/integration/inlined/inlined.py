# SPDX-License-Identifier: Apache-2.0
"""inlined.py SONDE FOLDER MODE COMPILER FLAG...: are the inlined calls of sonde's stacks those that
others see?

Builds work.cc, and looks at it with `sonde stacks --json`:
  gdb     it waits; function, file and line at every level are those of gdb's `backtrace`
  dwz     the same of a program that shares debug information with another one, compressed
  index   the same of a stripped copy with an index file
  report  the same of a report that was written to a file and shown
  debian  a thread waits in libc, whose debug file is Debian's: all frames, those of libc too
  sample  it works; in 40 snapshots of it, the calls at each address are those of llvm-symbolizer
Exit 0: equal, 1: not, 77: no such compiler or judge."""
import json
import os
import re
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SONDE, FOLDER, MODE, COMPILER = sys.argv[1:5]
FLAGS = sys.argv[5:]
STACKS = 40
IN_LIBC = r"""
#include <pthread.h>
#include <stdio.h>
int main(void)
{
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
    puts("ready"); fflush(stdout);
    pthread_mutex_lock(&lock);
    pthread_cond_wait(&cond, &lock);
    return 0;
}
"""


def need(program):
    if shutil.which(program) is None:
        print("skip: no", program)
        sys.exit(77)
    return program


def run(*argv):
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120,
                          universal_newlines=True)
    if done.returncode != 0:
        sys.exit("%s: %d: %s%s" % (argv[0], done.returncode, done.stdout, done.stderr))
    return done.stdout


def base(name):
    """std::map<K, V>::find(K const&) -> find: what gdb and we have in common."""
    flat, depth = "", 0
    for c in name.replace("(anonymous namespace)", ""):
        depth += c == "<"
        if c == "(" and depth == 0:
            break
        flat += c if depth == 0 else ""
        depth -= c == ">"
    return flat.split("::")[-1].split(" ")[-1].split(".")[0]


def stack(pid, *options):
    if MODE == "report":
        path = os.path.join(FOLDER, "report")
        run(SONDE, "stacks", "--report", path, str(pid))
        text = run(SONDE, "show", "--json", path)
    else:
        text = run(SONDE, "stacks", "--json", *options, str(pid))
    return json.loads(text)["threads"][0]["frames"]


def levels(frames):
    """[(offset, inlined?, function, file, line)] as gdb counts them."""
    out = []
    for f in frames:
        for call in f.get("inlined", []):
            out.append((f["offset"], True, call.get("demangled", call["function"]),
                        os.path.basename(call.get("file", "")), call.get("line", 0)))
        out.append((f["offset"], False, f.get("demangled", f.get("function", "")),
                    os.path.basename(f.get("file", "")), f.get("line", 0)))
    return out


def of_gdb(pid):
    text = run(need("gdb"), "-nx", "-q", "-batch", "-ex", "set debuginfod enabled off", "-ex",
               "set auto-load python-scripts off", "-p", str(pid), "-ex",
               "source " + os.path.join(HERE, "gdb_calls.py"))
    if "\nend" not in text:
        sys.exit("gdb failed: " + text)
    out = []
    for line in text.splitlines():
        if line.startswith("call\t"):
            _, pc, inlined, name, file, number = line.split("\t")
            out.append((pc, inlined == "1", name, file, int(number)))
    return out


def compare_with_gdb(pid, gdb_pid, options):
    ours, theirs = levels(stack(pid, *options)), of_gdb(gdb_pid)
    bad, inlined = [], 0
    # of main and what it called: there gdb ends
    names = [base(level[2]) for level in ours]
    ours = ours[:names.index("main") + 1]
    if MODE != "debian":  # without the frames of libc, which has its own files
        first = next(i for i, level in enumerate(ours) if level[3] == "work.cc" or level[1])
        theirs = theirs[-(len(ours) - first):]
        ours = ours[first:]
    for mine, its in zip(ours, theirs):
        inlined += mine[1]
        # a symbol of libc has several names
        same_name = base(mine[2]) == base(its[2]) or (MODE == "debian" and not mine[1])
        if not same_name or (mine[1],) + mine[3:] != (its[1],) + its[3:]:
            bad.append("%s\n    gdb: %s" % (mine, its))
    if MODE == "debian" and not any(its[3] for its in theirs[:-1]):
        print("skip: no debug file of libc (./dev setup test)")
        sys.exit(77)
    if len(ours) != len(theirs) or inlined < (1 if MODE == "debian" else 2):
        bad.append("%d levels, gdb has %d; %d of them inlined" % (len(ours), len(theirs), inlined))
    print("%d levels, %d inlined" % (len(ours), inlined))
    return bad


def compare_with_llvm(pid, program):
    """By the names of the linker: nothing is lost in printing them."""
    asked = {}
    for _ in range(STACKS):
        for f in stack(pid, "--stop"):  # a sample may not come to a CPU on a busy machine
            if f.get("image_name") == os.path.basename(program) and "signal" not in f:
                vaddr = int(f["offset"], 16) - (0 if f.get("exact") else 1)
                asked[vaddr] = [(c.get("function", "").split(".")[0],
                                 os.path.basename(c.get("file", "")), c.get("line", 0))
                                for c in f.get("inlined", []) + [f]]
    answers = json.loads(run(need("llvm-symbolizer-19"), "--output-style=JSON", "--inlines",
                             "--no-demangle", "--obj=" + program, *["0x%x" % a for a in asked]))
    bad, inlined = [], 0
    for (vaddr, mine), answer in zip(asked.items(), answers):
        its = [(s["FunctionName"].split(".")[0], os.path.basename(s["FileName"]), s["Line"])
               for s in answer["Symbol"]]
        inlined += len(mine) - 1
        if its != mine and its[0][1] != "":  # code without debug information: _start
            bad.append("0x%x: %s\n    llvm-symbolizer: %s" % (vaddr, mine, its))
    print("%d addresses, %d inlined calls" % (len(asked), inlined))
    if len(asked) < 10 or inlined < 10:
        bad.append("too little was seen")
    return bad


def main():
    program = os.path.join(FOLDER, "work")
    source = os.path.join(HERE, "work.cc")
    if MODE == "debian":
        source = os.path.join(FOLDER, "in_libc.c")
        with open(source, "w") as f:
            f.write(IN_LIBC)
    run(need(COMPILER), *FLAGS, source, "-o", program)
    if MODE == "dwz":
        other = os.path.join(FOLDER, "other")
        run(COMPILER, *FLAGS, source, "-DOTHER", "-o", other)
        run(need("dwz"), "-m", os.path.join(FOLDER, "common"), program, other)
        run("objcopy", "--compress-debug-sections", program)
    argv, options, gdb_child = [program], [], None
    if MODE == "index":
        argv = [os.path.join(FOLDER, "stripped")]
        run("strip", "-o", argv[0], program)
        os.mkdir(os.path.join(FOLDER, "indexes"))
        run(SONDE, "index", "-o", os.path.join(FOLDER, "indexes"), program)
        options = ["--symbols", os.path.join(FOLDER, "indexes")]
    child = subprocess.Popen(argv + (["work"] if MODE == "sample" else []), stdout=subprocess.PIPE)
    try:
        child.stdout.readline()
        time.sleep(0.2)
        if MODE == "sample":
            bad = compare_with_llvm(child.pid, program)
        elif MODE == "index":  # gdb looks at the same program with its symbols
            gdb_child = subprocess.Popen([program], stdout=subprocess.PIPE)
            gdb_child.stdout.readline()
            time.sleep(0.2)
            bad = compare_with_gdb(child.pid, gdb_child.pid, options)
        else:
            bad = compare_with_gdb(child.pid, child.pid, options)
    finally:
        for process in (child, gdb_child):
            if process is not None:
                process.kill()
                process.wait()
    print("\n".join(bad))
    return 1 if bad else 0


sys.exit(main())
