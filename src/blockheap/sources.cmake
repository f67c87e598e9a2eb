set(sources blockheap_check.c blockheap_open.c blockheap_scan.c blockheap_symbols.c)
