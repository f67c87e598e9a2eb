// SPDX-License-Identifier: Apache-2.0
/* Does the network cost by the byte? NetworkManager's property Metered (its D-Bus interface, enum
 * NMMetered), by libsystemd's sd-bus, which is loaded: without it, without a system bus or without
 * NetworkManager nobody knows. Context: any thread. */
#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

#include "plugin.h"

/* NMMetered */
enum { NM_UNKNOWN, NM_YES, NM_NO, NM_GUESS_YES, NM_GUESS_NO };

struct bus; /* sd_bus */

static struct {
    int (*open_system)(struct bus **ret_bus);
    int (*get)(struct bus *bus, const char *destination, const char *path, const char *interface,
               const char *member, void *error, char type, void *ret_value);
    int (*set_timeout)(struct bus *bus, uint64_t timeout_us);
    struct bus *(*close)(struct bus *bus);
} sd;

static bool find(void *library, const char *name, void *ret_function)
{
    void *function = dlsym(library, name);
    memcpy(ret_function, &function, sizeof function);
    return function != NULL;
}

static bool load(void)
{
    void *library = dlopen("libsystemd.so.0", RTLD_NOW | RTLD_LOCAL);
    return library != NULL && find(library, "sd_bus_open_system", &sd.open_system) &&
           find(library, "sd_bus_get_property_trivial", &sd.get) &&
           find(library, "sd_bus_set_method_call_timeout", &sd.set_timeout) &&
           find(library, "sd_bus_flush_close_unref", &sd.close);
}

enum sonde_upload_metered sonde_upload_plugin_metered(void *ctx)
{
    struct bus *bus = NULL;
    uint32_t value = NM_UNKNOWN;
    (void)ctx;
    if (!load() || sd.open_system(&bus) < 0) {
        return SONDE_UPLOAD_METERED_UNKNOWN;
    }
    (void)sd.set_timeout(bus, 2000000);
    if (sd.get(bus, "org.freedesktop.NetworkManager", "/org/freedesktop/NetworkManager",
               "org.freedesktop.NetworkManager", "Metered", NULL, 'u', &value) < 0) {
        value = NM_UNKNOWN;
    }
    sd.close(bus);
    return value == NM_YES || value == NM_GUESS_YES ? SONDE_UPLOAD_METERED_YES
           : value == NM_NO || value == NM_GUESS_NO ? SONDE_UPLOAD_METERED_NO
                                                    : SONDE_UPLOAD_METERED_UNKNOWN;
}
