set(sources arch_regs.c arch_call.c arch_flow.c arch_insn.c arch_insn_aarch64.c arch_insn_x86.c arch_plt.c arch_prologue.c arch_raw_call.c arch_sigframe.c arch_stack.c arch_syscall.c arch_x86_insn.c)
