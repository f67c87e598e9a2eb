// SPDX-License-Identifier: Apache-2.0

// The same goroutines in a library for C (-buildmode=c-archive and c-shared). Its runtime comes into
// a process that has handlers and threads already, and starts threads of its own beside them.
package main

// static inline void call(void *function) { ((void (*)(void))function)(); }
import "C"

import (
	"runtime"
	"sync/atomic"
	"unsafe"
)

//go:noinline
func burn(turns *uint64) {
	for {
		*turns++
	}
}

var turns [3]uint64
var collections uint64

//export StartWork
func StartWork() {
	runtime.GOMAXPROCS(4)
	for i := range turns {
		go burn(&turns[i])
	}
	go func() {
		for {
			runtime.GC()
			atomic.AddUint64(&collections, 1)
		}
	}()
}

//export Collections
func Collections() uint64 {
	return atomic.LoadUint64(&collections)
}

// Is pc in the Go function of that name? A null name: in any.
//
//export IsFunction
func IsFunction(pc uint64, name *C.char) C.int {
	function := runtime.FuncForPC(uintptr(pc))
	if function != nil && (name == nil || function.Name() == C.GoString(name)) {
		return 1
	}
	return 0
}

// Call a function of C from a goroutine: of the calling thread, or of a thread of Go's.
//
//export CallC
func CallC(function unsafe.Pointer, elsewhere C.int) {
	if elsewhere == 0 {
		C.call(function)
		return
	}
	done := make(chan bool)
	go func() {
		runtime.LockOSThread()
		C.call(function)
		done <- true
	}()
	<-done
}

func main() {}
