// SPDX-License-Identifier: Apache-2.0
/* Privacy manifests that are given to a collector: from bundles of apps, and hostile ones. */
#include <stdlib.h>

#include "collector.h"
#include "manifests.h"

static void check_script(const struct collector_run *run, const char *script, const char *expected)
{
    char *out = collector_script(run, script);
    CHECK_STR(out, expected);
    free(out);
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
