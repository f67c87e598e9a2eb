// SPDX-License-Identifier: Apache-2.0
/* A program that asks for the machine's name, and for room on its disk: asked STEP...
 *   consent      begins the phase in which consent is given
 *   FUNCTION:N   N times from this function: identify, old_way, stat_send; measure (the disk) */
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <sonde/note.h>

static char name[256];

#define ASKS(function)                                                                             \
    __attribute__((noinline)) void function(unsigned times);                                       \
    void function(unsigned times)                                                                  \
    {                                                                                              \
        for (unsigned i = 0; i < times; i++) {                                                     \
            (void)gethostname(name, sizeof name);                                                  \
        }                                                                                          \
        __asm__ volatile("");                                                                      \
    }
ASKS(identify)
ASKS(old_way)
ASKS(stat_send)

__attribute__((noinline)) void measure(unsigned times);
void measure(unsigned times)
{
    struct statvfs disk;
    for (unsigned i = 0; i < times; i++) {
        (void)statvfs("/", &disk);
    }
    __asm__ volatile("");
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*ask)(unsigned times);
    } functions[] = {{"identify:", identify},
                     {"old_way:", old_way},
                     {"stat_send:", stat_send},
                     {"measure:", measure}};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "consent") == 0) {
            sonde_watch_phase("asked", SONDE_CONSENT_GIVEN);
        }
        for (size_t j = 0; j < sizeof functions / sizeof *functions; j++) {
            size_t size = strlen(functions[j].name);
            if (strncmp(argv[i], functions[j].name, size) == 0) {
                functions[j].ask((unsigned)strtoul(argv[i] + size, NULL, 10));
            }
        }
    }
    return 0;
}
