// SPDX-License-Identifier: Apache-2.0
/* Which functions of a list may be given to the loader by name.
 *
 * A name that stands first in the search changes more than calls where it does not mean one
 * function: where no library of the program has it, a weak reference would find it; where it is a
 * variable, data would be code; where it has several versions, old programs would get the new one.
 * Those are left to the slots (hook.h). Context: any thread, start-up. */
#ifndef SONDE_AUDIT_SCOPE_H
#define SONDE_AUDIT_SCOPE_H

#include <stdbool.h>

#include "audit_libraries.h"
#include "audit_list.h"

struct sonde__audit_scope {
    bool is_bound[SONDE__RECORD_FUNCTIONS];
    bool has_objc; /* GNU's runtime of Objective-C is among the libraries */
};

/* Never given to the loader: it calls them itself before the recorder has started, or the recorder
 * sees images come and go by them, or no call of them is as the ABI says. */
bool sonde__audit_is_reserved(const char *name);

/* libraries: none, where the loader could not be asked; then nothing is bound. */
void sonde__audit_find_scope(const struct sonde__audit_libraries *libraries,
                             const struct sonde__audit_list *list,
                             struct sonde__audit_scope *ret_scope);

#endif
