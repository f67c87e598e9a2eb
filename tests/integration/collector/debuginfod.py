# SPDX-License-Identifier: Apache-2.0
"""A debuginfod server on loopback, whose answer is that of the first part of the path.

debuginfod.py PORT LOG: a question GET /HOW/buildid/ID/debuginfo is a line "HOW ID" of LOG, and answered with the file
ID.debug of this folder, if it is there, else with 404. But HOW is: absent (404), fail (500 to the first two questions),
broken (500), busy (503 with Retry-After), other (other.debug for each id), cut (half the file), large (it says a size
of 1 TB), endless (bytes without an end), slow (a byte each 100 ms), hang (no answer), local (302 to the file:// of the
file), moved (302 to /file/...), loop (302 to itself), text (200 with a text).
"""
import collections
import http.server
import os
import sys
import threading
import time

log = os.open(sys.argv[2], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
questions, lock = collections.Counter(), threading.Lock()


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        """A client that reads no more is no fault."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class Answer(http.server.BaseHTTPRequestHandler):
    def begin(self, status, **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()

    def do_GET(self):
        how, _, build_id, _ = self.path.strip("/").split("/")
        with lock:
            questions[how, build_id] += 1
            number = questions[how, build_id]
        os.write(log, ("%s %s\n" % (how, build_id)).encode())
        path = "other.debug" if how == "other" else build_id + ".debug"
        if how == "hang":
            time.sleep(100)
        elif how == "broken" or (how == "fail" and number < 3):
            self.begin(500, Content_Length=0)
        elif how == "busy":
            self.begin(503, Content_Length=0, Retry_After=2)
        elif how == "local":
            self.begin(302, Location="file://" + os.path.abspath(path), Content_Length=0)
        elif how == "moved":
            self.begin(302, Location="/file/buildid/%s/debuginfo" % build_id, Content_Length=0)
        elif how == "loop":
            self.begin(302, Location=self.path, Content_Length=0)
        elif how == "large":
            self.begin(200, Content_Length=10**12)
            self.wfile.write(b"\x7fELF")
        elif how == "text":
            self.begin(200, Content_Length=5)
            self.wfile.write(b"hello")
        elif how == "endless":
            self.begin(200)
            while True:
                self.wfile.write(b"\0" * 65536)
        elif how == "slow":
            self.begin(200)
            while True:
                self.wfile.write(b"\0")
                time.sleep(0.1)
        elif how == "absent" or not os.path.exists(path):
            self.begin(404, Content_Length=0)
        else:
            with open(path, "rb") as file:
                data = file.read()
            self.begin(200, Content_Length=len(data))
            self.wfile.write(data[:len(data) // 2] if how == "cut" else data)

    def log_message(self, *values):
        pass


server = Server(("127.0.0.1", int(sys.argv[1])), Answer)
print("ready", flush=True)
server.serve_forever()
