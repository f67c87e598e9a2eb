set(sources
    diff.c
    diff_calls.c
    diff_json.c
    diff_notes.c
    diff_stalls.c
    diff_text.c
)
