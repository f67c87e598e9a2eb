set(sources os_maps.c os_parse.c)
if(SONDE_PORT STREQUAL "linux")
    list(APPEND sources
        linux/linux_code.c
        linux/linux_context.c
        linux/linux_files.c
        linux/linux_loader.c
        linux/linux_memory.c
        linux/linux_signals.c
        linux/linux_threads.c
        linux/linux_time.c
    )
endif()

# The same contract over scripted threads, a virtual clock and poisoned memory. A test links it
# before the library: LIBS sonde_os_sim, and includes sim/sim.h.
if(NOT TARGET sonde_os_sim)
    add_library(sonde_os_sim OBJECT ${CMAKE_CURRENT_LIST_DIR}/sim/sim.c
                                    ${CMAKE_CURRENT_LIST_DIR}/os_parse.c)
    sonde_compile_options(sonde_os_sim)
    target_include_directories(sonde_os_sim PUBLIC ${CMAKE_CURRENT_LIST_DIR}/sim
        PRIVATE ${CMAKE_CURRENT_LIST_DIR} ${PROJECT_SOURCE_DIR}/include)
    sonde_headers(sonde_os_sim base arch)
endif()
