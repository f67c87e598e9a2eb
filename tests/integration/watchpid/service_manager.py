# SPDX-License-Identifier: Apache-2.0
"""A service manager as systemd.service(5) describes it: service_manager.py PERIOD_MS FOLDER [COMMAND...].

COMMAND is what stands before the service's own in ExecStart; its standard error goes to FOLDER/watch. As with
NotifyAccess=main, only notifications of the process that was started count. The service is ended by SIGABRT
when it has said nothing for the period. Then the words that FOLDER/watch has by that time are looked for."""
import os
import signal
import socket
import struct
import subprocess
import sys

period_ms, folder = int(sys.argv[1]), sys.argv[2]
path = folder + "/notify"
listening = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
listening.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
listening.bind(path)
script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "service.py")
# systemd sets WATCHDOG_PID in the child
start = 'export WATCHDOG_PID=$$; exec "$@"'
log = open(folder + "/watch", "a") if len(sys.argv) > 3 else None
service = subprocess.Popen(["sh", "-c", start, "sh", *sys.argv[3:], sys.executable, script, folder + "/hang"],
                           env={**os.environ, "NOTIFY_SOCKET": path, "WATCHDOG_USEC": str(period_ms * 1000)},
                           stderr=log)


def receive():
    """A notification of the service's main process."""
    while True:
        message, ancillary, _, _ = listening.recvmsg(100, socket.CMSG_SPACE(12))
        if struct.unpack("iii", ancillary[0][2])[0] == service.pid:
            return message
        print("another process said", message, flush=True)


receive()
print("service", service.pid, flush=True)
listening.settimeout(period_ms / 1000)
try:
    while receive() == b"WATCHDOG=1":
        pass
except TimeoutError:
    with open(folder + "/watch") as watch:
        text = watch.read()
    service.send_signal(signal.SIGABRT)
    for word in "the watchdog of the service allows", "hang_for_good":
        print("before the end:" if word in text else "missing:", word)
print("ended by", -service.wait())
