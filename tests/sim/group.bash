# SPDX-License-Identifier: GPL-2.0-or-later
#
# The group `sim` of tests/run: the decisions of a rendezvous and its supervisors in a world of their own.
#
# shellcheck disable=SC2154  # tests/run has set the variables

# sim [SECONDS [SEED]]
group_sim ()
{
    in_build make_check_programs > "$run/step.log" 2>&1 || { tail -n 40 "$run/step.log"; count 0 1 0; return; }
    # shellcheck disable=SC2086
    if "$work/build/tests/simulate" ${numbers[sim]-30}; then
        count 1 0 0
    else
        count 0 1 0
    fi
}
