// SPDX-License-Identifier: Apache-2.0

// Go stops its goroutines with the signal that sonde asks threads with (SIGURG): one that calls
// nothing can be stopped in no other way, and every collection of garbage stops them all. A signal
// that is lost once hangs the program for good, because Go does not send a second.
package main

// #include "take.h"
import "C"

import (
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
	"time"
)

//go:noinline
func burn(turns *uint64) {
	for {
		*turns++
	}
}

var collections uint64

func collect() {
	for {
		runtime.GC()
		atomic.AddUint64(&collections, 1)
	}
}

func main() {
	var turns [3]uint64
	var taken C.struct_taken
	var held, burning, called, consistent int
	runtime.GOMAXPROCS(4)
	before := C.action_now()
	for i := range turns {
		go burn(&turns[i])
	}
	go collect()
	few := func() bool { // as where other programs have the processors
		return burning <= 10 || consistent == 0 || atomic.LoadUint64(&collections) == 0
	}
	for round := 0; round < 100 || (round < 10000 && few()); round++ {
		C.take(&taken)
		if taken.status != 0 {
			fmt.Println("snapshot:", taken.status)
			os.Exit(1)
		}
		consistent += int(taken.consistent)
		for i := 0; i < int(taken.held); i++ {
			held++
			inner := runtime.FuncForPC(uintptr(taken.pcs[i][0]))
			outer := runtime.FuncForPC(uintptr(taken.pcs[i][2]))
			if inner != nil && inner.Name() == "main.burn" {
				burning++
				if outer != nil && outer.Name() == "runtime.goexit" {
					called++
				}
			}
		}
	}
	stood := atomic.LoadUint64(&collections)
	for atomic.LoadUint64(&collections) < stood+5 {
		time.Sleep(time.Millisecond)
	}
	for C.action_now() != before { // while one of Go's signals is pending ours stays set
		time.Sleep(time.Millisecond)
		C.take(&taken)
	}
	fmt.Printf("held %d burning %d called %d consistent %d collections %d\n", held, burning, called,
		consistent, stood)
}
