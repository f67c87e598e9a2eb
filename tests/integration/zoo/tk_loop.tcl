# SPDX-License-Identifier: Apache-2.0
# The loop of tcl_loop.tcl with a window: each tick draws and asks the X server.
package require Tk
pack [label .text -textvariable ticks -width 20]
trace add variable ticks write {apply {args {winfo pointerx .; update idletasks}}}
source [file join [file dirname [info script]] tcl_loop.tcl]
exit
