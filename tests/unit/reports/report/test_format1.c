// SPDX-License-Identifier: Apache-2.0
/* Files of format 1, and their views by the last version that wrote it
 * (tests/golden/report/format1): they are read whole, and shown as before. Later versions may add
 * lines of text or keys of JSON. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report_read.h"
#include "sample.h"
#include "test.h"

static const char *const names[] = {"stacks", "watch", "heap-blocks", "run", "calls"};
enum { NAMES = sizeof names / sizeof *names };

static char *path_of(const char *name, const char *kind, char path[512])
{
    snprintf(path, 512, "%s/tests/golden/report/format1/%s.%s", test_source_dir(), name, kind);
    return path;
}

static struct sonde__report *read_old(const char *name, struct sonde__report_loss *ret_loss)
{
    char path[512];
    struct sample_bytes file = {0};
    file.data = test_read_file(path_of(name, "sonde", path), &file.size);
    struct sonde__report *r = sample_read_back(&file, ret_loss);
    free(file.data);
    CHECK_EQ(ret_loss->damage, SONDE__REPORT_WHOLE);
    CHECK_EQ(ret_loss->unknown_fields, 0);
    CHECK_EQ(ret_loss->bad_parts, 0);
    CHECK_EQ(ret_loss->format, 1);
    CHECK_EQ(sonde__report_lost_records(r), 0);
    return r;
}

/* Cut the lines that begin with `begin` out of the text. */
static void drop_lines(char *text, const char *begin)
{
    char *to = text;
    for (char *line = text; *line != '\0';) {
        size_t size = strcspn(line, "\n");
        size += line[size] == '\n';
        if (strncmp(line, begin, strlen(begin)) != 0) {
            memmove(to, line, size);
            to += size;
        }
        line += size;
    }
    *to = '\0';
}

TEST(format1_is_shown_as_before)
{
    for (unsigned i = 0; i < NAMES; i++) {
        char path[512];
        struct sonde__report_loss loss;
        struct sonde__report *r = read_old(names[i], &loss);
        char *text = sample_text(r, &(struct sonde__report_view){.loss = &loss});
        char *before = test_read_file(path_of(names[i], "txt", path), NULL);
        drop_lines(text, "  fingerprint ");
        drop_lines(text, "  main "); /* the sentence */
        CHECK_STR(text, before);
        free(text);
        free(before);
        sonde__report_destroy(r);
    }
}

/* Every value that was in the JSON is there, in the same place. */
TEST_TIMEOUT(format1_json_has_what_it_had, 60)
{
    static const char program[] =
        "import json, sys\n"
        "def holds(new, old, where):\n"
        "    if isinstance(old, dict):\n"
        "        for key in old:\n"
        "            assert key in new, where + '.' + key\n"
        "            holds(new[key], old[key], where + '.' + key)\n"
        "    elif isinstance(old, list):\n"
        "        assert len(new) == len(old), where\n"
        "        for i, (n, o) in enumerate(zip(new, old)):\n"
        "            holds(n, o, where + '[%d]' % i)\n"
        "    else:\n"
        "        assert new == old, where\n"
        "holds(json.load(open(sys.argv[1])), json.load(open(sys.argv[2])), '')\n";
    for (unsigned i = 0; i < NAMES; i++) {
        char old[512], new[512];
        struct sonde__report_loss loss;
        struct sonde__report *r = read_old(names[i], &loss);
        char *json = sample_json(r, &(struct sonde__report_view){.loss = &loss});
        snprintf(new, sizeof new, "%s/new.json", test_folder());
        test_write_file(new, json, strlen(json));
        const char *const argv[] = {"python3", "-c", program, new, path_of(names[i], "json", old),
                                    NULL};
        struct test_run run = test_run(argv, NULL, NULL, 30);
        CHECK_STR(run.err, "");
        CHECK_EQ(run.status, 0);
        test_run_done(&run);
        free(json);
        sonde__report_destroy(r);
    }
}
