set(sources entry_equal.c entry_names.c entry_record.c entry_report.c)
