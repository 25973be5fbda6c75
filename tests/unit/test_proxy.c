/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/proxy.h"

#define ENV(...) ((char *const *)(uintptr_t)(const char *const[]){ __VA_ARGS__, NULL })

TEST (a_proxy_is_set_if_any_proxy_variable_has_a_value)
{
    static const char *const name[] = {
        "grpc_proxy", "https_proxy", "http_proxy", "all_proxy", "HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY",
    };

    assert_false (proxy_is_set (ENV (NULL)));
    for (size_t i = 0; i < COUNT (name); i++) {
        char set[64], empty[64];

        snprintf (set, sizeof (set), "%s=http://proxy:3128", name[i]);
        snprintf (empty, sizeof (empty), "%s=", name[i]);
        assert_true (proxy_is_set (ENV (set)));
        assert_true (proxy_is_set (ENV ("PATH=/bin", set)));
        assert_false (proxy_is_set (ENV (empty)));
    }
    assert_true (proxy_is_set (ENV ("grpc_proxy=", "http_proxy=http://proxy:3128")));
}

TEST (other_variables_do_not_set_a_proxy)
{
    assert_false (proxy_is_set (ENV ("no_proxy=localhost", "no_grpc_proxy=localhost", "NO_PROXY=localhost",
                                     "ftp_proxy=http://proxy", "MY_http_proxy=http://proxy",
                                     "http_proxy_user=me", "PROXY=http://proxy")));
}

#define HOSTS "10.0.0.1,10.0.0.2"

/* An environment, and the resulting values of no_grpc_proxy and no_proxy. */
struct row {
    const char *env[4];
    const char *hosts;
    const char *grpc, *other;
};

static void check (const struct row *row)
{
    const char *expected[PROXY_EXEMPTIONS] = { row->grpc, row->other };

    for (int i = 0; i < PROXY_EXEMPTIONS; i++) {
        char *value = proxy_exempt (i, row->hosts, (char *const *)(uintptr_t)row->env);

        assert_string_equal (value, expected[i]);
        free (value);
    }
}

TEST (hosts_are_appended_to_the_exempt_hosts)
{
    static const struct row row[] = {
        { { NULL }, HOSTS, HOSTS, HOSTS },
        { { "no_proxy=localhost" }, HOSTS, "localhost," HOSTS, "localhost," HOSTS },
        { { "no_grpc_proxy=a", "no_proxy=b" }, HOSTS, "a," HOSTS, "b," HOSTS },
        { { "no_grpc_proxy=a", "no_proxy=b", "NO_PROXY=c" }, HOSTS, "a," HOSTS, "b," HOSTS },
        { { "no_proxy=a, .site.edu ,b" }, HOSTS, "a, .site.edu ,b," HOSTS, "a, .site.edu ,b," HOSTS },
    };

    for (size_t i = 0; i < COUNT (row); i++)
        check (&row[i]);
}

/*
 * A program reads the first of no_grpc_proxy, no_proxy and NO_PROXY that is set. A variable that
 * spank-tf creates hides the next one, so it starts with the next one's value.
 */
TEST (a_new_variable_starts_with_the_value_that_it_hides)
{
    static const struct row row[] = {
        { { "NO_PROXY=c" }, HOSTS, "c," HOSTS, "c," HOSTS },
        { { "no_grpc_proxy=a" }, HOSTS, "a," HOSTS, HOSTS },
        { { "no_grpc_proxy=a", "NO_PROXY=c" }, HOSTS, "a," HOSTS, "c," HOSTS },
        { { "no_grpc_proxy=", "no_proxy=", "NO_PROXY=c" }, HOSTS, "c," HOSTS, "c," HOSTS },
    };

    for (size_t i = 0; i < COUNT (row); i++)
        check (&row[i]);
}

TEST (a_host_is_not_listed_twice)
{
    static const struct row row[] = {
        { { "no_proxy=" HOSTS }, HOSTS, HOSTS, HOSTS },
        { { "no_proxy=10.0.0.2" }, HOSTS, "10.0.0.2,10.0.0.1", "10.0.0.2,10.0.0.1" },
        { { "no_proxy=a, 10.0.0.1 ,b" }, HOSTS, "a, 10.0.0.1 ,b,10.0.0.2", "a, 10.0.0.1 ,b,10.0.0.2" },
        { { "no_proxy=fd00::1" }, "fd00::1", "fd00::1", "fd00::1" },
    };

    for (size_t i = 0; i < COUNT (row); i++)
        check (&row[i]);
}

TEST (a_host_that_is_only_a_substring_is_added)
{
    static const struct row row[] = {
        { { "no_proxy=10.0.0.12" }, "10.0.0.1", "10.0.0.12,10.0.0.1", "10.0.0.12,10.0.0.1" },
        { { "no_proxy=110.0.0.1" }, "10.0.0.1", "110.0.0.1,10.0.0.1", "110.0.0.1,10.0.0.1" },
        { { "no_proxy=10.0.0.1" }, "10.0.0.12", "10.0.0.1,10.0.0.12", "10.0.0.1,10.0.0.12" },
        { { "no_proxy=10.0.0.0/8" }, "10.0.0.1", "10.0.0.0/8,10.0.0.1", "10.0.0.0/8,10.0.0.1" },
    };

    for (size_t i = 0; i < COUNT (row); i++)
        check (&row[i]);
}
