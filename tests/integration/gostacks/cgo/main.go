// SPDX-License-Identifier: Apache-2.0

// The same where Go calls C, which waits.
package main

/*
#include <unistd.h>
static void c_wait(void) { char one; if (read(0, &one, 1) < 0) return; }
*/
import "C"

import (
	"fmt"
	"runtime"
)

//go:noinline
func wait(x int) int {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		fmt.Println(f.Function)
	}
	fmt.Println("ready")
	C.c_wait()
	return x
}

//go:noinline
func middle(x int) int { return wait(x) + 1 }

func main() {
	runtime.LockOSThread()
	go func() {
		for {
		}
	}()
	fmt.Println(middle(1))
}
