// SPDX-License-Identifier: Apache-2.0
#include "cli_fit.h"

#include "cli_report.h"
#include "host_self.h"

void sonde__cli_fit_begin(struct sonde__report_fit *fit, FILE *out)
{
    sonde__report_fit_begin(fit, sonde__cli_sink(out), sonde__host_terminal_columns(fileno(out)));
}
