// SPDX-License-Identifier: Apache-2.0

// A program that says which calls its main thread is in, and waits there, beside a goroutine that
// burns.
package main

import (
	"fmt"
	"os"
	"runtime"
)

//go:noinline
func deep(n int) int {
	for n == 0 {
	}
	return deep(n-1) + 1
}

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
	one := make([]byte, 1)
	n, _ := os.Stdin.Read(one)
	return n + x
}

type stack struct{ x [300]int }

//go:noinline
func (s *stack) large(x int) int {
	var more stack
	more.x[x] = wait(x)
	return more.x[s.x[0]] + 1
}

func main() {
	runtime.LockOSThread()
	go deep(5)
	func() { fmt.Println((&stack{}).large(1)) }()
}
