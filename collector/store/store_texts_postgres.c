// SPDX-License-Identifier: Apache-2.0
/* The writer's statements for PostgreSQL, where they differ: the rows of a transaction are gathered
 * (db_postgres.h), added up by the server, and put into their tables together. Sums that a hostile
 * report makes too large for a column are cut (fit() of schema_postgres.c). */
#include "store_parts.h"

const char *const store_texts_postgres[STORE_STATEMENTS] = {
    [STORE_ADD_TO_GROUP] =
        "UPDATE cause SET count = fit(cause.count + n.count),"
        " total_ns = fit(cause.total_ns + n.total_ns),"
        " fatal = fit(cause.fatal + n.fatal),"
        " severity = greatest(cause.severity, n.severity),"
        " first_build = CASE WHEN n.first_ns < cause.first_ns THEN n.first_build"
        " ELSE cause.first_build END, first_ns = least(cause.first_ns, n.first_ns),"
        " last_build = CASE WHEN n.last_ns >= cause.last_ns THEN n.last_build"
        " ELSE cause.last_build END, last_ns = greatest(cause.last_ns, n.last_ns),"
        " devices = cause.devices + n.devices"
        " FROM (SELECT number, sum(count) AS count, sum(total_ns) AS total_ns,"
        " sum(fatal) AS fatal, max(severity) AS severity, min(first_ns) AS first_ns,"
        " max(last_ns) AS last_ns, sum(devices)::bigint AS devices,"
        " (array_agg(first_build ORDER BY first_ns, place))[1] AS first_build,"
        " (array_agg(last_build ORDER BY last_ns DESC, place DESC))[1] AS last_build FROM"
        " unnest(?1::bigint[], ?2::bigint[], ?3::bigint[], ?4::bigint[], ?5::bigint[],"
        " ?6::bigint[], ?7::text[], ?8::bigint[], ?9::text[], ?10::bigint[]) WITH ORDINALITY"
        " AS new(number, count, total_ns, fatal, severity, first_ns, first_build, last_ns,"
        " last_build, devices, place) GROUP BY number) AS n WHERE cause.number = n.number",
    /* counts the new ones, too; in a group of several unless another cause of it has the machine:
     * the statement does not see its own rows */
    [STORE_ADD_DEVICE] =
        "WITH new AS (INSERT INTO device(cause, id) SELECT DISTINCT cause, id"
        " FROM unnest(?1::bigint[], ?2::text[]) AS given(cause, id)"
        " ON CONFLICT(cause, id) DO NOTHING RETURNING cause, id),"
        " joint AS (SELECT DISTINCT cause.joined, new.id FROM new JOIN cause"
        " ON cause.number = new.cause WHERE cause.joined <> 0),"
        " each AS (SELECT cause AS number FROM new UNION ALL SELECT joined FROM joint"
        " WHERE NOT EXISTS(SELECT 1 FROM cause AS other JOIN device"
        " ON device.cause = other.number WHERE other.joined = joint.joined"
        " AND device.id = joint.id))"
        " UPDATE cause SET devices = cause.devices + n.devices FROM"
        " (SELECT number, count(*) AS devices FROM each GROUP BY number) AS n"
        " WHERE cause.number = n.number",
    [STORE_ADD_SUM] =
        "INSERT INTO sum(cause, hour, build, count, total_ns, longest_ns)"
        " SELECT cause, hour, build, fit(sum(count)), fit(sum(total_ns)),"
        " max(longest_ns) FROM unnest(?1::bigint[], ?2::bigint[], ?3::text[], ?4::bigint[],"
        " ?5::bigint[], ?6::bigint[]) AS new(cause, hour, build, count, total_ns, longest_ns)"
        " GROUP BY cause, hour, build ON CONFLICT(cause, hour, build) DO UPDATE"
        " SET count = fit(sum.count::numeric + excluded.count),"
        " total_ns = fit(sum.total_ns::numeric + excluded.total_ns),"
        " longest_ns = greatest(sum.longest_ns, excluded.longest_ns)",
    [STORE_ADD_EVENT] = "COPY event(cause, report, count, total_ns, named, project, day)"
                        " FROM STDIN (FORMAT binary)",
    [STORE_ADD_PART] = "COPY part(report, number, cause, time_ns, count, total_ns, fatal,"
                       " before_count, given_count, refused_count, over_count, is_summed,"
                       " direct_count, system_count)"
                       " FROM STDIN (FORMAT binary)",
    [STORE_ADD_TAG] =
        "INSERT INTO tag(cause, name, value, count) SELECT cause, name,"
        " CASE WHEN is_there OR place <= most THEN value ELSE '(others)' END AS shown,"
        " fit(sum(count)) FROM (SELECT found.*,"
        " count(*) FILTER (WHERE NOT is_there) OVER (PARTITION BY cause, name ORDER BY at) +"
        " (SELECT count(*) FROM tag WHERE tag.cause = found.cause AND tag.name = found.name)"
        " AS place FROM (SELECT cause, name, value, sum(count) AS count, min(at) AS at,"
        " max(most) AS most, EXISTS(SELECT 1 FROM tag WHERE tag.cause = new.cause"
        " AND tag.name = new.name AND tag.value = new.value) AS is_there"
        " FROM unnest(?1::bigint[], ?2::text[], ?3::text[], ?4::bigint[], ?5::bigint[])"
        " WITH ORDINALITY AS new(cause, name, value, count, most, at)"
        " GROUP BY cause, name, value) AS found) AS placed GROUP BY cause, name, shown"
        " ON CONFLICT(cause, name, value) DO UPDATE SET count = "
        "fit(tag.count::numeric + excluded.count)",
    [STORE_ADD_USED] =
        "INSERT INTO used(project, day, reports, bytes) SELECT project, day, count(*),"
        " fit(sum(bytes)) FROM unnest(?1::bigint[], ?2::bigint[], ?3::bigint[])"
        " AS new(project, day, bytes) GROUP BY project, day ON CONFLICT(project, day) DO UPDATE"
        " SET reports = used.reports + excluded.reports,"
        " bytes = fit(used.bytes::numeric + excluded.bytes)",
    [STORE_ADD_BUILD] = "INSERT INTO build(project, name, first_ns, last_ns, reports, recorded,"
                        " callers) SELECT project, name, min(at), max(at), count(*),"
                        " sum(recorded)::bigint, sum(recorded)::bigint"
                        " FROM unnest(?1::bigint[], ?2::text[], ?3::bigint[], ?4::bigint[])"
                        " AS new(project, name, at, recorded) GROUP BY project, name"
                        " ON CONFLICT(project, name) DO UPDATE"
                        " SET first_ns = least(build.first_ns, excluded.first_ns),"
                        " last_ns = greatest(build.last_ns, excluded.last_ns),"
                        " reports = build.reports + excluded.reports,"
                        " recorded = build.recorded + excluded.recorded,"
                        " callers = build.callers + excluded.callers",
    [STORE_ADD_BUILD_SUM] =
        "INSERT INTO build_sum(project, build, cause, rule, api, path, sdk, is_stable, count,"
        " before_count, given_count, refused_count, over_count, reports, devices, direct_count,"
        " system_count, code)"
        " SELECT project, build, cause, max(rule), max(api), max(path), max(sdk), min(is_stable),"
        " fit(sum(count)), fit(sum(before)), fit(sum(given)), fit(sum(refused)), fit(sum(over)),"
        " sum(reports)::bigint, sum(devices)::bigint, fit(sum(direct)), fit(sum(system)),"
        " max(code) FROM unnest(?1::bigint[], ?2::text[],"
        " ?3::bigint[], ?4::text[], ?5::text[], ?6::text[], ?7::text[], ?8::bigint[],"
        " ?9::bigint[], ?10::bigint[], ?11::bigint[], ?12::bigint[], ?13::bigint[],"
        " ?14::bigint[], ?15::bigint[], ?16::bigint[], ?17::bigint[], ?18::text[])"
        " AS new(project, build, cause, rule, api, path, sdk,"
        " is_stable, count, before, given, refused, over, reports, devices, direct, system, code)"
        " GROUP BY project, build, cause"
        " ON CONFLICT(project, build, cause) DO UPDATE SET rule = excluded.rule,"
        " api = excluded.api, path = excluded.path, sdk = excluded.sdk,"
        " is_stable = excluded.is_stable,"
        " count = fit(build_sum.count::numeric + excluded.count),"
        " before_count = fit(build_sum.before_count::numeric + excluded.before_count),"
        " given_count = fit(build_sum.given_count::numeric + excluded.given_count),"
        " refused_count = fit(build_sum.refused_count::numeric + excluded.refused_count),"
        " over_count = fit(build_sum.over_count::numeric + excluded.over_count),"
        " direct_count = fit(build_sum.direct_count::numeric + excluded.direct_count),"
        " system_count = fit(build_sum.system_count::numeric + excluded.system_count),"
        " code = excluded.code,"
        " reports = build_sum.reports + excluded.reports,"
        " devices = build_sum.devices + excluded.devices",
    /* counts the new ones, too: the row may be there before its calls are */
    [STORE_ADD_MACHINE] =
        "WITH new AS (INSERT INTO machine(project, build, cause, id)"
        " SELECT DISTINCT project, build, cause, id FROM unnest(?1::bigint[], ?2::text[],"
        " ?3::bigint[], ?4::text[]) AS given(project, build, cause, id)"
        " ON CONFLICT(project, build, cause, id) DO NOTHING RETURNING project, build, cause)"
        " INSERT INTO build_sum(project, build, cause, rule, api, path, sdk, is_stable, count,"
        " before_count, given_count, refused_count, over_count, reports, devices)"
        " SELECT project, build, cause, '', '', '', '', 0, 0, 0, 0, 0, 0, 0, count(*) FROM new"
        " GROUP BY project, build, cause ON CONFLICT(project, build, cause) DO UPDATE"
        " SET devices = build_sum.devices + excluded.devices",
    [STORE_ADD_LISTED] =
        "INSERT INTO listed(project, build, name) SELECT DISTINCT project, build, name"
        " FROM unnest(?1::bigint[], ?2::text[], ?3::text[]) AS new(project, build, name)"
        " ON CONFLICT(project, build, name) DO NOTHING",
    [STORE_ADD_API] = "INSERT INTO recorded_api(project, build, name, missed)"
                      " SELECT project, build, name, max(missed)"
                      " FROM unnest(?1::bigint[], ?2::text[], ?3::text[], ?4::text[])"
                      " AS new(project, build, name, missed) GROUP BY project, build, name"
                      " ON CONFLICT(project, build, name) DO UPDATE SET missed = excluded.missed"
                      " WHERE recorded_api.missed = '' AND excluded.missed <> ''",
    [STORE_ADD_DAY] = "SELECT make_day(?1)",
    [STORE_ADD_FILE] = "INSERT INTO file(hash, bytes) VALUES(?1, ?2) ON CONFLICT(hash) DO NOTHING",
    [STORE_ADD_TO_SIFT] = "UPDATE sift SET reports = reports + ?2::bigint,"
                          " events = fit(events::numeric + ?3::bigint),"
                          " count = fit(count::numeric + ?4::bigint),"
                          " total_ns = fit(total_ns::numeric + ?5::bigint) WHERE number = ?1",
};
