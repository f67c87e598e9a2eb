// SPDX-License-Identifier: Apache-2.0
/* tests/darwin/programs/lazy.c finds what is missing here. */
#include <mach/port.h>
#include <mach/vm_map.h>
#include <stdlib.h>
#include <string.h>

#include "hook_darwin.h"

void sonde__hook_bind_ahead(void)
{
    static uint64_t word;                   /* its page can be written */
    static const char *volatile text = "_"; /* no constants for the compiler */
    static volatile size_t size = 2;
    (void)sonde__hook_write(&word, word);
    (void)vm_protect(MACH_PORT_NULL, 0, 0, FALSE, VM_PROT_READ); /* of no task: refused */
    void *volatile block = malloc(size);
    block = realloc(block, size * size);
    free(block);
    word = (uint64_t)(strcmp(text, text) + strncmp(text, text, size) + memcmp(text, text, size) +
                      (strchr(text, '$') != NULL)) +
           strlen(text);
}
