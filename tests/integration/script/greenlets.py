# SPDX-License-Identifier: Apache-2.0
# Greenlets of several depths that switch to each other, and one that starts another.
import gevent
import greenlet


def spin(n):
    return sum(i * i for i in range(n))


def deep(n, rounds):
    if n > 0:
        return deep(n - 1, rounds)
    for _ in range(rounds):
        spin(3000)
        gevent.sleep(0)
    return sorted(range(200), key=lambda i: spin(i % 40))


def nested(n):
    if n == 0:
        return spin(20000)
    return greenlet.greenlet(nested).switch(n - 1)


def worker(depth):
    while True:
        deep(depth, 5)
        nested(depth % 4)


gevent.joinall([gevent.spawn(worker, 3 * i) for i in range(5)])
