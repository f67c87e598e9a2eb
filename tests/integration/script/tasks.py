# SPDX-License-Identifier: Apache-2.0
# A task that blocks, and what awaits it, each by another way of asyncio.
import asyncio
import sys
import time


async def save():
    print("blocks", flush=True)
    time.sleep(600)


async def by_gather():
    await asyncio.gather(asyncio.sleep(600), named(save(), "save order 7"))


async def by_wait_for():
    await asyncio.wait_for(named(by_gather(), "gathers"), 600)


async def by_shield():
    await asyncio.shield(named(by_wait_for(), "has a long name: " + 25 * "\U0001f40d"))


async def by_wait():
    await asyncio.wait([named(by_shield(), "shields")])


async def by_group():
    if sys.version_info < (3, 11):
        await named(by_wait(), "waits \u00e9 \u20ac")
    else:
        async with asyncio.TaskGroup() as group:
            group.create_task(by_wait(), name="waits \u00e9 \u20ac")


def named(coroutine, name):
    task = asyncio.ensure_future(coroutine)
    task.set_name(name)
    task.add_done_callback(lambda task: print(task))
    return task


async def main():
    await named(by_group(), "groups")


asyncio.run(main())
