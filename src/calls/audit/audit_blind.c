// SPDX-License-Identifier: Apache-2.0
#include "audit_page.h"
#include "audit_read.h"
#include "hook.h"
#include "hook_method.h"
#include "record_page.h"

static void print_methods(const struct sonde__record_page *page,
                          const struct sonde__audit_list *list, struct sonde__report_lines lines)
{
    struct sonde__hook_method_name method;
    for (uint32_t i = 0; i < list->count; i++) {
        uint32_t known = atomic_load(&page->functions[i].method);
        const char *text =
            sonde__hook_method_text(known > 0 ? known - 1 : SONDE__HOOK_METHOD_NO_RUNTIME);
        if (text != NULL && sonde__hook_method_parse(list->names[i], &method)) {
            sonde__report_line(lines, "%s: %s", list->names[i], text);
        }
        char overridden[SONDE__AUDIT_OVERRIDDEN_BYTES];
        if (sonde__audit_page_overridden(page, i, overridden)) {
            sonde__report_line(lines, "%s: %s", list->names[i], overridden);
        }
    }
}

void sonde__audit_print_blind_spots(const struct sonde__record_page *page,
                                    const struct sonde__audit_list *list, bool all,
                                    struct sonde__report_lines lines)
{
    uint32_t count = atomic_load(&page->blind_count);
    struct sonde__audit_defined defined;
    sonde__audit_page_defined(page, &defined);
    print_methods(page, list, lines);
    for (uint32_t i = 0; i < count; i++) {
        const struct sonde__record_blind *blind = &page->blind_spots[i];
        if (!all && blind->reason != SONDE__HOOK_ABSENT &&
            blind->reason != SONDE__HOOK_NO_FUNCTION) {
            continue;
        }
        if (blind->reason == SONDE__HOOK_ABSENT &&
            sonde__audit_is_defined(&defined, blind->function)) {
            continue;
        }
        const char *module =
            blind->module == UINT32_MAX ? NULL : sonde__audit_page_text(page, blind->module);
        const char *function =
            blind->function < list->count ? list->names[blind->function] : "any function";
        if (module == NULL) {
            sonde__report_line(lines, "%s: %s", function, sonde__hook_reason_text(blind->reason));
        } else {
            sonde__report_line(lines, "%.300s: %s: %s",
                               *module != '\0' ? module : "the program itself", function,
                               sonde__hook_reason_text(blind->reason));
        }
    }
}
