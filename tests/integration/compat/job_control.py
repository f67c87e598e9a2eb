# SPDX-License-Identifier: Apache-2.0
"""Types at an interactive bash on a terminal of its own and prints what became of each job.

usage: job_control.py [PREFIX...]: PREFIX stands before each program that is run.
"""
import os, pty, re, select, shlex, signal, sys, time

prefix = " ".join(shlex.quote(word) for word in sys.argv[1:])
transcript = b""


def read_for(seconds, until=None):
    global transcript
    begin, seen = time.monotonic(), b""
    while time.monotonic() - begin < seconds:
        if select.select([terminal], [], [], 0.05)[0]:
            try:
                block = os.read(terminal, 65536)
            except OSError:
                break
            seen += block
            transcript += block
        if until and re.search(until, seen):
            return seen
    if until:
        sys.stdout.write("not seen: %s in %r\n" % (until.decode(), seen))
    return seen


def type_text(text):
    os.write(terminal, text.encode())


def type_control(key):
    """Then the shell shows its prompt; what is typed before it is there gets lost."""
    type_text(key)
    read_for(10, b"\\$ $")
    read_for(0.2)


def ask(command, what):
    """The answer of the shell to a command: the line that follows what we typed."""
    type_text("echo '<''%s' $(%s) '>'\n" % (what, command))
    seen = read_for(15, ("<%s .*>" % what).encode())
    found = re.search(("<%s (.*?)>" % what).encode(), seen)
    print(what, found.group(1).decode().strip() if found else "no answer")


def wait_for_program(name):
    """Until a process of that name exists below the shell."""
    for _ in range(300):
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                fields = open("/proc/%s/stat" % pid).read()
            except OSError:
                continue
            comm, rest = re.match(r"\d+ \((.*)\) (.*)", fields, re.S).groups()
            # session of the shell, and its parent is the shell itself
            if comm == name and int(rest.split()[1]) == shell:
                time.sleep(0.2)
                return int(pid)
        time.sleep(0.05)
    print("never started:", name)
    return 0


def gone(pid):
    try:
        return re.search(r"\) Z ", open("/proc/%d/stat" % pid).read()) is not None
    except OSError:
        return True


shell, terminal = pty.fork()
if shell == 0:
    os.environ["PS1"] = "$ "
    os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])
read_for(5, b"\\$ ")

type_text("%s cat\n" % prefix)
wait_for_program("cat")
type_text("hello\n")
read_for(5, b"hello\r\nhello\r\n")
type_control("\x03")
ask("echo $?", "interrupted")

type_text("%s sleep 100\n" % prefix)
wait_for_program("sleep")
type_control("\x1a")
ask("echo $?", "stopped")
ask("jobs | grep -c Stopped", "stopped-jobs")
type_text("fg\n")
read_for(1)
type_control("\x1a")
ask("echo $?", "stopped-again")
type_text("bg\n")
read_for(1)
ask("jobs | grep -c Running", "running-jobs")
type_text("fg\n")
read_for(1)
type_control("\x1c")
ask("echo $?", "quit")

type_text("%s cat &\n" % prefix)
wait_for_program("cat")
time.sleep(0.5)
ask("jobs | grep -c Stopped", "reads-in-the-background")
type_text("kill %%; fg\n")
read_for(1)
ask("jobs | wc -l", "jobs-left")

type_text("%s sh -c 'test -t 0 && test -t 1 && echo on a $((1+1)) terminal; tty >/dev/null && stty size'\n" % prefix)
read_for(10, b"on a 2 terminal")
type_text("%s sh -c 'exit 41'\n" % prefix)
read_for(1)
ask("echo $?", "exit")

type_text("%s sleep 101\n" % prefix)
child = wait_for_program("sleep")
os.close(terminal)
for _ in range(100):
    time.sleep(0.05)
    if gone(child):
        break
print("hung up:", "gone" if gone(child) else "still there")
try:
    os.kill(shell, signal.SIGKILL)
except OSError:
    pass
os.waitpid(shell, 0)
