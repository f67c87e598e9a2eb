// SPDX-License-Identifier: Apache-2.0
/* Whose code an image is, by its path; for programs of Apple's systems, by the bundle. */
#include <string.h>

#include "image_app.h"
#include "image_set.h"
#include "test.h"

TEST(without_a_bundle_folders_of_the_system_are_not_the_apps)
{
    sonde__image_app_program("/usr/local/bin/tool");
    sonde__image_app_program("/Applications/Xcode.app/Contents/Developer/usr/bin/xctest");
    CHECK(sonde__image_is_app("/usr/local/bin/tool", 0));
    CHECK(sonde__image_is_app("/usr/lib/dyld", SONDE__IMAGE_MAIN));
    CHECK(sonde__image_is_app("/opt/homebrew/lib/libzstd.1.dylib", 0));
    CHECK(!sonde__image_is_app("/usr/lib/libobjc.A.dylib", 0));
    CHECK(!sonde__image_is_app("/System/Library/Frameworks/UIKit.framework/UIKit", 0));
    CHECK(
        !sonde__image_is_app("/private/preboot/Cryptexes/OS/usr/lib/libobjc-trampolines.dylib", 0));
}

/* `inside`, `outside`: end with null */
static void check(const char *program, const char *const *inside, const char *const *outside)
{
    sonde__image_app_program(program);
    CHECK(sonde__image_is_app(program, SONDE__IMAGE_MAIN));
    for (; *inside != NULL; inside++) {
        CHECK(sonde__image_is_app(*inside, 0));
    }
    for (; *outside != NULL; outside++) {
        CHECK(!sonde__image_is_app(*outside, 0));
    }
}

TEST(a_bundle_of_ios_has_two_paths)
{
    static const char *const inside[] = {
        "/private/var/containers/Bundle/Application/6F1B/Shop.app/Frameworks/Cart.framework/Cart",
        "/var/containers/Bundle/Application/6F1B/Shop.app/Frameworks/libCart.dylib", NULL};
    static const char *const outside[] = {
        "/private/var/containers/Bundle/Application/6F1B/Shop.app2/lib.dylib",
        "/private/var/containers/Bundle/Application/77AA/Other.app/Other",
        "/Developer/usr/lib/libMainThreadChecker.dylib",
        "/private/preboot/Cryptexes/OS/usr/lib/libobjc-trampolines.dylib",
        "/Library/Developer/CoreSimulator/Volumes/iOS/RuntimeRoot/usr/lib/libobjc.A.dylib",
        "/usr/lib/libSystem.B.dylib",
        "",
        NULL};
    check("/private/var/containers/Bundle/Application/6F1B/Shop.app/Shop", inside, outside);
}

TEST(an_extension_has_the_libraries_of_its_app)
{
    static const char *const inside[] = {"/var/x/Shop.app/PlugIns/Share.appex/Share",
                                         "/var/x/Shop.app/Frameworks/libCart.dylib", NULL};
    static const char *const outside[] = {"/var/x/libCart.dylib", NULL};
    check("/var/x/Shop.app/PlugIns/Share.appex/Share", inside, outside);
}

TEST(a_bundle_of_macos)
{
    static const char *const inside[] = {"/Applications/Shop.app/Contents/Frameworks/libCart.dylib",
                                         "/Applications/Shop.app/Contents/MacOS/Shop", NULL};
    static const char *const outside[] = {"/opt/homebrew/lib/libzstd.1.dylib",
                                          "/System/Library/Frameworks/AppKit.framework/AppKit",
                                          NULL};
    check("/Applications/Shop.app/Contents/MacOS/Shop", inside, outside);
}
