// SPDX-License-Identifier: Apache-2.0
/* Privacy manifests that are given to a collector, and what a build calls and does not declare. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector.h"

#define PREFIX "NSPrivacyAccessedAPICategory"

static void check_script(const struct collector_run *run, const char *script, const char *expected)
{
    char *out = collector_script(run, script);
    CHECK_STR(out, expected);
    free(out);
}

/* `manifest FORMAT CATEGORY=REASONS…` makes the file m; `give BUILD NAME FILE` posts one and prints
 * the status. */
#define MANIFESTS                                                                                  \
    "manifest() { /usr/bin/python3 - \"$@\" <<'END'\n"                                             \
    "import plistlib, sys\n"                                                                       \
    "types = [{'NSPrivacyAccessedAPIType': '" PREFIX "' + name,\n"                                 \
    "          'NSPrivacyAccessedAPITypeReasons': reasons.split(',') if reasons else []}\n"        \
    "         for name, reasons in (a.split('=') for a in sys.argv[2:])]\n"                        \
    "plistlib.dump({'NSPrivacyAccessedAPITypes': types}, open('m', 'wb'),\n"                       \
    "              fmt=getattr(plistlib, 'FMT_' + sys.argv[1]))\n"                                 \
    "END\n}; [ -e write ] || $COLLECTOR key --data data add --role write >write; "                 \
    "api() { curl -s -o answer -w '%{http_code}\\n' -H \"Authorization: Bearer $(cat write)\" "    \
    "\"$@\"; }; "                                                                                  \
    "give() { api --data-binary @$3 $URL/api/projects/default/builds/$1/manifests/$2; }; "

/* An audit of the program; the rule of statvfs() has Apple's category. */
#define AUDIT                                                                                      \
    "printf '%s\\n' '[rule \"disk\"]' 'api = statvfs' 'class = " PREFIX "DiskSpace' "              \
    "'[rule \"names\"]' 'api = gethostname' >rules.ini; "                                          \
    "$SONDE run -q --audit rules.ini --build 1 --device a -o r -- "                                \
    "${LOOP%/run/run_loop}/collector/collector_asked measure:3 consent measure:2 identify:1 "      \
    ">said 2>&1 || cat said; post -H \"Authorization: Bearer $INGEST\" --data-binary @r; "

static const struct json *category_of(const struct json *part, const char *name)
{
    const struct json *one = json_need(part, "categories")->first;
    char full[128];
    snprintf(full, sizeof full, PREFIX "%s", name);
    while (one != NULL && strcmp(json_text(one, "category"), full) != 0) {
        one = one->next;
    }
    CHECK(one != NULL);
    return one;
}

static void check_state(const struct collector_run *run, const char *category, const char *state,
                        int undeclared)
{
    struct json *answer = collector_get(run, "/api/projects/default/builds/1/undeclared");
    const struct json *part = json_need(answer, "parts")->first;
    CHECK_STR(json_text(category_of(part, category), "state"), state);
    CHECK_EQ(json_int(answer, "undeclared"), undeclared);
    json_free(answer);
}

/* The calls with their group, path and consent. */
static void check_calls(const struct collector_run *run, const char *declared)
{
    struct json *answer = collector_get(run, "/api/projects/default/builds/1/undeclared");
    const struct json *calls = json_need(answer, "calls");
    CHECK_EQ(calls->count, 1); /* gethostname() needs no reason */
    const struct json *call = calls->first;
    CHECK_STR(json_text(call, "api"), "statvfs");
    CHECK_STR(json_need(call, "path")->first->text, "measure");
    CHECK_STR(json_need(call, "categories")->first->text, PREFIX "DiskSpace");
    CHECK_EQ(json_int(call, "count"), 5);
    CHECK_EQ(json_int(call, "before_consent"), 3);
    CHECK_EQ(json_int(call, "own_calls"), 5);
    CHECK(json_int(call, "group") > 0);
    CHECK_STR(json_text(call, "declared"), declared);
    json_free(answer);
}

TEST_TIMEOUT(undeclared_calls_of_a_build_are_listed, 120)
{
    struct collector_run run = collector_start(NULL);
    check_script(&run, MANIFESTS AUDIT, "201\n");
    collector_settle(&run);
    check_state(&run, "DiskSpace", "called, and no manifest was given", 0);
    check_calls(&run, "unknown");
    check_script(&run,
                 MANIFESTS "page() { curl -s -m 20 -u me:$ADMIN $URL/projects/default/builds/1; }; "
                           "page >p; grep -c 'called, and no manifest was given' p; "
                           "grep -c '<p>the program: no manifest was given' p; "
                           "manifest XML FileTimestamp=C617.1; give 1 App.app m; "
                           "page | grep -c 'called but undeclared'",
                 "1\n1\n201\n1\n");
    check_state(&run, "DiskSpace", "called but undeclared", 1);
    check_state(&run, "FileTimestamp", "not known", 1); /* the audit did not look for it */
    check_calls(&run, "no");
    check_script(&run,
                 MANIFESTS "manifest BINARY FileTimestamp=C617.1 DiskSpace=E174.1,85F4.1; "
                           "give 1 App.app m; give 1 App.app m; api $URL/api/projects/default/"
                           "builds/1/manifests/App.app; cmp m answer && echo same",
                 "200\n200\n200\nsame\n");
    check_state(&run, "DiskSpace", "declared and called", 0);
    check_calls(&run, "yes");
    collector_stop(&run);
    collector_again(&run);
    check_script(
        &run,
        MANIFESTS "get /api/projects/default/builds/1/undeclared | tr -d '\\n ' | "
                  "grep -o '\"reasons\":\\[\"E174.1\",\"85F4.1\"\\]'; "
                  "api -X DELETE $URL/api/projects/default/builds/1/manifests/App.app; "
                  "api -X DELETE $URL/api/projects/default/builds/1/manifests/App.app; "
                  "get '/api/projects/default/actions?limit=2' | grep -o 'build 1: [^\"]*'",
        "\"reasons\":[\"E174.1\",\"85F4.1\"]\n200\n404\nbuild 1: manifest App.app removed\n"
        "build 1: manifest App.app given\n");
    check_state(&run, "DiskSpace", "called, and no manifest was given", 0);
    collector_stop(&run);
}

/* `sonde upload` sends what an app's bundle has, each part under its name, again in place of the
 * former; nothing if one cannot be read. */
TEST_TIMEOUT(manifests_of_a_bundle_are_uploaded, 120)
{
    struct collector_run run = collector_start(NULL);
    check_script(
        &run,
        MANIFESTS
        "F='My App.app/Frameworks'; mkdir -p $F/Stat.framework/Resources $F/Bare.framework "
        "'My App.app/Kit.bundle' X.framework 2>/dev/null; mkdir -p \"$F/Stat.framework/Resources\" "
        "\"$F/Bare.framework\"; manifest XML DiskSpace=E174.1; cp m 'My "
        "App.app/PrivacyInfo.xcprivacy'; "
        "cp m \"$F/Stat.framework/Resources/PrivacyInfo.xcprivacy\"; "
        "cp m X.framework/PrivacyInfo.xcprivacy; manifest BINARY FileTimestamp=C617.1; "
        "cp m 'My App.app/Kit.bundle/PrivacyInfo.xcprivacy'; "
        "send() { $SONDE upload --to $URL --key-file write --manifests --project default --build "
        "\"$@\" >sent 2>&1; echo \"exit $?\" >>sent; sed \"s|$URL|URL|\" sent; }; "
        "send '2 x' 'My App.app/'; get /api/projects/default/builds/2%20x/manifests | "
        "grep -o '\"\\(name\\|code\\)\": \"[^\"]*\"'; send 3 X.framework/PrivacyInfo.xcprivacy m; "
        "send 4 m m; echo no >no; send 5 m no; send '../x' m; "
        "api $URL/api/projects/default/builds/5/manifests; echo bad >write; send 6 m; "
        "$SONDE upload --to $URL --manifests --build 1 m 2>&1 | grep -c 'project and --build are'",
        "My App.app  stored\nMy App.app:Kit.bundle  stored\nStat.framework:Resources  stored\n"
        "Bare.framework  stored: no manifest, so it declares nothing\nexit 0\n"
        "\"name\": \"Bare.framework\"\n\"code\": \"Bare.framework\"\n"
        "\"name\": \"My App.app\"\n\"code\": \"\"\n"
        "\"name\": \"My App.app:Kit.bundle\"\n\"code\": \"\"\n"
        "\"name\": \"Stat.framework:Resources\"\n\"code\": \"Stat.framework\"\n"
        "X.framework  stored\nm  stored\nexit 0\n"
        "sonde upload: m: there are two manifests of this name\nexit 2\n"
        "sonde upload: no: line 1: not a property list: <plist> is expected\nexit 5\n"
        "sonde upload: the names of a project and a build have 1 to 127 bytes, and no slash "
        "(see sonde upload --help)\nexit 2\n404\n"
        "sonde upload: m: not stored: a key is needed: Authorization: Bearer KEY\nexit 1\n1\n");
    collector_stop(&run);
}

/* What is dropped by a filter cannot be said never to be called. */
TEST_TIMEOUT(filters_make_never_called_unknown, 120)
{
    struct collector_run run = collector_start(NULL);
    check_script(&run,
                 MANIFESTS
                 "printf 'statvfs\\nstat\\n' >list; $SONDE run -q --record list --build 1 -o r -- "
                 "${LOOP%/run/run_loop}/collector/collector_asked measure:1; "
                 "post -H \"Authorization: Bearer $INGEST\" --data-binary @r; "
                 "manifest XML FileTimestamp=C617.1 DiskSpace=E174.1; give 1 App.app m",
                 "201\n201\n");
    collector_settle(&run);
    check_state(&run, "FileTimestamp", "declared but never called", 0);
    check_script(&run, "$COLLECTOR filter --data data --project default add idle", "filter  1\n");
    check_state(&run, "FileTimestamp", "declared but never called", 0);
    check_script(&run, "$COLLECTOR filter --data data --project default add sdk=stats",
                 "filter  2\n");
    check_state(&run, "FileTimestamp", "not known", 0);
    collector_stop(&run);
}

/* Nothing of them is kept, and the collector lives. */
TEST_TIMEOUT(hostile_manifests_are_refused, 120)
{
    struct collector_run run = collector_start(NULL);
    check_script(
        &run,
        MANIFESTS
        "manifest BINARY DiskSpace=E174.1; head -c 60 m >cut; : >empty; echo hello >text; "
        "printf '<plist><dict><key>\\351</key><true/></dict></plist>' >latin; "
        "printf '<!DOCTYPE p [<!ENTITY a \"aa\"><!ENTITY b \"&a;&a;\">]><plist><string>&b;"
        "</string></plist>' >entities; "
        "{ printf '<plist>'; yes '<array>' | head -9000 | tr -d '\\n'; } >deep; "
        "{ printf '<plist><array>'; yes '<true/>' | head -17000 | tr -d '\\n'; } >many; "
        "printf '<plist><dict><key>NSPrivacyAccessedAPITypes</key><string>a</string></dict>"
        "</plist>' >types; head -c 200000 /dev/zero >large; head -c 21000000 /dev/zero >huge; "
        "for f in cut empty text latin entities deep many types large huge; do "
        "printf '%s ' $f; give 1 x $f; done; give 1 x%2Fy m; give 1 'x%01' m; "
        "give 1 $(printf %0127d 1) m; give 1 $(printf %0128d 1) m; "
        "api -H 'Origin: http://else.example' --data-binary @m "
        "$URL/api/projects/default/builds/1/manifests/x; "
        "get /api/projects/default/builds/1/manifests | grep -c name; "
        "api $URL/api/projects/default/builds/2/manifests; "
        "api $URL/api/projects/default/builds/1/undeclared",
        "cut 422\nempty 422\ntext 422\nlatin 422\nentities 422\ndeep 422\nmany 422\ntypes 422\n"
        "large 413\nhuge 413\n404\n400\n201\n404\n403\n1\n404\n404\n");
    collector_stop(&run);
}
