// SPDX-License-Identifier: Apache-2.0
/* loads LIBRARY N: without blocks itself. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    void *handle = argc > 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    int (*run)(unsigned) = handle != NULL ? (int (*)(unsigned))dlsym(handle, "run_blocks") : NULL;
    if (run == NULL) {
        printf("%s\n", dlerror());
        return 1;
    }
    return run((unsigned)atoi(argv[2]));
}
