# SPDX-License-Identifier: Apache-2.0
# A Tcl event loop with stalls: tcl_loop.tcl MILLISECONDS KIND...; burn, sleep, child, idle.
set duration [lindex $argv 0]
set kinds [lrange $argv 1 end]
set ticks 0
set until [expr {[clock milliseconds] + $duration}]
proc stall {kind} {
    global duration
    switch $kind {
        burn { set end [expr {[clock milliseconds] + $duration}]
               while {[clock milliseconds] < $end} {} }
        sleep { after $duration }
        child { exec sleep [expr {$duration / 1000.0}] }
    }
}
proc tick {} {
    global ticks kinds until done
    if {[lindex $kinds 0] eq "idle"} {
        if {[clock milliseconds] >= $until} { set done 1 }
    } elseif {[incr ticks] % 20 == 0} {
        if {[llength $kinds] == 0} { set done 1; return }
        set begin [clock milliseconds]
        stall [lindex $kinds 0]
        puts "injected [lindex $kinds 0] [expr {[clock milliseconds] - $begin}] ms"
        flush stdout
        set kinds [lrange $kinds 1 end]
    }
    after 20 tick
}
puts "started [pid]"
flush stdout
after 20 tick
vwait done
