# SPDX-License-Identifier: Apache-2.0
# Calls that are as short as calls can be. test_rate.c has the line of each call; frames of leaf_1
# and leaf_2, mid_1 and mid_2 are equally large, so they take each other's place in memory.
import sys


def leaf_1(x):
    return x


def leaf_2(x):
    return x


def mid_1(x):
    leaf_1(x)
    return leaf_1(x)


def mid_2(x):
    leaf_2(x)
    return leaf_2(x)


def top(x):
    mid_1(x)
    mid_2(x)
    mid_1(x)
    return leaf_2(x)


def main(rounds):
    while rounds != 0:
        top(1)
        mid_1(2)
        leaf_1(3)
        sorted((3, 1, 2), key=leaf_2)
        rounds -= 1


main(int(sys.argv[1]) if len(sys.argv) > 1 else -1)
