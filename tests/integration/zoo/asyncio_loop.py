# SPDX-License-Identifier: Apache-2.0
"""An asyncio loop with stalls: asyncio_loop.py MILLISECONDS KIND...

Kinds: sleep, burn (in OpenSSL), flock, child, nested (900 ms of turns inside a callback: no stall),
idle (that long, no stall), late (that long before the loop turns)."""
import asyncio, fcntl, hashlib, os, subprocess, sys, tempfile, threading, time

duration = int(sys.argv[1]) / 1000


def burn():
    end = time.monotonic() + duration
    while time.monotonic() < end:
        hashlib.pbkdf2_hmac("sha256", b"password", b"salt", 20000)


def flock():
    with tempfile.NamedTemporaryFile() as shared:
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            own = open(shared.name)
            fcntl.flock(own, fcntl.LOCK_EX)
            os.write(writer, b"r")
            time.sleep(duration)
            os._exit(0)
        os.read(reader, 1)
        fcntl.flock(shared, fcntl.LOCK_EX)
        os.waitpid(child, 0)


def child():
    subprocess.run(["sleep", str(duration)])


stalls = {"sleep": lambda: time.sleep(duration), "burn": burn, "flock": flock, "child": child}


async def main():
    loop = asyncio.get_running_loop()
    print("started", os.getpid(), flush=True)
    for _ in range(int(os.environ.get("INJECT_AFTER", "0"))):
        await asyncio.gather(*(asyncio.sleep(i / 50) for i in range(20)))
    await asyncio.gather(*(asyncio.sleep(i / 50) for i in range(20)))
    for kind in sys.argv[2:]:
        if kind == "idle" or kind == "late":
            end = time.monotonic() + (duration if kind == "idle" else 1)
            while time.monotonic() < end:
                await asyncio.sleep(0.05)
        elif kind == "nested":
            def turn_inside():
                # as a modal dialog does: it waits as the loop does, from inside a callback
                end = time.monotonic() + 0.9
                while time.monotonic() < end:
                    loop._selector.select(0.02)
                print("nested", flush=True)
            loop.call_soon(turn_inside)
        else:
            begin = time.monotonic()
            stalls[kind]()
            print("injected", kind, int((time.monotonic() - begin) * 1000), "ms", flush=True)
        await asyncio.gather(*(asyncio.sleep(i / 50) for i in range(20)))


threading.Thread(target=time.sleep, args=(3600,), daemon=True).start()
if "late" in sys.argv:
    time.sleep(duration)
print("started", os.getpid(), flush=True)
asyncio.run(main())
