// SPDX-License-Identifier: Apache-2.0
/* Each public header compiles alone, as C99, C11 and C++11, with gcc and clang, and
 * defines no macro that is not its own. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "test.h"

static void each_header(void (*check)(const char *path))
{
    char folder[4096];
    unsigned seen = 0;
    snprintf(folder, sizeof folder, "%s/include/sonde", test_source_dir());
    DIR *dir = opendir(folder);
    CHECK(dir != NULL);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        size_t length = strlen(entry->d_name);
        if (length > 2 && strcmp(entry->d_name + length - 2, ".h") == 0) {
            char path[8192];
            snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
            check(path);
            seen++;
        }
    }
    closedir(dir);
    CHECK(seen >= 14);
}

static struct test_run compile(const char *path, const char *compiler, const char *language,
                               const char *standard, const char *mode)
{
    char include[4096];
    snprintf(include, sizeof include, "-I%s/include", test_source_dir());
    const char *const argv[] = {compiler,   "-x",      language,    standard, "-pedantic-errors",
                                "-Wall",    "-Wextra", "-Werror",   include,  mode,
                                "-include", path,      "/dev/null", NULL};
    return test_run(argv, NULL, NULL, 60);
}

static void check_compiles(const char *path)
{
    static const struct {
        const char *compiler, *language, *standard;
    } ways[] = {{"gcc", "c", "-std=c99"},
                {"gcc", "c", "-std=c11"},
                {"g++", "c++", "-std=c++11"},
                {"clang", "c", "-std=c99"},
                {"clang", "c++", "-std=c++11"}};
    for (unsigned i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        struct test_run run =
            compile(path, ways[i].compiler, ways[i].language, ways[i].standard, "-fsyntax-only");
        if (run.status != 0) {
            FAIL("%s %s: %s", ways[i].compiler, ways[i].standard, run.err);
        }
        test_run_done(&run);
    }
}

TEST_TIMEOUT(headers_compile_alone, 120)
{
    each_header(check_compiles);
}

/* `cc -E -dD` prints each #define where it stands, after a marker of its file. */
static void check_macros(const char *path)
{
    struct test_run run = compile(path, "cc", "c", "-std=c99", "-E");
    test_run_done(&run);
    char include[4096];
    snprintf(include, sizeof include, "-I%s/include", test_source_dir());
    const char *const argv[] = {"cc", "-x", "c", "-std=c99", include, "-E", "-dD", path, NULL};
    run = test_run(argv, NULL, NULL, 60);
    CHECK_EQ(run.status, 0);
    bool is_ours = false;
    unsigned defined = 0;
    for (char *line = strtok(run.out, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        if (line[0] == '#' && line[1] == ' ') {
            is_ours = strstr(line, "include/sonde/") != NULL;
        } else if (is_ours && strncmp(line, "#define ", 8) == 0) {
            defined++;
            if (strncmp(line + 8, "SONDE_", 6) != 0 && strncmp(line + 8, "sonde_", 6) != 0) {
                FAIL("%s leaks: %s", path, line);
            }
        }
    }
    CHECK(defined > 0);
    test_run_done(&run);
}

TEST_TIMEOUT(headers_leak_no_macro, 120)
{
    each_header(check_macros);
}

/* Usage in C++ programs: values as the structs store them, and tables of the lists of values. */
static const char program_of_cxx[] =
    "#include <cstdio>\n"
    "#include <sonde/sonde.h>\n"
    "#include <sonde/thread.h>\n"
    "#include <sonde/block.h>\n"
    "#define TEXT(name, text) text,\n"
    "static const char *const texts[] = {SONDE_STATUS_MAP(TEXT) SONDE_FOUND_MAP(TEXT)\n"
    "    SONDE_END_MAP(TEXT) SONDE_CAPTURED_MAP(TEXT) SONDE_BLOCK_KIND_MAP(TEXT)\n"
    "    SONDE_BLOCK_SOURCE_MAP(TEXT)};\n"
    "void print(const struct sonde_stack &stack, const struct sonde_captured &captured,\n"
    "           const struct sonde_thread &thread, const struct sonde_block_capture "
    "&held)\n"
    "{\n"
    "    std::puts(sonde_end_text(stack.end));\n"
    "    std::puts(sonde_end_text(SONDE_END_ROOT));\n"
    "    std::puts(sonde_found_text(stack.how[0] & SONDE_HOW_FOUND_MASK));\n"
    "    std::puts(sonde_found_text(SONDE_FOUND_CFI));\n"
    "    std::puts(sonde_captured_text(captured.by));\n"
    "    std::puts(sonde_captured_text(SONDE_CAPTURED_SELF));\n"
    "    std::puts(sonde_status_text(captured.status));\n"
    "    std::puts(sonde_status_name(captured.status));\n"
    "    std::puts(sonde_thread_state_text(thread.state));\n"
    "    std::puts(sonde_thread_state_text(SONDE_THREAD_DISK));\n"
    "    std::puts(sonde_block_kind_text(held.kind));\n"
    "    std::puts(sonde_block_source_text(SONDE_BLOCK_BY_HELPER));\n"
    "}\n"
    "int main()\n"
    "{\n"
    "    uint64_t pcs[64];\n"
    "    uint8_t how[64];\n"
    "    struct sonde_stack stack;\n"
    "    sonde_stack_init(&stack, pcs, how, 64, 0);\n"
    "    if (sonde_stack_capture(&stack, 0) != SONDE_OK)\n"
    "        return 1;\n"
    "    std::puts(sonde_end_text(stack.end));\n"
    "    return texts[0] == nullptr;\n"
    "}\n";

TEST_TIMEOUT(programs_of_cxx_use_them, 120)
{
    static const char *const compilers[] = {"g++", "clang++"};
    static const char *const standards[] = {"-std=c++11", "-std=c++20"};
    char path[512];
    snprintf(path, sizeof path, "%s/program.cc", test_folder());
    test_write_file(path, program_of_cxx, strlen(program_of_cxx));
    for (unsigned i = 0; i < 4; i++) {
        char include[4096];
        snprintf(include, sizeof include, "-I%s/include", test_source_dir());
        const char *const argv[] = {
            compilers[i / 2], standards[i % 2], "-Wall", "-Wextra", "-Werror",
            include,          "-fsyntax-only",  path,    NULL};
        struct test_run run = test_run(argv, NULL, NULL, 60);
        if (run.status != 0) {
            FAIL("%s %s: %s", argv[0], argv[1], run.err);
        }
        test_run_done(&run);
    }
}
