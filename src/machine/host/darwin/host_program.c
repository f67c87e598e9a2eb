// SPDX-License-Identifier: Apache-2.0
/* What the program `sonde` asks about itself, for commands that read files. */
#include <crt_externs.h>

#include "host_run.h"
#include "host_self.h"

char *const *sonde__host_environ(void)
{
    return *_NSGetEnviron();
}

/* The loader of an ELF program does not run here. */
bool sonde__host_startup_libraries(const char *program, char *const *envp,
                                   void (*each)(void *ctx, const char *path), void *ctx)
{
    (void)program;
    (void)envp;
    (void)each;
    (void)ctx;
    return false;
}
