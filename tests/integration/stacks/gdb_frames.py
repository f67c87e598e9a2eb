# SPDX-License-Identifier: Apache-2.0
# Run inside gdb: every thread's physical frames. Inlined functions and tail calls, which gdb makes
# up from debug information, have no frame on the stack and are left out.
import gdb

for thread in gdb.selected_inferior().threads():
    thread.switch()
    print("thread %d" % thread.ptid[1])
    frame = gdb.newest_frame()
    while frame is not None:
        if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
            print("frame 0x%x %s" % (frame.pc(), frame.name() or "??"))
        frame = frame.older()
print("end")
