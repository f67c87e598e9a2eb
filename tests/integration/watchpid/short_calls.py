# SPDX-License-Identifier: Apache-2.0
"""An asyncio loop whose stalls are many short waits, or many reads: short_calls.py MILLISECONDS."""
import asyncio, os, sys, time

duration = int(sys.argv[1]) / 1000


def waits(end):
    while time.monotonic() < end:
        time.sleep(0.005)


def reads(end):
    with open("/etc/passwd", "rb", buffering=0) as file:
        while time.monotonic() < end:
            file.seek(0)
            file.read(100)


async def turn():
    for _ in range(20):
        await asyncio.sleep(0.02)


async def main():
    print("started", os.getpid(), flush=True)
    for _ in range(int(os.environ.get("INJECT_AFTER", "0"))):
        await turn()
    for kind in (waits, reads):
        begin = time.monotonic()
        kind(begin + duration)
        print("injected", kind.__name__, int((time.monotonic() - begin) * 1000), "ms", flush=True)
        await turn()

asyncio.run(main())
