# SPDX-License-Identifier: Apache-2.0
"""report_server.py FOLDER MODE... [tls CERT KEY]: takes reports on loopback, and fails as it is told.

Prints its port. Request number n is treated as MODE number n says, and all further ones as the last
one. Reports are kept in FOLDER, each id once, decoded, as ID.sonde or ID.envelope; a line of JSON for each
request goes to FOLDER/log. It ends with the shell that started it, or after two minutes. MODE:

  ok, need (it lacks symbols), hotel (a login page), a status, a status:header:value, lost (stored, but
  no answer), hang, late (answers after a second), half (closes in the middle of the request), cut (in
  the middle of its answer), garbage (no HTTP), huge (an answer without end), headers (headers without
  end), nozstd (415 for zstd)"""
import gzip
import http.server
import io
import json
import os
import re
import signal
import ssl
import sys
import threading
import time

import zstandard

FOLDER = sys.argv[1]
arguments = sys.argv[2:]
TLS = None
if "tls" in arguments:
    at = arguments.index("tls")
    TLS = arguments[at + 1:at + 3]
    del arguments[at:at + 3]
MODES = arguments
LOCK = threading.Lock()
count = 0


def next_mode():
    global count
    with LOCK:
        count += 1
        return MODES[min(count, len(MODES)) - 1]


def decode(body, coding):
    if coding == "zstd":
        reader = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(body))
        return reader.read(64 << 20)
    return gzip.decompress(body) if coding == "gzip" else body


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    mode = ""

    def store(self, body):
        """What a collector does: one id, one report. Returns its id and whether it was new."""
        data = decode(body, self.headers.get("Content-Encoding"))
        if self.path.endswith("/envelope/"):
            name = json.loads(data.split(b"\n", 1)[0])["event_id"]
            path = os.path.join(FOLDER, name + ".envelope")
            assert re.search(r"sentry_key=\w+", self.headers["X-Sentry-Auth"])
        else:
            name = self.headers["Idempotency-Key"].strip('"')
            path = os.path.join(FOLDER, name + ".sonde")
            assert self.headers["Sonde-Protocol"] == "1"
        assert re.fullmatch("[0-9a-f]{32}", name), name
        try:
            with open(path, "xb") as f:
                f.write(data)
            return name, True
        except FileExistsError:
            return name, False

    def log(self, **more):
        line = dict(mode=self.mode, path=self.path, headers=dict(self.headers), **more)
        with LOCK, open(os.path.join(FOLDER, "log"), "a") as f:
            f.write(json.dumps(line) + "\n")

    def answer(self, status, body=b"", headers=()):
        self.send_response(status)
        if self.mode not in ("hotel",):
            self.send_header("Sonde-Protocol", "1")
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def endless(self, piece):
        try:
            while True:
                self.wfile.write(piece)
        except OSError:
            pass

    def do_POST(self):
        self.mode = mode = next_mode()
        size = int(self.headers["Content-Length"])
        if mode == "half":
            self.rfile.read(size // 2)
            self.log()
            self.close_connection = True
            self.connection.close()
            return
        body = self.rfile.read(size)
        coding = self.headers.get("Content-Encoding")
        if mode == "hang":
            self.log()
            time.sleep(100)
            return
        if mode == "nozstd" and coding == "zstd":
            self.log()
            self.answer(415, headers=[("Accept-Encoding", "gzip, identity")])
            return
        if mode in ("ok", "need", "lost", "late", "nozstd", "cut", "huge"):
            name, is_new = self.store(body)
            self.log(id=name, new=is_new, wire=len(body))
            good = {"id": name}
            if mode == "need":
                good["need_symbols"] = ["0123456789abcdef0123456789abcdef01234567"]
            if mode == "late":
                time.sleep(1)
            text = json.dumps(good).encode()
            if mode == "lost":
                self.close_connection = True
                self.connection.close()
            elif mode == "cut":
                self.wfile.write(b"HTTP/1.1 200 OK\r\nSonde-Protocol: 1\r\nContent-Length: 1000\r\n\r\n{")
                self.close_connection = True
            elif mode == "huge":
                self.wfile.write(b"HTTP/1.1 200 OK\r\nSonde-Protocol: 1\r\n\r\n")
                self.endless(b"x" * 65536)
                self.close_connection = True
            else:
                self.answer(200, text)
            return
        self.log()
        if mode == "hotel":
            self.answer(200, b"<html>Welcome, please log in</html>", [("Content-Type", "text/html")])
        elif mode == "garbage":
            self.wfile.write(b"\x16\x03\x01 this is no HTTP\r\n\r\n" * 3)
            self.close_connection = True
        elif mode == "headers":
            self.wfile.write(b"HTTP/1.1 200 OK\r\n")
            self.endless(b"X-Y: " + b"z" * 1000 + b"\r\n")
            self.close_connection = True
        else:
            status, _, header = mode.partition(":")
            name, _, value = header.partition(":")
            self.answer(int(status), headers=[(name, value)] if name else [])

    def log_message(self, *args):
        pass


def main():
    signal.alarm(120)
    os.makedirs(FOLDER, exist_ok=True)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if TLS:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*TLS)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    print(server.server_address[1], flush=True)
    parent = os.getppid()

    def end_with_parent():
        while os.getppid() == parent:
            time.sleep(0.2)
        os._exit(0)

    threading.Thread(target=end_with_parent, daemon=True).start()
    server.serve_forever()


main()
