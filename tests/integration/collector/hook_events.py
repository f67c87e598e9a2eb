# SPDX-License-Identifier: Apache-2.0
"""Send events of errors, each of a group of its own, until each was acknowledged.

hook_events.py URL KEY FIRST COUNT: the errors are E<FIRST> and those that follow. Exits with 1 if the collector ends
meanwhile.
"""
import http.client
import json
import sys
import urllib.parse

url, key, first, count = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
connection = http.client.HTTPConnection(urllib.parse.urlparse(url).netloc, timeout=30)
for number in range(first, first + count):
    event = {"event_id": "%032x" % (number + 1), "level": "error", "platform": "native", "exception": {"values": [
        {"type": "E%d" % number, "value": "no", "stacktrace": {"frames": [{"function": "work", "in_app": True}]}}]}}
    body = '{"event_id":"%s"}\n{"type":"event"}\n%s\n' % (event["event_id"], json.dumps(event))
    try:
        connection.request("POST", "/api/default/envelope/", body, {
            "X-Sentry-Auth": "Sentry sentry_version=7, sentry_key=" + key})
        answer = connection.getresponse()
        answer.read()
    except (OSError, http.client.HTTPException):
        sys.exit(1)
    assert answer.status in (200, 201), answer.status
    print(number, flush=True)
