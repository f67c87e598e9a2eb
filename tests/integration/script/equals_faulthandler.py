# SPDX-License-Identifier: Apache-2.0
"""Stop a Python program at arbitrary instants, and compare the script frames that sonde reads with
those that the interpreter's own faulthandler writes when it goes on. The signal that asks for them
goes to the one thread that ran, so mostly to the one that has the interpreter's lock: until its
handler returns, no other thread moves. Where no thread or several ran, the stop does not count. Now
and then the thread that ran was about to wait for the lock (once in 900 stacks): after a difference
there are MORE stops, of which one in 100 stacks may differ.

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
MORE = 100
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


def is_handling(pid, tid):
    """Is the signal pending, or its handler running, which blocks it?"""
    try:
        with open(f"/proc/{pid}/task/{tid}/status") as status:
            sets = re.findall(r"^Sig(?:Pnd|Blk):\s*([0-9a-f]+)", status.read(), re.M)
    except OSError:
        return True  # it was killed: the process ends
    return any(int(s, 16) >> (signal.SIGUSR1 - 1) & 1 for s in sets)


def take(ours, stack):
    """Is it among ours? A frame that is being entered is one for faulthandler only."""
    stack = [frame for frame in stack if frame[1] != "<shim>"]
    for candidate in (stack, stack[1:]):
        for i, other in enumerate(ours):
            n = min(len(candidate), len(other))
            if n > 0 and candidate[:n] == other[:n] and (len(candidate) == len(other) or
                                                         n >= FRAMES_MAX - 3):
                return ours.pop(i)
    return None


def short(frames):
    return [(function, os.path.basename(file), line) for function, file, line in frames]


def compare_once(sonde, child, dump):
    stop(child.pid)
    running = runners(child.pid)
    if len(running) != 1:
        os.kill(child.pid, signal.SIGCONT)
        return None
    os.truncate(dump, 0)
    out = subprocess.run([sonde, "stacks", "--json", "--no-network", str(child.pid)],
                         capture_output=True, text=True)
    tgkill = 234 if os.uname().machine == "x86_64" else 131
    ctypes.CDLL(None).syscall(tgkill, child.pid, running[0], int(signal.SIGUSR1))
    os.kill(child.pid, signal.SIGCONT)
    text = ""
    while "Current thread" not in text or is_handling(child.pid, running[0]):
        if child.poll() is not None:
            return None  # 3.13.0's faulthandler: killed by a frame that is being made
        time.sleep(0.002)
        with open(dump) as file:
            text = file.read()
    with open(dump) as file:
        text = file.read()
    theirs = sorted(short(t[:FRAMES_MAX]) for t in dumped(text) if t)
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
            for stack in theirs:
                counts["stacks"] += 1
                counts["frames"] += len(stack)
                if take(ours, stack) is None:
                    counts["missing"] += 1
            if ours:
                counts["wrong"] += len(ours)
                print("ours:", ours[0][:8], "\ntheirs:", [t[:8] for t in theirs])
    print(json.dumps(counts))
    differ = max(counts["wrong"], counts["missing"])
    sys.exit(0 if counts["stacks"] and 100 * differ <= counts["stacks"] else 1)


main()
