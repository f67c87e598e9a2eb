# SPDX-License-Identifier: Apache-2.0
"""Opens files from functions of many kinds (recorded_equals.py)."""
import functools
import os
import sys
import threading


def opens():
    os.close(os.open("/dev/null", os.O_RDONLY))  # without the interpreter's lock
    sys.audit("recorded"), os.getppid()  # with it


class Order:
    def save(self):
        opens()

    @property
    def total(self):
        with open("/dev/null") as file:
            return file.read()

    def __lt__(self, other):
        opens()
        return False

    @staticmethod
    def parts(depth):
        if depth:
            yield from Order.parts(depth - 1)
        opens()
        yield depth

    def __del__(self):
        opens()


def deep(n):
    if n == 0:
        opens()
    else:
        deep(n - 1)


async def waits(n):
    if n:
        await waits(n - 1)
    opens()


def runs(coroutine):
    try:
        coroutine.send(None)
    except StopIteration:
        pass


def fails():
    try:
        open("/no such file")
    except OSError:
        opens()
    finally:
        opens()


def made_anew(round):
    """Functions of other names and files at the same addresses: each is gone before the next is made."""
    for i in range(20):
        space = {"opens": opens}
        text = f"def made_{round:02}_{i:02}():\n{chr(10) * (i % 3)}    opens()\nmade_{round:02}_{i:02}()\n"
        exec(compile(text, f"<made {round:02} {i:02}>", "exec"), space)


@functools.lru_cache(maxsize=None)
def cached(n):
    opens()
    return n


def calls():
    order = Order()
    order.save(), order.save()
    str(order.total)
    sorted([Order(), Order()])
    list(Order.parts(5))
    # before 3.11 each has four native frames, of which the innermost and outermost are kept
    for n in (1, 10, 200, 900) if sys.version_info >= (3, 11) else (1, 10, 25):
        deep(n)
    runs(waits(3))
    fails()
    [opens() for _ in range(3)]
    list(map(lambda n: opens(), range(3)))
    cached(1)
    os.scandir("/").close()
    del order
    exec("opens()")


def main():
    sys.setrecursionlimit(3000)
    for round in range(5):
        calls()
        made_anew(round)
    threads = [threading.Thread(target=calls) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if hasattr(os, "fork") and os.fork() == 0:
        calls()
        os._exit(0)
    os.wait()


main()
