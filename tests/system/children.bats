#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# proctrack/cgroup with SignalChildrenProcesses=yes in cgroup.conf: Slurm sends signals to every
# process of a task, and the supervisor must not send them once more. The task reads cgroup.conf,
# as its user.

# bats file_tags=release,proctrack:cgroup,proctrack:cgroup-v2
load launch
load variants
load signals

before_test ()
{
    slurm_is_from 23.11 ||
        skip "Slurm $(slurm_version) does not know SignalChildrenProcesses, which is new in 23.11"
    [[ $proctrack == cgroup* ]] || proctrack=cgroup
    start_cluster_or_skip --nodes 2 --cpus 32 --cgroup-conf SignalChildrenProcesses=yes
    make_recorders
}

after_test ()
{
    local left=0

    [[ -e $SPANK_TF_CLUSTER/nodes ]] || return 0
    end_variants || left=1
    stop_cluster && return $left
}

@test "SignalChildrenProcesses: every signal that is sent to a step is received once by every process" {
    local signal

    start_steps ../record-signals
    all_recording
    for signal in "${signals[@]}"; do
        for_every_step scancel -s "$signal"
        programs_receive 3 "$signal"
    done
    received_once "${signals[@]}"
    ! grep -q SignalChildrenProcesses "$work"/*.err || fail "$(cat "$work"/*.err)"
}

@test "SignalChildrenProcesses: scancel of a job: every process receives TERM once" {
    start_steps ../record-signals
    all_recording
    slurm scancel --user "$user"
    all_end
    grep -q ' program TERM$' "$work/plain/received"
    grep -q ' child TERM$' "$work/plain/received"
    same_as_plain received
}

# The supervisor forwards then.
@test "a cgroup.conf that users cannot read is reported once, and no signal is lost" {
    chmod 600 "$SPANK_TF_CLUSTER/cgroup.conf"
    start_steps ../record-signals
    all_recording
    for_every_step scancel -s USR1
    programs_receive 3 USR1
    end_recording
    [ "$(grep -c "cgroup.conf: Permission denied; if it sets SignalChildrenProcesses" "$work/supervised.err")" -eq 1 ] ||
        fail "$(cat "$work/supervised.err")"
    ! grep -q SignalChildrenProcesses "$work/plain.err" "$work/unsupervised.err" || fail "$(cat "$work"/*.err)"
}
