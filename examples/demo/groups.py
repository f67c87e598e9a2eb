# SPDX-License-Identifier: Apache-2.0
"""Print the groups of a collector's first project, when there is one of each KIND.

groups.py URL KEY KIND...
"""
import json
import sys
import time
import urllib.request

url, key, *kinds = sys.argv[1:]
ask = urllib.request.Request(url + "/api/projects/default/groups",
                             headers={"Authorization": "Bearer " + key})
for _ in range(100):  # a report is stored soon after it is acknowledged
    with urllib.request.urlopen(ask) as answer:
        groups = json.load(answer)["groups"]
    if set(kinds) <= {group["kind"] for group in groups}:
        break
    time.sleep(0.1)
for group in groups:
    lost = ", %d ms" % (group["total_ns"] // 1000000) if group["total_ns"] else ""
    print("  group %d  %s  %d times%s: %s" % (group["number"], group["kind"], group["count"], lost, group["title"]))
