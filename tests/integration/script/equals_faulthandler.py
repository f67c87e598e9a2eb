# SPDX-License-Identifier: Apache-2.0
"""Stop a Python program at arbitrary instants, and compare the script frames that sonde reads with
those that the interpreter's own faulthandler writes when it goes on. The signal that asks for them
goes to a thread that ran; the others are held (ptrace) until its handler has returned. Where no
thread ran, or faulthandler did not return from a frame that was being made, or took the thread for
a freed one (3.14), the stop does not count. About one in 5,000 stacks of faulthandler is wrong:
after a difference there are MORE stops, of which one in 100 stacks may differ.

equals_faulthandler.py SONDE PYTHON STOPS PROGRAM [ARGUMENT...]
"""
import atexit
import ctypes
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

PRELUDE = (
    "import faulthandler, runpy, signal, sys\n"
    "sys.setrecursionlimit(5000)\n"
    "dump = open(sys.argv[1], 'a')\n"
    "faulthandler.register(signal.SIGUSR1, file=dump, all_threads=True)\n"
    "sys.argv[:2] = []\n"
    "sys.path.insert(0, '')\n"
    "runpy.run_path(sys.argv[0], run_name='__main__')\n"
)
LIBC = ctypes.CDLL(None)
TGKILL = 234 if os.uname().machine == "x86_64" else 131
PTRACE_SEIZE, PTRACE_DETACH, WALL = 0x4206, 17, 0x40000000
HANDLER_S, SONDE_S = 20, 60
MORE = 50
SHIMS = ("<shim>", "__init__")
OUTERMOST = ("_bootstrap", "<module>")
FRAMES_MAX = 100  # faulthandler shows no more of a thread


def dumped(text):
    """[(thread, [(function, file, line)])] of a dump; the id is pthread_self()."""
    threads = []
    for line in text.splitlines():
        if re.match(r"(Current thread|Thread) 0x", line):
            threads.append([])
        frame = re.match(r'  File "(.*)", line (\d+|\?\?\?) in (.*)$', line)
        if frame:
            threads[-1].append((frame[3], frame[1], int(frame[2]) if frame[2] != "???" else 0))
    return threads


def script_frames(thread):
    frames = [f for f in thread.get("frames", []) if f.get("kind") == "script"]
    beside = thread.get("read_later", {}).get("frames", [])
    out = []
    for f in frames + beside:
        function = f["function"].rsplit(".", 1)[-1]
        out.append((function, f.get("file", ""), f.get("line", 0)))
    return out


def stop(pid):
    os.kill(pid, signal.SIGSTOP)
    for _ in range(1000):
        states = []
        for tid in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{tid}/stat") as stat:
                states.append(stat.read().rsplit(")", 1)[1].split()[0])
        if all(s in "TtZX" for s in states):
            return
        time.sleep(0.001)


def runners(pid):
    """Stopped threads that are in no system call."""
    found = []
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/syscall") as syscall:
            if syscall.read().startswith("-1"):
                found.append(int(tid))
    return found


def hold_others(pid, tid):
    """Hold all threads but tid, which are stopped, until they are let go. Returns those held."""
    held = []
    for other in map(int, os.listdir(f"/proc/{pid}/task")):
        if other != tid and LIBC.ptrace(PTRACE_SEIZE, other, 0, 0) == 0:
            os.waitpid(other, WALL)
            held.append(other)
    return held


def let_go(pid, held):
    for tid in held:
        if LIBC.ptrace(PTRACE_DETACH, tid, 0, 0) != 0 and tid != pid:
            try:
                os.waitpid(tid, WALL)  # it was killed, and waits for its tracer
            except ChildProcessError:
                pass


def is_handling(pid, tid):
    """Is the signal pending, or its handler running, which blocks it? None: the thread was killed,
    as faulthandler sometimes is by a frame that is being made."""
    try:
        with open(f"/proc/{pid}/task/{tid}/status") as file:
            status = file.read()
    except OSError:
        return None
    if re.search(r"^State:\s*[ZX]", status, re.M):
        return None
    sets = re.findall(r"^Sig(?:Pnd|Blk):\s*([0-9a-f]+)", status, re.M)
    return any(int(s, 16) >> (signal.SIGUSR1 - 1) & 1 for s in sets)


def is_running(pid, tid):
    with open(f"/proc/{pid}/task/{tid}/stat") as stat:
        return stat.read().rsplit(")", 1)[1].split()[0] == "R"


def has_handled(pid, tid):
    """Has the handler returned? False: it never will."""
    until = time.monotonic() + HANDLER_S
    looks = 0
    while looks < 3:  # a signal is neither pending nor blocked while it is being delivered
        handling = is_handling(pid, tid)
        if handling is None:
            return False
        looks = 0 if handling else looks + 1
        if time.monotonic() > until:
            assert is_running(pid, tid), "the handler waits"
            return False
        time.sleep(0.002)
    return True


def is_cut(ours, theirs):
    """Where a frame is being made, faulthandler does not find its callers."""
    return len(theirs) <= 2 and ours[-1][0] in OUTERMOST and (
        not theirs or theirs[-1][0] not in OUTERMOST)


def is_same(ours, theirs):
    n = min(len(ours), len(theirs))
    return ours[:n] == theirs[:n] and (
        len(ours) == len(theirs) or n >= FRAMES_MAX - 3 or n == len(theirs) and is_cut(ours, theirs))


def take(ours, stack):
    """Is it among ours? A frame that is being entered is one for faulthandler only."""
    for candidate in (stack, stack[1:]):
        for i, other in enumerate(ours):
            if is_same(other, candidate):
                return ours.pop(i)
    return None


def short(frames):
    return [(function, os.path.basename(file), line) for function, file, line in frames]


def compare_once(sonde, child, dump):
    stop(child.pid)
    running = runners(child.pid)
    if not running:
        os.kill(child.pid, signal.SIGCONT)
        return None
    os.truncate(dump, 0)
    out = subprocess.run([sonde, "stacks", "--json", "--no-network", str(child.pid)],
                         capture_output=True, text=True, timeout=SONDE_S)
    held = hold_others(child.pid, running[0])
    try:
        LIBC.syscall(TGKILL, child.pid, running[0], int(signal.SIGUSR1))
        os.kill(child.pid, signal.SIGCONT)
        handled = has_handled(child.pid, running[0])
    finally:
        let_go(child.pid, held)
    if not handled:
        child.kill()
        child.wait()
    with open(dump) as file:
        text = file.read()
    if not handled or "Current thread" not in text:
        return None
    theirs = [short(f for f in t[:FRAMES_MAX] if f[1] not in SHIMS) for t in dumped(text) if t]
    threads = json.loads(out.stdout)["threads"]
    ours = sorted(short(script_frames(t)[:FRAMES_MAX]) for t in threads if script_frames(t))
    joined = sum(1 for t in threads if any(f.get("kind") == "script" for f in t.get("frames", [])))
    return theirs, ours, joined


def start(command, dump):
    if os.path.exists(dump):
        os.remove(dump)
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
    atexit.register(child.kill)
    for _ in range(1000):
        if os.path.exists(dump):
            break
        time.sleep(0.01)
    time.sleep(0.3)
    return child


def main():
    sonde, python, stops, program = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4:]
    counts = {"stacks": 0, "frames": 0, "joined": 0, "missing": 0, "wrong": 0}
    with tempfile.TemporaryDirectory() as folder:
        dump = os.path.join(folder, "dump")
        child = start([python, "-c", PRELUDE, dump] + program, dump)
        done = 0
        for i in range(20 * (stops + MORE)):
            if done == stops + (MORE if counts["wrong"] or counts["missing"] else 0):
                break
            if child.poll() is not None:
                child = start(child.args, dump)
            time.sleep(0.002 + i % 7 * 0.003)
            pair = compare_once(sonde, child, dump)
            if pair is None:
                continue
            done += 1
            theirs, ours, joined = pair
            counts["joined"] += joined
            for stack in sorted(theirs, key=len, reverse=True):
                counts["stacks"] += 1
                counts["frames"] += len(stack)
                if take(ours, stack) is None:
                    counts["missing"] += 1
                    print("theirs:", stack, flush=True)
            for stack in ours:
                counts["wrong"] += 1
                print("ours:", stack, flush=True)
    print(json.dumps(counts))
    differ = max(counts["wrong"], counts["missing"])
    sys.exit(0 if counts["stacks"] and 100 * differ <= counts["stacks"] else 1)


main()
