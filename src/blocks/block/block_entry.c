// SPDX-License-Identifier: Apache-2.0
/* The runtime functions that helpers of blocks and of captured objects call, by name. */
#include <string.h>

#include "block_helper.h"

static const struct {
    const char *name;
    uint8_t entry;
} entries[] = {
    {"objc_retain", SONDE__BLOCK_ENTRY_RETAIN},
    {"objc_release", SONDE__BLOCK_ENTRY_RETAIN},
    {"objc_retainBlock", SONDE__BLOCK_ENTRY_BLOCK},
    {"objc_storeStrong", SONDE__BLOCK_ENTRY_STORE},
    {"objc_copyWeak", SONDE__BLOCK_ENTRY_WEAK},
    {"objc_moveWeak", SONDE__BLOCK_ENTRY_WEAK},
    {"objc_initWeak", SONDE__BLOCK_ENTRY_WEAK},
    {"objc_destroyWeak", SONDE__BLOCK_ENTRY_WEAK},
    {"_Block_object_assign", SONDE__BLOCK_ENTRY_ASSIGN},
    {"_Block_object_dispose", SONDE__BLOCK_ENTRY_DISPOSE},
    {"_Block_copy", SONDE__BLOCK_ENTRY_BLOCK},
    {"_Block_release", SONDE__BLOCK_ENTRY_BLOCK},
    {"swift_retain", SONDE__BLOCK_ENTRY_RETAIN},
    {"swift_release", SONDE__BLOCK_ENTRY_RETAIN},
    {"swift_bridgeObjectRetain", SONDE__BLOCK_ENTRY_RETAIN},
    {"swift_bridgeObjectRelease", SONDE__BLOCK_ENTRY_RETAIN},
    {"swift_unknownObjectRetain", SONDE__BLOCK_ENTRY_RETAIN},
    {"swift_unknownObjectRelease", SONDE__BLOCK_ENTRY_RETAIN},
    {"swift_weakCopyInit", SONDE__BLOCK_ENTRY_WEAK},
    {"swift_weakDestroy", SONDE__BLOCK_ENTRY_WEAK},
    {"swift_unknownObjectWeakCopyInit", SONDE__BLOCK_ENTRY_WEAK},
    {"swift_unknownObjectWeakDestroy", SONDE__BLOCK_ENTRY_WEAK},
    {"CFRetain", SONDE__BLOCK_ENTRY_RETAIN},
    {"CFRelease", SONDE__BLOCK_ENTRY_RETAIN},
    {"dispatch_retain", SONDE__BLOCK_ENTRY_RETAIN},
    {"dispatch_release", SONDE__BLOCK_ENTRY_RETAIN},
    {"os_retain", SONDE__BLOCK_ENTRY_RETAIN},
    {"os_release", SONDE__BLOCK_ENTRY_RETAIN},
    {"memcpy", SONDE__BLOCK_ENTRY_COPY},
    {"memmove", SONDE__BLOCK_ENTRY_COPY},
    {"memset", SONDE__BLOCK_ENTRY_FILL},
    {"bzero", SONDE__BLOCK_ENTRY_ZERO},
    {"__bzero", SONDE__BLOCK_ENTRY_ZERO},
    {"malloc", SONDE__BLOCK_ENTRY_NEW},
    {"calloc", SONDE__BLOCK_ENTRY_NEW},
    {"_Znwm", SONDE__BLOCK_ENTRY_NEW},
    {"_Znam", SONDE__BLOCK_ENTRY_NEW},
    {"free", SONDE__BLOCK_ENTRY_IGNORE},
    {"_ZdlPv", SONDE__BLOCK_ENTRY_IGNORE},
    {"_ZdlPvm", SONDE__BLOCK_ENTRY_IGNORE},
    {"_ZdaPv", SONDE__BLOCK_ENTRY_IGNORE},
    {"_Unwind_Resume", SONDE__BLOCK_ENTRY_END},
    {"__clang_call_terminate", SONDE__BLOCK_ENTRY_END},
    {"_ZSt9terminatev", SONDE__BLOCK_ENTRY_END},
    {"__stack_chk_fail", SONDE__BLOCK_ENTRY_END},
    {"abort", SONDE__BLOCK_ENTRY_END},
};

/* The register number in objc_retain_x19; 0xff: another name. */
static unsigned register_of(const char *name)
{
    static const char *const begins[] = {"objc_retain_x", "objc_release_x"};
    for (unsigned i = 0; i < 2; i++) {
        size_t length = strlen(begins[i]);
        unsigned reg = 0;
        const char *at = name + length;
        if (strncmp(name, begins[i], length) != 0 || *at == '\0') {
            continue;
        }
        for (; *at >= '0' && *at <= '9' && reg < 31; at++) {
            reg = reg * 10 + (unsigned)(*at - '0');
        }
        return *at == '\0' && reg < 31 ? reg : 0xff;
    }
    return 0xff;
}

static enum sonde__block_entry find(const char *name)
{
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++) {
        if (strcmp(entries[i].name, name) == 0) {
            return (enum sonde__block_entry)entries[i].entry;
        }
    }
    if (strncmp(name, "__aarch64_", 10) == 0) {
        return SONDE__BLOCK_ENTRY_ATOMIC;
    }
    /* glibc's variants */
    return strncmp(name, "__memcpy_", 9) == 0 || strncmp(name, "__memmove_", 10) == 0
               ? SONDE__BLOCK_ENTRY_COPY
               : SONDE__BLOCK_ENTRY_NONE;
}

enum sonde__block_entry sonde__block_entry_of(const char *name, unsigned *ret_register)
{
    enum sonde__block_entry entry;
    *ret_register = 0xff;
    if (name == NULL) {
        return SONDE__BLOCK_ENTRY_NONE;
    }
    for (unsigned underscores = 0; underscores < 2; underscores++) { /* Mach-O: one more */
        if ((entry = find(name)) != SONDE__BLOCK_ENTRY_NONE) {
            return entry;
        }
        if ((*ret_register = register_of(name)) != 0xff) {
            return SONDE__BLOCK_ENTRY_RETAIN;
        }
        if (*name != '_') {
            break;
        }
        name++;
    }
    return SONDE__BLOCK_ENTRY_NONE;
}
