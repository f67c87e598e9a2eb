// SPDX-License-Identifier: Apache-2.0
#include "wide_victim.h"

#include <string.h>

static bool is_lock(const char *kind)
{
    return strcmp(kind, "mutex") == 0 || strcmp(kind, "rwlock") == 0;
}

bool wide_is_victim(const struct json *stall, int64_t tid, int64_t begin_ns, int64_t duration_ns)
{
    int64_t own = json_int(stall, "tid"), from_ns = json_int(stall, "begin_ns");
    int64_t to_ns = from_ns + json_int(stall, "duration_ns");
    bool waits = false;
    JSON_EACH(wait, json_get(stall, "waits"))
    {
        waits = waits || (json_int(wait, "tid") == own && is_lock(json_text(wait, "kind")) &&
                          json_int(json_get(wait, "owner"), "tid") == tid);
    }
    int64_t end_ns = begin_ns + duration_ns;
    int64_t both_ns = (to_ns < end_ns ? to_ns : end_ns) - (from_ns > begin_ns ? from_ns : begin_ns);
    return waits && own != tid && both_ns > (to_ns - from_ns) / 2;
}
