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


def print_frames():
    """Where gdb guesses, in code that it knows nothing of (JIT), it may lose its way, there or in the
    frame that it made up: "lost" and the last pc. Anywhere else its failure ends this script, and
    with it the comparison."""
    frame = gdb.newest_frame()
    known, pc = True, 0  # of the last frame that is physical
    while frame is not None:
        try:
            if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
                pc = frame.pc()
                if pc == 0 and frame.newer() is not None:  # clone3 of a thread that begins has no caller
                    return
                begin = start_of_function(frame, pc)
                known = begin != 0 or gdb.solib_name(pc) is not None
                print("frame 0x%x %s 0x%x" % (pc, frame.name() or "??", begin))
            frame = frame.older()
        except gdb.error as error:
            if known:
                raise
            print("lost 0x%x %s" % (pc, error))
            return


for thread in gdb.selected_inferior().threads():
    thread.switch()
    print("thread %d" % thread.ptid[1])
    print_frames()
print("end")
