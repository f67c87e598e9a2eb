// SPDX-License-Identifier: Apache-2.0
#include "cli_scrub.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scrub.h"

/* Rules are written by people; a longer file is refused. */
enum { FILE_BYTES = 65536, RULES_BYTES = 32768 };

static struct sonde__scrub_rules rules;

/* Add a list of rules. Returns null, or the error of one of them. */
static const char *add_list(const char *list, const char *separators)
{
    const char *wrong = NULL;
    while (*list != '\0' && wrong == NULL) {
        size_t size = strcspn(list, separators);
        wrong = size != 0 ? sonde__scrub_add(&rules, list, size) : NULL;
        list += size + (list[size] != '\0');
    }
    return wrong;
}

/* One rule per line; "#" starts a comment. */
static const char *add_lines(char *text)
{
    const char *wrong = NULL;
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line != NULL && wrong == NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        line += strspn(line, " \t");
        size_t size = strlen(line);
        while (size > 0 && strchr(" \t\r", line[size - 1]) != NULL) {
            size--;
        }
        wrong = size != 0 && *line != '#' ? sonde__scrub_add(&rules, line, size) : NULL;
    }
    return wrong;
}

/* base: the folder of the user's configuration, or null. If it belongs to another user (as after
 * su) and is unreadable, there are no rules of this user. */
static bool read_file(const char *path, const char *base)
{
    struct stat st;
    static char text[FILE_BYTES + 1];
    FILE *file = fopen(path, "re");
    if (file == NULL && (errno == ENOENT || errno == ENOTDIR)) {
        return true;
    }
    if (file == NULL && errno == EACCES && base != NULL &&
        (stat(base, &st) != 0 || st.st_uid != geteuid())) {
        return true;
    }
    size_t size = file != NULL ? fread(text, 1, sizeof text, file) : 0;
    const char *wrong = file == NULL || ferror(file) != 0 ? strerror(errno) : NULL;
    if (wrong == NULL && (size > FILE_BYTES || memchr(text, '\0', size) != NULL)) {
        wrong = "no text, or more than 64 KiB";
    }
    if (file != NULL) {
        fclose(file);
    }
    text[size <= FILE_BYTES ? size : FILE_BYTES] = '\0';
    wrong = wrong == NULL ? add_lines(text) : wrong;
    if (wrong != NULL) {
        sonde__cli_error(NULL, "%s: %s", path, wrong);
    }
    return wrong == NULL;
}

static bool read_own_file(void)
{
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    bool has_config = config != NULL && config[0] == '/';
    char path[4096];
    if (!has_config && (home == NULL || home[0] != '/')) {
        return true;
    }
    const char *base = has_config ? config : home;
    int size = snprintf(path, sizeof path, "%s%s/sonde/scrub", base, has_config ? "" : "/.config");
    return size >= (int)sizeof path || read_file(path, base);
}

bool sonde__cli_scrub_start(void)
{
    static const char *const users[] = {"USER", "LOGNAME", "SUDO_USER"};
    const char *list = getenv("SONDE_SCRUB"), *home = getenv("HOME"), *wrong;
    sonde__scrub_init(&rules);
    sonde__scrub_set_home(&rules, home != NULL ? home : "");
    for (unsigned i = 0; i < sizeof users / sizeof *users; i++) {
        const char *name = getenv(users[i]);
        sonde__scrub_add_name(&rules, name != NULL ? name : "");
    }
    sonde__scrub_use(&rules);
    if (!read_file("/etc/sonde/scrub", NULL) || !read_own_file()) {
        return false;
    }
    wrong = list != NULL ? add_list(list, ",") : NULL;
    if (wrong != NULL) {
        sonde__cli_error(NULL, "SONDE_SCRUB: %s: %s", wrong, list);
    }
    return wrong == NULL;
}

const char *sonde__cli_take_scrub(const struct sonde__cli_option *option, const char *value,
                                  void *member)
{
    (void)option, (void)member;
    return *value == '\0' ? "must not be empty" : add_list(value, ",");
}

const char *sonde__cli_take_scrub_rules(const struct sonde__cli_option *option, const char *value,
                                        void *member)
{
    (void)option, (void)member;
    sonde__scrub_init(&rules);
    return add_list(value, "\n");
}

const char *sonde__cli_scrub_rules(void)
{
    static char text[RULES_BYTES];
    struct sonde__text list;
    sonde__base_text_init(&list, text, sizeof text);
    sonde__scrub_write(&rules, &list);
    return list.cut ? NULL : text;
}
