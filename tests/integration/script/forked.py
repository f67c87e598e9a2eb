# SPDX-License-Identifier: Apache-2.0
# A process that fork() of C made, as servers do which have an interpreter built in: the interpreter
# has the number of the parent's thread. The parent prints the child's pid. forked.py [spins]
import ctypes
import sys
import time


def serve():
    while "spins" in sys.argv:
        pass
    time.sleep(600)


def main():
    child = ctypes.CDLL(None).fork()
    if child == 0:
        serve()
    print(child, flush=True)
    sys.stdin.read()


main()
