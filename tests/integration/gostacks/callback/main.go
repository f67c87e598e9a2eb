// SPDX-License-Identifier: Apache-2.0

// Go calls C, which calls Go, twice over; then Go burns.
package main

/*
extern int goCallback(int);
static int c_call(int n) { return goCallback(n) + 1; }
*/
import "C"

import "fmt"

//go:noinline
func burn() {
	fmt.Println("ready")
	for {
	}
}

//export goCallback
func goCallback(n C.int) C.int {
	if n == 0 {
		burn()
	}
	return C.c_call(n-1) + 1
}

func main() {
	fmt.Println(C.c_call(1))
}
