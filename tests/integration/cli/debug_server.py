# SPDX-License-Identifier: Apache-2.0
"""debug_server.py MODE FILE LOG: a debuginfod server on loopback that has FILE for any build-id.

Prints its port; adds each path that is asked for to LOG. It ends with the shell that reads it, or
after a minute. MODE: hit, absent, redirect, hang (no answer), cut (less than it said it would
send), half (half the file, whole as an answer), endless (bytes without end)."""
import http.server
import os
import sys
import threading
import time

MODE, FILE, LOG = sys.argv[1:4]


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        with open(LOG, "a") as log:
            log.write(self.path + "\n")
        with open(FILE, "rb") as f:
            data = f.read()
        if MODE == "hang":
            time.sleep(60)
            return
        if MODE == "absent":
            self.send_error(404)
            return
        if MODE == "redirect" and not self.path.startswith("/moved"):
            self.send_response(302)
            self.send_header("Location", "/moved" + self.path)
            self.end_headers()
            return
        if MODE == "half":
            data = data[:len(data) // 2]
        self.send_response(200)
        self.send_header("Content-Type", "application/octet-stream")
        if MODE != "endless":
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if MODE == "cut":
            data = data[:len(data) // 2]
        self.wfile.write(data)
        while MODE == "endless":
            self.wfile.write(b"\0" * 65536)

    def log_message(self, *args):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client):
        pass


server = Server(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
threading.Timer(60, lambda: os._exit(1)).start()
server.serve_forever()
