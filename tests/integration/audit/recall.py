# SPDX-License-Identifier: Apache-2.0
"""recall.py SONDE FOLDER [--follow] PROGRAM...: runs PROGRAM under all default packs, and strace around that, and compares the
calls that sonde recorded with those that strace saw of the same process; with --follow, of all processes. A call counts if its caller, by strace's
stack, is neither libc, the loader nor the recorder. Prints a line per system call; exits with 1 if fewer than 99 % of
the calls were recorded and sonde names no blind spot for them, or if the program did not run as without sonde."""
import collections
import glob
import json
import os
import re
import subprocess
import sys
import time

# the system calls of a group, and the functions that make them
GROUPS = (
    ("openat open creat", "open openat creat"),
    ("access faccessat faccessat2", "access faccessat"),
    ("newfstatat fstat stat lstat", "stat lstat fstat fstatat"),
    ("readlink readlinkat", "readlink readlinkat"),
    ("socket", "socket"),
    ("connect", "connect"),
    ("sendto", "sendto send"),
    ("sendmsg", "sendmsg"),
    ("bind", "bind"),
    ("uname", "uname"),
    ("sysinfo", "sysinfo"),
    ("kill", "kill"),
    ("getuid", "getuid"),
    ("geteuid", "geteuid"),
    ("getppid", "getppid"),
    ("unlink unlinkat", "unlink unlinkat"),
    ("rename", "rename"),
    ("mkdir mkdirat", "mkdir mkdirat"),
    ("chdir", "chdir"),
    ("getcwd", "getcwd"),
    ("statfs fstatfs", "statfs fstatfs"),
)
PACKS = "linux-identity, linux-secrets, linux-network, linux-devices, linux-process, apple-required-reason, ios-privacy"
INSIDE = re.compile(r"/(libc\.so\.6|libc-|ld-linux|ld-|libpthread|libsonde-record\.so)")
ALIKE = re.compile(rb"\b[0-9a-f]{7,}\b|\b\d{4,}\b")  # hashes and numbers of processes and times


def modules(frames):
    return [frame.split("(")[0].strip("> \n") for frame in frames]


def calls_of(pid, follow):
    """(name, modules of the frames) of each call of PROGRAM, and the threads made there; with follow, of all programs
    but sonde that the process executed, and the processes, too."""
    calls, others, name, frames, is_own = [], [], None, [], False
    for line in open("trace.%d" % pid, errors="replace"):
        if line.startswith(" >"):
            frames.append(line)
            continue
        if name is not None and not is_own:
            calls.append((name, modules(frames)))
        match = re.match(r"(\w+)\(", line)
        name, frames = (match.group(1) if match else None), []
        if name == "execve" and line.rstrip().endswith("= 0"):
            is_own = re.match(r'execve\("[^"]*/sonde"', line) is not None
            name = None
            if not follow:
                calls, others = [], []
        other = re.match(r"(clone|clone3|fork|vfork)\((.*) = (\d+)$", line.rstrip())
        if other and not is_own and (follow or "CLONE_THREAD" in other.group(2)):
            others.append(int(other.group(3)))
    if name is not None and not is_own:
        calls.append((name, modules(frames)))
    return calls, others


def run(argv, **more):
    return subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=300, check=False, **more)


def read_report(sonde):
    """A program that ends by _exit() does not wait for the report."""
    for _ in range(600):
        shown = run([sonde, "show", "--json", "traced.sonde"]).stdout
        if b'"rules"' in shown and b"incomplete" not in shown:
            return shown
        time.sleep(0.1)
    raise SystemExit("no complete report")


def main():
    sonde, folder, program = sys.argv[1], sys.argv[2], sys.argv[3:]
    follow = program[0] == "--follow"
    how = ["run", "-q", "--audit", "recall.ini"] + program[:follow]
    program = program[follow:]
    os.chdir(folder)
    with open("recall.ini", "w") as rules:
        rules.write("[pack]\nuse = %s\n" % PACKS)
        for names, functions in GROUPS:
            rules.write('[rule "recall %s"]\napi = %s\n' % (names.split()[0], functions.replace(" ", ", ")))
    plain = run(program)
    under = run([sonde] + how + ["--report", "plain.sonde", "--"] + program)
    assert under.returncode == plain.returncode, (under.returncode, plain.returncode, under.stderr[-2000:])
    assert ALIKE.sub(b"", under.stdout) == ALIKE.sub(b"", plain.stdout), (under.stdout, plain.stdout)
    names = {name: group[0].split()[0] for group in GROUPS for name in group[0].split()}
    trace = ["strace", "-ff", "-k", "-o", "trace", "-e", "trace=?%s,execve,clone,?clone3,?fork,?vfork" % ",?".join(names)]
    traced = run(trace + [sonde] + how + ["--report", "traced.sonde", "--"] + program)
    assert traced.returncode == plain.returncode, (traced.returncode, traced.stderr[-2000:])
    report = json.loads(read_report(sonde))
    recorded = {rule["name"][7:]: rule["calls"] for rule in report["rules"] if rule["name"].startswith("recall ")}
    missed = collections.defaultdict(list)
    for call in report["calls"]:
        if "may_miss" in call:
            missed[call["function"]].append(call["may_miss"])
    seen = collections.Counter()
    direct = collections.Counter()
    pids = [report["pid"]]
    for pid in pids:  # which grows
        calls, others = calls_of(pid, follow)
        pids += others
        for name, stack in calls:
            if name not in names or not stack:
                continue
            if not INSIDE.search(stack[0]):
                direct[names[name]] += 1
            elif len(stack) > 1 and not INSIDE.search(stack[1]):
                seen[names[name]] += 1
    bad, total, found = [], 0, 0
    for group, functions in GROUPS:
        name = group.split()[0]
        had, got = seen[name], recorded.get(name, 0)
        if had == 0:
            continue
        total += had
        found += min(had, got)
        named = [f for f in functions.split() if any("libc.so" not in m for m in missed[f])]
        print("%s: %d of %d%s" % (name, got, had, ", may be missing: %s" % named if named else ""))
        if got < 0.99 * had and had - got > 0 and not named:
            bad.append(name)
    print("all: %d of %d calls; %d not by libc; %d processes and threads" % (
        found, total, sum(direct.values()), len(pids)))
    for path in glob.glob("trace.*"):
        os.unlink(path)
    if bad or total == 0:
        print("missed:", bad, file=sys.stderr)
        sys.exit(1)


main()
