// SPDX-License-Identifier: Apache-2.0
/* The tables, as steps from each version to the next. A step is one transaction, so a collector
 * that is killed leaves the version before or after it. Steps are never changed: an older database
 * takes those that it lacks. A newer one is refused. Times are nanoseconds since 1970. */
#include "schema.h"

#include "db.h"
#include "store_impact.h"

static const char *const steps[] = {
    /* 1. IF NOT EXISTS: two programs may open a new folder at once */
    "CREATE TABLE IF NOT EXISTS project(number INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL,"
    " made_ns INTEGER NOT NULL);"
    "CREATE TABLE IF NOT EXISTS secret(number INTEGER PRIMARY KEY AUTOINCREMENT,"
    " project INTEGER NOT NULL, role INTEGER NOT NULL, hash BLOB UNIQUE NOT NULL,"
    " label TEXT NOT NULL, made_ns INTEGER NOT NULL, revoked_ns INTEGER NOT NULL DEFAULT 0);"
    "CREATE TABLE IF NOT EXISTS report(number INTEGER PRIMARY KEY, project INTEGER NOT NULL,"
    " id BLOB NOT NULL, kind INTEGER NOT NULL, received_ns INTEGER NOT NULL, program TEXT,"
    " build TEXT, device TEXT, os TEXT, note TEXT, blob BLOB NOT NULL,"
    " size_bytes INTEGER NOT NULL, UNIQUE(project, id));"
    "CREATE INDEX IF NOT EXISTS report_unread ON report(project, number) WHERE kind = 0;"
    "CREATE TABLE IF NOT EXISTS cause(number INTEGER PRIMARY KEY, project INTEGER NOT NULL,"
    " kind INTEGER NOT NULL, id TEXT NOT NULL, title TEXT NOT NULL, summary TEXT NOT NULL,"
    " why TEXT, severity INTEGER NOT NULL, count INTEGER NOT NULL, total_ns INTEGER NOT NULL,"
    " longest_ns INTEGER NOT NULL, devices INTEGER NOT NULL, fatal INTEGER NOT NULL,"
    " first_ns INTEGER NOT NULL, last_ns INTEGER NOT NULL, first_build TEXT, last_build TEXT,"
    " longest BLOB NOT NULL, UNIQUE(project, kind, id));"
    "CREATE TABLE IF NOT EXISTS device(cause INTEGER NOT NULL, id TEXT NOT NULL,"
    " PRIMARY KEY(cause, id)) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS sum(cause INTEGER NOT NULL, hour INTEGER NOT NULL,"
    " build TEXT NOT NULL, count INTEGER NOT NULL, total_ns INTEGER NOT NULL,"
    " longest_ns INTEGER NOT NULL, PRIMARY KEY(cause, hour, build)) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS event(cause INTEGER NOT NULL, report INTEGER NOT NULL,"
    " count INTEGER NOT NULL, total_ns INTEGER NOT NULL, PRIMARY KEY(cause, report)) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS place(one INTEGER PRIMARY KEY CHECK(one = 1),"
    " segment INTEGER NOT NULL, offset INTEGER NOT NULL);",
    /* 2: states of groups, groups of several causes (`joined` is the group that has a cause; the
     * group itself is a row with `is_joint`), builds in the order of their first report, tags, and
     * what was done by whom */
    "ALTER TABLE cause ADD COLUMN state INTEGER NOT NULL DEFAULT 1;"
    "ALTER TABLE cause ADD COLUMN state_ns INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE cause ADD COLUMN state_build TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE cause ADD COLUMN until_ns INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE cause ADD COLUMN until_count INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE cause ADD COLUMN assignee TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE cause ADD COLUMN joined INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE cause ADD COLUMN is_joint INTEGER NOT NULL DEFAULT 0;"
    "CREATE INDEX cause_joined ON cause(joined) WHERE joined <> 0;"
    "CREATE TABLE build(project INTEGER NOT NULL, name TEXT NOT NULL, first_ns INTEGER NOT NULL,"
    " PRIMARY KEY(project, name)) WITHOUT ROWID;"
    "INSERT INTO build SELECT cause.project, sum.build, min(sum.hour) * 3600000000000"
    " FROM sum JOIN cause ON cause.number = sum.cause GROUP BY cause.project, sum.build;"
    "CREATE TABLE tag(cause INTEGER NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL,"
    " count INTEGER NOT NULL, PRIMARY KEY(cause, name, value)) WITHOUT ROWID;"
    "CREATE TABLE action(number INTEGER PRIMARY KEY, time_ns INTEGER NOT NULL,"
    " secret INTEGER NOT NULL, project INTEGER NOT NULL, what TEXT NOT NULL);",
    /* 3: limits of projects, what they used, and what retention has to find: the events of a
     * report, the reports of a file, and how much of an event has names. A report without its file
     * has an empty `blob` */
    "ALTER TABLE project ADD COLUMN per_minute INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE project ADD COLUMN per_day INTEGER NOT NULL DEFAULT 0;"
    "CREATE TABLE used(project INTEGER NOT NULL, day INTEGER NOT NULL, reports INTEGER NOT NULL,"
    " bytes INTEGER NOT NULL, PRIMARY KEY(project, day)) WITHOUT ROWID;"
    "ALTER TABLE event ADD COLUMN named INTEGER NOT NULL DEFAULT 0;"
    "CREATE INDEX event_report ON event(report);"
    "CREATE INDEX report_blob ON report(blob);",
    /* 4: reports that wait for symbols: of which build-ids, and what they added to their causes, so
     * that it can be taken back when they are named. Without its file a report waits for nothing */
    "CREATE TABLE want(id BLOB NOT NULL, report INTEGER NOT NULL, PRIMARY KEY(id, report))"
    " WITHOUT ROWID;"
    "CREATE INDEX want_report ON want(report);"
    "CREATE TABLE part(report INTEGER NOT NULL, number INTEGER NOT NULL, cause INTEGER NOT NULL,"
    " time_ns INTEGER NOT NULL, count INTEGER NOT NULL, total_ns INTEGER NOT NULL,"
    " fatal INTEGER NOT NULL, PRIMARY KEY(report, number)) WITHOUT ROWID;",
    /* 5: hooks, the messages that wait for them, and when a group's last spike was told */
    "CREATE TABLE hook(number INTEGER PRIMARY KEY AUTOINCREMENT, project INTEGER NOT NULL,"
    " url TEXT NOT NULL, events INTEGER NOT NULL, kinds INTEGER NOT NULL, secret BLOB NOT NULL,"
    " made_ns INTEGER NOT NULL, disabled_ns INTEGER NOT NULL DEFAULT 0,"
    " sent INTEGER NOT NULL DEFAULT 0, given_up INTEGER NOT NULL DEFAULT 0,"
    " lost INTEGER NOT NULL DEFAULT 0, taken_ns INTEGER NOT NULL DEFAULT 0,"
    " last_ns INTEGER NOT NULL DEFAULT 0, last_text TEXT NOT NULL DEFAULT '');"
    "CREATE INDEX hook_project ON hook(project);"
    "CREATE TABLE message(number INTEGER PRIMARY KEY AUTOINCREMENT, hook INTEGER NOT NULL,"
    " id TEXT NOT NULL, body TEXT NOT NULL, made_ns INTEGER NOT NULL, next_ns INTEGER NOT NULL,"
    " tries INTEGER NOT NULL DEFAULT 0, sender INTEGER NOT NULL DEFAULT 0, UNIQUE(hook, id));"
    "CREATE INDEX message_due ON message(next_ns, hook);"
    "ALTER TABLE cause ADD COLUMN spike_ns INTEGER NOT NULL DEFAULT 0;",
    /* 6: the order of the list of groups, as STORE_BY_IMPACT asks for it, and of the newest reports
     */
    "CREATE INDEX cause_impact ON cause(project, " STORE_IMPACT " DESC, number)"
    " WHERE joined = 0 AND count > 0;"
    "CREATE INDEX report_newest ON report(project, number);",
    /* 7: what a build has: machines, what its audits looked for, sums of its calls by cause (cause
     * 0: the build itself); a project's baseline. Calls that were stored before are not summed up
     * again: `recorded` counts the reports whose calls are */
    "ALTER TABLE build ADD COLUMN last_ns INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE build ADD COLUMN reports INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE build ADD COLUMN recorded INTEGER NOT NULL DEFAULT 0;"
    "INSERT INTO build(project, name, first_ns) SELECT project, coalesce(build, ''),"
    " min(received_ns) FROM report WHERE kind <> 0 GROUP BY project, coalesce(build, '')"
    " ON CONFLICT(project, name) DO NOTHING;"
    "UPDATE build SET last_ns = old.last_ns, reports = old.reports FROM"
    " (SELECT project, coalesce(build, '') AS name, max(received_ns) AS last_ns,"
    " count(*) AS reports FROM report WHERE kind <> 0 GROUP BY project, coalesce(build, ''))"
    " AS old WHERE build.project = old.project AND build.name = old.name;"
    "UPDATE build SET last_ns = first_ns WHERE last_ns < first_ns;"
    "CREATE TABLE machine(project INTEGER NOT NULL, build TEXT NOT NULL, cause INTEGER NOT NULL,"
    " id TEXT NOT NULL, PRIMARY KEY(project, build, cause, id)) WITHOUT ROWID;"
    "INSERT INTO machine(project, build, cause, id) SELECT DISTINCT project, coalesce(build, ''),"
    " 0, coalesce(device, '') FROM report WHERE kind <> 0;"
    "CREATE TABLE build_sum(project INTEGER NOT NULL, build TEXT NOT NULL,"
    " cause INTEGER NOT NULL, rule TEXT NOT NULL, api TEXT NOT NULL, path TEXT NOT NULL,"
    " sdk TEXT NOT NULL, is_stable INTEGER NOT NULL, count INTEGER NOT NULL,"
    " before_count INTEGER NOT NULL, given_count INTEGER NOT NULL,"
    " refused_count INTEGER NOT NULL, over_count INTEGER NOT NULL, reports INTEGER NOT NULL,"
    " devices INTEGER NOT NULL, PRIMARY KEY(project, build, cause)) WITHOUT ROWID;"
    "INSERT INTO build_sum SELECT project, build, 0, '', '', '', '', 0, 0, 0, 0, 0, 0, 0,"
    " count(*) FROM machine GROUP BY project, build;"
    "CREATE TABLE listed(project INTEGER NOT NULL, build TEXT NOT NULL, name TEXT NOT NULL,"
    " PRIMARY KEY(project, build, name)) WITHOUT ROWID;"
    "ALTER TABLE project ADD COLUMN baseline TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE part ADD COLUMN before_count INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE part ADD COLUMN given_count INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE part ADD COLUMN refused_count INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE part ADD COLUMN over_count INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE part ADD COLUMN is_summed INTEGER NOT NULL DEFAULT 0;",
    /* 8: filters with what they dropped, and what of it is of reports that wait for symbols */
    "CREATE TABLE sift(number INTEGER PRIMARY KEY AUTOINCREMENT, project INTEGER NOT NULL,"
    " kind INTEGER NOT NULL, pattern TEXT NOT NULL, made_ns INTEGER NOT NULL,"
    " reports INTEGER NOT NULL DEFAULT 0, events INTEGER NOT NULL DEFAULT 0,"
    " count INTEGER NOT NULL DEFAULT 0, total_ns INTEGER NOT NULL DEFAULT 0,"
    " UNIQUE(project, kind, pattern));"
    "CREATE TABLE sifted(report INTEGER NOT NULL, sift INTEGER NOT NULL, events INTEGER NOT NULL,"
    " count INTEGER NOT NULL, total_ns INTEGER NOT NULL, PRIMARY KEY(report, sift)) WITHOUT ROWID;",
    /* 9: privacy manifests of builds, and what is compared with them: whose code makes the calls,
     * itself or by a library of the system, which functions that need a reason were recorded, and
     * why calls of one may be missing (''). Of calls that were stored before it is not known:
     * `callers` counts the reports of which it is */
    "CREATE TABLE manifest(project INTEGER NOT NULL, build TEXT NOT NULL, name TEXT NOT NULL,"
    " bytes BLOB NOT NULL, made_ns INTEGER NOT NULL, secret INTEGER NOT NULL,"
    " PRIMARY KEY(project, build, name));"
    "CREATE TABLE recorded_api(project INTEGER NOT NULL, build TEXT NOT NULL, name TEXT NOT NULL,"
    " missed TEXT NOT NULL, PRIMARY KEY(project, build, name)) WITHOUT ROWID;"
    "ALTER TABLE build ADD COLUMN callers INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE build_sum ADD COLUMN direct_count INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE build_sum ADD COLUMN system_count INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE build_sum ADD COLUMN code TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE part ADD COLUMN direct_count INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE part ADD COLUMN system_count INTEGER NOT NULL DEFAULT 0;",
};

enum { VERSION = sizeof steps / sizeof *steps };

static int version_of(sqlite3 *db)
{
    sqlite3_stmt *statement;
    int version = -1;
    if (sqlite3_prepare_v2(db, "PRAGMA user_version", -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW) {
        version = sqlite3_column_int(statement, 0);
    }
    sqlite3_finalize(statement);
    return version;
}

/* Take the step from `version`, unless another program took it meanwhile. */
static enum store_status take_step(sqlite3 *db, int version)
{
    char set[64];
    snprintf(set, sizeof set, "PRAGMA user_version = %d; COMMIT", version + 1);
    if (sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK) {
        return db_fail("%s", sqlite3_errmsg(db));
    }
    if (version_of(db) != version) {
        return sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL) == SQLITE_OK
                   ? STORE_OK
                   : db_fail("%s", sqlite3_errmsg(db));
    }
    if (sqlite3_exec(db, steps[version], NULL, NULL, NULL) != SQLITE_OK ||
        sqlite3_exec(db, set, NULL, NULL, NULL) != SQLITE_OK) {
        (void)db_fail("%s", sqlite3_errmsg(db));
        (void)sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
        return STORE_FAILED;
    }
    return STORE_OK;
}

enum store_status schema_make_tables(sqlite3 *db)
{
    enum store_status status = STORE_OK;
    for (int version = version_of(db); status == STORE_OK && version != VERSION;
         version = version_of(db)) {
        if (version > VERSION) {
            return db_fail("the database has version %d, and this program knows %d: use"
                           " the newer program",
                           version, VERSION);
        }
        status = version < 0 ? db_fail("%s", sqlite3_errmsg(db)) : take_step(db, version);
    }
    return status;
}
