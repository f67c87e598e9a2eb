set(sources
    capture_blocked.c
    capture_code.c
    capture_entry.S
    capture_images.c
    capture_made.c
    capture_memo.c
    capture_own.c
    capture_own_stack.c
    capture_park.c
    capture_program.c
    capture_record.c
    capture_snapshot.c
    capture_public.c
    capture_roster.c
    capture_signal.c
    capture_stat.c
    capture_walk.c
    capture_window.c
)
# of ports that can stop another thread
if(CMAKE_SYSTEM_NAME STREQUAL "Darwin")
    list(APPEND sources darwin/capture_stopped.c)
endif()
