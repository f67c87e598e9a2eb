// SPDX-License-Identifier: Apache-2.0
/* Who is told what is new while a program is recorded (audit_live.h). Context: any thread. */
#ifndef SONDE_AUDIT_NEW_H
#define SONDE_AUDIT_NEW_H

#include "report_model.h"

struct sonde__audit_new {
    const struct sonde__report *report; /* has what the call refers to */
    const struct sonde__report_call *call;
    const char *phase; /* of the first call; "": before the first phase */
    int32_t pid;       /* of another process than the first; 0: of that */
};

typedef void sonde__audit_on_new(void *ctx, const struct sonde__audit_new *found);

#endif
