# SPDX-License-Identifier: Apache-2.0
"""asyncio programs whose first turns stall: first_turns.py MILLISECONDS KIND

first: in the first turn. second: in the second. slept: after a sleep. server: while it starts a
server. task: in a task that is awaited. child: waits for a process. fork: forks, and the child goes
on. all: in the first four turns. again: in the first turn of each of three loops, one after
another. Not one of them, and no stalls: closed: works after each of several loops. once: works
after a loop that asked once, and stays open. nested: waits for something else in the first turn,
again and again."""
import asyncio, os, select, subprocess, sys, time

duration = int(sys.argv[1]) / 1000
kind = sys.argv[2]


def inject():
    begin = time.monotonic()
    if kind == "child":
        subprocess.run(["sleep", str(duration)])
    elif kind == "fork" and os.fork() == 0:
        time.sleep(duration / 2)
        os._exit(0)
    elif kind == "server":
        while time.monotonic() < begin + duration:
            pass
    else:
        time.sleep(duration)
    print("injected inject", int((time.monotonic() - begin) * 1000), "ms", flush=True)


def wait_elsewhere():
    poll = select.epoll()
    poll.register(os.pipe()[0], select.EPOLLIN)
    for _ in range(8):
        poll.poll(duration / 2)


async def stall():
    inject()
    await asyncio.sleep(0.05)


async def main():
    if kind == "second":
        await asyncio.sleep(0)
    elif kind == "slept":
        await asyncio.sleep(0.1)
    elif kind == "server":
        await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
    if kind == "nested":
        wait_elsewhere()
    elif kind == "task":
        await asyncio.create_task(stall())
    elif kind not in ("closed", "once"):
        for _ in range(4 if kind == "all" else 1):
            await stall()
    for _ in range(1 if kind in ("closed", "again") else 5):
        await asyncio.sleep(0.02)


if kind == "once":
    loop = asyncio.new_event_loop()
    loop.run_until_complete(asyncio.sleep(0))
    time.sleep(3 * duration)
else:
    for _ in range(3 if kind in ("again", "closed") else 1):
        asyncio.run(main())
        if kind == "closed":
            time.sleep(duration)
