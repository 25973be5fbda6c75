# SPDX-License-Identifier: GPL-2.0-or-later
#
# The group `mutants` of tests/run: small changes of what decides, each of which a test has to notice.
#
# shellcheck disable=SC2154  # tests/run has set the variables

# mutants [N [SEED]]
group_mutants ()
{
    in_build make_check_programs > "$run/step.log" 2>&1 || { tail -n 40 "$run/step.log"; count 0 1 0; return; }
    # shellcheck disable=SC2086
    if "$top/tests/mutants/mutants" "$work/build" ${numbers[mutants]-}; then
        count 1 0 0
    else
        count 0 1 0
    fi
}
