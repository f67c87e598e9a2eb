# SPDX-License-Identifier: Apache-2.0
"""equals_gdb.py PROBE PROGRAM FOLDER [DEBUG_FOLDER]: are sonde's stacks of a stock program those of
gdb?

Starts PROGRAM (a key of PROGRAMS), stops it with SIGSTOP, reads all its threads with PROBE and with
gdb, with all threads stopped by PROBE itself, and from the core that gdb writes meanwhile: for each
thread the same number of frames and the same pc at every level, and from `sonde stacks` the same
functions. Below a frame without call frame information (JIT) both guess; there the comparison ends.
With LIVE instead of DEBUG_FOLDER nothing is stopped: the blocked threads are read passively, and
gdb comes right after. Exit 0: equal, 1: not, 77: no such program."""
import glob
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PROBE, PROGRAM, FOLDER = sys.argv[1:4]
SONDE = os.path.join(os.path.dirname(PROBE), "../../../cli/sonde")
LIVE = sys.argv[4:5] == ["LIVE"]
DEBUG = sys.argv[4] if len(sys.argv) > 4 and not LIVE else "/usr/lib/debug"
CACHE = os.environ.get("SONDE_CACHE") or os.path.join(
    os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "sonde")

PYTHON_BLOCKED = r"""
import threading, time, select, os
def deep(n, last):
    return last() if n == 0 else sorted([1], key=lambda _: deep(n - 1, last))
r, w = os.pipe()
lock = threading.Lock(); lock.acquire()
cond = threading.Condition()
def wait_cond():
    with cond: cond.wait()
for f in (lambda: os.read(r, 1), lambda: select.select([r], [], []), lock.acquire,
          lambda: time.sleep(1000), wait_cond, lambda: select.poll().poll(1000000)):
    threading.Thread(target=deep, args=(40, f), daemon=True).start()
deep(60, lambda: (print("ready", flush=True), time.sleep(1000)))
"""
PYTHON_RUNNING = r"""
import threading, re
def spin():
    while True: re.match(r"(a+)+$", "a" * 18 + "b")
for _ in range(3): threading.Thread(target=spin, daemon=True).start()
print("ready", flush=True); spin()
"""
NODE_BLOCKED = r"""
const { Worker } = require('worker_threads');
for (let i = 0; i < 2; i++) new Worker('setInterval(() => {}, 100000)', { eval: true });
setTimeout(() => console.log('ready'), 500); setInterval(() => {}, 100000);
"""
NODE_RUNNING = r"""
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
console.log('ready'); [1].forEach(() => { while (true) fib(25); });
"""
PERL = r"""
$| = 1;
sub deep { my $n = shift; if ($n == 0) { print "ready\n"; sleep 1000 }
           else { my @x = sort { deep($n - 1); 0 } (1, 2) } }
deep(30);
"""
SQL = """WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 100000000000)
SELECT count(*) FROM (SELECT x, (SELECT max(x) FROM c WHERE x < 5) FROM c ORDER BY x DESC);
"""

FRAME_POINTERS = r"""
#include <poll.h>
#include <pthread.h>
#include <unistd.h>
static void wait_here(void) { for (;;) usleep(100000000); }
__attribute__((noinline)) void deep(int n, void (*last)(void))
{
    if (n > 0) deep(n - 1, last); else last();
    __asm__ volatile("");
}
static void *work(void *arg) { deep(10, wait_here); return arg; }
static void wait_in_poll(void) { for (;;) poll(0, 0, -1); }
int main(void) { pthread_t t; pthread_create(&t, 0, work, 0); deep(3, wait_in_poll); return 0; }
"""


def frame_pointers(level):
    """A program that keeps frame pointers: a blocked thread shows none of them."""
    program = os.path.join(FOLDER, "program")
    subprocess.run(["gcc", level, "-g", "-fno-omit-frame-pointer", "-x", "c", "-", "-o", program],
                   input=FRAME_POINTERS.encode(), check=True)
    return start([program])


def wait_until(what, seconds=30):
    end = time.time() + seconds
    while not what():
        if time.time() > end:
            sys.exit("the program did not get ready")
        time.sleep(0.05)


def start(argv, ready=None, stdin=None, env=None, settle=0.3, **other):
    """Run a program in its own session; wait for its first line if it prints one."""
    if shutil.which(argv[0]) is None:
        print("skip: no", argv[0])
        sys.exit(77)
    child = subprocess.Popen(argv, stdin=subprocess.PIPE, cwd=FOLDER, env=env,
                             stdout=subprocess.PIPE if ready else subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL, start_new_session=True, **other)
    if stdin:
        child.stdin.write(stdin)
        child.stdin.flush()
    if ready and not child.stdout.readline():
        sys.exit("the program ended before it was ready")
    time.sleep(settle)
    return child


def unpacked(packages, program):
    """A program out of packages unpacked in the cache, with the libraries among them."""
    root = next((f for f in (os.path.join(CACHE, "deb", p, program) for p in packages)
                 if os.path.exists(f)), None)
    if root is None:
        print("skip: not fetched:", program, "(./dev setup test)")
        sys.exit(77)
    libs = [d for p in packages
            for d in glob.glob(os.path.join(CACHE, "deb", p, "usr/lib/*-linux-gnu"))]
    env = dict(os.environ, LD_LIBRARY_PATH=":".join(libs))
    return root, env


def serving(path):
    def connect():
        with socket.socket(socket.AF_UNIX) as s:
            return s.connect_ex(path) == 0
    return connect


def redis():
    packages = ["redis-tools", "redis-server", "libjemalloc2", "liblua5.1-0", "lua-cjson",
                "lua-bitop", "libhiredis0.14", "liblzf1"]
    program, env = unpacked(packages, "usr/bin/redis-check-rdb")
    os.symlink(program, os.path.join(FOLDER, "redis-server"))
    child = start([os.path.join(FOLDER, "redis-server"), "--port", "0", "--unixsocket",
                   FOLDER + "/redis.sock", "--dir", FOLDER, "--io-threads", "3"], env=env)
    wait_until(serving(FOLDER + "/redis.sock"))
    return child


def nginx():
    program, env = unpacked(["nginx"], "usr/sbin/nginx")
    with open(FOLDER + "/nginx.conf", "w") as f:
        f.write("daemon off; master_process off; pid nginx.pid; error_log error.log;\n"
                "events {} http { access_log off; client_body_temp_path t1; proxy_temp_path t2; "
                "fastcgi_temp_path t3; uwsgi_temp_path t4; scgi_temp_path t5; "
                "server { listen unix:%s/nginx.sock; } }\n" % FOLDER)
    child = start([program, "-p", FOLDER, "-c", FOLDER + "/nginx.conf"], env=env)
    wait_until(serving(FOLDER + "/nginx.sock"))
    return child


def git():
    subprocess.run(["git", "init", "-q", FOLDER + "/repo"], check=True)
    return start(["git", "-C", FOLDER + "/repo", "cat-file", "--batch"])


ASKED = struct.pack("!I", 196608) + b"user\0postgres\0database\0postgres\0\0"
START_UP = struct.pack("!I", len(ASKED) + 4) + ASKED


def accepting(path):
    """Does the server take sessions? It listens before that, and refuses them then."""
    def ask():
        with socket.socket(socket.AF_UNIX) as s:
            if s.connect_ex(path) != 0:
                return False
            s.sendall(START_UP)
            return s.recv(1) == b"R"
    return ask


def query(path, text):
    """A session of the database, by its protocol (version 3.0): after `text` when that has an
    answer, else (text begins with "@") while it is at it. Returns the socket and the server's pid."""
    s = socket.socket(socket.AF_UNIX)
    s.connect(path)
    s.sendall(START_UP)
    f, pid = s.makefile("rb"), 0

    def until_ready():
        nonlocal pid
        kind = b""
        while kind != b"Z":
            kind, size = struct.unpack("!cI", f.read(5))
            body = f.read(size - 4)
            if kind == b"K":
                pid = struct.unpack("!I", body[:4])[0]
            elif kind == b"E":
                sys.exit("postgres: " + body.decode(errors="replace"))
    until_ready()
    body = text.lstrip("@").encode() + b"\0"
    s.sendall(b"Q" + struct.pack("!I", len(body) + 4) + body)
    if not text.startswith("@"):
        until_ready()
    return s, pid


SESSIONS = []


def postgres():
    """The server (which refuses root) with sessions that are idle, that wait for a lock of the
    database, and that compute. All of it runs from a copy: the cache is another user's."""
    _, env = unpacked(["postgresql-15", "libpq5"], "usr/lib/postgresql/15/bin/postgres")
    top, other = FOLDER + "/pg", {}
    for package, part in (("postgresql-15", "usr/lib/postgresql/15"),
                          ("postgresql-15", "usr/share/postgresql/15"),
                          ("libpq5", "usr/lib")):
        shutil.copytree(os.path.join(CACHE, "deb", package, part), os.path.join(top, part),
                        dirs_exist_ok=True, symlinks=True)
    if os.geteuid() == 0:
        other = {"user": 65534, "group": 65534, "extra_groups": []}
        os.chmod(FOLDER, 0o755)
        os.chown(top, 65534, 65534)
    env["LD_LIBRARY_PATH"] = glob.glob(top + "/usr/lib/*-linux-gnu")[0]
    bin_folder, data, path = top + "/usr/lib/postgresql/15/bin/", top + "/data", top + "/.s.PGSQL.5432"
    made = subprocess.run([bin_folder + "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-N",
                           "--no-locale", "-E", "UTF8"], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, cwd=top, env=env, **other)
    if made.returncode != 0:
        sys.exit("initdb: " + made.stdout.decode(errors="replace")[-2000:])
    child = start([bin_folder + "postgres", "-D", data, "-k", top, "-c", "listen_addresses=", "-c",
                   "shared_buffers=1MB", "-c", "max_parallel_workers=0", "-c", "fsync=off"],
                  env=env, **other)
    wait_until(accepting(path))
    for text in ("select pg_advisory_lock(1)", "@select pg_advisory_lock(1)",
                 "@select count(*) from generate_series(1, 100000000000) a join pg_class on true"):
        SESSIONS.append(query(path, text))
    time.sleep(0.5)
    child.looked_at = [child.pid] + [pid for _, pid in SESSIONS]
    if LIVE:
        child.looked_at.pop()  # it computes
    return child


def gdb_itself():
    return start(["gdb", "-nx", "-q", "-ex", "set confirm off"])


PROGRAMS = {
    "python_blocked": lambda: start(["/usr/bin/python3", "-c", PYTHON_BLOCKED], ready=True),
    "python_running": lambda: start(["/usr/bin/python3", "-c", PYTHON_RUNNING], ready=True),
    "node_blocked": lambda: start(["/usr/bin/node", "-e", NODE_BLOCKED], ready=True),
    "node_running": lambda: start(["/usr/bin/node", "-e", NODE_RUNNING], ready=True),
    "perl": lambda: start(["/usr/bin/perl", "-e", PERL], ready=True),
    "sqlite3": lambda: start(["/usr/bin/sqlite3"], stdin=SQL.encode()),
    "git": git,
    "xz": lambda: start(["sh", "-c", "exec xz -T4 --block-size=1MiB -6 </dev/urandom >/dev/null"]),
    "bash": lambda: start(["/bin/bash", "-c", "f() { if [ $1 = 0 ]; then echo ready; read x; else "
                           "f $(($1 - 1)); fi; }; f 40"], ready=True),
    "gdb": gdb_itself,
    "redis": redis,
    "nginx": nginx,
    "postgres": postgres,
}


LOST = []  # [(tid, where and why)]: threads in which gdb lost its way


def parse(text):
    """{tid: (head, [(pc, rest)])}"""
    threads, frames, tid = {}, None, 0
    for line in text.splitlines():
        words = line.split(" ", 2)
        if words[0] == "thread":
            frames, tid = [], int(words[1])
            threads[tid] = (line, frames)
        elif words[0] == "frame" and frames is not None:
            frames.append((int(words[1], 16), words[2] if len(words) > 2 else ""))
        elif words[0] == "lost":
            LOST.append((tid, line))
    return threads


def run(argv):
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=200,
                          universal_newlines=True)
    run.errors = done.stderr
    return done.stdout


def differences(ours, theirs, what):
    bad = []
    if sorted(ours) != sorted(theirs):
        bad.append("%s: threads %s, gdb has %s" % (what, sorted(ours), sorted(theirs)))
    for tid in ours:
        a, b = ours[tid][1], theirs.get(tid, ("", []))[1]
        jit = next((i for i, f in enumerate(a) if f[1].endswith(" -")), None)
        for lost, line in LOST:
            if lost == tid and jit is None:
                bad.append("%s: gdb failed in a thread without JIT code: %d %s" % (what, tid, line))
        if jit is not None:
            a, b = a[:jit + 1], b[:jit + 1]
        if [f[0] for f in a] != [f[0] for f in b]:
            bad.append("%s: %s: %d frames, gdb has %d" % (what, ours[tid][0], len(a), len(b)))
            at = next((i for i in range(min(len(a), len(b))) if a[i][0] != b[i][0]),
                      min(len(a), len(b)))
            for i in range(max(0, at - 2), at + 4):
                bad.append("    %d %s | %s" % (
                    i, "0x%x %s" % a[i] if i < len(a) else "-",
                    "0x%x %s" % b[i] if i < len(b) else "-"))
    return bad


def compare_names(report, gdb, what):
    """The real command: the same frames, and functions that begin where gdb's symbols begin."""
    bad, named = [], 0
    for thread in report["threads"]:
        frames = [f for f in thread["frames"] if f.get("kind") != "script"]  # gdb has none
        theirs = gdb.get(thread["tid"], ("", []))[1]
        if any(f.get("image", 0) == 0 for f in frames):
            frames = frames[:[f.get("image", 0) for f in frames].index(0) + 1]
        elif len(frames) != len(theirs):
            bad.append("%s: thread %d: %d frames, gdb has %d" % (what, thread["tid"], len(frames),
                                                                 len(theirs)))
        for f, (pc, rest) in zip(frames, theirs):
            name, start = rest.rsplit(" ", 1)
            if "function" not in f or int(start, 16) == 0:
                continue  # one of us has no symbol there
            named += 1
            if pc - f["function_offset"] != int(start, 16):
                bad.append("%s: 0x%x: %s+%d, gdb: %s+%d" % (what, pc, f["function"],
                                                            f["function_offset"], name,
                                                            pc - int(start, 16)))
    print("%s: %d functions compared" % (what, named))
    return bad


def is_stopped(pid):
    for task in os.listdir("/proc/%d/task" % pid):
        with open("/proc/%d/task/%s/stat" % (pid, task)) as f:
            if f.read().rsplit(")", 1)[1].split()[0] != "T":
                return False
    return True


def is_passive(head):
    return head.split()[3] == "passive"


def look_live(pid):
    """A server that waits runs its timers now and then: it is read again, between two of them."""
    for _ in range(20):
        live = parse(run([PROBE, str(pid)]))
        if not LIVE or all(is_passive(head) for head, _ in live.values()):
            break
        time.sleep(0.03)
    return live


def compare(pid):
    core = os.path.join(FOLDER, "core.%d" % pid)
    LOST.clear()
    if not LIVE:
        os.kill(pid, signal.SIGSTOP)
        wait_until(lambda: is_stopped(pid))
    live = look_live(pid)
    report = json.loads(run([SONDE, "stacks", "--json", str(pid)]))
    text = run(["gdb", "-nx", "-batch", "-ex", "set debuginfod enabled off", "-ex",
                "set debug-file-directory " + DEBUG, "-ex", "set auto-load python-scripts off",
                "-ex", "set backtrace past-main on", "-ex", "set backtrace past-entry off", "-ex",
                "set backtrace limit unlimited", "-ex", "attach %d" % pid, "-ex",
                "source " + os.path.join(HERE, "gdb_frames.py")] +
               ([] if LIVE else ["-ex", "generate-core-file " + core]))
    if "\nend" not in text:
        sys.exit("gdb failed: " + run.errors[-1000:] + text[-2000:])
    gdb = parse(text)
    bad = differences(live, gdb, "live")
    bad += compare_names(report, gdb, "sonde stacks")
    bad += differences(parse(run([PROBE, "--stop", str(pid)])), gdb, "stop")
    report = json.loads(run([SONDE, "stacks", "--json", "--stop", str(pid)]))
    bad += compare_names(report, gdb, "sonde stacks --stop")
    if LIVE:
        bad += ["not passive: " + h for h, _ in live.values() if not is_passive(h)]
    else:
        dump = parse(run([PROBE, "--core", core, os.readlink("/proc/%d/exe" % pid)]))
        bad += differences(dump, gdb, "core")
        report = json.loads(run([SONDE, "stacks", "--json", "--core", core]))
        bad += compare_names(report, gdb, "sonde stacks --core")
    frames = [len(f) for _, f in live.values()]
    print("%s: %d threads, %d frames, deepest %d" % (PROGRAM, len(frames), sum(frames),
                                                     max(frames or [0])))
    if not frames or min(frames) < 1:
        bad.append("a thread without a frame")
    if LOST:
        print("gdb lost its way in JIT code of %d threads: %s" % (len(LOST), LOST[0][1]))
    print("\n".join(bad[:60]))
    return 1 if bad else 0


def end(child):
    """A server's sessions are not in its group, and it alone removes what it shares with them."""
    pids = getattr(child, "looked_at", [child.pid])
    for pid in pids:
        os.kill(pid, signal.SIGCONT)
    if len(pids) > 1:
        child.send_signal(signal.SIGQUIT)
        try:
            child.wait(10)
            return
        except subprocess.TimeoutExpired:
            pass
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def main():
    name, _, level = PROGRAM.partition("-")
    child = frame_pointers("-" + level) if name == "frame_pointers" else PROGRAMS[PROGRAM]()
    try:
        return max([compare(pid) for pid in getattr(child, "looked_at", [child.pid])])
    finally:
        end(child)


sys.exit(main())
