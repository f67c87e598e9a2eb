// SPDX-License-Identifier: Apache-2.0
/* Hostile names: every bound ends the decoder with no name. No test reads a clock; a bound that
 * does not hold shows as a test that never ends or a stack that overflows. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "swift.h"
#include "test.h"

static char name[2 * SONDE__SWIFT_INPUT_MAX], text[1 << 16];

static bool decodes(void)
{
    bool full = sonde__swift_decode(name, SONDE__SWIFT_FULL, text, sizeof text);
    bool brief = sonde__swift_decode(name, SONDE__SWIFT_SHORT, text, sizeof text);
    CHECK(full == brief);
    return full;
}

/* `count` times `piece` behind `begin`. */
static void repeat(const char *begin, const char *piece, size_t count, const char *end)
{
    size_t used = (size_t)snprintf(name, sizeof name, "%s", begin);
    for (size_t i = 0; i < count; i++) {
        used += (size_t)snprintf(name + used, sizeof name - used, "%s", piece);
    }
    snprintf(name + used, sizeof name - used, "%s", end);
}

/* Each pair of the one before doubles the text: (A, A), ((A, A), (A, A)), ... */
TEST(substitutions_that_double_end_at_the_limits)
{
    size_t used = (size_t)snprintf(name, sizeof name, "$s1a1bVABG");
    (void)used;
    repeat("$s1a1PVySiSiG", "", 0, "");
    for (unsigned levels = 1; levels < 24; levels++) {
        used = (size_t)snprintf(name, sizeof name, "$s1a1PVyS2iG");
        for (unsigned i = 0; i < levels; i++) {
            /* substitution n is the pair before: A is `a`, B `P`, C a.P, D the first pair */
            used += (size_t)snprintf(name + used, sizeof name - used, "AA1PVyA2%cG", 'C' + (char)i);
        }
        (void)decodes();
    }
    repeat("$s1a1PVyS2iG", "y", 0, "");
    CHECK(decodes());
}

TEST(deep_types_end_at_the_depth)
{
    repeat("$sSi", "Sg", 60, "");
    CHECK(decodes());
    repeat("$sSi", "Sg", 1500, "");
    CHECK(!decodes());
    repeat("$sSi", "m", 3000, "");
    CHECK(!decodes());
    repeat("$s1a1fyy", "yyc", 1000, "F");
    (void)decodes();
    repeat("_Tt", "GSq", 1000, "");
    CHECK(!decodes());
    repeat("_Tt", "C", 2000, "");
    CHECK(!decodes());
    repeat("$s1a1fyyF", "1gL_yyF", 500, "");
    CHECK(!decodes());
}

TEST(long_lists_end_at_their_length)
{
    repeat("$s1a1fyySi_", "Si", 254, "tF");
    CHECK(decodes());
    repeat("$s1a1fyySi_", "Si", 400, "tF");
    CHECK(!decodes());
    repeat("$s1a1fyySi_S", "255i", 1, "tF");
    CHECK(decodes());
    repeat("$s1a1fyySi_S", "2000i", 1, "tF");
    CHECK(!decodes());
    repeat("$s", "y", 3000, "");
    CHECK(!decodes());
    repeat("$s1a1fyyxr", "99999999_", 1, "lF");
    (void)decodes();
}

/* A specialization for a closure contains the closure's name, which contains another one. */
TEST(names_in_names_end_at_their_depth)
{
    snprintf(name, sizeof name, "$s1a1fyyF");
    for (int i = 0; i < 40; i++) {
        char inner[sizeof name];
        memcpy(inner, name, sizeof name);
        snprintf(name, sizeof name, "$s1a1fyyF%zu%.3000sTf1c_n", strlen(inner), inner);
        (void)decodes();
    }
    CHECK(strlen(name) > 500);
}

TEST(too_long_names_and_too_small_buffers_are_refused)
{
    repeat("$s1a1fyySi_", "Si", 10, "tF");
    char whole[512];
    CHECK(sonde__swift_decode(name, SONDE__SWIFT_FULL, whole, sizeof whole));
    size_t size = strlen(whole) + 1;
    for (size_t i = 0; i < size; i++) {
        char *exact = malloc(i + 1);
        CHECK(!sonde__swift_decode(name, SONDE__SWIFT_FULL, exact, i));
        free(exact);
    }
    char *exact = malloc(size);
    CHECK(sonde__swift_decode(name, SONDE__SWIFT_FULL, exact, size));
    CHECK_STR(exact, whole);
    free(exact);
    repeat("$s1a1fyyF.", "x", SONDE__SWIFT_INPUT_MAX, "");
    CHECK(!decodes());
}

/* Sequences of pieces of all kinds: no crash, and the same answer in both styles where the text
 * fits. */
TEST_TIMEOUT(names_by_chance_do_no_harm, 120)
{
    static const char *const pieces[] = {
        "4shop", "1a",     "3foo",      "5Store", "C",    "V",      "O",     "P",    "F",    "y",
        "yy",    "Si",     "SS",        "Sg",     "Sa",   "SD",     "G",     "_",    "t",    "c",
        "x",     "q_",     "qd__",      "l",      "r0_l", "Rz",     "SHRz",  "Rs_",  "vg",   "vs",
        "vp",    "fC",     "fc",        "fD",     "fU_",  "fu0_",   "fA_",   "fi",   "Ma",   "Mn",
        "WOh",   "WP",     "Tm",        "TA",     "Ta",   "Tj",     "TW",    "TR",   "TQ0_", "TY1_",
        "Tg5",   "Tf4n_n", "Tf1cpi5_n", "A",      "AA",   "aB",     "A3b2C", "LL",   "L_",   "Ll",
        "E",     "Z",      "z",         "h",      "n",    "d",      "K",     "Ya",   "Yb",   "XE",
        "Xo",    "XD",     "Xp",        "p",      "Xl",   "Xc",     "HP",    "HC",   "HD1_", "g_",
        "Qr",    "QO",     "Qo_",       "Qz",     "Qy_",  "Iegnr_", "Ieg_",  "IxB_", "m",    "XMt",
        "i",     "ig",     "oi",        "2eeoi",  "0a1B", "002_a",  ".1",    "_pXp", "WZ",   "Te",
        "Tv0_",  "TK",     "TH",        "fMf_",   "fMa_", "Xx",     "XX",    "QP",   "Qp",   "Bi8_",
    };
    uint64_t seed = 11;
    for (unsigned i = 0; i < (test_long() ? 5000000u : 200000u); i++) {
        size_t used = (size_t)snprintf(name, sizeof name, "%s", i % 16 == 0 ? "_Tt" : "$s");
        do {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            const char *piece = pieces[(seed >> 33) % (sizeof pieces / sizeof pieces[0])];
            used += (size_t)snprintf(name + used, sizeof name - used, "%s", piece);
        } while ((seed >> 20 & 15) != 0 && used < SONDE__SWIFT_INPUT_MAX);
        (void)sonde__swift_decode(name, SONDE__SWIFT_FULL, text, sizeof text);
        (void)sonde__swift_decode(name, SONDE__SWIFT_SHORT, text, sizeof text);
    }
}
