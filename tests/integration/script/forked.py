# SPDX-License-Identifier: Apache-2.0
# A process that fork() of C made, as servers do which have an interpreter built in: the interpreter
# has the number of the parent's thread. The parent prints the child's pid. forked.py [spins | locks]: it runs; it holds
# the interpreter's lock, for which another thread waits
import ctypes
import sys
import threading
import time


def waiter():
    while True:
        time.sleep(0.001)


def serve():
    while "spins" in sys.argv:
        pass
    if "locks" in sys.argv:
        threading.Thread(target=waiter).start()
        ctypes.PyDLL(None).sleep(600)
    time.sleep(600)


def main():
    child = ctypes.CDLL(None).fork()
    if child == 0:
        serve()
    print(child, flush=True)
    sys.stdin.read()


main()
