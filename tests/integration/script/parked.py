# SPDX-License-Identifier: Apache-2.0
# Event loops of two threads that wait, and what all their tasks wait for. It prints the tasks as the
# interpreter itself has them, then nothing changes any more.
import asyncio
import gc
import json
import os
import threading


async def nap(n):
    if n > 0:
        await nap(n - 1)
    else:
        await asyncio.sleep(600)


async def waits_for(box):
    await box[0]


async def serves(clients):
    await asyncio.gather(*[named(nap(i % 3), "client %d" % i) for i in range(clients)])


async def times_out():
    await asyncio.wait_for(named(waits_for([asyncio.Event().wait()]), "waits for an event"), 600)


async def stream(n):
    if n > 0:
        async for value in stream(n - 1):
            yield value
    await nap(1)
    yield n


async def reads():
    async for value in stream(2):
        print(value)


def named(coroutine, name):
    task = asyncio.ensure_future(coroutine)
    task.set_name(name)
    return task


def circle():
    first, second = [], []
    first.append(named(waits_for(second), "in a circle"))
    second.append(named(waits_for(first), "in a circle"))
    kept.append(first + second)  # nothing else refers to them: they would be collected


def frames(task):
    found, coroutine = [], task.get_coro()
    while True:
        if type(coroutine).__name__ == "async_generator_asend":
            coroutine = next(o for o in gc.get_referents(coroutine) if hasattr(o, "ag_frame"))
        kind = "ag_" if hasattr(coroutine, "ag_frame") else "cr_"
        frame, code = (getattr(coroutine, kind + name, None) for name in ("frame", "code"))
        if frame is None:
            return found
        found.insert(0, (code.co_name, os.path.basename(code.co_filename), frame.f_lineno))
        coroutine = getattr(coroutine, kind + "await")


async def main(clients, done):
    circle()
    asyncio.ensure_future(times_out())
    named(reads(), "reads a stream")
    asyncio.get_running_loop().call_later(0.5, lambda: done(asyncio.all_tasks()))
    await serves(clients)


def run(clients):
    ready = threading.Event()

    def done(tasks):
        dumps.append([{"name": t.get_name(), "frames": frames(t)} for t in tasks])
        ready.set()
    threading.Thread(target=lambda: asyncio.run(main(clients, done)), daemon=True).start()
    ready.wait()


dumps, kept = [], []
run(3000)
run(5)
print(json.dumps(dumps), flush=True)
threading.Event().wait()
