set(sources probe_sample.c probe_turn.c)
