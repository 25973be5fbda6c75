# SPDX-License-Identifier: GPL-2.0-or-later
#
# Loaded by every bats file: a private cluster for the file's tests, two ordinary users, and the
# plugin as `make install` installed it. tests/run sets the variables and creates the users.
#
#     SPANK_TF_STAGE      the prefix of that installation
#     SPANK_TF_PROGRAMS   the directory of the programs that the tests run as tasks
#     SPANK_TF_USERS      the two users; default "tftest1 tftest2"
#     SPANK_TF_PROCTRACK  the cluster's proctrack type; default linuxproc
#     SPANK_TF_BY_RUN     yes: no cluster has the plugin, and the users' srun is tf-run, which is
#                         $TF_RUN, or that of the installation. What a test with the tag "plugin"
#                         is about only the plugin does
#     SPANK_TF_DEATHS     a file: one line is added for each test that is repeated because a
#                         Slurm daemon died
#     SPANK_TF_CLUSTERS   a file: the directory of each cluster is added, for a run that is
#                         interrupted
#
# A file defines setup_file(), which calls start_cluster, and optionally before_test() and
# after_test(). It does not define setup(), teardown() or teardown_file(), which are here: they
# look after the cluster.

bats_require_minimum_version 1.8.0

tests=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck disable=SC2034  # for the tests
task_check=$SPANK_TF_PROGRAMS/task-check
proctrack=${SPANK_TF_PROCTRACK:-linuxproc}
read -r user other_user <<< "${SPANK_TF_USERS:-tftest1 tftest2}"

# A test whose cluster lost a daemon is tried so often.
tries_after_death=3

before_test ()
{
    :
}

after_test ()
{
    nothing_left
}

# For a loaded file whose tests this machine may not be able to run.
skip_impossible ()
{
    :
}

setup ()
{
    skip_impossible
    before_test
}

# The daemons come first: after_test may need them, or stop the cluster.
teardown ()
{
    local result=0

    check_daemons || result=1
    after_test || result=1
    return $result
}

teardown_file ()
{
    [[ ! ${SPANK_TF_CLUSTER-} ]] || stop_cluster
}

# Start a cluster with these options of tests/cluster, and with both plugins unless --plugstack is among them. Call
# it in setup_file, or in before_test where every test needs a cluster of its own.
start_cluster ()
{
    local conf=$SPANK_TF_STAGE/etc/plugstack.conf.d
    local -a ours=(--plugstack "$conf/10-spank-tf.conf" --plugstack "$conf/zz-spank-tf.conf")

    [[ " $* " != *" --plugstack "* ]] || ours=()
    export SPANK_TF_CLUSTER=$BATS_FILE_TMPDIR/cluster
    chmod 755 "$BATS_RUN_TMPDIR" "$BATS_FILE_TMPDIR"
    if [[ ${SPANK_TF_BY_RUN-} ]]; then
        ours=(--plugstack /dev/null)
        make_srun_by_run
    fi
    [[ ! ${SPANK_TF_CLUSTERS-} ]] || echo "$SPANK_TF_CLUSTER" >> "$SPANK_TF_CLUSTERS"
    "$tests/cluster" start --proctrack "$proctrack" "${ours[@]}" "$@"
}

# The srun, sbatch and salloc of all commands on the cluster, and of the scripts and tasks that they start.
make_srun_by_run ()
{
    local directory=$BATS_FILE_TMPDIR/by-run

    [[ $PATH != "$directory":* ]] || return 0
    mkdir -p "$directory"
    cp "$tests/by-run" "$directory/srun"
    ln -sf srun "$directory/sbatch"
    ln -sf srun "$directory/salloc"
    chmod 755 "$directory"
    export PATH=$directory:$PATH TF_RUN=${TF_RUN-$SPANK_TF_STAGE/bin/tf-run}
}

# Of what one static file has in itself, or does not ask: not_by_static_file WHY
not_by_static_file ()
{
    [[ ${TF_RUN-$SPANK_TF_STAGE} == "$SPANK_TF_STAGE"* ]] || skip "by one static file: $1"
}

# For before_test: the same as start_cluster, but the test is skipped where the machine cannot have such a cluster.
start_cluster_or_skip ()
{
    local why=$BATS_TEST_TMPDIR/why

    start_cluster "$@" 2> "$why" || case $? in
        77) skip "$(< "$why")" ;;
        *) cat "$why"; return 1 ;;
    esac
}

# Replace plugstack.conf by these lines.
plugstack ()
{
    printf '%s\n' "$@" > "$SPANK_TF_CLUSTER/plugstack.conf"
}

# Before start_cluster with GresTypes=gpu: four GPUs, which its nodes may have. They are device files, which
# is all that Slurm checks.
make_gpus ()
{
    local i

    export SPANK_TF_CLUSTER=$BATS_FILE_TMPDIR/cluster
    mkdir "$SPANK_TF_CLUSTER"
    for i in 0 1 2 3; do
        mknod -m 666 "$BATS_FILE_TMPDIR/gpu$i" c 1 3
    done
    echo "Name=gpu File=$BATS_FILE_TMPDIR/gpu[0-3]" > "$SPANK_TF_CLUSTER/gres.conf"
}

stop_cluster ()
{
    "$tests/cluster" stop
}

# Fail when a Slurm daemon has died during the test. Slurm 22.05's slurmd sometimes crashes by
# itself; then bats repeats the test, whether it has passed or failed. A crash in the plugin's
# code, or of unknown cause, is final.
check_daemons ()
{
    local report result=0

    [[ -e ${SPANK_TF_CLUSTER-}/nodes ]] || return 0
    # bats kills the children of a test whose time is over, and does so while this runs.
    [[ ! ${BATS_TIMED_OUT-} ]] || sleep 1 || true
    report=$("$tests/cluster" check 2>&1) || result=$?
    ((result != 0)) || return 0
    echo "$report"
    sed "s/^/#   /; 1s/^/# in \"$BATS_TEST_DESCRIPTION\":\n/" <<< "$report" >&3
    if ((result == 3 && BATS_TEST_TRY_NUMBER < tries_after_death)); then
        echo "# the test is repeated" >&3
        [[ ! ${SPANK_TF_DEATHS-} ]] || echo "${BATS_TEST_FILENAME##*/tests/}: $BATS_TEST_DESCRIPTION" >> "$SPANK_TF_DEATHS"
        # shellcheck disable=SC2034  # bats reads it when the test has failed
        BATS_TEST_RETRIES=$BATS_TEST_TRY_NUMBER
        end_all
    fi
    return 1
}

# Run a command on the login host as the first user: slurm srun …
slurm ()
{
    "$tests/cluster" run --user "$user" -- "$@"
}

# Run it on a node: slurm_on NODE srun …
slurm_on ()
{
    "$tests/cluster" run --on "$1" --user "$user" -- "${@:2}"
}

# Of stdin the lines of spank_tf. tf-run speaks for srun before it becomes that.
lines_of_spank_tf ()
{
    sed -n 's/^tf-run: /srun: /; /spank_tf: /p'
}

# Print the process ID of the supervisor of this program.
supervisor_of ()            # PID
{
    local pid=$1

    until [ "$(ps -o comm= -p "$pid")" = tf-supervise ]; do
        pid=$(ps -o ppid= -p "$pid" | tr -d ' ')
    done
    echo "$pid"
}

# Such as 22.05.8.
slurm_version ()
{
    slurmd -V | sed 's/.* //'
}

# Is it this release or a later one? slurm_is_from 23.11
slurm_is_from ()
{
    printf '%s\n' "$1" "$(slurm_version)" | sort -VC
}

# The name of the N-th node, from 1.
node ()
{
    sed -n "$1p" "$SPANK_TF_CLUSTER/nodes"
}

# A node's address on the cluster's network.
address ()
{
    slurm_on "$1" ip -o -4 addr show eth0 | grep -oE '10\.98\.[0-9.]+' | head -n 1
}

# Fail with this text and what `run` captured.
fail ()
{
    echo "$*"
    echo "status: ${status-}"
    echo "output: ${output-}"
    echo "stderr: ${stderr-}"
    return 1
}

# The rows of the table of how a step's tasks ended, "RANK ROLE INDEX END", from stdin or these files.
task_ends ()
{
    sed -nE 's/^([0-9T:+-]{25} )? *([0-9]+)  ([^ ]+ [0-9]+) +[^ ]+ +([0-9]+-)?[0-9]{2}:[0-9]{2}:[0-9]{2} +(.*)$/\2 \3 \5/p' "$@"
}

# Print a master.log without its first line and the times, of which each line must have one: undated FILE
undated ()
{
    ! grep -vqE '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[+-][0-9]{2}:[0-9]{2} ' "$1" ||
        fail "$1 has lines without a time"
    cut -c27- "$1" | grep -vE '^spank_tf: step [0-9.+]+ begins, in attempt [0-9]+ of its job$'
}

# How many of the rows, without the rank, match all of an extended regular expression: count_ends PATTERN [FILE…]
count_ends ()
{
    task_ends "${@:2}" | cut -d' ' -f2- | grep -cxE -- "$1"
}

# Wait until a command succeeds, at most SECONDS: eventually SECONDS COMMAND…
eventually ()
{
    local end=$((SECONDS + $1))

    shift
    until "$@"; do
        ((SECONDS < end)) || return 1
        sleep 0.1
    done
}

# Cancel the jobs of both users, and kill their processes.
end_all ()
{
    "$tests/cluster" run -- scancel --quiet --user "$user" || true
    "$tests/cluster" run -- scancel --quiet --user "$other_user" || true
    pkill -KILL -u "$user,$other_user" || true
}

no_job_left ()
{
    ! slurm squeue -h -t all -o '%i %t' | grep -qvE ' (CD|CA|F|TO|NF|DL|OOM|PR)$'
}

no_process_left ()
{
    ! pgrep -r D,R,S,T -u "$user,$other_user" > /dev/null
}

all_nodes_idle ()
{
    ! slurm sinfo -h -N -o '%T' | grep -qvx idle
}

# After every launch, successful or not: no job, no process, every node is idle.
nothing_left ()
{
    # One list of commands: errexit is off in a teardown.
    { eventually 10 no_job_left || fail "a job is left: $(slurm squeue)"; } &&
        { eventually 10 no_process_left || fail "a process is left: $(pgrep -a -u "$user,$other_user")"; } &&
        { eventually 10 all_nodes_idle || fail "a node is not idle: $(slurm sinfo -N -o '%N %T %E')"; }
}
