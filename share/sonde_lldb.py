# SPDX-License-Identifier: Apache-2.0
"""Commands for lldb: `command script import .../share/sonde/sonde_lldb.py`, in ~/.lldbinit for always.

    sonde block ADDRESS      what the block (closure) at an address is and holds
    sonde holders ADDRESS    which blocks hold an object, and whether it holds itself by them
    sonde stack [all]        the stack of the selected thread, or of all

ADDRESS is any expression. The commands run the program `sonde` on the process or core that is
debugged, which it reads from outside; nothing of it is changed. (An expression that calls a function runs
that, as everywhere in lldb.) The program is $SONDE, or the one of this file's installation, or the
one on PATH.
"""

import os
import shutil
import subprocess

import lldb


class Failure(Exception):
    pass


def program():
    here = os.path.dirname(os.path.realpath(__file__))
    installed = os.path.join(here, "..", "..", "bin", "sonde")
    for path in (os.environ.get("SONDE"), installed, shutil.which("sonde")):
        if path and os.access(path, os.X_OK):
            return path
    raise Failure("sonde: no program of that name: set SONDE to its path")


def run(result, *arguments):
    # A session of its own: Ctrl-C in lldb is lldb's.
    done = subprocess.run([program(), *arguments], stdin=subprocess.DEVNULL, capture_output=True,
                          encoding="utf-8", errors="replace", start_new_session=True)
    result.AppendMessage(done.stdout.rstrip("\n"))
    if done.returncode != 0 and done.stderr:
        raise Failure(done.stderr.rstrip())
    if done.stderr:
        result.AppendMessage(done.stderr.rstrip("\n"))


def is_core(context):
    return context.process.IsValid() and context.process.GetPluginName().endswith("-core")


def process(context):
    """The id of the live process that is debugged on this machine."""
    of = context.process
    if not of.IsValid() or of.GetState() in (lldb.eStateInvalid, lldb.eStateUnloaded,
                                             lldb.eStateExited, lldb.eStateDetached):
        raise Failure("sonde: no process is being debugged")
    platform = context.target.GetPlatform().GetName()
    if platform != "host":
        raise Failure("sonde: the process is reached by %s, it may be on another machine: "
                      "run sonde there" % platform)
    return str(of.GetProcessID())


def address(context, expression):
    expression = expression.strip()
    if not expression:
        raise Failure("sonde: which address?")
    try:
        return "0x%x" % int(expression, 0)
    except ValueError:
        pass
    scope = context.frame if context.frame.IsValid() else context.target
    value = scope.EvaluateExpression(expression)
    if value.GetError().Fail():
        raise Failure("sonde: %s" % value.GetError().GetCString().strip())
    if value.GetType().GetCanonicalType().GetTypeClass() in (
            lldb.eTypeClassStruct, lldb.eTypeClassClass, lldb.eTypeClassArray):
        found = value.GetLoadAddress()
        if found == lldb.LLDB_INVALID_ADDRESS:
            raise Failure("sonde: %s is nowhere in memory" % expression)
        return "0x%x" % found
    error = lldb.SBError()
    number = value.GetValueAsUnsigned(error)
    if error.Fail():
        raise Failure("sonde: %s is no address" % expression)
    return "0x%x" % number


def core_arguments(context):
    """The core file, and the program that lldb has for it."""
    core = getattr(context.process, "GetCoreFile", lambda: None)()
    if core is None or not core.IsValid():
        raise Failure("sonde: this lldb does not say which file the core is")
    name = context.target.GetExecutable()
    return ["--core", core.fullpath] + ([name.fullpath] if name.IsValid() else [])


def place(context, *option):
    """The arguments that say what is looked at; option: what stands before a process."""
    return core_arguments(context) if is_core(context) else [*option, process(context)]


def block(debugger, command, context, result, _):
    """What the block (closure) at an address is and holds: sonde block ADDRESS"""
    guarded(result, lambda: run(result, "blocks", *place(context, "--pid"),
                                address(context, command)))


def holders(debugger, command, context, result, _):
    """Which blocks hold an object, and whether it holds itself by them: sonde holders ADDRESS"""
    guarded(result, lambda: run(result, "holders", *place(context),
                                address(context, command)))


def stack(debugger, command, context, result, _):
    """The stack of the selected thread, or of all: sonde stack [all]"""
    guarded(result, lambda: print_stack(command.strip(), context, result))


def print_stack(which, context, result):
    if which not in ("", "all"):
        raise Failure("sonde stack: not understood: %s (nothing, or all)" % which)
    of = place(context)
    if which == "":
        if not context.thread.IsValid():
            raise Failure("sonde: no thread is selected")
        of += ["--thread", str(context.thread.GetThreadID())]
    run(result, "stacks", *of)


def guarded(result, command):
    try:
        command()
    except Failure as failure:
        result.SetError(str(failure))


def __lldb_init_module(debugger, _):
    debugger.HandleCommand(
        'command container add -o -h "What a block holds, who holds an object, and stacks." sonde')
    for name in ("block", "holders", "stack"):
        debugger.HandleCommand("command script add -o -f %s.%s sonde %s" % (__name__, name, name))
