// SPDX-License-Identifier: Apache-2.0
/* The corpus itself: its truth equals the actions of its blocks' helpers, at every level and in
 * every runtime. Its layouts equal those that clang prints. The layout is wrong in each case made
 * for that. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "corpus.h"
#include "test.h"

enum { HEADER = 32, MOST = 512 };

struct line {
    char name[40], where[8], layout[200];
    unsigned size, flags;
    char *owned, *found; /* "s32 r40( s40 )"; valid during the check */
};

/* Cut `text`, the output of the program, into its lines. */
static unsigned cut(char *text, struct line *lines)
{
    unsigned count = 0;
    for (char *at; (at = strsep(&text, "\n")) != NULL;) {
        struct line *line = &lines[count];
        char *owned = strstr(at, " owned"), *found = strstr(at, " found");
        if (owned == NULL || found == NULL) {
            continue;
        }
        CHECK_EQ(sscanf(at, "%39s %*s %7s %u flags %x layout %199s", line->name, line->where,
                        &line->size, &line->flags, line->layout),
                 5);
        line->owned = owned + 6;
        line->found = found + 6;
        *found = '\0';
        CHECK(++count < MOST);
    }
    return count;
}

static bool is_owned(char kind)
{
    return strchr("sbrwc", kind) != NULL;
}

/* The captures of a line in its order; those in a byref have its offset. */
static unsigned parse(const char *text, struct corpus_capture *captures)
{
    unsigned count = 0;
    int32_t byref = -1;
    for (const char *at = text; *at != '\0';) {
        if (*at == ' ') {
            at++;
        } else if (*at == ')') {
            byref = -1;
            at++;
        } else {
            char *end;
            struct corpus_capture capture = {.kind = *at, .byref = byref};
            capture.offset = (uint32_t)strtoul(at + 1, &end, 10);
            if (*end == '.') {
                capture.size = (uint32_t)strtoul(end + 1, &end, 10);
            }
            if (*end == '(') {
                byref = (int32_t)capture.offset;
                end++;
            }
            captures[count++] = capture;
            CHECK(count < MOST);
            at = end;
        }
    }
    return count;
}

static const struct corpus_capture *find(const struct corpus_capture *in, unsigned count,
                                         const struct corpus_capture *like)
{
    for (unsigned i = 0; i < count; i++) {
        if (in[i].offset == like->offset && in[i].byref == like->byref) {
            return &in[i];
        }
    }
    return NULL;
}

static void check_line(const struct line *line)
{
    static struct corpus_capture owned[MOST], found[MOST];
    const struct corpus_block *truth = corpus_find(line->name);
    unsigned owned_count = parse(line->owned, owned), found_count = parse(line->found, found);
    unsigned expected = 0;
    CHECK(truth != NULL);
    CHECK_EQ(line->size, truth->size);
    CHECK_STR(line->where, truth->where);
    for (unsigned i = 0; i < truth->count; i++) {
        const struct corpus_capture *t = &truth->captures[i];
        const struct corpus_capture *o = find(owned, owned_count, t);
        const struct corpus_capture *f = find(found, found_count, t);
        if (is_owned(t->kind) || (t->kind == 'u' && o != NULL)) {
            if (o == NULL || o->kind != t->kind) {
                FAIL("%s: %c%u is not seen: %s", line->name, t->kind, t->offset, line->owned);
            }
            expected++;
        } else if (o != NULL || f == NULL || f->kind != t->kind || f->size != t->size) {
            FAIL("%s: %c%u.%u is not found: %s", line->name, t->kind, t->offset, t->size,
                 line->found);
        }
    }
    if (owned_count != expected) {
        FAIL("%s owns more than the truth has: %s", line->name, line->owned);
    }
}

/* Run the program; every line must be true. Returns the number of printed blocks. */
static unsigned check_build(const char *level, const char *parts, const char *flavour,
                            struct line *lines)
{
    char path[700];
    snprintf(path, sizeof path, "%s/corpus-%s", corpus_built(level, parts), flavour);
    const char *argv[] = {path, NULL};
    struct test_run run = test_run(argv, NULL, "", 60);
    CHECK_EQ(run.status, 0);
    CHECK_CONTAINS(run.out, "unbalanced 0\n");
    unsigned count = cut(run.out, lines);
    for (unsigned i = 0; i < count; i++) {
        check_line(&lines[i]);
    }
    test_run_done(&run); /* owned and found pointed into it */
    return count;
}

static struct line lines[MOST];

TEST_TIMEOUT(inspects_all_captures_at_every_optimisation_level, 200)
{
    size_t blocks;
    (void)corpus_truth(&blocks);
    CHECK(blocks >= 82);
    CHECK_EQ(check_build("-O0", CORPUS_ALL, "apple", lines), blocks);
    CHECK_EQ(check_build("-O2", CORPUS_ALL, "apple", lines), blocks);
    for (unsigned i = 0; test_long() && i < 3; i++) {
        static const char *const levels[] = {"-O1", "-Os", "-Oz"};
        CHECK_EQ(check_build(levels[i], CORPUS_ALL, "apple", lines), blocks);
    }
}

TEST_TIMEOUT(inspects_all_captures_in_other_runtimes, 200)
{
    CHECK(check_build("-O2", CORPUS_ALL, "debian", lines) >= 82);
    CHECK(check_build("-O2", CORPUS_ALL, "libobjc2", lines) >= 82);
    /* GNUstep's ABI never writes a layout (L9) */
    unsigned count = check_build("-O1", "gnu-arc gnu-mrc", "libobjc2", lines);
    unsigned said = 0;
    CHECK(count >= 70);
    for (unsigned i = 0; i < count; i++) {
        CHECK(strcmp(lines[i].layout, "none") == 0 || strcmp(lines[i].layout, "no") == 0);
        said += (lines[i].flags & 1u << 31) != 0;
    }
    CHECK(said >= 60);
}

TEST_TIMEOUT(inspects_all_captures_with_debians_runtime, 200)
{
    unsigned count = check_build("-O1", "debian", "apple", lines);
    CHECK(count >= 25);
}

/* The captures by the layout alone: the kind of each word, 0 for none. */
static unsigned read_layout(const char *layout, struct corpus_capture *captures)
{
    static const struct {
        const char *name;
        char kind;
        unsigned unit;
    } ops[] = {{"BL_NON_OBJECT_BYTES:", 0, 1}, {"BL_NON_OBJECT_WORD:", 0, 8},
               {"BL_STRONG:", 's', 8},         {"BL_BYREF:", 'r', 8},
               {"BL_WEAK:", 'w', 8},           {"BL_UNRETAINED:", 'u', 8}};
    unsigned count = 0, offset = HEADER;
    for (const char *at = layout; at != NULL && *at != '\0'; at = strchr(at, ',')) {
        at += *at == ',';
        for (unsigned i = 0; i < sizeof ops / sizeof ops[0]; i++) {
            size_t length = strlen(ops[i].name);
            if (strncmp(at, ops[i].name, length) != 0) {
                continue;
            }
            for (unsigned n = (unsigned)strtoul(at + length, NULL, 10); n > 0; n--) {
                if (ops[i].kind != 0) {
                    captures[count++] =
                        (struct corpus_capture){.kind = ops[i].kind, .offset = offset, .byref = -1};
                }
                offset += ops[i].unit;
            }
        }
    }
    return count;
}

/* In a layout a block counts as a strong object. */
static bool layout_is_right(const struct line *line)
{
    static struct corpus_capture said[MOST];
    const struct corpus_block *truth = corpus_find(line->name);
    unsigned count = read_layout(line->layout, said), in_block = 0;
    for (unsigned i = 0; i < truth->count; i++) {
        const struct corpus_capture *t = &truth->captures[i];
        if (t->byref >= 0 || t->kind == 'd' || t->kind == 'p') {
            continue;
        }
        const struct corpus_capture *l = find(said, count, t);
        in_block++;
        if (l == NULL || l->kind != (t->kind == 'b' ? 's' : t->kind)) {
            return false;
        }
    }
    return count == in_block;
}

TEST_TIMEOUT(layouts_are_wrong_exactly_where_known, 200)
{
    unsigned count = check_build("-O2", CORPUS_ALL, "apple", lines), lies = 0;
    for (unsigned i = 0; i < count; i++) {
        bool right = layout_is_right(&lines[i]);
        lies += !right;
        if (strstr(lines[i].name, "_L") != NULL && right) {
            FAIL("the layout of %s is right: %s", lines[i].name, lines[i].layout);
        }
    }
    CHECK(!layout_is_right(&lines[0]) || lies < count);
    printf("    the layout alone is right for %u of %u blocks\n", count - lies, count);
}

/* The layouts in the program equal those that the compiler printed. */
TEST_TIMEOUT(layouts_equal_what_the_compiler_prints, 200)
{
    static const char command[] =
        "clang-19 -w -fblocks -fobjc-runtime=macosx-10.15 -fobjc-arc -Xclang -print-ivar-layout "
        "-c '%s/tests/integration/blocks/corpus/cases_arc.m' -o /dev/null | "
        "sed -n 's/^ Inline block variable layout: [^,]*,/&/; /[bB]lock variable layout/p' | "
        "tr -d ' '";
    char text[1200];
    unsigned count = check_build("-O0", CORPUS_ALL, "apple", lines), compared = 0;
    snprintf(text, sizeof text, command, test_source_dir());
    const char *argv[] = {"sh", "-c", text, NULL};
    struct test_run run = test_run(argv, NULL, NULL, 100);
    CHECK_EQ(run.status, 0);
    for (unsigned i = 0; i < count; i++) {
        char needle[256];
        const char *layout = lines[i].layout;
        if (strncmp(lines[i].name, "arc_", 4) != 0 || strncmp(layout, "BL_", 3) != 0) {
            continue;
        }
        if (layout[strlen(layout) - 1] == ',') {
            snprintf(needle, sizeof needle, "layout:%sBL_OPERATOR:0\n", layout);
        } else { /* the compiler omits counts of 0 */
            size_t used = (size_t)snprintf(needle, sizeof needle, ",");
            char copy[200], *rest = copy;
            memcpy(copy, layout, strlen(layout) + 1);
            for (char *op; (op = strsep(&rest, ",")) != NULL;) {
                if (strcmp(strchr(op, ':'), ":0") != 0) {
                    used += (size_t)snprintf(needle + used, sizeof needle - used, "%s,", op);
                }
            }
            snprintf(needle + used, sizeof needle - used, "BL_OPERATOR:0\n");
        }
        CHECK_CONTAINS(run.out, needle);
        compared++;
    }
    CHECK(compared >= 40);
    test_run_done(&run);
}
