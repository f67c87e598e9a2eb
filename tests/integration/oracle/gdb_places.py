# SPDX-License-Identifier: Apache-2.0
# Run inside gdb, connected to an emulator's stub: the physical frames at each address named in
# SONDE_PLACES, when control comes there first.
import os

import gdb

gdb.execute("set debuginfod enabled off")
gdb.execute("set sysroot /usr/aarch64-linux-gnu")
gdb.execute("set backtrace past-main on")
gdb.execute("set backtrace past-entry on")
gdb.execute("set pagination off")
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
    for _ in range(512):
        try:
            if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
                print("frame 0x%x 0x%x" % (frame.pc(), int(frame.read_register("sp"))))
            frame = frame.older()
        except Exception:
            break
        if frame is None:
            break
    print("end")
