set(sources
    os_maps.c
    ${SONDE_PORT}/linux_code.c
    ${SONDE_PORT}/linux_context.c
    ${SONDE_PORT}/linux_files.c
    ${SONDE_PORT}/linux_loader.c
    ${SONDE_PORT}/linux_memory.c
    ${SONDE_PORT}/linux_parse.c
    ${SONDE_PORT}/linux_signals.c
    ${SONDE_PORT}/linux_threads.c
    ${SONDE_PORT}/linux_time.c
)
# the parts of Darwin's port that exist
if(CMAKE_SYSTEM_NAME STREQUAL "Darwin")
    list(APPEND sources
        darwin/darwin_ahead.c
        darwin/darwin_code.c
        darwin/darwin_context.c
        darwin/darwin_files.c
        darwin/darwin_images.c
        darwin/darwin_memory.c
        darwin/darwin_process.c
        darwin/darwin_queue.c
        darwin/darwin_self.c
        darwin/darwin_signals.c
        darwin/darwin_sleep.c
        darwin/darwin_stop.c
        darwin/darwin_threads.c
        darwin/darwin_time.c
    )
endif()
