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

# The same contract over scripted threads, a virtual clock and poisoned memory. A test links it
# before the library: LIBS sonde_os_sim, and includes sim/sim.h.
if(NOT TARGET sonde_os_sim)
    add_library(sonde_os_sim OBJECT ${CMAKE_CURRENT_LIST_DIR}/sim/sim.c
                                    ${CMAKE_CURRENT_LIST_DIR}/linux/linux_parse.c)
    sonde_compile_options(sonde_os_sim)
    target_include_directories(sonde_os_sim PUBLIC ${CMAKE_CURRENT_LIST_DIR}/sim
        PRIVATE ${CMAKE_CURRENT_LIST_DIR} ${PROJECT_SOURCE_DIR}/include)
    sonde_headers(sonde_os_sim base arch)
endif()
