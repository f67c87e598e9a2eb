// SPDX-License-Identifier: Apache-2.0
/* `stdout` is replaced by a stream that fits lines, because printf() prints to the variable
 * (glibc's manual, "Standard Streams"). So no printer has to know of terminals. */
#include "cli_fit.h"

#include "host_self.h"
#include "host_stream.h"

static struct {
    FILE *original; /* null: stdout is not fitted */
    struct sonde__report_fit fit;
    bool is_off;
} output;

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
    sonde__report_fit_begin(fit, sonde__cli_sink(out),
                            output.is_off ? 0 : sonde__host_terminal_columns(fileno(out)));
}

static bool write_fitted(void *ctx, const char *bytes, size_t size)
{
    struct sonde__report_sink sink = sonde__report_fit_sink(ctx);
    return sink.write(sink.ctx, bytes, size);
}

void sonde__cli_fit_output(void)
{
    if (output.original != NULL) {
        return;
    }
    sonde__cli_fit_begin(&output.fit, stdout);
    FILE *fitted = output.fit.columns != 0 && fflush(stdout) == 0
                       ? sonde__host_stream_open(write_fitted, &output.fit)
                       : NULL;
    if (fitted != NULL) { /* without memory, lines are as they are */
        output.original = stdout;
        stdout = fitted;
    }
}

void sonde__cli_fit_output_end(void)
{
    if (output.original != NULL) {
        FILE *fitted = stdout;
        stdout = output.original;
        output.original = NULL;
        (void)fclose(fitted);
        sonde__report_fit_end(&output.fit);
    }
}

void sonde__cli_fit_nothing(void)
{
    output.is_off = true;
}

bool sonde__cli_fits_nothing(void)
{
    return output.is_off;
}
