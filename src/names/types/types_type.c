// SPDX-License-Identifier: Apache-2.0
/* Reads a DIE as a type. */
#include "base_status.h"
#include "dwarf_constants.h"
#include "types_data.h"

enum sonde__type_kind types_kind(unsigned tag)
{
    switch (tag) {
    case DW_TAG_base_type:
    case DW_TAG_unspecified_type:
        return SONDE__TYPE_BASE;
    case DW_TAG_structure_type:
        return SONDE__TYPE_STRUCT;
    case DW_TAG_class_type:
    case DW_TAG_interface_type:
        return SONDE__TYPE_CLASS;
    case DW_TAG_union_type:
        return SONDE__TYPE_UNION;
    case DW_TAG_enumeration_type:
        return SONDE__TYPE_ENUM;
    case DW_TAG_typedef:
    case DW_TAG_template_alias:
        return SONDE__TYPE_TYPEDEF;
    case DW_TAG_pointer_type:
        return SONDE__TYPE_POINTER;
    case DW_TAG_reference_type:
        return SONDE__TYPE_REFERENCE;
    case DW_TAG_rvalue_reference_type:
        return SONDE__TYPE_RVALUE_REFERENCE;
    case DW_TAG_ptr_to_member_type:
        return SONDE__TYPE_MEMBER_POINTER;
    case DW_TAG_const_type:
        return SONDE__TYPE_CONST;
    case DW_TAG_volatile_type:
        return SONDE__TYPE_VOLATILE;
    case DW_TAG_restrict_type:
        return SONDE__TYPE_RESTRICT;
    case DW_TAG_atomic_type:
        return SONDE__TYPE_ATOMIC;
    case DW_TAG_packed_type:
    case DW_TAG_shared_type:
    case DW_TAG_immutable_type:
    case DW_TAG_LLVM_ptrauth_type:
        return SONDE__TYPE_TRANSPARENT;
    case DW_TAG_array_type:
        return SONDE__TYPE_ARRAY;
    case DW_TAG_subroutine_type:
    case DW_TAG_subprogram:
        return SONDE__TYPE_FUNCTION;
    default:
        return SONDE__TYPE_UNKNOWN;
    }
}

enum sonde_status sonde__type_get(struct sonde__types *t, struct sonde__type_ref ref,
                                  struct sonde__type *ret)
{
    struct types_die die;
    if (ref.die == 0) {
        *ret = (struct sonde__type){.kind = SONDE__TYPE_VOID};
        return SONDE_OK;
    }
    enum sonde_status status = types_die(t, ref, &die);
    if (status == SONDE_OK && die.has_signature) { /* this DIE is only a declaration */
        struct sonde__type_ref whole = types_by_signature(t, die.signature);
        if (whole.die != 0 && (whole.die != ref.die || whole.unit != ref.unit)) {
            ref = whole;
            status = types_die(t, ref, &die);
        }
    }
    if (status == SONDE_OK) {
        struct sonde__type type = {.self = ref,
                                   .kind = types_kind(die.tag),
                                   .size = die.size,
                                   .has_size = die.has_size,
                                   .encoding = die.encoding,
                                   .declared_only = die.declaration || die.has_signature,
                                   .is_vector = die.vector};
        status = types_whole(t, &die);
        type.name = die.name;
        type.target = die.type;
        type.holder = die.holder;
        type.line = die.line;
        type.is_plain = types_is_c(t, ref.unit) && !die.runtime_class;
        type.is_objc = die.runtime_class;
        *ret = type;
    }
    return status == SONDE_ABSENT ? SONDE_CORRUPT : status;
}
