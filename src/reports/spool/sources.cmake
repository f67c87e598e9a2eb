set(sources spool_blame.c spool_counts.c spool_finish.c spool_folder.c spool_list.c spool_session.c spool_stream.c)
