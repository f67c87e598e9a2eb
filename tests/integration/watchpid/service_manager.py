# SPDX-License-Identifier: Apache-2.0
"""A service manager as systemd.service(5) describes it: service_manager.py PERIOD_MS FOLDER.

The service is ended by SIGABRT when it has said nothing for the period. Then the words that FOLDER/watch
has by that time are looked for."""
import os
import signal
import socket
import subprocess
import sys

period_ms, folder = int(sys.argv[1]), sys.argv[2]
path = folder + "/notify"
listening = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
listening.bind(path)
env = {**os.environ, "NOTIFY_SOCKET": path, "WATCHDOG_USEC": str(period_ms * 1000)}
script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "service.py")
service = subprocess.Popen([sys.executable, script, folder + "/hang"], env=env)
listening.recv(100)
print("service", service.pid, flush=True)
listening.settimeout(period_ms / 1000)
try:
    while listening.recv(100) == b"WATCHDOG=1":
        pass
except TimeoutError:
    with open(folder + "/watch") as watch:
        text = watch.read()
    service.send_signal(signal.SIGABRT)
    for word in "the watchdog of the service allows", "hang_for_good":
        print("before the end:" if word in text else "missing:", word)
service.wait()
