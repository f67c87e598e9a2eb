// SPDX-License-Identifier: Apache-2.0
#include "cli_fit.h"

#include "host_self.h"

static bool write_stream(void *ctx, const char *bytes, size_t size)
{
    return fwrite(bytes, 1, size, ctx) == size;
}

struct sonde__report_sink sonde__cli_sink(FILE *out)
{
    return (struct sonde__report_sink){write_stream, out};
}

void sonde__cli_fit_begin(struct sonde__report_fit *fit, FILE *out)
{
    sonde__report_fit_begin(fit, sonde__cli_sink(out), sonde__host_terminal_columns(fileno(out)));
}
