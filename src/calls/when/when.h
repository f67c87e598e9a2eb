// SPDX-License-Identifier: Apache-2.0
/* Conditions of rules on the arguments of a call, evaluated before its stack is walked.
 *
 * A condition is a graph of tests: each says where to go on if it holds, and if not, always
 * forward, until the call is accepted or rejected. The compiler of rules writes it into memory that
 * is shared with the program; the program's side copies it, checks the copy, and evaluates that.
 * The layout is private to one build. Invariant: what sonde__when_check() accepts ends, and reads
 * inside of itself only. Context: handler. */
#ifndef SONDE_WHEN_H
#define SONDE_WHEN_H

#include <stdbool.h>
#include <stdint.h>

enum {
    SONDE__WHEN_FUNCTIONS = 512, /* of a recording (record_page.h) */
    SONDE__WHEN_ENTRIES = 1024,
    SONDE__WHEN_NODES = 2048,
    SONDE__WHEN_TEXT = 16384,
    SONDE__WHEN_LIMITS = 64,
    SONDE__WHEN_LIMIT_CALLS = 1000, /* of one limit */
    SONDE__WHEN_TIMES = 16384,      /* of the calls of all limits */
    SONDE__WHEN_ARGUMENTS = 6,      /* those in registers on every machine */
    SONDE__WHEN_STRING = 1024, /* bytes of a text that are read; a longer one is not compared */
    SONDE__WHEN_KEEPS = 512,
    SONDE__WHEN_KEEPS_EACH = 4, /* of a rule */
};

enum sonde__when_test {
    SONDE__WHEN_EQUAL, /* (argument & mask) == value */
    SONDE__WHEN_BELOW, /* (argument & mask) < value, unsigned */
    SONDE__WHEN_LESS,  /* argument < value, signed; of its low 32 bits, if the mask has no others */
    SONDE__WHEN_GLOB,  /* the text at the argument matches the pattern at `value` in `text` */
    SONDE__WHEN_PATH,  /* the same of a path, made absolute and without "..", "." and "//" */
    SONDE__WHEN_NET,   /* the address is in the network at `value` in `text` */
    SONDE__WHEN_TESTS,
};

/* Where to go on. */
enum { SONDE__WHEN_ACCEPT = 0xffff, SONDE__WHEN_REJECT = 0xfffe };

struct sonde__when_node {
    uint8_t test, argument; /* argument: from 0 */
    uint16_t yes, no;       /* a later node, or one of the above */
    uint8_t flags;
    uint8_t other; /* a second argument: the folder of a path, the size of an address; NONE */
    uint64_t mask, value;
};
enum { SONDE__WHEN_NONE = 0xff };

/* Flags of a node. An address is a struct sockaddr; a number is compared of the argument itself,
 * or of an address. */
enum {
    SONDE__WHEN_NEGATED = 1, /* an unknown result goes on as `yes`: the condition has ! before it */
    SONDE__WHEN_FAMILY = 2,  /* the number is the address' family */
    SONDE__WHEN_PORT = 4,    /* it is its port */
    SONDE__WHEN_MESSAGE = 8, /* the address is that of a struct msghdr */
};

/* A network in `text`: the bits that count, then an IPv6 address. Those of IPv4 are mapped, with 96
 * bits or more. */
enum { SONDE__WHEN_NET_BYTES = 17, SONDE__WHEN_MAPPED_BITS = 96 };

/* Calls of a function that fulfil the condition from `node` on count with `label`; those that
 * exceed the limit, with the next label. */
struct sonde__when_entry {
    uint16_t label, node;
    uint16_t limit;     /* 1 + an index; 0: none */
    uint16_t phase;     /* the limit counts calls of a phase (record_phase.h): 1 + where its name is
                           in `text`; 0: of all */
    uint16_t keep;      /* the first of its keeps */
    uint8_t keep_count; /* at most KEEPS_EACH */
    uint8_t before_phase; /* 1: of those until it begins */
};

/* At most `count` calls in `ns`; the times of as many calls are kept from `first` on
 * (when_limit.h). */
struct sonde__when_limit {
    uint32_t first, count;
    uint64_t ns;
};

struct sonde__when {
    uint32_t entry_count, node_count, limit_count, keep_count; /* no entries: no conditions */
    /* by function: its entries are [first, next one's first); without any, all its calls count with
     * the function's number as label */
    uint16_t first[SONDE__WHEN_FUNCTIONS + 1];
    struct sonde__when_entry entries[SONDE__WHEN_ENTRIES];
    struct sonde__when_node nodes[SONDE__WHEN_NODES];
    /* Arguments whose values are kept (when_value.h): EQUAL a number, GLOB a text, PATH a path, NET
     * an address; where nodes lead has no meaning. */
    struct sonde__when_node keeps[SONDE__WHEN_KEEPS];
    struct sonde__when_limit limits[SONDE__WHEN_LIMITS];
    char text[SONDE__WHEN_TEXT];
};

/* Is it safe to evaluate? labels: how many there are. */
bool sonde__when_check(const struct sonde__when *when, uint32_t labels);

enum sonde__when_result {
    SONDE__WHEN_NO,
    SONDE__WHEN_YES,
    SONDE__WHEN_UNREAD, /* unknown: a text, path or address could not be read, or was too long */
};

/* Evaluate a checked condition. */
enum sonde__when_result sonde__when_holds(const struct sonde__when *when, uint32_t node,
                                          const uint64_t arguments[SONDE__WHEN_ARGUMENTS]);

#endif
