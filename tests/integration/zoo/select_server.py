# SPDX-License-Identifier: Apache-2.0
"""A server over select whose descriptors grow as clients join: the first argument of select, which
is all that its wait shows, moves. select_server.py MILLISECONDS KIND...: sleep (in each client's
greeting), idle."""
import os, selectors, socket, sys, threading, time

duration = int(sys.argv[1]) / 1000
clients = 6
selector = selectors.SelectSelector()
server = socket.create_server(("127.0.0.1", 0))
selector.register(server, selectors.EVENT_READ)
kept = []
pending = [kind for kind in sys.argv[2:]]
joined = 0


def join_now_and_then():
    while joined < clients:
        time.sleep(0.4)
        kept.append(socket.create_connection(server.getsockname()))


def greet(connection):
    connection.sendall(b"hello\n")
    if joined % 2 == 0 and "sleep" in pending:
        begin = time.monotonic()
        time.sleep(duration)
        print("injected sleep", int((time.monotonic() - begin) * 1000), "ms", flush=True)


print("started", os.getpid(), flush=True)
threading.Thread(target=join_now_and_then, daemon=True).start()
end = time.monotonic() + (duration if "idle" in pending else 0.4 * clients + 3 * duration + 1)
while time.monotonic() < end:
    for key, _ in selector.select(0.05):
        if key.fileobj is server:
            connection, _ = server.accept()
            joined += 1
            selector.register(connection, selectors.EVENT_READ)
            greet(connection)
