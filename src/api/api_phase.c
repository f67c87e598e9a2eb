// SPDX-License-Identifier: Apache-2.0
#include "api_phase.h"

#include <stdatomic.h>
#include <stddef.h>

#include "record_told.h"

/* Hidden, but with a name for the note below. */
extern _Atomic(sonde__record_told *) sonde__api_phase_told __attribute__((visibility("hidden")));
_Atomic(sonde__record_told *) sonde__api_phase_told;

__asm__(".pushsection .note.sonde,\"a\",%note\n"
        ".balign 4\n"
        ".long 2f-1f, 4f-3f, 1\n"
        "1: .asciz \"sonde\"\n"
        "2: .balign 4\n"
        "3: .quad sonde__api_phase_told - 3b\n"
        "4: .balign 4\n"
        ".popsection\n");

void sonde__api_phase_tell(const char *name, uint32_t consent)
{
    sonde__record_told *told = atomic_load_explicit(&sonde__api_phase_told, memory_order_acquire);
    if (told != NULL) {
        told(name, consent);
    }
}
