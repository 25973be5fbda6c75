# SPDX-License-Identifier: GPL-2.0-or-later
#
# Nodes whose names have zeros, dashes, dots and several prefixes.

load launch
load roles

setup_file ()
{
    start_cluster --names zn001,zn010,gpu-a-02,cn.b.3
}

# bats test_tags=core
@test "every task has its place on nodes called zn001, zn010, gpu-a-02 and cn.b.3" {
    run --separate-stderr slurm srun -Q -N4 --tf-tasks=ps,worker:rest "$task_check" --roles=ps,worker,worker,worker
    all_tasks_ok ps,worker,worker,worker
    [ "$(sed -n 's/^task-check: .* \([^ ]*\) [^ ]* ok .*/\1/p' <<< "$output" | sort)" = $'cn.b.3\ngpu-a-02\nzn001\nzn010' ] ||
        fail "not these nodes"
}

@test "the table, master.log and the first to fail have these names, and a ps is stopped" {
    local node table=$'worker 0 exit 3\nps 0 stopped\nworker 1 exit 3\nworker 2 exit 3'

    write_by_role
    chown "$user" "$work"
    run_and_show -N4 --tf-tasks=worker,ps,worker:rest --tf-log-dir=logs ./by-role worker='exit 3'
    [ "$status" -eq 3 ] || fail "another code"
    [ "$(task_ends "$work/logs/master.log" | cut -d' ' -f2-)" = "$table" ] || fail "the tasks end otherwise"
    [[ $stderr =~ first\ failure:\ worker\ [0-2]\ \((cn\.b\.3|gpu-a-02|zn001|zn010)\)\ at ]] || fail "no node"
    for node in cn.b.3 gpu-a-02 zn001 zn010; do
        [ "$(grep -cE " $node +(10|00:)" "$work/logs/master.log")" -eq 2 ] || fail "$node is not in both tables"
    done
}
