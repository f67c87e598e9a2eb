// SPDX-License-Identifier: Apache-2.0
/* The machine, by sysctl. */
#include "host_device.h"

#include <TargetConditionals.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysctl.h>
#include <unistd.h>

#include "host_run.h"
#include "os.h"

static void read_text(const char *name, char *ret_text, size_t capacity)
{
    size_t size = capacity - 1;
    if (sysctlbyname(name, ret_text, &size, NULL, 0) != 0) {
        size = 0;
    }
    ret_text[size] = '\0';
}

void sonde__host_device_read(struct sonde__host_device *ret_device)
{
    size_t size = sizeof ret_device->memory_bytes;
    int32_t count = 0;
    char version[64];
    memset(ret_device, 0, sizeof *ret_device);
    read_text(TARGET_OS_OSX ? "hw.model" : "hw.machine", ret_device->model,
              sizeof ret_device->model);
    read_text("kern.osproductversion", version, sizeof version);
    if (version[0] != '\0') {
        snprintf(ret_device->os, sizeof ret_device->os, "%s %s", TARGET_OS_OSX ? "macOS" : "iOS",
                 version);
    }
    read_text("kern.osrelease", ret_device->kernel, sizeof ret_device->kernel);
    read_text("machdep.cpu.brand_string", ret_device->cpu, sizeof ret_device->cpu);
    (void)sysctlbyname("hw.memsize", &ret_device->memory_bytes, &size, NULL, 0);
    size = sizeof count;
    (void)sysctlbyname("hw.activecpu", &count, &size, NULL, 0);
    ret_device->cpu_count = count > 0 ? (uint32_t)count : 0;
}

void sonde__host_system_name(char *ret_text, size_t capacity)
{
    char release[64];
    read_text("kern.osrelease", release, sizeof release);
    snprintf(ret_text, capacity, "Darwin %s", release);
}

int32_t sonde__host_parent(int32_t pid)
{
    return pid == sonde__os_pid() ? (int32_t)getppid() : 0;
}

/* The numbers are those of Mach-O's LC_BUILD_VERSION (mach-o/loader.h). */
uint32_t sonde__host_platform(void)
{
    enum {
        MACOS = 1,
        IOS,
        TVOS,
        WATCHOS,
        CATALYST = 6,
        IOS_SIM,
        TVOS_SIM,
        WATCHOS_SIM,
        VISIONOS = 11,
        VISIONOS_SIM
    };
#if TARGET_OS_MACCATALYST
    return CATALYST;
#elif TARGET_OS_OSX
    return MACOS;
#elif TARGET_OS_TV
    return TARGET_OS_SIMULATOR ? TVOS_SIM : TVOS;
#elif TARGET_OS_WATCH
    return TARGET_OS_SIMULATOR ? WATCHOS_SIM : WATCHOS;
#elif defined(TARGET_OS_VISION) && TARGET_OS_VISION
    return TARGET_OS_SIMULATOR ? VISIONOS_SIM : VISIONOS;
#else
    return TARGET_OS_SIMULATOR ? IOS_SIM : IOS;
#endif
}
