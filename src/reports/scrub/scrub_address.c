// SPDX-License-Identifier: Apache-2.0
/* IP addresses, and the peers of sockets. */
#include "scrub_parts.h"

static bool is_hex(char c)
{
    return scrub_is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* Size of an IPv4 address; 0: none. */
static size_t four_numbers(const struct scrub_place *place)
{
    size_t size = 0;
    for (unsigned part = 0; part < 4; part++) {
        unsigned digits = 0, value = 0;
        if (part > 0 && scrub_byte(place, size++) != '.') {
            return 0;
        }
        while (digits < 4 && scrub_is_digit(scrub_byte(place, size))) {
            value = value * 10 + (unsigned)(scrub_byte(place, size++) - '0');
            digits++;
        }
        if (digits == 0 || digits > 3 || value > 255) {
            return 0;
        }
    }
    char after = scrub_byte(place, size);
    bool goes_on =
        scrub_is_word(after) || (after == '.' && scrub_is_digit(scrub_byte(place, size + 1)));
    return goes_on ? 0 : size;
}

/* Size of an IPv6 address: groups of hexadecimal digits with at least three colons or "::", and a
 * digit or brackets, because names of C++ have colons, too. */
static size_t hex_groups(const struct scrub_place *place)
{
    size_t size = 0;
    unsigned colons = 0, pairs = 0, digits = 0;
    while (is_hex(scrub_byte(place, size)) || scrub_byte(place, size) == ':' ||
           (colons > 1 && scrub_byte(place, size) == '.')) {
        bool colon = scrub_byte(place, size) == ':';
        colons += colon;
        pairs += colon && scrub_byte(place, size + 1) == ':';
        digits += scrub_is_digit(scrub_byte(place, size));
        size++;
    }
    if (scrub_is_word(scrub_byte(place, size)) || (digits == 0 && scrub_before(place) != '[') ||
        (colons < 3 && pairs == 0)) {
        return 0;
    }
    while (size > 0 &&
           (scrub_byte(place, size - 1) == '.' ||
            (scrub_byte(place, size - 1) == ':' && scrub_byte(place, size - 2) != ':'))) {
        size--;
    }
    return size;
}

size_t scrub_ip(const struct scrub_place *place)
{
    char before = scrub_before(place);
    if ((place->rules->on & SONDE__SCRUB_IP) == 0 || scrub_is_word(before) || before == '.' ||
        before == ':') {
        return 0;
    }
    size_t four = four_numbers(place), size = four != 0 ? four : hex_groups(place);
    bool is_local = four != 0 ? scrub_follows(place, 0, "127.", false) ||
                                    scrub_follows(place, 0, "0.0.0.0", false)
                              : (size == 3 && scrub_follows(place, 0, "::1", false)) || size == 2;
    if (size == 0 || is_local) {
        return 0;
    }
    sonde__base_text_str(place->out, "<ip>");
    return size;
}

/* The command line in "peer process 812 (postgres -D x)". */
static size_t peer_process(const struct scrub_place *place)
{
    enum { WORDS = 13 }; /* "peer process " */
    size_t begin = WORDS + scrub_run(place, WORDS, "(,"), end = begin;
    if (!scrub_follows(place, begin, " (", false)) {
        return 0;
    }
    for (size_t i = begin; place->at + i < place->size; i++) {
        end = i; /* the last ")" that can end the command line */
        if (scrub_byte(place, i) == ')' &&
            (place->at + i + 1 == place->size || scrub_byte(place, i + 1) == ',')) {
            break;
        }
    }
    sonde__base_text_bytes(place->out, place->text + place->at, begin);
    sonde__base_text_str(place->out, " (<peer>)");
    return end + 1;
}

/* Does the text name a kind of socket shortly before? */
static bool is_socket(const struct scrub_place *place)
{
    static const char *const kinds[] = {"tcp", "udp", "unix", "vsock", "sctp"};
    enum { BYTES = 160 };
    struct scrub_place earlier = *place;
    for (earlier.at = place->at > BYTES ? place->at - BYTES : 0; earlier.at < place->at;
         earlier.at++) {
        for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++) {
            if (scrub_follows(&earlier, 0, kinds[i], false)) {
                return true;
            }
        }
    }
    return false;
}

/* In "fd 9 tcp A:1 to B:2, peer process 812 (postgres)": B, and the peer's command line. */
size_t scrub_peer(const struct scrub_place *place)
{
    if ((place->rules->on & SONDE__SCRUB_PEERS) == 0) {
        return 0;
    }
    if (scrub_follows(place, 0, "peer process ", false)) {
        return peer_process(place);
    }
    if (!scrub_follows(place, 0, " to ", false) || !is_socket(place)) {
        return 0;
    }
    size_t size = scrub_run(place, 4, ",");
    if (size != 0) {
        sonde__base_text_str(place->out, " to <peer>");
    }
    return size != 0 ? 4 + size : 0;
}
