# SPDX-License-Identifier: Apache-2.0
"""Send one report under new ids from several threads; append acknowledged ids to a file.

senders.py URL KEY REPORT FILE [MOST]

Until killed, or until MOST were sent by each thread: a database that is slower than a collector is to
be behind by no more than that.
"""
import http.client
import itertools
import os
import sys
import threading
import urllib.parse

url, key, report, path = sys.argv[1:5]
most = int(sys.argv[5]) if len(sys.argv) > 5 else None
body = open(report, "rb").read()
out = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
host = urllib.parse.urlparse(url).netloc


def send():
    connection = http.client.HTTPConnection(host, timeout=20)
    for _ in itertools.count() if most is None else range(most):
        name = os.urandom(16).hex()
        try:
            connection.request("POST", "/api/reports", body, {
                "Authorization": "Bearer " + key, "Idempotency-Key": '"%s"' % name,
                "Sonde-Protocol": "1"})
            answer = connection.getresponse()
            answer.read()
        except (OSError, http.client.HTTPException):
            return
        if answer.status == 201 and answer.getheader("Sonde-Protocol") == "1":
            os.write(out, (name + "\n").encode())


threads = [threading.Thread(target=send) for _ in range(6)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
