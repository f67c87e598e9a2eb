# SPDX-License-Identifier: Apache-2.0
# Threads, generators, coroutines, callbacks from C, exceptions in flight, recursion, tracing.
import asyncio
import functools
import json
import re
import sys
import threading


class Tree:
    def __init__(self, depth):
        self.kids = [Tree(depth - 1) for _ in range(2)] if depth else []

    def walk(self):
        yield self
        for kid in self.kids:
            yield from kid.walk()

    def __lt__(self, other):
        return id(self) < id(other)


def deep(n):
    if n == 0:
        raise ValueError("in flight")
    try:
        return deep(n - 1)
    except ValueError:
        if n % 3 == 0:
            raise
        return deep(n // 3)
    finally:
        functools.reduce(lambda a, b: a + b, range(5), n)


# Tracebacks show this name.
deep.__code__ = deep.__code__.replace(co_name="deeper")


def work(rounds=None):
    tree = Tree(5)
    while rounds is None or rounds > 0:
        sorted(tree.walk(), key=lambda t: len(t.kids))
        sorted(tree.walk())
        re.sub(r"\w+", lambda m: m.group(0).upper(), "some words to match " * 3)
        json.loads('{"a": [1, 2, {"b": 3}]}', object_hook=lambda d: list(d.items()))
        try:
            deep(17)
        except ValueError:
            pass
        rounds = rounds and rounds - 1


async def step(n):
    if n == 0:
        await asyncio.sleep(0)
        return sum(x * x for x in range(50))
    return await step(n - 1)


async def serve():
    async def each():
        for i in range(3):
            yield await step(i)

    while True:
        await asyncio.gather(*[step(i) for i in range(5)])
        [x async for x in each()]


def traced():
    sys.settrace(lambda frame, event, arg: None if event == "call" and frame.f_lineno % 2 else
                 lambda *a: None)
    work(20)
    sys.settrace(None)


if __name__ == "__main__":
    threading.Thread(target=lambda: asyncio.run(serve()), daemon=True).start()
    threading.Thread(target=work, daemon=True).start()
    while True:
        traced()
