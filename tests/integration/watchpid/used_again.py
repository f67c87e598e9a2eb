# SPDX-License-Identifier: Apache-2.0
"""used_again.py LOOP: two children that run one after the other, with one pid. In a pid namespace of
its own."""
import subprocess
import sys


def start(ms):
    return subprocess.Popen([sys.argv[1], ms, "idle"], stdout=subprocess.DEVNULL)


print("started", flush=True)
first = start(sys.argv[2])
first.wait()
with open("/proc/sys/kernel/ns_last_pid", "w") as last:
    last.write(str(first.pid - 1))
second = start(sys.argv[2])
print("pids", first.pid, second.pid, flush=True)
second.wait()
