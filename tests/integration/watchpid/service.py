# SPDX-License-Identifier: Apache-2.0
"""A service that tells NOTIFY_SOCKET that it is alive, each 20 ms, until the file sys.argv[1] is there.
Then it hangs."""
import os
import select
import socket
import sys
import time


def hang_for_good():
    time.sleep(1000)


notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
other_end, end = socket.socketpair()
while not os.path.exists(sys.argv[1]):
    select.select([end], [], [], 0.02)
    notify.sendto(b"WATCHDOG=1", os.environ["NOTIFY_SOCKET"])
hang_for_good()
