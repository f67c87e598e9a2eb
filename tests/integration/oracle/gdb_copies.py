# SPDX-License-Identifier: Apache-2.0
# Run inside gdb: the physical frames of each process named in SONDE_COPIES, with their stack
# pointers. Inlined functions and tail calls have no frame on the stack and are left out.
import os

import gdb

gdb.execute("set debuginfod enabled off")
gdb.execute("set backtrace past-main on")
gdb.execute("set backtrace past-entry on")
gdb.execute("set pagination off")
for pid in os.environ["SONDE_COPIES"].split():
    try:
        gdb.execute("attach " + pid, to_string=True)
    except gdb.error as error:
        print("cannot attach to %s: %s" % (pid, error))
        continue
    print("process " + pid)
    frame = gdb.newest_frame()
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
    gdb.execute("detach", to_string=True)
