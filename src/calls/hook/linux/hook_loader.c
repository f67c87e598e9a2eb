// SPDX-License-Identifier: Apache-2.0
#include "hook_elf.h"

bool sonde__hook_is_listed_now(const struct sonde__hook_port *port, const struct dl_phdr_info *info)
{
    return info->dlpi_adds == port->adds && info->dlpi_subs == port->subs;
}

struct comparison {
    const struct sonde__hook_port *port;
    bool is_same;
};

static int compare(struct dl_phdr_info *info, size_t size, void *ctx)
{
    struct comparison *comparison = ctx;
    (void)size;
    comparison->is_same = sonde__hook_is_listed_now(comparison->port, info);
    return 1;
}

bool sonde__hook_is_current(const struct sonde__hook_port *port)
{
    struct comparison comparison = {port, false};
    (void)dl_iterate_phdr(compare, &comparison);
    return comparison.is_same;
}
