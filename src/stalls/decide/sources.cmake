set(sources decide.c decide_account.c decide_budget.c decide_turns.c)
