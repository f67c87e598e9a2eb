// SPDX-License-Identifier: Apache-2.0
/* Substitutions (Mangling.rst, "Substitutions"), and the types of the standard library that have a
 * letter ("KNOWN-TYPE-KIND"). */
#include <string.h>

#include "swift_node.h"

#define C SWIFT_CLASS_NODE
#define S SWIFT_STRUCT_NODE
#define E SWIFT_ENUM_NODE
#define P SWIFT_PROTOCOL_NODE

struct standard {
    uint8_t kind;
    const char *name;
};

/* by letter, A to Z and a to z */
static const struct standard standard[2][52] = {{{S, "AutoreleasingUnsafeMutablePointer"},
                                                 {P, "BinaryFloatingPoint"},
                                                 {0, NULL},
                                                 {S, "Dictionary"},
                                                 {P, "Encodable"},
                                                 {P, "FloatingPoint"},
                                                 {P, "RandomNumberGenerator"},
                                                 {P, "Hashable"},
                                                 {S, "DefaultIndices"},
                                                 {S, "Character"},
                                                 {P, "BidirectionalCollection"},
                                                 {P, "Comparable"},
                                                 {P, "MutableCollection"},
                                                 {S, "ClosedRange"},
                                                 {S, "ObjectIdentifier"},
                                                 {S, "UnsafePointer"},
                                                 {P, "Equatable"},
                                                 {S, "UnsafeBufferPointer"},
                                                 {S, "String"},
                                                 {P, "Sequence"},
                                                 {P, "UnsignedInteger"},
                                                 {S, "UnsafeRawPointer"},
                                                 {S, "UnsafeRawBufferPointer"},
                                                 {P, "RangeExpression"},
                                                 {P, "RawRepresentable"},
                                                 {P, "SignedInteger"},
                                                 {S, "Array"},
                                                 {S, "Bool"},
                                                 {0, NULL},
                                                 {S, "Double"},
                                                 {P, "Decodable"},
                                                 {S, "Float"},
                                                 {0, NULL},
                                                 {S, "Set"},
                                                 {S, "Int"},
                                                 {P, "Numeric"},
                                                 {P, "RandomAccessCollection"},
                                                 {P, "Collection"},
                                                 {P, "RangeReplaceableCollection"},
                                                 {S, "Range"},
                                                 {0, NULL},
                                                 {S, "UnsafeMutablePointer"},
                                                 {E, "Optional"},
                                                 {S, "UnsafeMutableBufferPointer"},
                                                 {S, "Substring"},
                                                 {P, "IteratorProtocol"},
                                                 {S, "UInt"},
                                                 {S, "UnsafeMutableRawPointer"},
                                                 {S, "UnsafeMutableRawBufferPointer"},
                                                 {P, "Strideable"},
                                                 {P, "StringProtocol"},
                                                 {P, "BinaryInteger"}},
                                                /* the second set, after `c` */
                                                {[0] = {P, "Actor"},
                                                 [2] = {S, "CheckedContinuation"},
                                                 [4] = {S, "CancellationError"},
                                                 [5] = {P, "Executor"},
                                                 [6] = {S, "TaskGroup"},
                                                 [8] = {P, "AsyncIteratorProtocol"},
                                                 [9] = {S, "UnownedJob"},
                                                 [12] = {C, "MainActor"},
                                                 [15] = {S, "TaskPriority"},
                                                 [18] = {S, "AsyncStream"},
                                                 [19] = {S, "Task"},
                                                 [26 + 2] = {S, "UnsafeContinuation"},
                                                 [26 + 4] = {S, "UnownedSerialExecutor"},
                                                 [26 + 5] = {P, "SerialExecutor"},
                                                 [26 + 6] = {S, "ThrowingTaskGroup"},
                                                 [26 + 7] = {P, "TaskExecutor"},
                                                 [26 + 8] = {P, "AsyncSequence"},
                                                 [26 + 18] = {S, "AsyncThrowingStream"},
                                                 [26 + 19] = {S, "UnsafeCurrentTask"}}};

#undef C
#undef S
#undef E
#undef P

static swift_ref swift_type(struct sonde__swift *p, enum sonde__swift_kind kind, const char *name)
{
    swift_ref children[5] = {sonde__swift_word_leaf(p, SWIFT_MODULE_NODE, "Swift"),
                             sonde__swift_word_leaf(p, SWIFT_IDENTIFIER_NODE, name)};
    return sonde__swift_make(p, kind, 5, children);
}

static swift_ref standard_type(struct sonde__swift *p, unsigned set)
{
    char c = sonde__swift_next(p);
    bool upper = c >= 'A' && c <= 'Z', lower = c >= 'a' && c <= 'z';
    const struct standard *row = &standard[set][upper   ? c - 'A'
                                                : lower ? c - 'a' + 26
                                                        : 2 /* no type */];
    if ((!upper && !lower) || row->name == NULL) {
        return sonde__swift_fail(p);
    }
    return swift_type(p, (enum sonde__swift_kind)row->kind, row->name);
}

/* `T?` */
swift_ref sonde__swift_optional(struct sonde__swift *p)
{
    swift_ref type = sonde__swift_pop_type(p);
    swift_ref list = sonde__swift_make_all(p, SWIFT_LIST_NODE, 1, &type);
    swift_ref children[2] = {swift_type(p, SWIFT_ENUM_NODE, "Optional"), list};
    return sonde__swift_substitutable(p, sonde__swift_make_all(p, SWIFT_BOUND_NODE, 2, children));
}

/* Push `count` - 1 times; the caller pushes the last one. */
static swift_ref repeated(struct sonde__swift *p, swift_ref ref, int32_t count)
{
    if (ref == 0 || count > SWIFT_REPEAT_MAX) {
        return sonde__swift_fail(p);
    }
    for (; count > 1; count--) {
        sonde__swift_push(p, ref);
    }
    return ref;
}

swift_ref sonde__swift_standard(struct sonde__swift *p)
{
    if (sonde__swift_skip(p, 'o')) {
        return sonde__swift_word_leaf(p, SWIFT_MODULE_NODE, "__C");
    }
    if (sonde__swift_skip(p, 'C')) {
        return sonde__swift_word_leaf(p, SWIFT_MODULE_NODE, "__C_Synthesized");
    }
    if (sonde__swift_skip(p, 'g')) {
        return sonde__swift_optional(p);
    }
    int32_t count = sonde__swift_natural(p);
    unsigned set = sonde__swift_skip(p, 'c');
    return repeated(p, standard_type(p, set), count);
}

static swift_ref substitution(struct sonde__swift *p, int32_t index, int32_t count)
{
    if (index < 0 || index >= p->substitution_count - p->substitution_first) {
        return sonde__swift_fail(p);
    }
    return repeated(p, p->substitutions[p->substitution_first + index], count);
}

/* `A`: letters, each with a count in front; the last one is upper-case. Or a number and `_`: N+26.
 */
swift_ref sonde__swift_multi_substitution(struct sonde__swift *p)
{
    int32_t count = -1;
    while (!p->failed) {
        char c = sonde__swift_next(p);
        if (c >= 'a' && c <= 'z') {
            sonde__swift_push(p, substitution(p, c - 'a', count));
            count = -1;
        } else if (c >= 'A' && c <= 'Z') {
            return substitution(p, c - 'A', count);
        } else if (c == '_') {
            return substitution(p, count + 27, -1);
        } else {
            p->in -= c != '\0';
            if ((count = sonde__swift_natural(p)) < 0) {
                return sonde__swift_fail(p);
            }
        }
    }
    return 0;
}
