# SPDX-License-Identifier: Apache-2.0
"""Runs a program, and writes the Python stack of each call that opens a file or follows an event
"recorded", as its audit hook sees it: [[function, file, line], ...], innermost first, one JSON text a
line.

recorded.py OUT PROGRAM [ARGUMENT...]
"""
import json
import os
import runpy
import sys

OUT = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND)


def note(event, _):
    if event not in ("open", "recorded"):
        return
    frame, stack = sys._getframe(1), []
    while frame is not None:
        code = frame.f_code
        stack.append([getattr(code, "co_qualname", code.co_name), code.co_filename, frame.f_lineno])
        frame = frame.f_back
    os.write(OUT, (json.dumps(stack) + "\n").encode())


sys.argv[:2] = []
sys.path.insert(0, os.path.dirname(sys.argv[0]))
sys.addaudithook(note)
runpy.run_path(sys.argv[0], run_name="__main__")
