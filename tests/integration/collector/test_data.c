// SPDX-License-Identifier: Apache-2.0
/* The data folder and the options: backup and restore, and where an option is read from. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "collector.h"

static void check_script(const struct collector_run *run, const char *script, const char *expected)
{
    char *out = collector_script(run, script);
    CHECK_STR(out, expected);
    free(out);
}

/* A backup while senders send has all that was acknowledged before; a damaged one is refused. */
TEST_TIMEOUT(backup_has_all_that_was_acknowledged, 120)
{
    struct collector_run run = collector_start(NULL);
    check_script(
        &run,
        "timeout 100 python3 $SENDERS $URL $INGEST $REPORT acknowledged >>out 2>&1 & "
        "for i in $(seq 1000); do [ $(cat acknowledged 2>/dev/null | wc -l) -ge 200 ] && break; "
        "sleep 0.02; done; for i in $(seq 1000); do get /metrics | "
        "grep -q '^sonde_collector_reports_stored_total [1-9]' && break; sleep 0.02; done; "
        "grep -x '[0-9a-f]\\{32\\}' acknowledged >before; "
        "$COLLECTOR backup --data data copy | "
        "grep -o 'all sound: copy'; [ $(wc -l <acknowledged) -gt $(wc -l <before) ] && "
        "echo meanwhile; kill %1; wait 2>/dev/null; "
        "$COLLECTOR backup --data data copy 2>&1; echo $?; "
        "timeout 20 $COLLECTOR backup --data copy copy/blobs/again 2>&1; echo $?; "
        "rm -rf copy/blobs/again",
        "all sound: copy\nmeanwhile\nsonde-collector backup: copy: is not empty\n2\n"
        "sonde-collector backup: copy/blobs/again: is in a folder that is copied\n2\n");
    collector_stop(&run);
    check_script(&run,
                 "$COLLECTOR restore --data again copy | grep -o 'all sound: again'; "
                 "rm -rf data; mv again data",
                 "all sound: again\n");
    collector_again(&run);
    collector_settle(&run);
    collector_stop(&run);
    check_script(
        &run,
        "sqlite3 data/collector.db 'SELECT lower(hex(id)) FROM report' | sort >stored; "
        "sort before | comm -13 stored - | wc -l; uniq -d stored | wc -l; "
        "f=$(find copy/blobs -type f | head -1); cp $f whole; "
        "printf damaged | dd of=$f bs=1 seek=20 conv=notrunc 2>/dev/null; "
        "$COLLECTOR restore --data more copy 2>&1 | sed 's/file [0-9a-f]*/file/'; "
        "rm $f; $COLLECTOR restore --data more copy 2>&1 | sed 's/file [0-9a-f]*/file/'; "
        "cp whole $f; "
        "printf '%4096s' x | dd of=copy/collector.db bs=4096 seek=3 conv=notrunc "
        "2>/dev/null; $COLLECTOR restore --data more copy 2>&1; echo $?; ls -d more 2>&1 || true",
        "0\n0\nsonde-collector restore: the file is damaged\n"
        "sonde-collector restore: the file is missing: No such file or directory\n"
        "sonde-collector restore: copy/collector.db: the database is damaged\n5\n"
        "ls: cannot access 'more': No such file or directory\n");
}

/* The file, then the environment, then the command line; the last one counts. */
TEST_TIMEOUT(options_have_one_order, 60)
{
    struct collector_run run = collector_start(NULL); /* its port is taken */
    check_script(
        &run,
        "PORT=${URL##*:}; echo \"# a comment\n listen = 127.0.0.1:$PORT\ndata = other \n\" >conf; "
        "$COLLECTOR serve --config conf 2>&1 | grep -v key.*n.*_ | grep -v ^time= | sed "
        "\"s/$PORT/PORT/\"; ls -d other; "
        "SONDE_COLLECTOR_LISTEN=nowhere $COLLECTOR serve --config=conf 2>&1; "
        "SONDE_COLLECTOR_CONFIG=conf SONDE_COLLECTOR_LISTEN=nowhere $COLLECTOR serve "
        "--listen elsewhere 2>&1; $COLLECTOR project --config conf; "
        "echo 'lisen = x' >conf; $COLLECTOR serve --config conf 2>&1; "
        "echo 'threads = x' >conf; $COLLECTOR serve --config conf 2>&1; "
        "echo 'threads' >conf; $COLLECTOR key --config conf 2>&1; "
        "$COLLECTOR serve --config none 2>&1; echo $?; "
        "timeout 9 $COLLECTOR serve --config other --data x --listen 127.0.0.1:0 2>&1; echo $?; "
        "ls -d x 2>&1; timeout 9 $COLLECTOR serve --data other --listen 127.0.0.1:65536 2>&1; true",
        "first start: these keys are shown once\n"
        "sonde-collector serve: cannot listen at 127.0.0.1:PORT: Address already in use\n"
        "other\n"
        "sonde-collector serve: not an address and port as 127.0.0.1:7450: nowhere\n"
        "sonde-collector serve: not an address and port as 127.0.0.1:7450: elsewhere\n"
        "1  default\n"
        "sonde-collector serve: conf:1: no option of serve has this name\n"
        "sonde-collector serve: conf:1: not a number from 1 to 64\n"
        "sonde-collector key: conf:1: \"name = value\" is expected\n"
        "sonde-collector serve: none: No such file or directory\n3\n"
        "sonde-collector serve: other: Is a directory\n1\n"
        "ls: cannot access 'x': No such file or directory\n"
        "sonde-collector serve: not an address and port as 127.0.0.1:7450: 127.0.0.1:65536\n");
    collector_stop(&run);
}

/* Others read none of its files, also in a folder that they may list. */
TEST_TIMEOUT(files_are_their_users_alone, 60)
{
    struct collector_run run = {.folder = "shared"};
    char folder[256];
    snprintf(folder, sizeof folder, "%s/shared", test_folder());
    CHECK_EQ(mkdir(folder, 0755), 0);
    mode_t before = umask(022);
    collector_begin(&run, NULL);
    umask(before);
    check_script(&run,
                 "post -H \"Authorization: Bearer $INGEST\" --data-binary @$REPORT; "
                 "ls shared/collector.db-wal; find shared -type f -perm /077",
                 "201\nshared/collector.db-wal\n");
    char *output = program_output(&run.program);
    CHECK_EQ(strstr(output, "level=error"), NULL);
    free(output);
    collector_stop(&run);
}

/* A rotated key is refused at once, and the new one may what the old one might. */
TEST_TIMEOUT(rotated_key_has_a_successor, 60)
{
    struct collector_run run = collector_start(NULL);
    check_script(
        &run,
        "key() { $COLLECTOR key --data data \"$@\" 2>&1 || true; }; "
        "send() { post -H \"Authorization: Bearer $1\" --data-binary @$REPORT; }; "
        "send $INGEST; NEW=$(key rotate 2); echo $NEW | cut -c1-4; sleep 1.1; send $INGEST; "
        "send $NEW; key rotate 2; key rotate 1x; key rotate; ADMIN=$(key rotate 1); "
        "echo $ADMIN | cut -c1-4; get /api/projects | grep -c name; key; key add -l 'a\nb'; "
        "key add -l $(printf %065d 1); key add -l $(printf %064d 1) | cut -c1-4; "
        "$COLLECTOR log --data data | sed 's/^[^ ]*  //' | sed -n 2,3p",
        "201\nsni_\n401\n200\nsonde-collector key: valid key 2: there is none\n"
        "sonde-collector key: not the number of a key: 1x (see sonde-collector key --help)\n"
        "sonde-collector key: takes add, list, revoke NUMBER, or rotate NUMBER (see "
        "sonde-collector key --help)\nsnt_\n1\n1    admin   revoked  *  first\n"
        "2    ingest  revoked  default  first\n3    ingest  valid    default  first\n"
        "4    admin   valid    *  first\n"
        "sonde-collector key: --label: not at most 64 bytes without control characters (see "
        "sonde-collector key --help)\n"
        "sonde-collector key: --label: not at most 64 bytes without control characters (see "
        "sonde-collector key --help)\nsnt_\nkey 0   key 1: revoked, key 4 is in its place\n"
        "key 0   default: key 2: revoked, key 3 is in its place\n");
    collector_stop(&run);
}

/* What HTTPS needs is named. */
TEST_TIMEOUT(certificate_of_another_key_is_named, 60)
{
    struct collector_run run = collector_start(NULL);
    check_script(
        &run,
        "make() { openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 "
        "-subj /CN=x -keyout $1.key -out $1.pem 2>/dev/null || exit 1; }; make a; make b; "
        "$COLLECTOR serve --data tls --listen 127.0.0.1:0 --tls-certificate a.pem "
        "--tls-key b.key 2>&1 | grep '^sonde'",
        "sonde-collector serve: cannot listen at 127.0.0.1:0, or the certificate and the "
        "key are no PEM files that belong together\n");
    collector_stop(&run);
}

TEST_TIMEOUT(changes_are_listed, 60)
{
    struct collector_run run = collector_start(NULL);
    check_script(&run,
                 "$COLLECTOR project --data data add web >/dev/null; "
                 "$COLLECTOR project --data data limit web --per-day 5; "
                 "$COLLECTOR key --data data revoke 3; "
                 "$COLLECTOR log --data data -n 4 | sed 's/^[^ ]*  //'; $COLLECTOR key --data data",
                 "key 0   web: key 3: revoked\nkey 0   web: limit of reports: 0 a minute, 5 a day\n"
                 "key 0   web: key 3: added, ingest, first\nkey 0   project web: added\n"
                 "1    admin   valid    *  first\n2    ingest  valid    default  first\n"
                 "3    ingest  revoked  web  first\n");
    collector_stop(&run);
}
