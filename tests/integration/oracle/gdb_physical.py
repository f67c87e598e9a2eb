# SPDX-License-Identifier: Apache-2.0
# Imported by the scripts that run inside gdb: the physical frames of a stack, with their stack
# pointers. Inlined functions and tail calls have no frame on the stack and are left out.
import gdb

gdb.execute("set debuginfod enabled off")
gdb.execute("set backtrace past-main on")
gdb.execute("set backtrace past-entry on")
gdb.execute("set pagination off")


def show(frame):
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
