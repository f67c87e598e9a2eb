// SPDX-License-Identifier: Apache-2.0
/* Operators whose meaning is a row: what they pop, and the text around it. Most of Swift's
 * metadata, witnesses and thunks are such. The texts are those of swift-demangle.
 *
 * Pops, in order: T type, E entity or type, C conformance, P protocol, N any node, G signature or
 * none, A path of associated types, a associated type, g nominal type, X context, M module, D name,
 * I index (read from the name). Format: swift_print.c; %0 is what was popped first. */
#include <string.h>

#include "swift_node.h"

#define F    SWIFT_FORMAT_NODE
#define ATTR SWIFT_ATTRIBUTE_NODE
#define TYPE SWIFT_TYPE_NODE
#define BARE SWIFT_TYPE_SIMPLE_NODE

const struct sonde__swift_operator sonde__swift_operators[] = {
    {"BT", "", SWIFT_BUILTIN_TUPLE_NODE, "", NULL},
    {"BV", "TT", BARE, "Builtin.FixedArray<%1, %0>", NULL},
    {"HF", "", ATTR, "accessible function runtime record for ", ""},
    {"Hc", "C", F, "protocol conformance descriptor runtime record for %0", NULL},
    {"Hn", "T", F, "nominal type descriptor runtime record for %0", NULL},
    {"Ho", "N", F, "opaque type descriptor runtime record for %0", NULL},
    {"Hr", "P", F, "protocol descriptor runtime record for %0", NULL},
    {"K", "", SWIFT_THROWS_NODE, "", NULL},
    {"MA", "C", F, "reflection metadata associated type descriptor %0", NULL},
    {"MB", "T", F, "reflection metadata builtin descriptor %0", NULL},
    {"MC", "g", F, "reflection metadata superclass descriptor %0", NULL},
    {"MD", "T", F, "demangling cache variable for type metadata for %0", NULL},
    {"MF", "T", F, "reflection metadata field descriptor %0", NULL},
    {"MI", "T", F, "type metadata instantiation cache for %0", NULL},
    {"MJ", "N", F, "cache variable for noncanonical specialized generic type metadata for %0",
     NULL},
    {"MK", "N", F, "metadata instantiation cache for %0", NULL},
    {"ML", "T", F, "lazy cache variable for type metadata for %0", NULL},
    {"MM", "T", F, "specialized generic metaclass for %0", NULL},
    {"MN", "T", F, "noncanonical specialized generic type metadata for %0", NULL},
    {"MP", "T", F, "generic type metadata pattern for %0", NULL},
    {"MQ", "N", F, "opaque type descriptor for %0", NULL},
    {"MS", "P", F, "protocol self-conformance descriptor for %0", NULL},
    {"MU", "T", F, "ObjC metadata update function for %0", NULL},
    {"MV", "E", F, "property descriptor for %0", NULL},
    {"MXA", "AT", F, "generic parameter reference for associated type %1%0", NULL},
    {"MXE", "X", F, "extension descriptor %0", NULL},
    {"MXM", "M", F, "module descriptor %0", NULL},
    {"MXX", "X", F, "anonymous descriptor %0", NULL},
    {"MXY", "NX", F, "anonymous descriptor %1", NULL},
    {"Ma", "T", F, "type metadata accessor for %0", NULL},
    {"Mb", "T", F, "canonical specialized generic type metadata accessor for %0", NULL},
    {"Mc", "C", F, "protocol conformance descriptor for %0", NULL},
    {"Md", "T", F, "demangling cache variable for type metadata for %0", NULL}, /* Swift 6.2 */
    {"Mf", "T", F, "full type metadata for %0", NULL},
    {"Mg", "N", F, "opaque type descriptor accessor for %0", NULL},
    {"Mh", "N", F, "opaque type descriptor accessor impl for %0", NULL},
    {"Mi", "T", F, "type metadata instantiation function for %0", NULL},
    {"Mj", "N", F, "opaque type descriptor accessor key for %0", NULL},
    {"Mk", "N", F, "opaque type descriptor accessor var for %0", NULL},
    {"Ml", "T", F, "type metadata singleton initialization cache for %0", NULL},
    {"Mm", "T", F, "metaclass for %0", NULL},
    {"Mn", "T", F, "nominal type descriptor for %0", NULL},
    {"Mo", "T", F, "class metadata base offset for %0", NULL},
    {"Mp", "P", F, "protocol descriptor for %0", NULL},
    {"Mq", "N", F, "uniquable %0", NULL},
    {"Mr", "T", F, "type metadata completion function for %0", NULL},
    {"Ms", "T", F, "ObjC resilient class stub for %0", NULL},
    {"Mt", "T", F, "full ObjC resilient class stub for %0", NULL},
    {"Mu", "T", F, "method lookup function for %0", NULL},
    {"Mz", "T", F, "flag for loading of canonical specialized generic type metadata for %0", NULL},
    {"N", "T", F, "type metadata for %0", NULL},
    {"QO", "X", SWIFT_OPAQUE_OF_NODE, "", NULL},
    {"QR", "I", TYPE, "some", NULL},
    {"Qe", "IT", TYPE, "/* level: %0 */ each %1", NULL},
    {"Qp", "TT", TYPE, "repeat %1", NULL},
    {"Qr", "", TYPE, "some", NULL},
    {"TC", "T", F, "coroutine continuation prototype for %0", NULL},
    {"TD", "", ATTR, "dynamic ", NULL},
    {"TE", "", ATTR, "distributed thunk ", ""},
    {"TF", "", ATTR, "distributed accessor for ", ""},
    {"TI", "", ATTR, "dynamically replaceable thunk for ", ""},
    {"TL", "P", F, "protocol requirements base descriptor for %0", NULL},
    {"TM", "a", F, "default associated type metadata accessor for %0", NULL},
    {"TN", "PAT", F, "default associated conformance accessor for %2.%1: %0", NULL},
    {"TO", "", ATTR, "@nonobjc ", NULL},
    {"TQ", "I", ATTR, "(%0) await resume partial function for ", ""},
    {"TR", "GTT", F, "reabstraction thunk helper %?0from %2 to %1", "thunk for %2"},
    {"TS", "E", F, "protocol self-conformance witness for %0", NULL},
    {"TTI", "E", F, "identity thunk of %0", NULL},
    {"TU", "TN", F, "%1 with global actor constraint %0", NULL},
    {"TV", "EE", F, "vtable thunk for %0 dispatching to %1", NULL},
    {"TW", "EC", F, "protocol witness for %0 in conformance %1", NULL},
    {"TX", "", ATTR, "dynamically replaceable variable for ", ""},
    {"TY", "I", ATTR, "(%0) suspend resume partial function for ", ""},
    {"TZ", "IGTT", F,
     "checked @objc completion handler block implementation for %1%3 with result type %2%e0", NULL},
    {"Tb", "PT", F, "base conformance descriptor for %1: %0", NULL},
    {"Tc", "E", F, "curry thunk of %0", NULL},
    {"Td", "", ATTR, "super ", NULL},
    {"Tj", "E", F, "dispatch thunk of %0", NULL},
    {"Tl", "a", F, "associated type descriptor for %0", NULL},
    {"Tm", "", ATTR, "merged ", ""},
    {"Tn", "PAT", F, "associated conformance descriptor for %2.%1: %0", NULL},
    {"To", "", ATTR, "@objc ", NULL},
    {"Tq", "E", F, "method descriptor for %0", NULL},
    {"Tr", "GTT", F, "reabstraction thunk %?0from %2 to %1", "thunk for %2"},
    {"Tu", "", ATTR, "async function pointer to ", NULL},
    {"TwB", "", ATTR, "back deployment fallback for ", NULL},
    {"TwS", "", ATTR, "#_hasSymbol query for ", NULL},
    {"Twb", "", ATTR, "back deployment thunk for ", ""},
    {"Twc", "", ATTR, "coro function pointer to ", NULL},
    {"Twd", "", ATTR, "default override of ", NULL},
    {"Tx", "", ATTR, "dynamically replaceable key for ", ""},
    {"Ty", "GTTT", F, "reabstraction thunk %?0from %3 to %2 self %1", NULL},
    {"Tz", "IGTT", F,
     "@objc completion handler block implementation for %1%3 with result type %2%e0", NULL},
    {"WC", "E", F, "enum case for %0", NULL},
    {"WG", "C", F, "generic protocol witness table for %0", NULL},
    {"WI", "C", F, "instantiation function for generic protocol witness table for %0", NULL},
    {"WL", "CT", F, "lazy protocol witness table cache variable for type %1 and conformance %0",
     NULL},
    {"WOB", "GT", F, "outlined init with take of %1", NULL},
    {"WOC", "GT", F, "outlined init with copy of %1", NULL},
    {"WOD", "GT", F, "outlined assign with take of %1", NULL},
    {"WOF", "GT", F, "outlined assign with copy of %1", NULL},
    {"WOH", "GT", F, "outlined destroy of %1", NULL},
    {"WOb", "GT", F, "outlined init with take of %1", NULL},
    {"WOc", "GT", F, "outlined init with copy of %1", NULL},
    {"WOd", "GT", F, "outlined assign with take of %1", NULL},
    {"WOe", "GT", F, "outlined consume of %1%0", NULL},
    {"WOf", "GT", F, "outlined assign with copy of %1", NULL},
    {"WOg", "GT", F, "outlined enum get tag of %1", NULL},
    {"WOh", "GT", F, "outlined destroy of %1", NULL},
    {"WOi", "IGT", F, "outlined enum tag store of %2", NULL},
    {"WOj", "IGT", F, "outlined enum project data for load of %2", NULL},
    {"WOr", "GT", F, "outlined retain of %1", NULL},
    {"WOs", "GT", F, "outlined release of %1", NULL},
    {"WOy", "GT", F, "outlined copy of %1%0", NULL},
    {"WP", "C", F, "protocol witness table for %0", NULL},
    {"WS", "P", F, "protocol self-conformance witness table for %0", NULL},
    {"WT", "TAC", F, "associated type witness table accessor for %1 : %0 in %2", NULL},
    {"WV", "T", F, "value witness table for %0", NULL},
    {"Wa", "C", F, "protocol witness table accessor for %0", NULL},
    {"Wb", "TC", F, "base witness table accessor for %0 in %1", NULL},
    {"Wl", "CT", F, "lazy protocol witness table accessor for type %1 and conformance %0", NULL},
    {"Wp", "C", F, "protocol witness table pattern for %0", NULL},
    {"Wr", "C", F, "resilient protocol witness table for %0", NULL},
    {"Wt", "DC", F, "associated type metadata accessor for %0 in %1", NULL},
    {"Wvd", "E", F, "direct field offset for %0", NULL},
    {"Wvi", "E", F, "indirect field offset for %0", NULL},
    {"XD", "T", BARE, "Self", NULL},
    {"XSA", "TT", BARE, "[%1 of %0]", NULL},
    {"XSD", "TT", BARE, "[%1 : %0]", NULL},
    {"XSa", "T", BARE, "[%0]", NULL},
    {"XSp", "T", BARE, "(%0)", NULL},
    {"XSq", "T", BARE, "%p0?", NULL},
    {"Xb", "T", BARE, "@box %0", NULL},
    {"Xe", "", BARE, "<ERROR TYPE>", NULL},
    {"Xo", "T", TYPE, "unowned %0", NULL},
    {"Xp", "T", SWIFT_EXISTENTIAL_METATYPE_NODE, "", NULL},
    {"Xu", "T", TYPE, "unowned(unsafe) %0", NULL},
    {"Xw", "T", TYPE, "weak %0", NULL},
    {"YA", "", SWIFT_ISOLATED_ANY_NODE, "", NULL},
    {"YC", "", SWIFT_CALLER_ISOLATED_NODE, "", NULL},
    {"YK", "T", SWIFT_TYPED_THROWS_NODE, "", NULL},
    {"YT", "", SWIFT_SENDING_RESULT_NODE, "", NULL},
    {"Ya", "", SWIFT_ASYNC_NODE, "", NULL},
    {"Yb", "", SWIFT_SENDABLE_NODE, "", NULL},
    {"Yc", "T", SWIFT_GLOBAL_ACTOR_NODE, "", NULL},
    {"Yg", "T", TYPE, "@const %0", NULL},
    {"Yi", "T", TYPE, "isolated %0", NULL},
    {"Yk", "T", TYPE, "@noDerivative %0", NULL},
    {"Yt", "T", TYPE, "_const %0", NULL},
    {"Yu", "T", TYPE, "sending %0", NULL},
    {"Z", "E", SWIFT_STATIC_NODE, "", NULL},
    {"_", "", SWIFT_FIRST_NODE, "", NULL},
    {"d", "", SWIFT_VARIADIC_NODE, "", NULL},
    {"h", "T", TYPE, "__shared %0", NULL},
    {"m", "T", SWIFT_METATYPE_NODE, "", NULL},
    {"n", "T", TYPE, "__owned %0", NULL},
    {"y", "", SWIFT_EMPTY_LIST_NODE, "", NULL},
    {"z", "T", TYPE, "inout %0", NULL},
};

/* The rows are in the order of their codes, and no code begins with another one. */
const struct sonde__swift_operator *sonde__swift_find_operator(struct sonde__swift *p)
{
    size_t low = 0, high = sizeof sonde__swift_operators / sizeof sonde__swift_operators[0];
    size_t left = (size_t)(p->end - p->in);
    while (low < high) {
        size_t middle = (low + high) / 2, length = strlen(sonde__swift_operators[middle].code);
        int order =
            strncmp(p->in, sonde__swift_operators[middle].code, length < left ? length : left);
        if (order == 0 && length <= left) {
            p->in += length;
            return &sonde__swift_operators[middle];
        }
        if (order < 0 || (order == 0 && length > left)) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return NULL;
}
