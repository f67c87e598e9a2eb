# SPDX-License-Identifier: Apache-2.0
"""Commands for gdb: `source .../share/sonde/sonde_gdb.py`, in ~/.gdbinit for always.

    sonde block ADDRESS      what the block (closure) at an address is and holds
    sonde holders ADDRESS    which blocks hold an object, and whether it holds itself by them
    sonde stack [all]        the stack of the selected thread, or of all

ADDRESS is any expression. The commands run the program `sonde` on the process or core that is
debugged, which it reads from outside: nothing of it is called or changed. The program is $SONDE, or the one
of this file's installation, or the one on PATH.
"""

import os
import re
import shutil
import subprocess

import gdb

# Known only while this file is read.
INSTALLED = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "bin", "sonde")


def program():
    for path in (os.environ.get("SONDE"), INSTALLED, shutil.which("sonde")):
        if path and os.access(path, os.X_OK):
            return path
    raise gdb.GdbError("sonde: no program of that name: set SONDE to its path")


def run(*arguments):
    # A session of its own: Ctrl-C in gdb is gdb's.
    done = subprocess.run([program(), *arguments], stdin=subprocess.DEVNULL, capture_output=True,
                          encoding="utf-8", errors="replace", start_new_session=True)
    gdb.write(done.stdout)
    if done.returncode != 0 and done.stderr:
        raise gdb.GdbError(done.stderr.rstrip())
    gdb.write(done.stderr)


def connection():
    """How the process is reached: "native", "core", "remote", ...; None: there is none."""
    inferior = gdb.selected_inferior()
    target = gdb.execute("info files", to_string=True)
    if "Local core dump file:" in target:
        return "core"
    if inferior.pid == 0:
        return None
    of = getattr(inferior, "connection", None)  # gdb 12
    return of.type if of is not None else "native"


def process():
    """The id of the live process that is debugged on this machine."""
    kind = connection()
    if kind is None:
        raise gdb.GdbError("sonde: no process is being debugged")
    if kind != "native":
        raise gdb.GdbError("sonde: the process is reached by %s, it may be on another machine: "
                           "run sonde there" % kind)
    return str(gdb.selected_inferior().pid)


def address(expression):
    if not expression.strip():
        raise gdb.GdbError("sonde: which address?")
    try:
        value = gdb.parse_and_eval(expression)
    except gdb.error as error:
        raise gdb.GdbError("sonde: %s" % error)
    if value.type.strip_typedefs().code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_ARRAY):
        value = value.address
        if value is None:
            raise gdb.GdbError("sonde: %s is nowhere in memory" % expression)
    try:
        return "0x%x" % (int(value.cast(gdb.lookup_type("unsigned long"))) & (2**64 - 1))
    except gdb.error as error:
        raise gdb.GdbError("sonde: %s is no address: %s" % (expression, error))


class Sonde(gdb.Command):
    """What a block holds, who holds an object, and stacks, read by the program sonde."""

    def __init__(self):
        super().__init__("sonde", gdb.COMMAND_DATA, gdb.COMPLETE_NONE, True)


class SondeBlock(gdb.Command):
    """What the block (closure) at an address is and holds: sonde block ADDRESS"""

    def __init__(self):
        super().__init__("sonde block", gdb.COMMAND_DATA, gdb.COMPLETE_EXPRESSION)

    def invoke(self, argument, from_tty):
        of = core_arguments() if connection() == "core" else ["--pid", process()]
        run("blocks", *of, address(argument))


class SondeHolders(gdb.Command):
    """Which blocks hold an object, and whether it holds itself by them: sonde holders ADDRESS"""

    def __init__(self):
        super().__init__("sonde holders", gdb.COMMAND_DATA, gdb.COMPLETE_EXPRESSION)

    def invoke(self, argument, from_tty):
        of = core_arguments() if connection() == "core" else [process()]
        run("holders", *of, address(argument))


def core_arguments():
    """The core file, and the program that gdb has for it."""
    found = re.search(r"Local core dump file:\s*`(.*?)', file type",
                      gdb.execute("info files", to_string=True))
    if not found:
        raise gdb.GdbError("sonde: gdb does not say which file this core is")
    name = gdb.current_progspace().filename
    return ["--core", found.group(1)] + ([name] if name else [])


class SondeStack(gdb.Command):
    """The stack of the selected thread, or of all: sonde stack [all]"""

    def __init__(self):
        super().__init__("sonde stack", gdb.COMMAND_STACK, gdb.COMPLETE_NONE)

    def invoke(self, argument, from_tty):
        if argument.strip() not in ("", "all"):
            raise gdb.GdbError("sonde stack: not understood: %s (nothing, or all)" % argument)
        of = core_arguments() if connection() == "core" else [process()]
        if argument.strip() == "":
            thread = gdb.selected_thread()
            if thread is None:
                raise gdb.GdbError("sonde: no thread is selected")
            of += ["--thread", str(thread.ptid[1] or thread.ptid[0])]
        run("stacks", *of)


Sonde()
SondeBlock()
SondeHolders()
SondeStack()
