# SPDX-License-Identifier: Apache-2.0
"""A tkinter loop with stalls: tkinter_loop.py MILLISECONDS KIND...; sleep, burn, child, idle."""
import subprocess, sys, time, tkinter

duration = int(sys.argv[1]) / 1000
kinds = sys.argv[2:]
root = tkinter.Tk()
text = tkinter.StringVar()
tkinter.Label(root, textvariable=text).pack()
ticks = 0
end = time.monotonic() + duration


def burn():
    until = time.monotonic() + duration
    while time.monotonic() < until:
        pass


stalls = {"sleep": lambda: time.sleep(duration), "burn": burn,
          "child": lambda: subprocess.run(["sleep", str(duration)])}


def tick():
    global ticks
    ticks += 1
    if kinds and kinds[0] == "idle":
        if time.monotonic() >= end:
            root.destroy()
            return
    else:
        text.set(str(ticks))
        root.winfo_pointerx()
        if ticks % 20 == 0:
            if not kinds:
                root.destroy()
                return
            kind = kinds.pop(0)
            begin = time.monotonic()
            stalls[kind]()
            print("injected", kind, round((time.monotonic() - begin) * 1000), "ms", flush=True)
    root.after(20, tick)


print("started", flush=True)
root.after(20, tick)
root.mainloop()
