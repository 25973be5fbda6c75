#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A task that needs more memory than its step has: the plugin says that this is why it was killed.

# bats file_tags=proctrack:cgroup,proctrack:cgroup-v2,release
load launch
load roles

setup_file ()
{
    has_memory_controller || return 0
    start_cluster --nodes 2 --prefix mem --conf TaskPlugin=task/cgroup \
        --conf SelectTypeParameters=CR_Core_Memory --cgroup-conf ConstrainRAMSpace=yes \
        --node-conf mem1:RealMemory=1000 --node-conf mem2:RealMemory=1000
}

has_memory_controller ()
{
    case $proctrack in
        cgroup) [[ -d /sys/fs/cgroup/memory ]] ;;
        cgroup-v2) grep -qsw memory /sys/fs/cgroup/cgroup.controllers /sys/fs/cgroup/unified/cgroup.controllers ;;
        *) false ;;
    esac
}

before_test ()
{
    has_memory_controller || skip "no memory controller for proctrack/$proctrack"
    write_by_role
}

after_test ()
{
    ! has_memory_controller || nothing_left
}

# Require this end of worker 0, a pattern, in the last message: fails_first END
fails_first ()
{
    [[ $(grep spank_tf <<< "$stderr" | tail -n 1) =~ \ first\ failure:\ worker\ 0\ \(mem2\)\ at\ [0-9:]{8},\ (.*)$ ]] &&
        [[ ${BASH_REMATCH[1]} =~ ^$1$ ]] || fail "the last message is not \"$1\""
}

# More memory than a step has here.
much='/usr/bin/python3 -c "print (len (b\"x\" * (300 << 20)))"'

# bats test_tags=core
@test "a task that was killed because memory was exhausted: the messages say so" {
    run_and_show -N2 -n2 --mem=60M --tf-tasks=ps,worker ./by-role worker="exec $much"
    [ "$(count_ends 'worker 0 signal 9 \(out of memory.*\)' <<< "$stderr")" -eq 1 ] || fail "the table does not"
    fails_first 'signal 9 \(out of memory\)'
}

@test "the same of a script whose program was killed" {
    run_step -N2 -n2 --mem=60M --tf-tasks=ps,worker ./by-role worker="$much"
    fails_first 'exit code 137 \(out of memory\)'
}

@test "a task that was killed for another reason, or that failed after its child was killed, is not out of memory" {
    run_step -N2 -n2 --mem=60M --tf-tasks=ps,worker ./by-role worker='kill -KILL $$'
    fails_first 'signal 9'
    run_step -N2 -n2 --mem=60M --tf-tasks=ps,worker ./by-role worker="$much || exit 3"
    fails_first 'exit code 3'
}
