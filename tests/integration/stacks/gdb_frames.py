# SPDX-License-Identifier: Apache-2.0
# Run inside gdb: every thread's physical frames. Inlined functions and tail calls, which gdb makes
# up from debug information, have no frame on the stack and are left out.
import re

import gdb


def start_of_function(frame, pc):
    """Where the symbol begins that covers the frame's code: for a return address, the call's."""
    at = pc if frame.newer() is None or frame.newer().type() == gdb.SIGTRAMP_FRAME else pc - 1
    text = gdb.execute("info symbol 0x%x" % at, to_string=True)
    found = re.match(r"\S.*? (?:\+ (\d+) )?in section", text)
    return 0 if found is None else at - int(found.group(1) or 0)


for thread in gdb.selected_inferior().threads():
    thread.switch()
    print("thread %d" % thread.ptid[1])
    frame = gdb.newest_frame()
    while frame is not None:
        try:
            if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
                pc = frame.pc()
                name = frame.name() or "??"
                print("frame 0x%x %s 0x%x" % (pc, name, start_of_function(frame, pc)))
            frame = frame.older()
        except Exception:  # gdb guesses in code that it knows nothing of (JIT), and may lose its way
            frame = None
print("end")
