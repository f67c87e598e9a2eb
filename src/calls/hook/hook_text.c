// SPDX-License-Identifier: Apache-2.0
/* Reasons as text. */
#include "hook.h"
#include "hook_method.h"
#include "hook_raw.h"

#include <stdio.h>
#include <string.h>

bool sonde__hook_is_syscall(const char *name)
{
    return strncmp(name, "syscall:", 8) == 0;
}

const char *sonde__hook_reason_text(uint32_t reason)
{
    static const char *const texts[] = {
        [SONDE__HOOK_ABSENT] = "no loaded library defines it",
        [SONDE__HOOK_NO_FUNCTION] = "it is a variable, not a function",
        [SONDE__HOOK_INSIDE] = "calls inside the library that defines it may be direct",
        [SONDE__HOOK_STATIC] = "not dynamically linked: its calls of itself are not seen",
        [SONDE__HOOK_LATE] = "it was loaded later: calls before the recorder looked are not seen",
        [SONDE__HOOK_REFUSED] = "its slot cannot be written",
        [SONDE__HOOK_FULL] = "no thunk was left",
        [SONDE__HOOK_ASKS] =
            "it looks up addresses itself (dlsym): calls by those it already has are not seen",
        [SONDE__HOOK_OTHER_SPACE] = "it may load into another namespace (dlmopen)",
        [SONDE__HOOK_UNREADABLE] = "its file, which lists its calls, cannot be read",
        [SONDE__HOOK_OVERWRITTEN] =
            "its first call had begun before: calls until the recorder looked again are not seen",
    };
    return reason < sizeof texts / sizeof *texts ? texts[reason] : "unknown";
}

const char *sonde__hook_method_text(uint32_t state)
{
    static const char *const texts[] = {
        [SONDE__HOOK_METHOD_NO_RUNTIME] = "no runtime of Objective-C is loaded",
        [SONDE__HOOK_METHOD_NO_CLASS] = "no class of this name is loaded",
        [SONDE__HOOK_METHOD_NOT_OWN] = "the class has no such method of its own",
        [SONDE__HOOK_METHOD_FULL] = "too many functions",
    };
    return state < sizeof texts / sizeof texts[0] ? texts[state] : NULL;
}

bool sonde__hook_override_text(const char *overrider, uint32_t overriders, char *ret_text,
                               size_t size)
{
    char more[32] = "";
    if (overriders > 1) {
        snprintf(more, sizeof more, " and of %u more", overriders - 1);
    }
    if (overriders != 0) {
        snprintf(ret_text, size,
                 "subclass %.*s%s overrid%s it: calls of that method are not counted, unless it "
                 "calls super",
                 SONDE__HOOK_CLASS_BYTES - 1, overrider, more, overriders > 1 ? "e" : "es");
    }
    return overriders != 0;
}

const char *sonde__hook_raw_text(uint32_t result)
{
    static const char *const texts[] = {
        [SONDE__RAW_BRANCHES] = "branches target the instructions around it",
        [SONDE__RAW_FIXED] = "an instruction beside it cannot be moved",
        [SONDE__RAW_UNKNOWN_TARGETS] = "branch targets of its function are unknown",
        [SONDE__RAW_CODE] = "its function cannot be decoded",
        [SONDE__RAW_REFUSED] = "its code cannot be changed",
        [SONDE__RAW_THREADS] = "other threads ran when it was loaded",
        [SONDE__RAW_STACKS] = "Go's stacks have no room for it",
    };
    return result < sizeof texts / sizeof texts[0] ? texts[result] : "unknown";
}
