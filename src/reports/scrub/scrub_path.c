// SPDX-License-Identifier: Apache-2.0
/* Home folders, user names, and the user's own texts and paths. */
#include "scrub_parts.h"

static bool is_name(char c)
{
    return scrub_is_word(c) || c == '.' || (unsigned char)c >= 0x80;
}

/* Size of the name of a file or user at an offset. */
static size_t name_at(const struct scrub_place *place, size_t offset)
{
    size_t size = 0;
    while (is_name(scrub_byte(place, offset + size))) {
        size++;
    }
    return size;
}

/* Does a path begin here? False inside of another path, e.g. a container's "/mnt/home/kim". */
static bool begins_path(const struct scrub_place *place)
{
    char before = scrub_before(place);
    return !is_name(before) && before != '~' && before != '>';
}

size_t scrub_own_text(const struct scrub_place *place)
{
    for (uint32_t i = 0; i < place->rules->text_count; i++) {
        const struct sonde__scrub_text *t = &place->rules->texts[i];
        size_t size = sonde__base_str_length(t->text);
        bool fits = scrub_follows(place, 0, t->text, false);
        if (fits && t->is_path) {
            fits = begins_path(place) && !is_name(scrub_byte(place, size));
        }
        if (fits) {
            sonde__base_text_str(place->out, t->with);
            return size;
        }
    }
    return 0;
}

size_t scrub_home(const struct scrub_place *place)
{
    static const char *const parents[] = {"/home/", "/Users/", "/var/home/", "/export/home/"};
    const char *own = place->rules->home;
    size_t size = sonde__base_str_length(own);
    if ((place->rules->on & SONDE__SCRUB_HOME) == 0 || scrub_byte(place, 0) != '/') {
        return 0;
    }
    bool begins = begins_path(place);
    if (size > 1 && begins && scrub_follows(place, 0, own, false) &&
        !is_name(scrub_byte(place, size))) {
        sonde__base_text_char(place->out, '~');
        return size;
    }
    if (begins && scrub_follows(place, 0, "/root", false) && !is_name(scrub_byte(place, 5))) {
        sonde__base_text_char(place->out, '~');
        return 5;
    }
    for (unsigned i = 0; i < sizeof parents / sizeof *parents; i++) {
        size_t parent = sonde__base_str_length(parents[i]);
        size_t name = scrub_follows(place, 0, parents[i], false) ? name_at(place, parent) : 0;
        if (name != 0) {
            sonde__base_text_str(place->out, begins ? "~" : parents[i]);
            sonde__base_text_str(place->out, begins ? "" : "<user>");
            return parent + name;
        }
    }
    return 0;
}

/* Matches whole words that are no file names: a program may have its user's name. */
static bool is_user(const struct scrub_place *place, const char *name, size_t size)
{
    char before = scrub_before(place), after = scrub_byte(place, size);
    return !is_name(before) && !is_name(after) && (before != '/' || after == '/') &&
           scrub_follows(place, 0, name, false);
}

size_t scrub_user(const struct scrub_place *place)
{
    if ((place->rules->on & SONDE__SCRUB_USER) == 0) {
        return 0;
    }
    if (scrub_follows(place, 0, "/run/user/", false) && scrub_is_digit(scrub_byte(place, 10))) {
        sonde__base_text_str(place->out, "/run/user/<uid>");
        return 10 + name_at(place, 10);
    }
    for (uint32_t i = 0; i < place->rules->name_count; i++) {
        size_t size = sonde__base_str_length(place->rules->names[i]);
        if (is_user(place, place->rules->names[i], size)) {
            sonde__base_text_str(place->out, "<user>");
            return size;
        }
    }
    return 0;
}

/* In "process 7 (curl -v x)" the program stays. A command line ends at the end of the text or
 * before ", ". */
size_t scrub_arguments(const struct scrub_place *place)
{
    size_t digits = 0;
    if ((place->rules->on & SONDE__SCRUB_ARGUMENTS) == 0 ||
        !scrub_follows(place, 0, "process ", false)) {
        return 0;
    }
    while (scrub_is_digit(scrub_byte(place, 8 + digits))) {
        digits++;
    }
    if (digits == 0 || !scrub_follows(place, 8 + digits, " (", false)) {
        return 0;
    }
    size_t begin = 8 + digits + 2, program = scrub_run(place, begin, ")");
    if (scrub_byte(place, begin + program) != ' ') {
        return 0; /* no arguments */
    }
    size_t end = begin + program;
    for (size_t i = end; place->at + i < place->size; i++) {
        end = i; /* the last ")" that can end the command line */
        if (scrub_byte(place, i) == ')' &&
            (place->at + i + 1 == place->size || scrub_byte(place, i + 1) == ',')) {
            break;
        }
    }
    struct scrub_place command = *place;
    command.at += begin;
    sonde__base_text_bytes(place->out, place->text + place->at, begin);
    command.size = command.at + program;
    size_t home = scrub_home(&command);
    sonde__base_text_bytes(place->out, place->text + place->at + begin + home, program - home);
    sonde__base_text_str(place->out, " \xe2\x80\xa6)");
    return end + 1;
}
