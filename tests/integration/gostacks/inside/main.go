// SPDX-License-Identifier: Apache-2.0

// C that Go calls takes the stack of its own thread: the goroutine's calls stand in it as Go's
// runtime tells them.
package main

/*
#cgo LDFLAGS: -lsonde
#include <sonde/stack.h>

static int take(uint64_t *pcs, int capacity)
{
	uint8_t how[64];
	struct sonde_stack stack;
	if (sonde_stack_prepare() != SONDE_OK) {
		return -1;
	}
	sonde_stack_init(&stack, pcs, how, (uint32_t)capacity, 0);
	if (sonde_stack_capture(&stack, 0) != SONDE_OK || stack.end != SONDE_END_ROOT) {
		return -2 - (int)stack.end;
	}
	return (int)stack.count;
}
*/
import "C"

import (
	"fmt"
	"os"
	"runtime"
)

//go:noinline
func calls(n int) int {
	if n > 0 {
		return calls(n-1) + 1
	}
	var taken [64]C.uint64_t
	told := make([]uintptr, 64)
	told = told[2:runtime.Callers(0, told)]
	count := int(C.take(&taken[0], 64))
	from := count - len(told) + 1 // this function is at another place now
	for i := 1; i < len(told); i++ {
		if count < len(told) || uintptr(taken[from+i-1]) != told[i] {
			fmt.Printf("count %d, told %x, taken %x\n", count, told, taken[:])
			os.Exit(1)
		}
	}
	return 0
}

func main() {
	calls(5)
	done := make(chan int)
	go func() { done <- calls(3) }()
	<-done
}
