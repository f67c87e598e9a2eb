// SPDX-License-Identifier: Apache-2.0
/* What the system says of itself and of the process. */
#include <errno.h>
#include <mach-o/dyld.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysctl.h>
#include <unistd.h>

#include "sim.h"

int _NSGetExecutablePath(char *ret_path, uint32_t *size)
{
    const void *header = 0;
    uint64_t slide = 0;
    const char *path = 0;
    host_get_image(1, &header, &slide, &path); /* the program */
    if (strlen(path) >= *size) {
        *size = (uint32_t)strlen(path) + 1;
        return -1;
    }
    strcpy(ret_path, path);
    return 0;
}

pid_t getppid(void)
{
    return 1;
}

static const struct {
    const char *name, *text; /* null: a number */
    uint64_t number;
    size_t size;
} values[] = {
    {"hw.model", "Simulated1,1", 0, 0},
    {"hw.machine", "Simulated1,1", 0, 0},
    {"kern.osproductversion", "14.0", 0, 0},
    {"kern.osrelease", "23.0.0", 0, 0},
    {"machdep.cpu.brand_string", "Simulated", 0, 0},
    {"hw.memsize", 0, (uint64_t)8 << 30, sizeof(uint64_t)},
    {"hw.activecpu", 0, 2, sizeof(int32_t)},
};

/* What a test sets instead: SIM_BOOT, SIM_SYSTEM. Null: nothing. */
static const char *set_value(const char *name)
{
    return strcmp(name, "kern.bootsessionuuid") == 0    ? getenv("SIM_BOOT")
           : strcmp(name, "kern.osproductversion") == 0 ? getenv("SIM_SYSTEM")
                                                        : 0;
}

/* <os/proc.h>: what the process may still allocate; 0: it has no limit. */
size_t os_proc_available_memory(void);
size_t os_proc_available_memory(void)
{
    const char *megabytes = getenv("SIM_MEMORY_LEFT");
    return megabytes != 0 ? (size_t)strtoul(megabytes, 0, 10) << 20 : 0;
}

int sysctlbyname(const char *name, void *ret_value, size_t *size, void *new_value, size_t new_size)
{
    (void)new_size;
    const char *set = set_value(name);
    if (new_value == 0 && set != 0 && strlen(set) < *size) {
        strcpy(ret_value, set);
        *size = strlen(set) + 1;
        return 0;
    }
    if (new_value == 0 && strcmp(name, "kern.bootsessionuuid") == 0 &&
        host_boot_id(ret_value, *size) == 0) {
        *size = strlen(ret_value) + 1;
        return 0;
    }
    for (unsigned i = 0; i < sizeof values / sizeof *values && new_value == 0; i++) {
        const char *text = values[i].text;
        size_t needed = text != 0 ? strlen(text) + 1 : values[i].size;
        if (strcmp(name, values[i].name) == 0 && *size >= needed) {
            memcpy(ret_value, text != 0 ? (const void *)text : &values[i].number, needed);
            *size = needed;
            return 0;
        }
    }
    return sim_fail(ENOENT);
}
