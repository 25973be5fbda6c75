#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Programs in containers have namespaces of their own, and still the environment and the port of
# their task.

# bats file_tags=core
load ../common
load launch

setup_file ()
{
    start_cluster --nodes 3
}

before_test ()
{
    unshare --user true 2> /dev/null || skip "this machine does not let users create namespaces"
}

# Require that three tasks are ok in this container: launch_in COMMAND…
launch_in ()
{
    launch ps,worker,worker -N3 --tf-tasks=ps,worker,worker --tf-stop=never "$@"
}

# bubblewrap's options for a root directory with this machine's programs and the cluster's /etc.
own_root=(--ro-bind /usr /usr --ro-bind-try /lib /lib --ro-bind-try /lib64 /lib64 --ro-bind /etc /etc
    --dev /dev --proc /proc --tmpfs /tmp --dir "$SPANK_TF_PROGRAMS"
    --ro-bind "$SPANK_TF_PROGRAMS" "$SPANK_TF_PROGRAMS")

@test "in a user and mount namespace the port is held and TF_CONFIG is set" {
    launch_in unshare --user --map-current-user --mount
    launch_in unshare --user --map-root-user --mount
}

@test "in bubblewrap with the machine's root directory" {
    launch_in bwrap --dev-bind / /
}

@test "in bubblewrap with a root directory, PID and IPC namespaces of its own" {
    launch_in bwrap --unshare-user --unshare-pid --unshare-ipc "${own_root[@]}"
}

@test "in bubblewrap with --clearenv, where the user has to pass the variables on" {
    run --separate-stderr slurm srun -Q -N3 --tf-tasks=ps,worker,worker --tf-stop=never \
        bwrap --clearenv --dev-bind / / /usr/bin/env
    [ "$status" -eq 0 ] && ! grep -q TF_ <<< "$output" || fail "--clearenv left something"
    cat > "$SPANK_TF_CLUSTER/work/contain" <<'END'
#!/bin/bash
for name in "${!SLURM@}" "${!TF_@}" PATH; do
    handed+=(--setenv "$name" "${!name}")
done
exec bwrap --clearenv "${handed[@]}" --dev-bind / / "$@"
END
    chmod 755 "$SPANK_TF_CLUSTER/work/contain"
    launch_in ./contain
}

@test "a ps that is process 1 of a container is stopped with its children" {
    run --separate-stderr slurm timeout 60 srun -Q -N3 --tf-tasks=ps,worker,worker --tf-show \
        sh -c '[ $SLURM_TF_ROLE = worker ] || exec "$@"' - \
        bwrap --unshare-user --unshare-pid "${own_root[@]}" sh -c 'sleep 1000 & sleep 1000'
    [ "$status" -eq 0 ] || fail "the step failed"
    [ "$(task_ends <<< "$stderr")" = $'0 ps 0 stopped\n1 worker 0 exit 0\n2 worker 1 exit 0' ] || fail "the tasks end otherwise"
    no_process_left || fail "a process is left: $(pgrep -a -u "$user")"
}

@test "in Apptainer" {
    command -v apptainer > /dev/null || skip "apptainer is not installed"
    launch_in apptainer -q exec --bind "$SPANK_TF_PROGRAMS" /
}

# What enroot's hook 50-slurm-pmi.sh, and one for PyTorch, have written for the first task of a node.
others_environment='PATH=/bin
PYTORCH_VERSION=2.6
SLURM_TF_ROLE=another
SLURM_TF_PORT=1
RANK=99'

# Print what enroot's hook makes of that in rank 1 of a step of PyTorch, sorted: enroot_hook VARIABLE=VALUE
enroot_hook ()
{
    find "$SPANK_TF_CLUSTER/work" -mindepth 1 -delete
    printf '%s\n' "$others_environment" > "$SPANK_TF_CLUSTER/work/others"
    cp "$tests/../contrib/enroot/60-spank-tf.sh" "$SPANK_TF_CLUSTER/work/hook"
    slurm srun -Q -n2 --tf-tasks=worker:2 --tf-frameworks=tf,torch env ENROOT_ENVIRON=environ "$1" \
        sh -c '[ $SLURM_PROCID = 1 ] || exit 0
            cat others > environ && ./hook && env | grep -E "^(SLURM_TF_|TF_CONFIG|RANK|MASTER_)" > own' || fail "it fails"
    sort "$SPANK_TF_CLUSTER/work/environ"
}

@test "enroot's hook gives a container what its task has" {
    enroot_hook PYXIS_VERSION= > "$BATS_TEST_TMPDIR/environment"
    grep -q ^TF_CONFIG= "$SPANK_TF_CLUSTER/work/own" || fail "the task has nothing"
    sort "$SPANK_TF_CLUSTER/work/own" | comm -23 - "$BATS_TEST_TMPDIR/environment" > "$BATS_TEST_TMPDIR/missing"
    [ ! -s "$BATS_TEST_TMPDIR/missing" ] || fail "missing: $(cat "$BATS_TEST_TMPDIR/missing")"
    run ! grep -E 'another|=99' "$BATS_TEST_TMPDIR/environment"
    grep -q ^SLURMD_NODENAME= "$BATS_TEST_TMPDIR/environment"
}

@test "enroot's hook takes out of a container of pyxis what each task has" {
    run -0 enroot_hook PYXIS_VERSION=0.24.0
    [ "$output" = PATH=/bin ] || fail "something else is left"
}
