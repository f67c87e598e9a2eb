set(sources
    cause.c
    cause_circle.c
    cause_fd.c
    cause_function.c
    cause_futex.c
    cause_path.c
    cause_process.c
    cause_read.c
    cause_report.c
    cause_socket.c
    cause_words.c
)
# Mach does not show what a thread waits for
if(CMAKE_SYSTEM_NAME STREQUAL "Darwin")
    set(sources darwin/cause_none.c)
endif()
