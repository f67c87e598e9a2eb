# SPDX-License-Identifier: Apache-2.0
# One thread sleeps with the interpreter's lock (a PyDLL keeps it), one sleeps without, and the main
# thread waits for it.
import ctypes
import threading
import time


def sleeps_with_it():
    ctypes.PyDLL(None).sleep(600)


def sleeps_without():
    time.sleep(600)


threading.Thread(target=sleeps_without, daemon=True).start()
time.sleep(0.1)
threading.Thread(target=sleeps_with_it, daemon=True).start()
while True:
    time.sleep(0.01)
