#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Programs in containers have namespaces of their own, and still the environment and the port of
# their task; what spank-tf promises about their ends and restarts holds in each runtime.

load launch

setup_file ()
{
    start_cluster --nodes 3
}

before_test ()
{
    unshare --user true 2> /dev/null || skip "this machine does not let users create namespaces"
}

after_test ()
{
    site_arguments
    # Podman leaves a process for each XDG_RUNTIME_DIR.
    end_all
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

# bats test_tags=core
@test "in a user and mount namespace the port is held and TF_CONFIG is set" {
    launch_in unshare --user --map-current-user --mount
    launch_in unshare --user --map-root-user --mount
}

# bats test_tags=core
@test "in bubblewrap with the machine's root directory" {
    launch_in bwrap --dev-bind / /
}

# bats test_tags=core,by-run
@test "in bubblewrap with a root directory, PID and IPC namespaces of its own" {
    launch_in bwrap --unshare-user --unshare-pid --unshare-ipc "${own_root[@]}"
}

# bats test_tags=core
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

# bats test_tags=core
@test "a ps that is process 1 of a container is stopped with its children" {
    run --separate-stderr slurm timeout 60 srun -Q -N3 --tf-tasks=ps,worker,worker --tf-show \
        sh -c '[ $SLURM_TF_ROLE = worker ] || exec "$@"' - \
        bwrap --unshare-user --unshare-pid "${own_root[@]}" sh -c 'sleep 1000 & sleep 1000'
    [ "$status" -eq 0 ] || fail "the step failed"
    [ "$(task_ends <<< "$stderr")" = $'0 ps 0 stopped\n1 worker 0 exit 0\n2 worker 1 exit 0' ] || fail "the tasks end otherwise"
    no_process_left || fail "a process is left: $(pgrep -a -u "$user")"
}

@test "a container with a network of its own is named, because no other task reaches it" {
    local named

    named="a process of rank 0 on $(node 1) has a network of its own: if it is the program, other tasks cannot reach it. Let its container use the node's network"
    run --separate-stderr slurm srun -Q -w "$(node 1),$(node 2)" --tf-tasks=worker:2 bwrap --unshare-user --unshare-net --dev-bind / / sleep 3
    [ "$status" -eq 0 ] && [[ $stderr == "slurmstepd: spank_tf: step "*": $named" ]] || fail "not this line alone"
    # One task has none that would reach it.
    run --separate-stderr slurm srun -Q -n1 --tf-tasks=worker --tf-restart=1 bwrap --unshare-user --unshare-net --dev-bind / / sleep 3
    [ "$status" -eq 0 ]
    [ -z "$stderr" ]
}

# What enroot's hook 50-slurm-pmi.sh, and one for PyTorch, have written for the first task of a node.
others_environment='PATH=/bin
PYTORCH_VERSION=2.6
SLURM_TF_ROLE=another
SLURM_TF_PORT=1
SLURM_NTASKS=99
RANK=99'

# Print what enroot's hook makes of that in rank 1 of a step of PyTorch, sorted: enroot_hook VARIABLE=VALUE…
enroot_hook ()
{
    find "$SPANK_TF_CLUSTER/work" -mindepth 1 -delete
    printf '%s\n' "$others_environment" > "$SPANK_TF_CLUSTER/work/others"
    cp "$tests/../contrib/enroot/60-spank-tf.sh" "$SPANK_TF_CLUSTER/work/hook"
    slurm srun -Q -n2 --tf-tasks=worker:2 --tf-frameworks=tf,torch env ENROOT_ENVIRON=environ "$@" \
        sh -c '[ $SLURM_PROCID = 1 ] || exit 0
            cat others > environ && ./hook && env | grep -E "^(SLURM_TF_|TF_CONFIG|RANK|MASTER_)" > own' || fail "it fails"
    sort "$SPANK_TF_CLUSTER/work/environ"
}

# bats test_tags=core
@test "enroot's hook gives a container what its task has" {
    enroot_hook PYXIS_VERSION= > "$BATS_TEST_TMPDIR/environment"
    grep -q ^TF_CONFIG= "$SPANK_TF_CLUSTER/work/own" || fail "the task has nothing"
    sort "$SPANK_TF_CLUSTER/work/own" | comm -23 - "$BATS_TEST_TMPDIR/environment" > "$BATS_TEST_TMPDIR/missing"
    [ ! -s "$BATS_TEST_TMPDIR/missing" ] || fail "missing: $(cat "$BATS_TEST_TMPDIR/missing")"
    run ! grep -E 'another|=99' "$BATS_TEST_TMPDIR/environment"
    grep -q ^SLURMD_NODENAME= "$BATS_TEST_TMPDIR/environment"
}

# bats test_tags=core
@test "enroot's hook takes out of a container of pyxis what each task has" {
    run -0 enroot_hook PYXIS_VERSION=0.24.0
    [ "$output" = PATH=/bin ] || fail "something else is left"
    # The first task of a node may be one that PyTorch does not count.
    run -0 enroot_hook PYXIS_VERSION=0.24.0 SLURM_TF_ADDED= SLURM_TF_ROLE=evaluator
    [ "$output" = PATH=/bin ] || fail "something else is left by an evaluator"
    run -0 enroot_hook PYXIS_VERSION=0.24.0 SLURM_TF_ADDED= SLURM_TF_ROLE=log SLURM_TF_BESIDE=data,log
    [ "$output" = PATH=/bin ] || fail "something else is left by an auxiliary task"
    # In a step without PyTorch they are pyxis' own.
    run -0 enroot_hook PYXIS_VERSION=0.24.0 SLURM_TF_ADDED=TF_CONFIG:1
    [ "$output" = $'PATH=/bin\nPYTORCH_VERSION=2.6\nRANK=99' ] || fail "something else is left without PyTorch"
}

# A root directory of this machine's files, without a registry: a shell, some programs, and their libraries.
make_image ()
{
    local program library

    image=$SPANK_TF_CLUSTER/image
    [ ! -e "$image" ] || return 0
    mkdir -p "$image"/{bin,dev/pts,dev/shm,dev/mqueue,proc,sys,etc,run/secrets,tmp,usr,var/tmp,home,mnt}
    ln -s ../bin "$image/usr/bin"
    for program in dash env sleep cat "$task_check" "$SPANK_TF_PROGRAMS"/{signs,bind-port}; do
        program=$(readlink -f "$(command -v "$program")")
        cp "$program" "$image/bin"
        for library in $(ldd "$program" | grep -oE '/[^ ]+'); do
            mkdir -p "$image${library%/*}"
            cp -L "$library" "$image$library"
        done
    done
    ln -s dash "$image/bin/sh"
    ln -s /proc/mounts "$image/etc/mtab"
    # Of root's directory a user's Podman can make none of these.
    touch "$image"/etc/{hosts,hostname,resolv.conf,passwd,group} "$image"/run/{.containerenv,podman-init}
    chmod -R a+rX "$image"
}

# Write ./contain, which runs a command in a container: the script is on stdin.
write_contain ()
{
    work=$SPANK_TF_CLUSTER/work
    find "$work" -mindepth 1 -delete
    make_image
    { echo '#!/bin/bash'; cat; } > "$work/contain"
    chmod 755 "$work/contain"
}

# Four tasks have their own places, and nothing else gets their ports: places_in_container [ARGUMENT-OF-TASK-CHECK]
places_in_container ()
{
    run --separate-stderr slurm srun -Q --tf-timeout=60 -N2 --ntasks-per-node=2 --tf-tasks=ps,worker:3 --tf-stop=never \
        ./contain task-check --roles=ps,worker,worker,worker
    all_tasks_ok ps,worker,worker,worker
}

# A ps is stopped, and a worker that fails beside it is restarted alone.
ends_in_container ()
{
    run --separate-stderr slurm timeout 100 srun -Q -N3 --tf-tasks=ps,worker:2 --tf-restart=1,any --tf-show ./contain \
        sh -c 'case $SLURM_TF_ROLE$SLURM_TF_INDEX$SLURM_TF_RESTART in ps*) sleep 1000 & wait ;; worker1) exit 3 ;; esac'
    [ "$status" -eq 0 ] || fail "the step failed"
    [ "$(task_ends <<< "$stderr")" = $'0 ps 0 stopped\n1 worker 0 exit 0\n2 worker 1 exit 0 (restarted 1 time)' ] ||
        fail "the tasks end otherwise"
}

# All are restarted after a hang, which messages tell, and after a failure.
restarts_in_container ()
{
    rm -f "$work"/alive.*
    run --separate-stderr slurm timeout 100 srun -Q -N3 --tf-tasks=worker:3 --tf-restart=2,any --tf-grace=1 \
        --tf-watchdog=2,60 --tf-show ./contain sh -c "cd $work"'
        case ${SLURM_TF_RESTART-0} in
            0) signs 100 messages alive.$SLURM_PROCID &
                while [ ! -e alive.$SLURM_PROCID ]; do sleep 0.1; done
                [ $SLURM_PROCID != 1 ] || kill -USR2 $!
                sleep 100 ;;
            1) [ $SLURM_PROCID != 2 ] || exit 3
                sleep 100 ;;
        esac'
    [ "$status" -eq 0 ] || fail "the step failed"
    [[ $stderr == *"no activity for 2 s: worker 1 (rank 1, "*"worker 1 (rank 1, "*") ended at "*", hung. Restarting all tasks"*"(rank 2, "*") ended at "*", exit code 3. Restarting all"* ]] ||
        fail "the messages are others"
    [ "$(count_ends 'worker [0-2] exit 0 \(restarted 2 times\)' <<< "$stderr")" -eq 3 ] || fail "the tasks end otherwise"
}

install ()
{
    "$tests/install-packages" "$@" > "$BATS_TEST_TMPDIR/apt" 2>&1 || skip "these packages cannot be installed: $*"
}

@test "bubblewrap: places, ends, restarts" {
    write_contain <<< "exec bwrap --unshare-user --unshare-pid --unshare-ipc --ro-bind $SPANK_TF_CLUSTER/image / \
        --dev /dev --proc /proc --tmpfs /tmp --bind $SPANK_TF_CLUSTER/work $SPANK_TF_CLUSTER/work \"\$@\""
    places_in_container
    ends_in_container
    restarts_in_container
    old_kernel
    restarts_in_container
}

@test "Charliecloud: places, ends, restarts" {
    install charliecloud-runtime
    write_contain <<< "USER=$user exec ch-run --no-passwd -b /tmp:/tmp $SPANK_TF_CLUSTER/image -- \"\$@\""
    places_in_container
    ends_in_container
    restarts_in_container
    old_kernel
    restarts_in_container
}

# The program does not inherit the port: podman and its monitor keep it.
@test "Podman with runc: places, ends, restarts" {
    install podman runc catatonit conmon uidmap
    write_contain << END
export HOME=\$(mktemp -d /tmp/podman.XXXXXX) XDG_RUNTIME_DIR=\$(mktemp -d /tmp/podman.XXXXXX)
# Before Linux 6.16 it is a descriptor, of which Podman passes on those from 3 on.
if [[ \${NOTIFY_SOCKET-} == /proc/self/fd/* ]]; then
    exec 3<&\${NOTIFY_SOCKET##*/}
    export NOTIFY_SOCKET=/proc/self/fd/3
    keep=--preserve-fds=1
fi
exec podman --cgroup-manager=cgroupfs --runtime=runc run \$keep --rm --env-host --network=host --init --sdnotify=ignore \\
    --log-driver=none --volume=/tmp:/tmp --rootfs $SPANK_TF_CLUSTER/image "\$@"
END
    run --separate-stderr slurm srun -Q -n2 --tf-tasks=worker:2 ./contain \
        sh -c 'bind-port exclusive $SLURM_TF_PORT; bind-port reuse $SLURM_TF_PORT; echo "$SLURM_TF_INDEX $TF_CONFIG"'
    [ "$(grep -c "bind-port: Address already in use" <<< "$stderr")" -eq 2 ] || fail "a port is not held"
    [ "$(grep -c ^bound <<< "$output")" -eq 2 ] || fail "a port is not held for a server"
    [[ $(sort <<< "$output") == '0 {"cluster":'*'"index":0}}'*'1 {"cluster":'*'"index":1}}'* ]] || fail "a TF_CONFIG is wrong"
    ends_in_container
    restarts_in_container
    old_kernel
    restarts_in_container
    find /tmp -maxdepth 1 -name 'podman.*' -user "$user" -exec rm -rf {} +
}

@test "Apptainer: places, ends, restarts" {
    command -v apptainer > /dev/null || skip "apptainer is not installed"
    write_contain <<< "exec apptainer -q exec --userns --bind /tmp:/tmp $SPANK_TF_CLUSTER/image \"\$@\""
    places_in_container
    ends_in_container
    restarts_in_container
    old_kernel
    restarts_in_container
    for option in --cleanenv --containall; do
        run -0 slurm srun -Q -n1 --tf-tasks=worker apptainer -q exec --userns $option "$image" env
        [[ $output != *TF_CONFIG* ]] || fail "$option keeps TF_CONFIG"
    done
}

# It closes every descriptor from 3 on: only a fork server keeps the port, and before Linux 6.16 no message arrives.
@test "enroot without pyxis: places, ends, restarts" {
    command -v enroot > /dev/null || skip "enroot is not installed"
    command -v mksquashfs > /dev/null || skip "mksquashfs is not installed"
    write_contain << END
for name in "\${!SLURM@}" TF_CONFIG NOTIFY_SOCKET WATCHDOG_USEC; do
    [ ! -v "\$name" ] || handed+=(--env "\$name")
done
exec env $(enroot_paths) enroot start --mount $SPANK_TF_CLUSTER/work:$SPANK_TF_CLUSTER/work:x-create=dir,rbind "\${handed[@]}" image "\$@"
END
    mksquashfs "$image" "$SPANK_TF_CLUSTER/image.sqsh" -all-root -no-progress -quiet > "$BATS_TEST_TMPDIR/squash"
    chmod 644 "$SPANK_TF_CLUSTER/image.sqsh"
    # shellcheck disable=SC2046  # several words
    slurm env $(enroot_paths) enroot create -n image "$SPANK_TF_CLUSTER/image.sqsh" > "$BATS_TEST_TMPDIR/created"
    run --separate-stderr slurm srun -Q -n2 --tf-tasks=worker:2 ./contain sh -c 'bind-port exclusive $SLURM_TF_PORT'
    [ "$output" = $'bound\nbound' ] || fail "the port is held"
    run --separate-stderr slurm srun -Q -n2 --tf-tasks=worker:2 --tf-restart=1 ./contain sh -c '! bind-port exclusive $SLURM_TF_PORT'
    [ "$status" -eq 0 ] || fail "the port is not held"
    ends_in_container
    ! refuses_descriptors || restarts_in_container
}

enroot_paths ()
{
    echo ENROOT_{RUNTIME_PATH="$SPANK_TF_CLUSTER/work/run",DATA_PATH="$SPANK_TF_CLUSTER/work/data",CACHE_PATH=/tmp,TEMP_PATH=/tmp}
}
