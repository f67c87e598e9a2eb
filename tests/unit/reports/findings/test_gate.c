// SPDX-License-Identifier: Apache-2.0
/* What a gate counts, and how files become URIs. */
#include <stdio.h>
#include <string.h>

#include "findings_parts.h"
#include "made.h"
#include "test.h"

/* "FOUND UNSURE" of a gate. */
static const char *gate(const struct made *old_made, const struct made *new_made,
                        enum sonde__report_severity severity)
{
    static char text[32];
    static const char *const names[] = {"old", "new"};
    const struct sonde__report *reports[] = {old_made != NULL ? old_made->report : NULL,
                                             new_made->report};
    const struct sonde__diff_side sides[] = {{&reports[0], &names[0], old_made != NULL},
                                             {&reports[1], &names[1], 1}};
    struct sonde__diff diff;
    struct sonde__findings findings;
    CHECK_OK(sonde__diff_make(&sides[0], &sides[1], SONDE__DIFF_PERCENT, &diff));
    CHECK_OK(sonde__findings_make(&diff, NULL, &findings));
    struct sonde__findings_gate counts = sonde__findings_gate(&findings, severity);
    snprintf(text, sizeof text, "%u %u", counts.found, counts.unsure);
    sonde__findings_done(&findings);
    sonde__diff_done(&diff);
    return text;
}

TEST(gate_counts_by_severity)
{
    struct made made = made_recording();
    made_call(&made, "open", made_rule(&made, "a", SONDE__REPORT_SEVERITY_NOTE), "main", 1);
    made_call(&made, "open", made_rule(&made, "b", SONDE__REPORT_SEVERITY_ERROR), "main", 1);
    made_call(&made, "open", 0, "main", 1); /* without a rule: a warning */
    CHECK_STR(gate(NULL, &made, SONDE__REPORT_SEVERITY_NOTE), "3 0");
    CHECK_STR(gate(NULL, &made, SONDE__REPORT_SEVERITY_WARNING), "2 0");
    CHECK_STR(gate(NULL, &made, SONDE__REPORT_SEVERITY_ERROR), "1 0");
    sonde__report_destroy(made.report);
}

TEST(gate_counts_what_is_new)
{
    struct made old_made = made_recording(), new_made = made_recording();
    made_call(&old_made, "open", 0, "main", 1);
    made_call(&old_made, "open", 0, "main gone", 1);
    made_call(&new_made, "open", 0, "main", 100);
    CHECK_STR(gate(&old_made, &new_made, SONDE__REPORT_SEVERITY_NOTE), "0 0");
    made_call(&new_made, "open", 0, "main added", 1);
    CHECK_STR(gate(&old_made, &new_made, SONDE__REPORT_SEVERITY_NOTE), "1 0");
    made_call(&new_made, "getenv", 0, "main", 1); /* was not recorded before */
    CHECK_STR(gate(&old_made, &new_made, SONDE__REPORT_SEVERITY_NOTE), "1 1");
    CHECK_STR(gate(&old_made, &new_made, SONDE__REPORT_SEVERITY_ERROR), "0 0");
    sonde__report_destroy(old_made.report);
    sonde__report_destroy(new_made.report);
}

TEST(uris_are_escaped_and_relative_to_the_root)
{
    static struct sonde__findings_places places;
    CHECK_STR(sonde__findings_uri(&places, "/src/a b%\xc3\xa9.c").text,
              "file:///src/a%20b%25%C3%A9.c");
    CHECK_STR(sonde__findings_uri(&places, "~/x.c").text, "~/x.c");
    places.source_root = "/src/";
    struct sonde__findings_uri uri = sonde__findings_uri(&places, "/src//lib/a.c");
    CHECK_STR(uri.text, "lib/a.c");
    CHECK(uri.is_relative);
    uri = sonde__findings_uri(&places, "/srcs/a.c");
    CHECK_STR(uri.text, "file:///srcs/a.c");
    CHECK(!uri.is_relative);
}
