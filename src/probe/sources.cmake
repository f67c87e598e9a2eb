set(sources probe_hook.c probe_sample.c probe_thunks.S probe_turn.c)
