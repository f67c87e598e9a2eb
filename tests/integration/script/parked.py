# SPDX-License-Identifier: Apache-2.0
# Event loops of two threads that wait, and what all their tasks wait for. It prints the tasks as the
# interpreter itself has them, then nothing changes any more.
import asyncio
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
    while getattr(coroutine, "cr_frame", None) is not None:
        file = os.path.basename(coroutine.cr_code.co_filename)
        found.insert(0, (coroutine.cr_code.co_name, file, coroutine.cr_frame.f_lineno))
        coroutine = coroutine.cr_await
    return found


async def main(clients, done):
    circle()
    asyncio.ensure_future(times_out())
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
