# SPDX-License-Identifier: Apache-2.0
"""A loop of poll() that stalls twice: for a child whose command line has secrets, and in opening a
FIFO in a folder below HOME. `secrets.py FIFO SECONDS`"""
import os
import select
import subprocess
import sys
import threading
import time

fifo, seconds = sys.argv[1], float(sys.argv[2])
waits = select.poll()
read_end, write_end = os.pipe()
waits.register(read_end, select.POLLIN)


def turn(count):
    for _ in range(count):
        waits.poll(5)


def wait_for_child():
    subprocess.call(["sh", "-c", "sleep %f; exit 0" % seconds, "--password=hunter2secret",
                     "https://kimsecret:pass3secret@h/?key4secret=1"])


def open_fifo():
    def answer():
        time.sleep(seconds)
        os.close(os.open(fifo, os.O_WRONLY))
    thread = threading.Thread(target=answer)
    thread.start()
    os.close(os.open(fifo, os.O_RDONLY))
    thread.join()


turn(20)
wait_for_child()
turn(20)
open_fifo()
turn(20)
