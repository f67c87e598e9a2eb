set(sources
    host_file.c
    host_folder.c
    host_library.c
    host_live.c
    host_maps.c
    host_own.c
    host_regs.c
    host_replace.c
    host_words.c
    host_writer.c
    ${SONDE_PORT}/doctor_machine.c
    ${SONDE_PORT}/doctor_process.c
    ${SONDE_PORT}/host_apart.c
    ${SONDE_PORT}/host_app.c
    ${SONDE_PORT}/host_blocks.c
    ${SONDE_PORT}/host_attend.c
    ${SONDE_PORT}/host_clock.c
    ${SONDE_PORT}/host_count.c
    ${SONDE_PORT}/host_denied.c
    ${SONDE_PORT}/host_device.c
    ${SONDE_PORT}/host_event.c
    ${SONDE_PORT}/host_exec.c
    ${SONDE_PORT}/host_file_port.c
    ${SONDE_PORT}/host_folder_port.c
    ${SONDE_PORT}/host_identity.c
    ${SONDE_PORT}/host_library_names.c
    ${SONDE_PORT}/host_life.c
    ${SONDE_PORT}/host_limit.c
    ${SONDE_PORT}/host_loader.c
    ${SONDE_PORT}/host_look.c
    ${SONDE_PORT}/host_network.c
    ${SONDE_PORT}/host_nsthread.c
    ${SONDE_PORT}/host_objc.c
    ${SONDE_PORT}/host_perf.c
    ${SONDE_PORT}/host_pin.c
    ${SONDE_PORT}/host_present.c
    ${SONDE_PORT}/host_process.c
    ${SONDE_PORT}/host_prompt.c
    ${SONDE_PORT}/host_ptrace.c
    ${SONDE_PORT}/host_run.c
    ${SONDE_PORT}/host_run_loop.c
    ${SONDE_PORT}/host_scratch.c
    ${SONDE_PORT}/host_self.c
    ${SONDE_PORT}/host_selftest.c
    ${SONDE_PORT}/host_shared.c
    ${SONDE_PORT}/host_signal.c
    ${SONDE_PORT}/host_state.c
    ${SONDE_PORT}/host_stream.c
    ${SONDE_PORT}/host_terminal.c
    ${SONDE_PORT}/host_tracer.c
    ${SONDE_PORT}/host_wait_fd.c
    ${SONDE_PORT}/host_wait_lock.c
    ${SONDE_PORT}/host_wait_process.c
    ${SONDE_PORT}/host_wait_resumed.c
    ${SONDE_PORT}/host_wait_socket.c
    ${SONDE_PORT}/host_waiter.c
)
# the parts of Darwin's port that exist
if(CMAKE_SYSTEM_NAME STREQUAL "Darwin")
    list(APPEND sources darwin/host_alone.c darwin/host_app.c darwin/host_blocks.c darwin/host_claim.c darwin/host_clock.c darwin/host_device.c
        darwin/host_file_port.c darwin/host_folder_port.c darwin/host_library_names.c darwin/host_life.c darwin/host_loader.c darwin/host_look.c
        darwin/host_memory_port.c darwin/host_network.c darwin/host_nsthread.c darwin/host_objc.c darwin/host_ports.c
        darwin/host_process.c darwin/host_program.c darwin/host_run.c darwin/host_run_loop.c darwin/host_scratch.c darwin/host_shared.c darwin/host_self.c
        darwin/host_stream.c darwin/host_thread.c)
endif()
