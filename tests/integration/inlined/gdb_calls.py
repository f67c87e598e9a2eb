# SPDX-License-Identifier: Apache-2.0
# Run inside gdb: the frames of the first thread, inlined calls among them, without the tail calls
# that it infers.
import os

import gdb

frame = gdb.newest_frame()
while frame is not None:
    sal = frame.find_sal()
    if frame.type() != gdb.TAILCALL_FRAME:
        print("call\t0x%x\t%d\t%s\t%s\t%d" % (
            frame.pc(), frame.type() == gdb.INLINE_FRAME, frame.name() or "",
            os.path.basename(sal.symtab.filename) if sal.symtab else "", sal.line))
    frame = frame.older()
print("end")
