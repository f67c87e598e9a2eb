// SPDX-License-Identifier: Apache-2.0
/* The folder of the user, and the terminal. See host_self.h. */
#include <stddef.h>
#include <stdlib.h>
#include <sys/ioctl.h>

#include "host_self.h"

const char *sonde__host_own_folder(const char *name, const char **below)
{
    const char *base = sonde__host_environment(name);
    if (base != NULL && base[0] == '/') { /* the XDG specification ignores relative paths */
        *below = "";
        return base;
    }
    base = sonde__host_environment("HOME");
    return base != NULL && base[0] == '/' ? base : NULL;
}

uint32_t sonde__host_terminal_columns(int32_t fd)
{
    struct winsize size = {0};
    if (ioctl(fd, TIOCGWINSZ, &size) != 0) {
        return 0;
    }
    const char *text = sonde__host_environment("COLUMNS");
    unsigned long columns =
        text != NULL && text[0] >= '1' && text[0] <= '9' ? strtoul(text, NULL, 10) : 0;
    return columns != 0 && columns <= UINT16_MAX ? (uint32_t)columns : size.ws_col;
}
