# SPDX-License-Identifier: Apache-2.0
"""A receiver of webhooks on loopback: checks each message against the hook's secret, and answers as its path says.

hooks.py LOG prints its port. A message to /NAME is checked with the secret in the file secret.NAME, and is a line
"NAME id type cause try ok|bad status" of LOG before it is answered. NAME: ok..., fail... (500 for the first two tries
of each id), hang... (no answer), gone... (410), redirect... (302 to /stolen), big... (a body without an end),
slow... (after 30 ms), busy... (503 with Retry-After, once for each id).
"""
import base64
import collections
import hashlib
import hmac
import http.server
import json
import os
import sys
import threading
import time

log = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
tries, lock = collections.Counter(), threading.Lock()


def secret_of(name):
    text = open("secret." + name, encoding="ascii").read().strip()
    assert text.startswith("whsec_")
    return base64.b64decode(text[6:], validate=True)


def is_signed(name, headers, body):
    """By the text of the specification, with Python's own HMAC."""
    stamp = headers["webhook-timestamp"]
    content = b"%s.%s.%s" % (headers["webhook-id"].encode(), stamp.encode(), body)
    mac = base64.b64encode(hmac.new(secret_of(name), content, hashlib.sha256).digest()).decode()
    return headers["webhook-signature"] == "v1," + mac and abs(time.time() - int(stamp)) < 300


class Receiver(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        name = self.path.strip("/")
        body = self.rfile.read(int(self.headers["Content-Length"]))
        message, key = json.loads(body), (name, self.headers["webhook-id"])
        with lock:
            tries[key] += 1
            number = tries[key]
        status = (500 if name.startswith("fail") and number < 3 else 410 if name.startswith("gone") else
                  302 if name.startswith("redirect") else 503 if name.startswith("busy") and number < 2 else 200)
        is_good = is_signed(name, self.headers, body) and self.headers["Content-Type"] == "application/json"
        os.write(log, ("%s %s %s %s %d %s %d\n" % (
            name, key[1], message["type"], message["data"].get("title", "-").replace(" ", "_"), number,
            "ok" if is_good else "bad", status)).encode())
        if name.startswith("hang"):
            time.sleep(100)
        if name.startswith("slow"):
            time.sleep(0.03)
        self.send_response(status)
        if name.startswith("big"):
            self.end_headers()
            while True:
                self.wfile.write(b"x" * 65536)
        self.send_header("Location", "/stolen")
        if status == 503:
            self.send_header("Retry-After", "1")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *values):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        """A sender that is killed, or that reads no more, is no fault."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


server = Server(("127.0.0.1", 0), Receiver)
print(server.server_port, flush=True)
server.serve_forever()
