// SPDX-License-Identifier: Apache-2.0
/* The writer's statements. Names are qualified where a row that is there meets a new one. */
#include "store_parts.h"

const char *const store_texts[STORE_STATEMENTS] = {
    [STORE_ADD_REPORT] =
        "INSERT INTO report(project, id, kind, received_ns, program, build, device, os,"
        " note, blob, size_bytes) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)"
        " ON CONFLICT(project, id) DO NOTHING RETURNING number",
    [STORE_FIND_CAUSE] = "SELECT number, longest_ns, joined, state FROM cause"
                         " WHERE project = ?1 AND kind = ?2 AND id = ?3",
    [STORE_ADD_CAUSE] =
        "INSERT INTO cause(project, kind, id, title, summary, why, severity, count, total_ns,"
        " longest_ns, devices, fatal, first_ns, last_ns, first_build, last_build, longest)"
        " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, 0, 0, 0, 0, 0, ?8, ?8, ?9, ?9, ?10)"
        " RETURNING number",
    [STORE_ADD_TO_GROUP] =
        "UPDATE cause SET count = count + ?2, total_ns = total_ns + ?3, fatal = fatal + ?4,"
        " severity = CASE WHEN severity >= ?5 THEN severity ELSE ?5 END,"
        " first_build = CASE WHEN ?6 < first_ns THEN ?7 ELSE first_build END,"
        " first_ns = CASE WHEN ?6 < first_ns THEN ?6 ELSE first_ns END,"
        " last_build = CASE WHEN ?8 >= last_ns THEN ?9 ELSE last_build END,"
        " last_ns = CASE WHEN ?8 >= last_ns THEN ?8 ELSE last_ns END,"
        " devices = devices + ?10 WHERE number = ?1",
    [STORE_SHOW_LONGER] = "UPDATE cause SET longest_ns = ?2, summary = ?3, longest = ?4,"
                          " title = CASE WHEN ?5 <> '' THEN ?5 ELSE title END"
                          " WHERE number = ?1 AND longest_ns <= ?2",
    [STORE_ADD_DEVICE] = "INSERT INTO device(cause, id) VALUES(?1, ?2)"
                         " ON CONFLICT(cause, id) DO NOTHING RETURNING cause",
    /* unless another cause of the group has it */
    [STORE_COUNT_JOINT_DEVICE] =
        "UPDATE cause SET devices = devices + 1 WHERE number = ?1 AND NOT EXISTS("
        "SELECT 1 FROM cause AS other JOIN device ON device.cause = other.number"
        " WHERE other.joined = ?1 AND other.joined <> 0 AND other.number <> ?2"
        " AND device.id = ?3)",
    [STORE_ADD_TAG] =
        "INSERT INTO tag(cause, name, value, count) SELECT ?1, ?2, CASE WHEN "
        "EXISTS(SELECT 1 FROM tag WHERE cause = ?1 AND name = ?2 AND value = ?3) OR"
        " (SELECT count(*) FROM tag WHERE cause = ?1 AND name = ?2) < ?5 THEN ?3"
        " ELSE '(others)' END, ?4 WHERE true"
        " ON CONFLICT(cause, name, value) DO UPDATE SET count = tag.count + excluded.count",
    [STORE_ADD_USED] = "INSERT INTO used(project, day, reports, bytes) VALUES(?1, ?2, 1, ?3)"
                       " ON CONFLICT(project, day) DO UPDATE"
                       " SET reports = used.reports + 1, bytes = used.bytes + excluded.bytes",
    [STORE_ADD_BUILD] =
        "INSERT INTO build(project, name, first_ns, last_ns, reports, recorded, callers)"
        " VALUES(?1, ?2, ?3, ?3, 1, ?4, ?4) ON CONFLICT(project, name) DO UPDATE"
        " SET first_ns = CASE WHEN excluded.first_ns < build.first_ns THEN excluded.first_ns"
        " ELSE build.first_ns END,"
        " last_ns = CASE WHEN excluded.last_ns > build.last_ns THEN excluded.last_ns"
        " ELSE build.last_ns END, reports = build.reports + 1,"
        " recorded = build.recorded + excluded.recorded,"
        " callers = build.callers + excluded.callers",
    [STORE_ADD_BUILD_SUM] =
        "INSERT INTO build_sum(project, build, cause, rule, api, path, sdk, is_stable, count,"
        " before_count, given_count, refused_count, over_count, reports, devices, direct_count,"
        " system_count, code) VALUES(?1, ?2,"
        " ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)"
        " ON CONFLICT(project, build, cause) DO UPDATE SET rule = excluded.rule,"
        " api = excluded.api, path = excluded.path, sdk = excluded.sdk,"
        " is_stable = excluded.is_stable, count = build_sum.count + excluded.count,"
        " before_count = build_sum.before_count + excluded.before_count,"
        " given_count = build_sum.given_count + excluded.given_count,"
        " refused_count = build_sum.refused_count + excluded.refused_count,"
        " over_count = build_sum.over_count + excluded.over_count,"
        " direct_count = build_sum.direct_count + excluded.direct_count,"
        " system_count = build_sum.system_count + excluded.system_count, code = excluded.code,"
        " reports = build_sum.reports + excluded.reports,"
        " devices = build_sum.devices + excluded.devices",
    [STORE_ADD_MACHINE] = "INSERT INTO machine(project, build, cause, id) VALUES(?1, ?2, ?3, ?4)"
                          " ON CONFLICT(project, build, cause, id) DO NOTHING RETURNING cause",
    [STORE_ADD_LISTED] = "INSERT INTO listed(project, build, name) VALUES(?1, ?2, ?3)"
                         " ON CONFLICT(project, build, name) DO NOTHING",
    [STORE_ADD_API] = "INSERT INTO recorded_api(project, build, name, missed)"
                      " VALUES(?1, ?2, ?3, ?4) ON CONFLICT(project, build, name) DO UPDATE"
                      " SET missed = excluded.missed"
                      " WHERE recorded_api.missed = '' AND excluded.missed <> ''",
    [STORE_FIND_MARK] =
        "SELECT state, state_ns, state_build, until_ns, until_count, count,"
        " coalesce((SELECT first_ns FROM build WHERE project = ?2 AND name = ?3), 0),"
        " coalesce((SELECT first_ns FROM build WHERE project = ?2 AND name = state_build), 0)"
        " FROM cause WHERE number = ?1",
    [STORE_SET_STATE] = "UPDATE cause SET state = ?2, state_ns = ?3 WHERE number = ?1",
    [STORE_ADD_ACTION] =
        "INSERT INTO action(time_ns, secret, project, what) VALUES(?1, ?2, ?3, ?4)",
    [STORE_ADD_SUM] =
        "INSERT INTO sum(cause, hour, build, count, total_ns, longest_ns)"
        " VALUES(?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT(cause, hour, build) DO UPDATE"
        " SET count = sum.count + excluded.count, total_ns = sum.total_ns + excluded.total_ns,"
        " longest_ns = CASE WHEN sum.longest_ns >= excluded.longest_ns THEN sum.longest_ns"
        " ELSE excluded.longest_ns END",
    [STORE_ADD_EVENT] =
        "INSERT INTO event(cause, report, count, total_ns, named) VALUES(?1, ?2, ?3, ?4, ?5)"
        " ON CONFLICT(cause, report) DO UPDATE SET count = event.count + excluded.count,"
        " total_ns = event.total_ns + excluded.total_ns",
    [STORE_SET_PLACE] =
        "INSERT INTO place(one, segment, \"offset\") VALUES(?3, ?1, ?2) ON CONFLICT(one) DO UPDATE"
        " SET segment = excluded.segment, \"offset\" = excluded.\"offset\"",
    [STORE_ADD_WANT] = "INSERT INTO want(id, report) VALUES(?1, ?2) ON CONFLICT(id, report)"
                       " DO NOTHING",
    [STORE_ADD_PART] =
        "INSERT INTO part(report, number, cause, time_ns, count, total_ns, fatal, before_count,"
        " given_count, refused_count, over_count, is_summed, direct_count, system_count)"
        " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
    [STORE_FIND_HOOKS] =
        "SELECT hook.number, events, kinds, secret, project.name,"
        " (SELECT count(*) FROM message WHERE message.hook = hook.number) FROM hook"
        " JOIN project ON project.number = hook.project"
        " WHERE hook.project = ?1 AND disabled_ns = 0 ORDER BY hook.number",
    [STORE_ADD_MESSAGE] = "INSERT INTO message(hook, id, body, made_ns, next_ns)"
                          " VALUES(?1, ?2, ?3, ?4, ?4) ON CONFLICT(hook, id) DO NOTHING",
    [STORE_LOSE_MESSAGE] = "UPDATE hook SET lost = lost + 1 WHERE number = ?1",
    [STORE_FIND_SPIKE] = "SELECT first_ns, spike_ns, state FROM cause WHERE number = ?1",
    [STORE_FIND_HOURS] =
        "SELECT hour, sum(count) FROM sum WHERE cause IN (SELECT ?1 UNION ALL SELECT number"
        " FROM cause WHERE joined = ?1 AND joined <> 0) AND hour >= ?2 AND hour <= ?3"
        " GROUP BY hour",
    [STORE_FIND_SIFTS] = "SELECT number, project, kind, pattern FROM sift ORDER BY project, number",
    [STORE_ADD_TO_SIFT] = "UPDATE sift SET reports = reports + ?2,"
                          " events = min(events + ?3, 9000000000000000000),"
                          " count = min(count + ?4, 9000000000000000000),"
                          " total_ns = min(total_ns + ?5, 9000000000000000000) WHERE number = ?1",
    [STORE_ADD_SIFTED] =
        "INSERT INTO sifted(report, sift, events, count, total_ns) VALUES(?1, ?2, ?3, ?4, ?5)",
    [STORE_TAKE_SIFTED] =
        "UPDATE sift SET reports = CASE WHEN sift.reports >= 1 THEN sift.reports - 1 ELSE 0 END,"
        " events = CASE WHEN sift.events >= was.events THEN sift.events - was.events ELSE 0 END,"
        " count = CASE WHEN sift.count >= was.count THEN sift.count - was.count ELSE 0 END,"
        " total_ns = CASE WHEN sift.total_ns >= was.total_ns THEN sift.total_ns - was.total_ns"
        " ELSE 0 END FROM sifted AS was WHERE was.report = ?1 AND was.sift = sift.number",
    [STORE_SET_NOTE] = "UPDATE report SET note = ?2 WHERE number = ?1",
    [STORE_SET_SPIKE] = "UPDATE cause SET spike_ns = ?2 WHERE number = ?1",
};
