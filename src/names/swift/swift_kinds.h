// SPDX-License-Identifier: Apache-2.0
/* The kinds of nodes in the tree of a name. */
#ifndef SONDE_SWIFT_KINDS_H
#define SONDE_SWIFT_KINDS_H

/* What a node may be used as. */
enum {
    SWIFT_TYPE = 1,
    SWIFT_CONTEXT = 2,
    SWIFT_DECL = 4,    /* the name of a declaration */
    SWIFT_GENERIC = 8, /* a nominal type, which may take arguments */
    SWIFT_REQUIREMENT = 16,
    SWIFT_CONFORMANCE = 32,
    SWIFT_ATTRIBUTE = 64, /* describes the whole name: a thunk, a specialization */
    SWIFT_SIMPLE = 128,   /* a type that needs no parentheses before `?` or `.Type` */
    SWIFT_ENTITY = 256,   /* printed by swift_print_entity.c */
};

/* name, uses, format (swift_print.c; "": printed by code) */
#define SWIFT_KINDS(K)                                                                             \
    K(NONE, 0, "")                                                                                 \
    K(IDENTIFIER, SWIFT_DECL, "%t")                                                                \
    K(LOCAL_NAME, SWIFT_DECL, "%0 #%n")                                                            \
    K(PRIVATE_NAME, SWIFT_DECL, "")                                                                \
    K(RELATED_NAME, SWIFT_DECL, "related decl '%t' for %0")                                        \
    K(PREFIX, SWIFT_DECL, "%t prefix")                                                             \
    K(POSTFIX, SWIFT_DECL, "%t postfix")                                                           \
    K(INFIX, SWIFT_DECL, "%t infix")                                                               \
    K(MODULE, SWIFT_CONTEXT, "")                                                                   \
    K(NUMBER, 0, "%n")                                                                             \
    K(CLASS, SWIFT_TYPE | SWIFT_CONTEXT | SWIFT_GENERIC | SWIFT_SIMPLE | SWIFT_ENTITY, "")         \
    K(STRUCT, SWIFT_TYPE | SWIFT_CONTEXT | SWIFT_GENERIC | SWIFT_SIMPLE | SWIFT_ENTITY, "")        \
    K(ENUM, SWIFT_TYPE | SWIFT_CONTEXT | SWIFT_GENERIC | SWIFT_SIMPLE | SWIFT_ENTITY, "")          \
    K(PROTOCOL, SWIFT_TYPE | SWIFT_CONTEXT | SWIFT_GENERIC | SWIFT_SIMPLE | SWIFT_ENTITY, "")      \
    K(ALIAS, SWIFT_TYPE | SWIFT_CONTEXT | SWIFT_GENERIC | SWIFT_SIMPLE | SWIFT_ENTITY, "")         \
    K(OTHER, SWIFT_TYPE | SWIFT_CONTEXT | SWIFT_GENERIC | SWIFT_SIMPLE | SWIFT_ENTITY, "")         \
    K(BUILTIN_TUPLE, SWIFT_TYPE | SWIFT_GENERIC | SWIFT_SIMPLE, "Builtin.TheTupleType")            \
    K(BUILTIN, SWIFT_TYPE | SWIFT_SIMPLE, "")                                                      \
    K(TYPE, SWIFT_TYPE, "")                                                                        \
    K(TYPE_SIMPLE, SWIFT_TYPE | SWIFT_SIMPLE, "")                                                  \
    K(INTEGER, SWIFT_TYPE | SWIFT_SIMPLE, "%t%n")                                                  \
    K(BOUND, SWIFT_TYPE | SWIFT_SIMPLE, "")                                                        \
    K(BOUND_FUNCTION, SWIFT_CONTEXT | SWIFT_ENTITY, "")                                            \
    K(LIST, 0, "%*,")                                                                              \
    K(LABELS, 0, "")                                                                               \
    K(TUPLE, SWIFT_TYPE | SWIFT_SIMPLE, "(%*,)")                                                   \
    K(ELEMENT, 0, "")                                                                              \
    K(BOX, SWIFT_TYPE | SWIFT_SIMPLE, "")                                                          \
    K(PACK, SWIFT_TYPE | SWIFT_SIMPLE, "%tPack{%*,}")                                              \
    K(EMPTY_LIST, 0, "")                                                                           \
    K(FIRST, 0, "")                                                                                \
    K(VARIADIC, 0, "")                                                                             \
    K(FUNCTION_TYPE, SWIFT_TYPE, "")                                                               \
    K(ASYNC, 0, " async")                                                                          \
    K(SENDABLE, 0, "@Sendable ")                                                                   \
    K(THROWS, 0, " throws")                                                                        \
    K(TYPED_THROWS, 0, " throws(%0)")                                                              \
    K(ISOLATED_ANY, 0, "@isolated(any) ")                                                          \
    K(GLOBAL_ACTOR, 0, "@%0 ")                                                                     \
    K(CALLER_ISOLATED, 0, "nonisolated(nonsending) ")                                              \
    K(DIFFERENTIABLE, 0, "@differentiable%t ")                                                     \
    K(SENDING_RESULT, 0, "sending ")                                                               \
    K(EXISTENTIAL_METATYPE, SWIFT_TYPE | SWIFT_SIMPLE, "%t%0.Type")                                \
    K(METATYPE, SWIFT_TYPE | SWIFT_SIMPLE, "")                                                     \
    K(PROTOCOLS, SWIFT_TYPE, "")                                                                   \
    K(PROTOCOLS_CLASS, SWIFT_TYPE, "%0 & %1")                                                      \
    K(PROTOCOLS_ANYOBJECT, SWIFT_TYPE, "")                                                         \
    K(CONSTRAINED, SWIFT_TYPE, "any %0<%1>")                                                       \
    K(PARAMETER, SWIFT_TYPE | SWIFT_SIMPLE, "")                                                    \
    K(MEMBER, SWIFT_TYPE | SWIFT_SIMPLE, "%0.%1")                                                  \
    K(ASSOCIATED, 0, "")                                                                           \
    K(PATH, 0, "%*.")                                                                              \
    K(GENERIC_TYPE, SWIFT_TYPE | SWIFT_SIMPLE, "")                                                 \
    K(SIGNATURE, 0, "")                                                                            \
    K(CONFORMS, SWIFT_REQUIREMENT, "%0: %1")                                                       \
    K(INVERSE, SWIFT_REQUIREMENT, "")                                                              \
    K(SAME_TYPE, SWIFT_REQUIREMENT, "%0 == %1")                                                    \
    K(SAME_SHAPE, SWIFT_REQUIREMENT, "%0.shape == %1.shape")                                       \
    K(LAYOUT, SWIFT_REQUIREMENT, "%0: %t%1")                                                       \
    K(PACK_MARKER, SWIFT_REQUIREMENT, "")                                                          \
    K(VALUE_MARKER, SWIFT_REQUIREMENT, "")                                                         \
    K(CONFORMANCE, 0, "")                                                                          \
    K(CONCRETE, SWIFT_CONFORMANCE, "")                                                             \
    K(CONFORMANCE_ROOT, SWIFT_CONFORMANCE, "dependent root protocol conformance %2%1 to %0")       \
    K(CONFORMANCE_INHERITED, SWIFT_CONFORMANCE,                                                    \
      "dependent inherited protocol conformance %2%1 to %0")                                       \
    K(CONFORMANCE_ASSOCIATED, SWIFT_CONFORMANCE,                                                   \
      "dependent associated protocol conformance %2%1 to dependent associated conformance %3%0")   \
    K(CONFORMANCE_OPAQUE, SWIFT_CONFORMANCE, "opaque result conformance %1 of %0")                 \
    K(CONFORMANCE_PACK, SWIFT_CONFORMANCE, "pack protocol conformance (%0)")                       \
    K(CONFORMANCE_INDEX, 0, "#%n ")                                                                \
    K(CONFORMANCE_REF, 0, "protocol conformance ref %t%0%1")                                       \
    K(RETROACTIVE, 0, "retroactive @ %0%1")                                                        \
    K(OPAQUE_TYPE, SWIFT_TYPE, "%0.%n")                                                            \
    K(OPAQUE_OF, SWIFT_CONTEXT, "<<opaque return type of %0>>")                                    \
    K(IMPL_FUNCTION, SWIFT_TYPE, "")                                                               \
    K(IMPL_VALUE, 0, "%t%0")                                                                       \
    K(FUNCTION, SWIFT_CONTEXT | SWIFT_ENTITY, "")                                                  \
    K(VARIABLE, SWIFT_CONTEXT | SWIFT_ENTITY, "")                                                  \
    K(SUBSCRIPT, SWIFT_CONTEXT | SWIFT_ENTITY, "")                                                 \
    K(ACCESSOR, SWIFT_CONTEXT | SWIFT_ENTITY, "")                                                  \
    K(ALLOCATOR, SWIFT_CONTEXT | SWIFT_ENTITY, "")                                                 \
    K(CONSTRUCTOR, SWIFT_CONTEXT | SWIFT_ENTITY, "")                                               \
    K(DESTRUCTOR, SWIFT_CONTEXT | SWIFT_ENTITY, "")                                                \
    K(CLOSURE, SWIFT_CONTEXT | SWIFT_ENTITY, "")                                                   \
    K(INITIALIZER, SWIFT_CONTEXT | SWIFT_ENTITY, "")                                               \
    K(MACRO, SWIFT_CONTEXT | SWIFT_ENTITY, "")                                                     \
    K(MACRO_EXPANSION, SWIFT_CONTEXT | SWIFT_ENTITY, "")                                           \
    K(PARAMETER_DECL, SWIFT_CONTEXT | SWIFT_ENTITY, "")                                            \
    K(STATIC, SWIFT_CONTEXT, "static %0")                                                          \
    K(EXTENSION, SWIFT_CONTEXT, "")                                                                \
    K(ANONYMOUS, SWIFT_CONTEXT, "")                                                                \
    K(FORMAT, 0, "")                                                                               \
    K(ATTRIBUTE, SWIFT_ATTRIBUTE, "")                                                              \
    K(PARTIAL_APPLY, SWIFT_ATTRIBUTE, "")                                                          \
    K(SPECIALIZATION, SWIFT_ATTRIBUTE, "")                                                         \
    K(MACRO_PLACE, SWIFT_CONTEXT, "module %0 file %1 line %2 column %3")                           \
    K(DERIVATIVE, SWIFT_CONTEXT, "")                                                               \
    K(PREFIXED, 0, "%t%*")                                                                         \
    K(SUFFIX, 0, "")                                                                               \
    K(GLOBAL, 0, "%*")

#endif
