# SPDX-License-Identifier: Apache-2.0
# Functions that are compiled, run and dropped: the next one's code object, name, file and line table
# often take the place of the last one's.
import time

NAMED = "def f_{0:06d}(n):\n    return spin(n)\n"
LINES = "def same(n):\n" + "{1}    return spin(n)\n"


def spin(n):
    end = time.perf_counter() + n
    while time.perf_counter() < end:
        pass


def call(source, file, name):
    functions = {"spin": spin}
    exec(compile(source, file, "exec"), functions)
    functions[name](0.002)


def main():
    i = 0
    while True:
        call(NAMED.format(i), "<made>", "f_%06d" % i)
        call(LINES.format(i, "    n\n" * (i % 7)), "<made>", "same")
        call(LINES.format(i, ""), "<made %06d>" % i, "same")
        i += 1


main()
