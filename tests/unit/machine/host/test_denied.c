// SPDX-License-Identifier: Apache-2.0
/* Reasons that no process of the machine that runs the tests may have: Yama is in few kernels. The
 * kernel's own checks are the measure (ptrace(2)); test_doctor.c has what can be made. */
#include "host_denied.h"

#include <string.h>

#include "test.h"

#define CAP_SYS_PTRACE ((uint64_t)1 << 19)

/* Ours: user and group 1000 without capabilities; the process the same. */
static struct sonde__host_denial_facts alike(void)
{
    return (struct sonde__host_denial_facts){.own_user = 1000,
                                             .own_group = 1000,
                                             .users = {1000, 1000, 1000},
                                             .groups = {1000, 1000, 1000},
                                             .owner = 1000};
}

static void check(const struct sonde__host_denial_facts *facts, enum sonde__host_denial expected,
                  const char *reason, const char *advice)
{
    struct sonde__host_denied denied;
    CHECK_EQ(sonde__host_denial(facts), expected);
    sonde__host_denial_text(facts, expected, &denied);
    CHECK_CONTAINS(denied.reason, reason);
    CHECK_CONTAINS(denied.advice, advice);
    CHECK(strlen(denied.reason) < sizeof denied.reason - 1);
}

TEST(yama_refuses_tracing_only)
{
    struct sonde__host_denial_facts facts = alike();
    facts.yama = 1;
    facts.is_readable = true;
    check(&facts, SONDE__HOST_DENIED_YAMA,
          "by its parents only (Yama: kernel.yama.ptrace_scope is 1",
          "sysctl kernel.yama.ptrace_scope=0");
    facts.yama = 2;
    check(&facts, SONDE__HOST_DENIED_YAMA, "by root only", "run as root (CAP_SYS_PTRACE)");
    facts.yama = 3;
    facts.own_capabilities = CAP_SYS_PTRACE;
    check(&facts, SONDE__HOST_DENIED_YAMA, "nobody, root included", "starts again");
    facts.yama = 0;
    check(&facts, SONDE__HOST_DENIED_POLICY, "kept from root by a security module", "outside");
}

/* Yama is set, but reading is refused as well: the reason is another. */
TEST(yama_is_not_blamed_for_another_reason)
{
    struct sonde__host_denial_facts facts = alike();
    facts.yama = 1;
    facts.owner = 0;
    check(&facts, SONDE__HOST_DENIED_NOT_DUMPABLE, "is not dumpable", "run as root");
    facts.users[2] = 0;
    check(&facts, SONDE__HOST_DENIED_USER, "belongs to user 1000", "run as root");
    facts = alike();
    facts.yama = 1;
    facts.capabilities = 0x2000;
    check(&facts, SONDE__HOST_DENIED_CAPABILITIES, "capabilities that sonde lacks (0x2000)",
          "root");
    facts = alike();
    facts.yama = 1;
    check(&facts, SONDE__HOST_DENIED_POLICY, "kept from this user by a security module", "outside");
    facts.is_nested = true;
    check(&facts, SONDE__HOST_DENIED_NAMESPACE, "another user namespace", "container");
}

TEST(a_root_of_a_container)
{
    struct sonde__host_denial_facts facts = {.own_capabilities = CAP_SYS_PTRACE, .is_nested = true};
    check(&facts, SONDE__HOST_DENIED_NAMESPACE, "another user namespace", "container");
    facts.own_capabilities = 0;
    facts.capabilities = CAP_SYS_PTRACE;
    check(&facts, SONDE__HOST_DENIED_CAPABILITIES, "(0x80000)", "--cap-add=SYS_PTRACE");
}
