# SPDX-License-Identifier: Apache-2.0
# Run inside gdb: the physical frames of each process named in SONDE_COPIES.
import os
import sys

import gdb

sys.dont_write_bytecode = True  # the tree may be read-only
sys.path.insert(0, os.path.dirname(__file__))
import gdb_physical

for pid in os.environ["SONDE_COPIES"].split():
    try:
        gdb.execute("attach " + pid, to_string=True)
    except gdb.error as error:
        print("cannot attach to %s: %s" % (pid, error))
        continue
    print("process " + pid)
    gdb_physical.show(gdb.newest_frame())
    gdb.execute("detach", to_string=True)
