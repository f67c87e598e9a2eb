set(sources
    audit_alias.c
    audit_library.c
    audit_list.c
    audit_read.c
    audit_run.c
    audit_scope.c
)
