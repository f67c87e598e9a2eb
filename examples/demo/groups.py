# SPDX-License-Identifier: Apache-2.0
"""Print the groups of a collector's first project.

groups.py URL KEY
"""
import json
import sys
import time
import urllib.request

url, key = sys.argv[1:]
ask = urllib.request.Request(url + "/api/projects/default/groups",
                             headers={"Authorization": "Bearer " + key})
for _ in range(100):  # a report is stored soon after it is acknowledged
    with urllib.request.urlopen(ask) as answer:
        groups = json.load(answer)["groups"]
    if groups:
        break
    time.sleep(0.1)
for group in groups:
    print("  group %d  %d times, %d ms: %s" % (group["number"], group["count"],
                                               group["total_ns"] // 1000000, group["title"]))
