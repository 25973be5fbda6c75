# SPDX-License-Identifier: GPL-2.0-or-later
#
# The group `campaign` of tests/run, random faults.
#
# shellcheck disable=SC2154  # tests/run has set the variables

# The numbers are how many trials there are, and the seed of the first one. It uses all pairs of
# users of its line.
group_campaign ()
{
    local type=$proctrack trials=$run/campaign.trials

    # The campaign knows two types.
    case $proctrack in
        *,*) type=each ;;
        cgroup | linuxproc) ;;
        *) type=linuxproc ;;
    esac
    [[ $type != each || -d /sys/fs/cgroup/freezer ]] || type=linuxproc
    # shellcheck disable=SC2086
    install_programs && SPANK_TF_USERS="${users[*]}" "$top/tests/campaign/campaign" \
        --proctrack="$type" ${numbers[campaign]-} 2>&1 | tee "$trials"
    ((PIPESTATUS[0] == 0)) || grep -q '^not ok' "$trials" || echo "not ok the campaign cannot run" >> "$trials"
    count_tap "$trials"
}
