# SPDX-License-Identifier: Apache-2.0
# Run inside gdb, connected to an emulator's stub: the physical frames at each address named in
# SONDE_PLACES, when control comes there first.
import os
import sys

import gdb

sys.dont_write_bytecode = True  # the tree may be read-only
sys.path.insert(0, os.path.dirname(__file__))
import gdb_physical

gdb.execute("set sysroot /usr/aarch64-linux-gnu")
gdb.execute("target remote " + os.environ["SONDE_STUB"], to_string=True)
left = {int(place, 16) for place in os.environ["SONDE_PLACES"].split()}
for place in left:
    gdb.execute("tbreak *%#x" % place, to_string=True)
while left:
    try:
        gdb.execute("continue", to_string=True)
        frame = gdb.newest_frame()
    except gdb.error:
        break
    left.discard(frame.pc())
    print("place %#x" % frame.pc())
    gdb_physical.show(frame)
