// SPDX-License-Identifier: Apache-2.0
/* sonde symbolize of Apple's crash logs. The test writes them in the documented formats for a
 * program that it builds, and checks names and lines against llvm-symbolizer. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "darwin.h"
#include "test.h"

#define PROGRAM "tests/integration/macho/program.m"
#define LOADED  0x102a08000ull /* address of the image's header in the log's process */
#define LINKED  0x100000000ull

struct built {
    char uuid[40];                               /* as Apple prints it */
    uint64_t in_helper, in_exported, in_main;    /* offsets from the header */
    char *line_of_helper, *line_before_exported; /* "program.m:27", by llvm-symbolizer */
};

static uint64_t offset_of(const char *symbol)
{
    char *line = darwin_output("llvm-nm-19 program | grep ' %s$'", symbol);
    uint64_t vaddr = strtoull(line, NULL, 16);
    CHECK(vaddr > LINKED);
    free(line);
    return vaddr - LINKED;
}

static char *line_of(uint64_t offset)
{
    char *place = darwin_output("llvm-symbolizer-19 --obj=program --inlines --basenames 0x%llx | "
                                "sed -n 2p | cut -d: -f1,2 | tr -d '\\n'",
                                (unsigned long long)(offset + LINKED));
    CHECK_CONTAINS(place, "program.m:");
    return place;
}

static struct built build(void)
{
    struct built b;
    darwin_build(PROGRAM, "arm64-apple-macos13", "-O1 -g", "", "program");
    darwin_shell("dsymutil-19 program && mkdir store && mv program.dSYM store/Any.dSYM");
    char *uuid = darwin_output("llvm-dwarfdump-19 --uuid program | cut -d' ' -f2");
    snprintf(b.uuid, sizeof b.uuid, "%.36s", uuid);
    free(uuid);
    b.in_helper = offset_of("_helper") + 8;
    b.in_exported = offset_of("_exported") + 16;
    b.in_main = offset_of("_main") + 16;
    darwin_shell("cp -r store/Any.dSYM program.dSYM");
    b.line_of_helper = line_of(b.in_helper);
    b.line_before_exported = line_of(b.in_exported - 1);
    darwin_shell("rm -r program.dSYM");
    return b;
}

static void done(struct built *b)
{
    free(b->line_of_helper);
    free(b->line_before_exported);
}

static void write_log(const char *name, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void write_log(const char *name, const char *format, ...)
{
    char path[600];
    static char text[16384];
    va_list list;
    va_start(list, format);
    int size = vsnprintf(text, sizeof text, format, list);
    va_end(list);
    snprintf(path, sizeof path, "%s/%s", test_folder(), name);
    test_write_file(path, text, (size_t)size);
}

/* The text of the log between two marks. */
static char *between(const char *text, const char *from, const char *to)
{
    const char *begin = strstr(text, from);
    const char *end = begin != NULL ? strstr(begin, to) : NULL;
    CHECK(end != NULL);
    return strndup(begin, (size_t)(end - begin));
}

static void expect_line(const char *text, const char *from, const char *part)
{
    char *line = between(text, from, "\n");
    CHECK_CONTAINS(line, part);
    free(line);
}

static void write_crash(const struct built *b, const char *newline)
{
    unsigned long long base = LOADED;
    char lower[40];
    size_t used = 0;
    for (const char *c = b->uuid; *c != '\0'; c++) {
        if (*c != '-') {
            lower[used++] = (char)(*c >= 'A' && *c <= 'F' ? *c | 0x20 : *c);
        }
    }
    lower[used] = '\0';
    write_log("log.crash",
              "Incident Identifier: 5C32DF84-31A0-43E7-87D0-239F7F594940%s\n"
              "Process:             program [2341]%s\n"
              "Last Exception Backtrace:%s\n"
              "(0x1ab0cdef8 0x%llx 0x%llx)%s\n"
              "\n"
              "Thread 0 name:  Dispatch queue: com.apple.main-thread%s\n"
              "Thread 0 Crashed:%s\n"
              "0   program                       \t0x%016llx 0x%llx + %llu%s\n"
              "1   A name with spaces            \t0x%016llx 0x%llx + %llu%s\n"
              "2   libdyld.dylib                 \t0x00000001ab0cdef8 start + 4%s\n"
              "\n"
              "Thread 0 crashed with ARM Thread State (64-bit):%s\n"
              "    x0: 0x%016llx   x1: 0x0000000000000000%s\n"
              "\n"
              "Binary Images:%s\n"
              "0x%llx - 0x%llx program arm64  <%s> /private/var/program.app/program%s\n"
              "0x1ab0cc000 - 0x1ab0cffff libdyld.dylib arm64e  <00000000111122223333444455556666> "
              "/usr/lib/system/libdyld.dylib%s\n"
              "the end",
              newline, newline, newline, base + b->in_exported, base + b->in_main, newline, newline,
              newline, base + b->in_helper, base, (unsigned long long)b->in_helper, newline,
              base + b->in_exported, base, (unsigned long long)b->in_exported, newline, newline,
              newline, base + b->in_helper, newline, newline, base, base + 0xbfff, lower, newline,
              newline);
}

TEST_TIMEOUT(crash_text, 150)
{
    struct built b = build();
    char part[200];
    write_crash(&b, "");
    char *text = darwin_output("'%s/cli/sonde' symbolize --symbols store < log.crash 2>err",
                               test_build_dir());
    char *errors = darwin_output("cat err");
    /* the first frame's pc is exact; the second stands for the call before it */
    snprintf(part, sizeof part, "%s]", b.line_of_helper);
    expect_line(text, "0   program", "[helper at ");
    expect_line(text, "0   program", part);
    expect_line(text, "1   A name", "inlined into exported at ");
    CHECK_CONTAINS(text, b.line_before_exported);
    expect_line(text, "(0x1ab0cdef8", "inlined into exported at ");
    expect_line(text, "(0x1ab0cdef8", "[main at ");
    CHECK_CONTAINS(errors, "00000000111122223333444455556666");
    /* registers are not frames; other text is kept */
    expect_line(text, "    x0: ", "x1: 0x0000000000000000");
    char *registers = between(text, "    x0: ", "\n");
    CHECK(strchr(registers, '[') == NULL);
    free(registers);
    darwin_shell("'%s/cli/sonde' symbolize --symbols store < log.crash 2>/dev/null | "
                 "sed -E 's/ \\[(helper|inner|middle|exported|main)[^]]*\\]//g' | cmp - log.crash",
                 test_build_dir());
    free(text);
    free(errors);
    /* with CRLF line ends, as in mail */
    write_crash(&b, "\r");
    text = darwin_output("'%s/cli/sonde' symbolize --symbols store < log.crash 2>/dev/null",
                         test_build_dir());
    expect_line(text, "0   program", "[helper at ");
    expect_line(text, "0   program", "]\r");
    free(text);
    done(&b);
}

static void write_ips(const struct built *b)
{
    write_log("log.ips",
              "{\"app_name\":\"program\",\"bug_type\":\"309\",\"incident_id\":\"5C32DF84\"}\n"
              "{\n"
              "  \"uptime\" : 120, \"delta\" : -4.5e3,\n"
              "  \"threads\" : [{\"id\":1,\"triggered\":true,\"frames\":["
              "{\"imageOffset\":%llu,\"symbol\":\"a \\\"{quoted\\\" [one\",\"imageIndex\":1},"
              "{\"imageOffset\":%llu,\"imageIndex\":1},\n"
              "{\"imageOffset\":12,\"imageIndex\":0},{\"imageOffset\":12,\"imageIndex\":77}]}],\n"
              "  \"lastExceptionBacktrace\" : [{\"imageOffset\":%llu,\"imageIndex\":1}],\n"
              "  \"usedImages\" : [\n"
              "   {\"source\":\"P\",\"arch\":\"arm64e\",\"base\":6806884352,\"size\":4096,"
              "\"uuid\":\"00000000-1111-2222-3333-444455556666\","
              "\"path\":\"\\/usr\\/lib\\/dyld\",\"name\":\"dyld\"},\n"
              "   {\"source\":\"P\",\"arch\":\"arm64\",\"base\":%llu,\"size\":49152,"
              "\"uuid\":\"%s\",\"path\":\"\\/private\\/var\\/program\",\"name\":\"program\"}\n"
              "  ]\n}\n",
              (unsigned long long)b->in_helper, (unsigned long long)b->in_exported,
              (unsigned long long)b->in_exported, (unsigned long long)LOADED, b->uuid);
}

TEST_TIMEOUT(crash_json, 150)
{
    struct built b = build();
    write_ips(&b);
    char *text = darwin_output("'%s/cli/sonde' symbolize --symbols store < log.ips 2>/dev/null | "
                               "tee named.ips",
                               test_build_dir());
    free(text);
    /* the same document, with our members */
    char *read = darwin_output(
        "python3 -c \"\n"
        "import json\n"
        "head, body = open('named.ips').read().split(chr(10), 1)\n"
        "json.loads(head); doc = json.loads(body)\n"
        "frames = doc['threads'][0]['frames']\n"
        "base = lambda f: f['file'].rsplit('/', 1)[-1] + ':' + str(f['line'])\n"
        "f = frames[0]['sonde']; print(f[-1]['function'], base(f[0]), f[-1]['inlined'])\n"
        "f = frames[1]['sonde']; print(f[-1]['function'], base(f[0]), f[0]['inlined'])\n"
        "print('sonde' in frames[2], 'sonde' in frames[3])\n"
        "f = doc['lastExceptionBacktrace'][0]['sonde']; print(f[-1]['function'], base(f[0]))\n"
        "def strip(x):\n"
        "  if isinstance(x, dict): return {k: strip(v) for k, v in x.items() if k != 'sonde'}\n"
        "  return [strip(v) for v in x] if isinstance(x, list) else x\n"
        "print(strip(doc) == json.loads(open('log.ips').read().split(chr(10), 1)[1]))\"");
    char expected[600];
    snprintf(expected, sizeof expected,
             "helper %s False\nexported %s True\nFalse False\nexported %s\nTrue\n",
             b.line_of_helper, b.line_before_exported, b.line_before_exported);
    CHECK_STR(read, expected);
    free(read);
    done(&b);
}

/* A log cut anywhere is copied as text. */
TEST_TIMEOUT(crash_logs_cut, 150)
{
    struct built b = build();
    write_ips(&b);
    darwin_shell("for n in 1 70 90 200 333 500 700; do head -c $n log.ips > cut; "
                 "'%s/cli/sonde' symbolize --symbols store < cut 2>/dev/null | "
                 "sed -E 's/,\"sonde\":\\[[^]]*\\]//g' | cmp - cut || exit 1; done",
                 test_build_dir());
    done(&b);
}

/* --- logs as people paste them --- */

/* Symbolize `log` (a shell word), and check that no text is lost. */
static char *named(const char *log)
{
    darwin_shell("'%s/cli/sonde' symbolize --symbols store < %s >out 2>err && "
                 "sed -E -e 's/ \\[(helper|inner|middle|exported|main)[^]]*\\]//g' "
                 "-e 's/,\"sonde\":\\[[^]]*\\]//g' out | cmp - %s",
                 test_build_dir(), log, log);
    return darwin_output("cat out");
}

TEST_TIMEOUT(crash_text_behind_something_else, 150)
{
    static const char *const fronts[] = {
        "\\n",
        "\\357\\273\\277",
        "Nov 22 10:11:12 host ReportCrash: saved\\n\\n",
        "-------------------------------------\\n",
        "\\357\\273\\277\\r\\n",
        "{\\n",
    };
    struct built b = build();
    write_crash(&b, "");
    for (size_t i = 0; i < sizeof fronts / sizeof fronts[0]; i++) {
        darwin_shell("{ printf '%s'; cat log.crash; } > front.crash", fronts[i]);
        char *text = named("front.crash");
        expect_line(text, "0   program", "[helper at ");
        free(text);
    }
    /* frames of another log after it are named as usual */
    darwin_shell("cp store/Any.dSYM/Contents/Resources/DWARF/program dwarf; "
                 "{ cat log.crash; printf '\\n#1 dwarf+0x%llx (x)\\n'; } > more.crash",
                 (unsigned long long)(LINKED + b.in_helper));
    char *text = darwin_output("'%s/cli/sonde' symbolize --symbols store -m dwarf < more.crash "
                               "2>/dev/null",
                               test_build_dir());
    expect_line(text, "#1 dwarf", "[helper at ");
    free(text);
    /* a part without a head gives a message */
    darwin_shell("grep -v -e '^Incident' -e '^Process' -e '^Last' -e Crashed log.crash > part");
    free(named("part"));
    text = darwin_output("cat err");
    CHECK_CONTAINS(text, "a list of binary images without the header of a crash log");
    free(text);
    /* so does one without an image list */
    darwin_shell("sed '/^Binary Images/,$d' log.crash > part");
    free(named("part"));
    text = darwin_output("cat err");
    CHECK_CONTAINS(text, "lists no binary images");
    free(text);
    done(&b);
}

/* macOS lists unknown code as an image of all addresses; the other images are known. */
TEST_TIMEOUT(crash_text_with_an_image_of_all_addresses, 150)
{
    static const char *const all[] = {
        "0x0 - 0xffffffffffffffff ??? (*) <00000000-0000-0000-0000-000000000000> ???",
        "0x0 - ??? ??? (*) <00000000-0000-0000-0000-000000000000> ???",
        ("       0x102a00000 -                ??? com.apple.other (1.0) "
         "<DFC6A3E1-9F0C-3B2A-8E55-0123456789AB> /System/other"),
    };
    struct built b = build();
    write_crash(&b, "");
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        darwin_shell("sed '/^Binary Images/a \\%s' log.crash > all.crash", all[i]);
        char *text = named("all.crash");
        expect_line(text, "0   program", "[helper at ");
        expect_line(text, "1   A name", "inlined into exported at ");
        free(text);
    }
    darwin_shell("sed -e 's/0x00000001ab0cdef8 start/0x00000009ab0cdef8 start/' "
                 "-e '/^Binary Images/a \\%s' log.crash > all.crash",
                 all[0]);
    free(named("all.crash"));
    char *errors = darwin_output("cat err");
    CHECK_CONTAINS(errors, "1 frame of 6 in no image that the crash log lists");
    free(errors);
    /* two logs in a row: the second one's program had another address */
    darwin_shell("sed -e s/0x102a/0x202a/g -e s/0x0000000102a/0x0000000202a/g log.crash > two; "
                 "{ cat log.crash; echo; cat two; } > both.crash");
    char *lines = darwin_output("'%s/cli/sonde' symbolize --symbols store < both.crash 2>/dev/null "
                                "| grep '^0   program'",
                                test_build_dir());
    char *second = strchr(lines, '\n');
    CHECK(second != NULL && strstr(lines, "[helper at ") < second);
    CHECK_CONTAINS(second, "0x202a08000");
    CHECK_CONTAINS(second, "[helper at ");
    free(lines);
    done(&b);
}

TEST_TIMEOUT(crash_json_without_its_header, 150)
{
    struct built b = build();
    write_ips(&b);
    darwin_shell("tail -n +2 log.ips > body.ips; tr -d '\\n' < body.ips > line.ips; "
                 "{ printf '\\357\\273\\277'; cat log.ips; } > mark.ips; "
                 "{ printf '\\n\\n'; cat body.ips; } > blank.ips; "
                 "{ echo 'Nov 22 10:11 saved'; cat log.ips; } > front.ips; "
                 "{ printf -- '---\\nTranslated Report (Full Report Below)\\n---\\n\\nFull "
                 "Report\\n\\n'; cat log.ips; } > full.ips");
    static const char *const logs[] = {"body.ips",  "line.ips",  "mark.ips",
                                       "blank.ips", "front.ips", "full.ips"};
    for (size_t i = 0; i < sizeof logs / sizeof logs[0]; i++) {
        char *text = named(logs[i]);
        CHECK_CONTAINS(text, "\"sonde\":[{\"function\": \"helper\"");
        free(text);
    }
    /* two in a row, each with its own images */
    darwin_shell("{ sed 's/\"usedImages\" : \\[/&{\"base\":1,\"path\":\"\"},/' log.ips | "
                 "sed 's/\"imageIndex\":1/\"imageIndex\":2/g'; cat log.ips; } > two.ips");
    free(named("two.ips"));
    darwin_shell("grep -o '\"sonde\":\\[{\"function\": \"helper\"' out | wc -l | grep -qx 2");
    /* other JSON is copied line by line */
    darwin_shell("printf '{\\n  \"a\": 1,\\n  \"b\": \"x\"\\n}\\n{\"msg\":1}\\n' > other.ips");
    free(named("other.ips"));
    done(&b);
}
