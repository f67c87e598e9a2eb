set(sources
    api_audit.c
    api_audit_run.c
    api_audit_spool.c
    api_block.c
    api_block_content.c
    api_block_described.c
    api_block_registry.c
    api_callstack.c
    api_debug_block.c
    api_debug_names.c
    api_debug_stacks.c
    api_depot.c
    api_entry.S
    api_entry_report.S
    api_image.c
    api_index.c
    api_lines.c
    api_names.c
    api_nsthread.c
    api_report.c
    api_stack.c
    api_strings.c
    api_symbol.c
    api_symbolizer.c
    api_symbols.c
    api_text.c
    api_thread.c
    api_thread_list.c
    api_upload.c
    api_upload_folder.c
    api_watch.c
    api_watch_marks.c
    api_watch_notes.c
    api_watch_run_loop.c
    api_watch_scopes.c
)
# captures of other threads
if(CMAKE_SYSTEM_NAME STREQUAL "Darwin")
    list(APPEND sources api_phase_none.c api_snapshot_stop.c api_thread_stop.c)
else()
    list(APPEND sources api_phase.c api_signal.c api_snapshot.c api_thread_describe.c api_thread_passive.c)
endif()
