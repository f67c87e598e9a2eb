# SPDX-License-Identifier: Apache-2.0
# Tasks, each created by another function, of which the innermost one blocks. Each is created in the
# line that has its name. created.py [callback]: asyncio itself creates the innermost one, in a callback.
import asyncio
import sys
import time


async def blocks():
    print("blocks", flush=True)
    time.sleep(600)


class Server:
    def accept(self, loop):
        return loop.create_task(blocks(), name="connection")

    async def serve(self):
        await self.accept(asyncio.get_running_loop())


async def starts():
    await asyncio.create_task(Server().serve(), name="server")


async def waits():
    made = [asyncio.create_task(starts(), name="starts %d" % i) for i in range(1)]
    await asyncio.gather(*made)


async def main():
    if "callback" in sys.argv:
        asyncio.get_running_loop().call_soon(asyncio.ensure_future, blocks())
        await asyncio.sleep(600)
    await asyncio.wait_for(asyncio.create_task(waits(), name="waiting"), 600)


asyncio.run(main(), debug="plain" not in sys.argv)  # Task-1
