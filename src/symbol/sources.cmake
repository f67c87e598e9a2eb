set(sources
    symbol_build.c
    symbol_choose.c
    symbol_flatten.c
    symbol_index.c
    symbol_plt.c
    symbol_sort.c
)
