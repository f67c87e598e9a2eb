// SPDX-License-Identifier: Apache-2.0
/* Apple's reports by POST /api/reports, as a script with curl sends them: the form is told by the
 * text; what cannot be read is kept aside with the reason. */
#include <stdlib.h>
#include <string.h>

#include "collector.h"

static void check_script(const struct collector_run *run, const char *script, const char *expected)
{
    char *out = collector_script(run, script);
    CHECK_STR(out, expected);
    free(out);
}

#define LOG                                                                                        \
    "cat >log.crash <<'E'\n"                                                                       \
    "Process:             Shop [2341]\n"                                                           \
    "Path:                /private/var/Shop.app/Shop\n"                                            \
    "Version:             1.2.3 (45)\n"                                                            \
    "Exception Type:  EXC_CRASH (SIGABRT)\n"                                                       \
    "\n"                                                                                           \
    "Thread 0 Crashed:\n"                                                                          \
    "0   Shop                          \t0x0000000102a0c268 load_cart + 40\n"                      \
    "1   Shop                          \t0x0000000102a0c2cc main + 12\n"                           \
    "\n"                                                                                           \
    "Binary Images:\n"                                                                             \
    "0x102a08000 - 0x102a0ffff Shop arm64  <c42f630fa71a3edc9225cf2c231a6669> "                    \
    "/private/var/Shop.app/Shop\n"                                                                 \
    "E\n"                                                                                          \
    "cat >log.ips <<'E'\n"                                                                         \
    "{\"app_name\":\"Shop\",\"bug_type\":\"309\"}\n"                                               \
    "{\"procPath\":\"/private/var/Shop.app/Shop\",\"exception\":{\"type\":\"EXC_CRASH\","          \
    "\"signal\":\"SIGABRT\"},\"threads\":[{\"triggered\":true,\"frames\":[{\"imageOffset\":17000," \
    "\"symbol\":\"load_cart\",\"symbolLocation\":40,\"imageIndex\":0},{\"imageOffset\":17100,"     \
    "\"symbol\":\"main\",\"symbolLocation\":12,\"imageIndex\":0}]}],\"usedImages\":[{\"uuid\":"    \
    "\"c42f630f-a71a-3edc-9225-cf2c231a6669\",\"path\":\"/private/var/Shop.app/Shop\"}]}\n"        \
    "E\n"                                                                                          \
    "p() { post -H \"Authorization: Bearer $INGEST\" \"$@\"; }; "

TEST_TIMEOUT(crash_in_both_forms_is_one_group, 60)
{
    struct collector_run run = collector_start(NULL);
    check_script(&run,
                 LOG "p --data-binary @log.crash; p --data-binary @log.ips; "
                     "gzip -c log.ips | p -H 'Content-Encoding: gzip' "
                     "-H 'Idempotency-Key: 00112233445566778899aabbccddeeff' --data-binary @-",
                 "201\n201\n201\n");
    collector_settle(&run);
    struct json *groups = collector_get(&run, "/api/projects/default/groups?kind=error");
    const struct json *group = json_need(groups, "groups")->first;
    CHECK_EQ(json_need(groups, "groups")->count, 1);
    CHECK_STR(json_text(group, "title"), "EXC_CRASH (SIGABRT) in load_cart");
    CHECK_EQ(json_int(group, "count"), 3);
    CHECK_EQ(json_int(group, "fatal"), 3);
    json_free(groups);
    check_script(&run,
                 "get /api/projects/default/reports/00112233445566778899aabbccddeeff >crash.sonde; "
                 "$SONDE show crash.sonde | grep -c load_cart",
                 "1\n");
    collector_stop(&run);
}

TEST_TIMEOUT(logs_that_cannot_be_read_are_kept_aside, 60)
{
    struct collector_run run = collector_start(NULL);
    check_script(&run,
                 LOG "head -c 200 log.ips | p --data-binary @-; "
                     "head -3 log.crash | p --data-binary @-; "
                     "printf '{\"bug_type\":\"298\"}\\n{\"largestProcess\":\"x\"}\\n' | "
                     "p --data-binary @-; echo '{\"a\": 1}' | p --data-binary @-",
                 "201\n201\n201\n422\n");
    collector_settle(&run);
    check_script(&run,
                 "get '/api/projects/default/reports?state=unread' | grep -o '\"note\": .*' | sort",
                 "\"note\": \"JSON: it ends in a string, at byte 164\",\n"
                 "\"note\": \"the crash log has no thread with frames in its images\",\n"
                 "\"note\": \"this kind of Apple's logs is not read: it has no threads\",\n");
    collector_stop(&run);
}
