#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Invalid input is refused with one message of the plugin, which says what was wrong, where, and
# what would be right, and with an exit code other than 0; no program is started. After each
# test, the job in which the steps ran is still usable. What is invalid is in unit/parse.golden and
# test_option_table.c; here, that it is refused everywhere.

load ../common

setup_file ()
{
    start_cluster
    allocate_job
}

before_test ()
{
    job=$(< "$BATS_FILE_TMPDIR/job")
    # It may be gone after a test that failed.
    if [ "$(slurm squeue -h -t running -o %i)" != "$job" ]; then
        allocate_job
        job=$(< "$BATS_FILE_TMPDIR/job")
    fi
    work=$SPANK_TF_CLUSTER/work
    other_plugstack=()
    plugin=$(sed -n 's/^required //p' "$SPANK_TF_STAGE/etc/plugstack.conf.d/10-spank-tf.conf")
    load_plugin
}

# With these arguments: load_plugin ARGUMENT…
load_plugin ()
{
    if [[ ${SPANK_TF_BY_RUN-} ]]; then
        export SLURM_TF_RUN=$*
    else
        plugstack "required $plugin $*"
    fi
}

after_test ()
{
    plugstack_everywhere
    load_plugin
    eventually 20 no_other_job || fail "a job is left: $(slurm squeue)"
    eventually 10 no_process_left || fail "a process is left: $(pgrep -a -u "$user,$other_user")"
    if ! next_step || ! eventually 10 no_step_left; then
        slurm squeue -s
        allocate_job
        fail "the job's next step does not run, or a step is left"
    fi
    eventually 10 all_nodes_usable || fail "a node is not usable: $(slurm sinfo -N -o '%N %T %E')"
}

# --- the job

# Allocate two CPUs of every node for the steps of all tests; end the job before.
allocate_job ()
{
    slurm scancel -u "$user"
    slurm salloc -Q --no-shell -N4 --ntasks-per-node=2
    slurm squeue -h -t running -o %i > "$BATS_FILE_TMPDIR/job"
}

# Run a step that needs the whole job: a step that was left behind would make it wait.
next_step ()
{
    slurm timeout 20 env SLURM_JOB_ID="$job" srun -Q -n8 true
}

no_step_left ()
{
    [ -z "$(slurm squeue -h -s)" ]
}

no_other_job ()
{
    [ "$(slurm squeue -h -o %i)" = "$job" ]
}

all_nodes_usable ()
{
    [ "$(slurm sinfo -h -N -o %T | sort -u)" = mixed ]
}

# --- how a refusal is checked

# Require that a command that would run `touch started` prints this message only, fails, and
# starts no program: refused MESSAGE COMMAND… An srun is a step of the job. $mask is a sed script
# for text that differs in every run.
refused ()
{
    local line=$1 command printed mask=${mask-}

    shift
    # Without the plugin sbatch and salloc refuse nothing, and tf-run speaks for srun.
    if [[ ${SPANK_TF_BY_RUN-} ]]; then
        [[ $line == srun:* ]] || return 0
        mask+=';s/^tf-run: /srun: /'
    fi
    command=$(printf '%.200q ' "$@")
    rm -f "$work"/started*
    [[ $1 != srun ]] || set -- env SLURM_JOB_ID="$job" "$@"
    run --separate-stderr slurm timeout 60 "$@"
    printed=$(without_slurms_messages <<< "$stderr" | sed -E "s/\bstep [0-9]+\.[0-9]+/step J.S/; ${mask-}")
    [ "$printed" = "$line" ] || fail "$command does not print \"$line\" alone"
    # 124 and more are of a command that hung or was killed; 255 is an exit code of Slurm.
    (( status > 0 && status < 124 || status == 255 )) && [ -z "$output" ] || fail "$command does not fail, or prints output"
    ! compgen -G "$work/started*" > /dev/null || fail "$command started a program"
}

# Remove Slurm's own messages, which may repeat the option or report a task's exit code.
without_slurms_messages ()
{
    LC_ALL=C sed -E '
        /: error: Invalid --tf-[a-z-]+ argument:/d
        /: error: Invalid argument \(.*\) for environment variable: /d
        /: error: [^ ]+: tasks? [0-9,-]+: Exited with exit code 1$/d
        /^srun: (Job [0-9]+ step creation temporarily |Step created for )/d
        /^salloc: /{ /: error: /!d }
        /^$/d'
}

# Require that srun, salloc, sbatch and #SBATCH refuse these options: refused_everywhere MESSAGE
# OPTION…
refused_everywhere ()
{
    local line=$1

    shift
    refused "srun: error: spank_tf: $line" srun -n3 "$@" touch started
    refused "salloc: error: spank_tf: $line" salloc "$@" touch started
    script
    refused "sbatch: error: spank_tf: $line" sbatch "$@" script
    script "$@"
    refused "sbatch: error: spank_tf: $line" sbatch script
}

# Require that a step of three ranks on the first two nodes is refused: refused_step MESSAGE
# OPTION…
refused_step ()
{
    local line=$1

    shift
    refused "srun: error: spank_tf: $line" srun -w "$(node 1),$(node 2)" -N2 -n3 "$@" touch started
}

# Write a batch script with these options.
script ()
{
    {
        echo '#!/bin/sh'
        [[ $# -eq 0 ]] || printf '#SBATCH "%s"\n' "$@"
        echo 'touch started'
    } > "$work/script"
}

# Give one host another plugstack.conf: plugstack_on HOST LINE…
plugstack_on ()
{
    printf '%s\n' "${@:2}" > "$BATS_TEST_TMPDIR/$1.conf"
    "$tests/cluster" run --on "$1" mount --bind "$BATS_TEST_TMPDIR/$1.conf" "$SPANK_TF_CLUSTER/plugstack.conf"
    other_plugstack+=("$1")
}

plugstack_everywhere ()
{
    local host

    for host in "${other_plugstack[@]}"; do
        "$tests/cluster" run --on "$host" umount "$SPANK_TF_CLUSTER/plugstack.conf"
    done
    other_plugstack=()
}

# --- the list

# bats test_tags=core,release
@test "a message about an unknown role has its position and the closest valid name" {
    refused_everywhere '--tf-tasks: "wroker" (item 2) is not a TensorFlow role; did you mean "worker"?' --tf-tasks=ps,wroker:2
    refused_everywhere '--tf-tasks-per-node: "pss" (item 1) is not a TensorFlow role; did you mean "ps"?' --tf-tasks-per-node=pss,worker
}

# bats test_tags=core
@test "the name of an auxiliary task that has another meaning is refused, and so is a list of such names alone" {
    refused_everywhere '--tf-tasks: "+worker" (item 2): a role of the cluster has this name; choose another name' --tf-tasks=ps,+worker
    refused_everywhere '--tf-tasks-per-node: only auxiliary tasks; at least one task needs a role without +' --tf-tasks-per-node=+data:2
    load_plugin roles=logger
    refused_everywhere '--tf-tasks: "+logger" (item 2): a role of the cluster has this name; choose another name' --tf-tasks=worker,+logger
    load_plugin
    refused 'srun: error: spank_tf: step J.S has only auxiliary tasks; at least one task needs a role without +' \
        srun -n1 --tf-tasks=+data touch started : -n1 --tf-tasks=+log touch started
}

# bats test_tags=core,release
@test "an empty list is refused" {
    refused_everywhere '--tf-tasks: the list is empty; a list is ROLE[:COUNT],... as in ps,worker:2' --tf-tasks=
}

# bats test_tags=core,release
@test "a second task of a role that TensorFlow allows once is refused" {
    refused_everywhere '--tf-tasks: 2 chiefs (items 1 and 3); TensorFlow allows at most one chief' --tf-tasks=chief,worker,chief
    refused_step 'step J.S has 2 chiefs; TensorFlow allows at most one chief' -n4 --ntasks-per-node=2 --tf-tasks-per-node=chief,worker
}

# bats test_tags=core,release
@test "control characters and bytes that are not ASCII are never printed" {
    refused_everywhere '--tf-tasks: item 2, "wor\x1b[31mker:2": a role is a word; a list is ROLE[:COUNT],...' --tf-tasks=$'ps,wor\e[31mker:2'
    # Slurm prints the value on two lines.
    mask='/^worker$/d' refused 'srun: error: spank_tf: --tf-tasks: item 2, "\x0aworker": a role is a word; a list is ROLE[:COUNT],...' \
        srun --tf-tasks=$'ps,\nworker' touch started
    refused_everywhere '--tf-timeout: "5\x1b" is not a time from 1 to 604800 seconds, as in 300, 5m or 5:00' --tf-timeout=$'5\e'
}

# bats test_tags=core,release
@test "a list over 32 KiB is refused, also where Slurm would drop it silently" {
    local long very_long

    long=worker$(printf ',worker%.0s' {1..4681})
    refused_everywhere '--tf-tasks: the list has 32773 bytes, and at most 32768 are allowed; ROLE:COUNT is shorter' --tf-tasks="$long"
    very_long=worker$(printf ',worker%.0s' {1..30000})
    script --tf-tasks="$very_long"
    refused 'sbatch: error: spank_tf: --tf-tasks: the list has 210006 bytes, and at most 32768 are allowed; ROLE:COUNT is shorter' sbatch script
}

# --- the list and the step

# bats test_tags=core,release
@test "a list that is shorter or longer than the step is refused, with both numbers" {
    refused_step 'step J.S has 3 tasks, but --tf-tasks lists 2 (ps,worker). Use ps,worker:2, or ps,worker:rest to fit any number' --tf-tasks=ps,worker
    refused 'srun: error: spank_tf: step J.S has 1 task, but --tf-tasks lists 2 (ps,worker). Use srun -n2' srun -n1 --tf-tasks=ps,worker touch started
    refused_step "step J.S on $(node 2) has 1 task, but --tf-tasks-per-node lists 2 (ps,worker). Use srun --ntasks-per-node=2" --tf-tasks-per-node=ps,worker
}

# bats test_tags=core,release
@test "a message about an inherited list that does not fit suggests --tf-tasks=none, which works" {
    local line='srun: error: spank_tf: step J.S has 2 tasks, but the inherited --tf-tasks lists 3 (ps,worker:2). Use ps,worker, or ps,worker:rest to fit any number. --tf-tasks=none disables the inherited list'

    refused "$line" salloc -Q -n2 --tf-tasks=ps,worker:2 srun -n2 touch started
    run --separate-stderr slurm salloc -Q -n2 --tf-tasks=ps,worker:2 srun --tf-tasks=none sh -c 'echo "${TF_CONFIG-alone}"'
    [ "$status" -eq 0 ] && [ "$output" = $'alone\nalone' ] && [ -z "$stderr" ] || fail "--tf-tasks=none does not work"

    cat > "$work/script" <<'SCRIPT'
#!/bin/sh
#SBATCH -n2 -o inherited.out -e inherited.err --tf-tasks=ps,worker:2
srun touch started
echo "code $?"
srun --tf-tasks=none echo alone
SCRIPT
    run slurm sbatch -W script
    [ "$(cat "$work/inherited.out")" = $'code 1\nalone\nalone' ] || fail "--tf-tasks=none does not work in a batch script"
    [ "$(without_slurms_messages < "$work/inherited.err" | sed -E 's/step [0-9.]+/step J.S/')" = "$line" ] && [ ! -e "$work/started" ] ||
        fail "a batch script's step is not refused as it should be: $(cat "$work/inherited.err")"

    refused "srun: error: spank_tf: step J.S on $(node 1) has 2 tasks, but the inherited --tf-tasks-per-node lists 3 (ps,worker:2). Use ps,worker, or ps,worker:rest to fit any number. --tf-tasks=none disables the inherited list" \
        salloc -Q -N1 -n2 -w "$(node 1)" --tf-tasks-per-node=ps,worker:2 srun -n2 touch started
    run --separate-stderr slurm salloc -Q -n2 --tf-tasks-per-node=ps,worker:2 srun --tf-tasks=none echo alone
    [ "$status" -eq 0 ] && [ "$output" = $'alone\nalone' ] && [ -z "$stderr" ] || fail "--tf-tasks=none does not override a list per node"
}

# Plugin: it is a variable of SPANK.
# bats test_tags=plugin
@test "an invalid inherited list is refused as one of srun" {
    SLURM_SPANK__SLURM_SPANK_OPTION_spank_tf_tf_tasks=ps,wroker \
        refused 'srun: error: spank_tf: --tf-tasks: "wroker" (item 2) is not a TensorFlow role; did you mean "worker"?' \
        srun touch started
}

# --- components

# bats test_tags=core,release
@test "lists for some components only are refused" {
    refused 'srun: error: spank_tf: --tf-tasks: component 2 has no list; give one to each component, or one for the whole step' \
        srun -n1 --tf-tasks=ps touch started : -n1 --tf-tasks=worker touch started : -n1 touch started
    refused 'srun: error: spank_tf: --tf-tasks: component 1 has no list; give one to each component, or one for the whole step' \
        srun -n1 --tf-tasks=ps touch started : -n1 touch started : -n1 --tf-tasks-per-node=worker touch started
}

# Slurm would give each the tasks of the other.
@test "lists that are not in the order of --het-group are refused" {
    local error='srun: error: spank_tf: --tf-tasks: with several lists, the numbers of --het-group must ascend from one component to the next'

    refused "$error" \
        srun --het-group=1 -n1 --tf-tasks=ps touch started : --het-group=0 -n1 --tf-tasks=worker touch started
    # The second one is component 1.
    refused "$error" srun --het-group=[2-3] -n1 --tf-tasks=ps touch started : -n1 --tf-tasks=worker touch started
    refused "$error" srun --het-group=2,0 -n1 --tf-tasks=ps touch started : -n1 --tf-tasks=worker touch started
}

@test ""none" for some components only is refused" {
    refused 'srun: error: spank_tf: --tf-tasks: component 1 has "none" and component 0 has a list; give a list to both, or "none" to both' \
        srun -n1 --tf-tasks=worker touch started : -n1 --tf-tasks=none touch started
    refused 'srun: error: spank_tf: --tf-tasks: component 0 has "none" and component 1 has a list; give a list to both, or "none" to both' \
        srun -n1 --tf-tasks=none touch started : -n1 --tf-tasks-per-node=worker touch started
    refused 'srun: error: spank_tf: --tf-tasks: component 1 has "none" and component 0 has the job'"'"'s list; give a list to both, or "none" to both' \
        env SLURM_SPANK__SLURM_SPANK_OPTION_spank_tf_tf_tasks=worker:2 srun -n1 touch started : -n1 --tf-tasks=none touch started
}

@test "a list that does not fit its component is refused" {
    refused 'srun: error: spank_tf: component 1 of step J.S has 1 task, but --tf-tasks lists 2 (worker:2). Use worker, or worker:rest to fit any number' \
        srun -n1 --tf-tasks=ps touch started : -n1 --tf-tasks=worker:2 touch started
    refused 'srun: error: spank_tf: component 0 of step J.S has 2 tasks, but --tf-tasks lists 1 (ps)' \
        srun -n2 --tf-tasks=ps touch started : -n1 --tf-tasks=worker touch started
}

@test "TensorFlow's rules hold for all components together" {
    refused 'srun: error: spank_tf: step J.S has 2 chiefs; TensorFlow allows at most one chief' \
        srun -N1 -n1 --tf-tasks=chief touch started : -N1 -n2 --tf-tasks=chief,worker touch started
    refused 'srun: error: spank_tf: step J.S has 2 ps and no worker; a ps needs at least one worker' \
        srun -N1 -n1 --tf-tasks=ps touch started : -N1 -n2 --tf-tasks=ps,evaluator touch started
}

# Plugin: it is about sbatch and salloc.
# bats test_tags=core,release,plugin
@test "an option on a later component of a job is refused, because its script would not inherit it" {
    local line='given on component 1; give it on the first component of the job, and it is valid for all steps'

    script
    refused "sbatch: error: spank_tf: --tf-tasks: $line" sbatch -n1 : -n1 --tf-tasks=worker script
    refused "sbatch: error: spank_tf: --tf-tasks: $line" sbatch -n1 --tf-tasks=ps,worker : -n1 --tf-tasks=worker script
    refused "salloc: error: spank_tf: --tf-tasks-per-node: $line" salloc -n1 : -n1 --tf-tasks-per-node=worker touch started
    refused "salloc: error: spank_tf: --tf-ports: $line" salloc -n1 --tf-ports=30000-30999 : -n1 --tf-ports=any touch started

    printf '%s\n' '#!/bin/sh' '#SBATCH -n1' '#SBATCH hetjob' '#SBATCH -n1 --tf-tasks=worker' 'touch started' > "$work/script"
    refused "sbatch: error: spank_tf: --tf-tasks: $line" sbatch script
    printf '%s\n' '#!/bin/sh' '#SBATCH -n1 --tf-tasks=ps,worker' '#SBATCH hetjob' '#SBATCH -n1 --tf-show' 'touch started' > "$work/script"
    refused "sbatch: error: spank_tf: --tf-show: $line" sbatch script
}

# bats test_tags=core,release
@test "contradicting options are refused" {
    refused_everywhere '--tf-tasks and --tf-tasks-per-node cannot be used together' --tf-tasks=worker --tf-tasks-per-node=worker
    refused 'srun: error: spank_tf: --tf-timeout: "5" on component 0, but "6" on component 1; a step has only one value' \
        srun -n1 --tf-tasks=ps,worker --tf-timeout=5 touch started : -n1 --tf-timeout=6 touch started
    refused 'srun: error: spank_tf: --tf-ports: "any" on component 0, but "30000-30999" on component 1; a step has only one value' \
        srun -n1 --tf-tasks=ps,worker --tf-ports=any touch started : -n1 --tf-ports=30000-30999 touch started
    refused 'srun: error: spank_tf: --tf-hold: "no" on component 1, but "yes" on component 2; a step has only one value' \
        srun -n1 --tf-tasks=ps,worker touch started : -n1 --tf-hold=no touch started : -n1 --tf-hold=yes touch started
}

# Require that sbatch or salloc says this line, and goes on: said LINE COMMAND ARGUMENT...
said ()
{
    run --separate-stderr slurm "${@:2}"
    [ "$status" -eq 0 ] || fail "it is refused: ${*:2}: $stderr"
    grep -qxF "$2: spank_tf: $1. An srun with its own number of tasks may fit" <<< "$stderr" || fail "no line: ${*:2}: $stderr"
}

# Plugin: it is about sbatch and salloc.
# bats test_tags=core,release,plugin
@test "a list that needs more tasks than the job has is named in a line by sbatch and salloc" {
    local line='this job has 3 tasks, but --tf-tasks lists 10 (ps,worker:9). Use ps,worker:2, or ps,worker:rest to fit any number'

    script
    said "$line" sbatch --test-only -n3 --tf-tasks=ps,worker:9 script
    script -n3 --tf-tasks=ps,worker:9
    said "$line" sbatch --test-only script
    script -N3 --ntasks-per-node=1 --tf-tasks=ps,worker:9
    said "$line" sbatch --test-only script
    said "$line" sbatch --test-only -n3 --tf-tasks=ps,worker:9 --wrap 'srun touch started'
    said "$line" salloc -n3 --tf-tasks=ps,worker:9 true
    said 'this job has 1 task, but --tf-tasks lists 1 and "rest" (ps,worker:rest), which needs at least one more' \
        salloc -n1 --tf-tasks=ps,worker:rest true
    said 'a node of this job has 2 tasks, but --tf-tasks-per-node lists 3 (ps,worker:2). Use ps,worker, or ps,worker:rest to fit any number' \
        salloc -N2 --ntasks-per-node=2 --tf-tasks-per-node=ps,worker:2 true
    # The script's -n does not count for `sbatch -n`.
    script -n10 --tf-tasks=ps,worker:9
    said "$line" sbatch --test-only -O -n3 script
}

# Require that sbatch submits a job and says nothing: accepted ARGUMENT...
accepted ()
{
    run slurm sbatch --test-only "$@"
    [ "$status" -eq 0 ] && [[ $output != *spank_tf* ]] || fail "it is refused: sbatch $*"
}

# Plugin: it is about sbatch and salloc.
# bats test_tags=core,release,plugin
@test "sbatch says nothing of a list that the job fits, or whose number of tasks is not known" {
    script
    accepted -n3 --tf-tasks=ps,worker:2 script
    accepted -n3 --tf-tasks=ps,worker:rest script
    accepted -n4 --tf-tasks=ps,worker script
    accepted -N2 --ntasks-per-node=2 --tf-tasks-per-node=ps,worker script
    accepted -N2 --tf-tasks=ps,worker:9 script
    accepted --tf-tasks=ps,worker:9 script
    printf '%s\n' '#!/bin/sh' '#SBATCH -n1 --tf-tasks=ps,worker' '#SBATCH hetjob' '#SBATCH -n1' 'srun --het-group=0,1 true' > "$work/script"
    accepted script
}

# bats test_tags=core
@test "a refusal has the exit code that the user has set for errors" {
    run slurm env SLURM_EXIT_ERROR=7 srun -n1 --tf-tasks=worker --tf-tasks-per-node=worker touch started
    [ "$status" -eq 7 ] || fail "it is $status"
    [[ ! ${SPANK_TF_BY_RUN-} ]] || return 0
    run slurm env SLURM_EXIT_ERROR=7 sbatch -n1 --tf-tasks=worker --tf-tasks-per-node=worker --wrap true
    [ "$status" -eq 7 ] || fail "it is $status"
}

# Plugin: tf-run's supervisor is in the container itself, and can start its program again.
# bats test_tags=core,release,plugin
@test "--tf-restart for a program in a container is refused" {
    slurm_is_from 21.08 || skip "srun has no --container"
    local why='srun: error: spank_tf: --tf-restart: the programs of a step with --container cannot be restarted'

    refused "$why" srun -n1 --container=/none --tf-tasks=worker --tf-restart=1 touch started
    refused "$why" srun -n1 --tf-restart=1 --container /none --tf-tasks=worker touch started
    refused "$why" env SRUN_CONTAINER=/none SLURM_JOB_ID="$job" srun -n1 --tf-tasks=worker --tf-restart=1 touch started
    # A site's default is no wish of the user's, and --container alone is Slurm's business.
    load_plugin restart=1
    run slurm env SLURM_JOB_ID="$job" srun -n1 --container=/none --tf-tasks=worker true
    [[ $output != *spank_tf* ]] || fail "the plugin refuses --container"
    run slurm env SLURM_JOB_ID="$job" srun -n1 --container=/none --tf-tasks=worker --tf-restart=0 true
    [[ $output != *spank_tf* ]] || fail "the plugin refuses --container"
}

# --- ports

@test "an invalid value of an option is refused, wherever it is given" {
    refused_everywhere '--tf-ports: "30999-30000" is reversed; did you mean 30000-30999?' --tf-ports=30999-30000
    refused_everywhere '--tf-hold: "" is neither yes nor no' --tf-hold=
}

# bats test_tags=core,release
@test "a range without a free port on a node is refused, with the range and the node" {
    # Two ranks are on the first node; either may be too late.
    mask='s/worker [01] \(rank [01],/worker R (rank R,/' refused_step \
        "step J.S: worker R (rank R, $(node 1)): no port of 30000-30000 is free" --tf-tasks=worker:3 --tf-ports=30000-30000
    # slurmd listens on its port as root.
    refused "srun: error: spank_tf: step J.S: worker 0 (rank 0, $(node 3)): no port of 6818-6818 is free" \
        srun -w "$(node 3)" -n1 --tf-tasks=worker --tf-ports=6818-6818 touch started
    refused "srun: error: spank_tf: step J.S: worker 0 (rank 0, $(node 3)): no port of 6818-6818 is free" \
        srun -w "$(node 3)" -n1 --tf-tasks=worker --tf-ports=6818-6818 --tf-hold=no touch started
    load_plugin ports=6818-6818
    refused "srun: error: spank_tf: step J.S: worker 0 (rank 0, $(node 3)): no port of 6818-6818 is free" \
        srun -w "$(node 3)" -n1 --tf-tasks=worker touch started
}

@test "a rendezvous that gets no port is reported by srun" {
    # slurmctld listens there, as root.
    load_plugin rendezvous_ports=6817-6817
    refused "srun: error: spank_tf: srun's rendezvous: no port of 6817-6817 is free" srun -n1 --tf-tasks=worker touch started
}

@test "--tf-ports=reserved is refused where Slurm reserved none" {
    refused "srun: error: spank_tf: step J.S: worker 0 (rank 0, $(node 1)): --tf-ports=reserved, but Slurm reserved no ports for this step (MpiParams=ports= in slurm.conf, srun --resv-ports)" \
        srun -w "$(node 1)" -n1 --tf-tasks=worker --tf-ports=reserved touch started
}

# --- what the site did

# A bad argument of the plugin: refused_site LINE ARGUMENT…
refused_site ()
{
    local line=$1

    shift
    plugstack "required $plugin $*"
    refused "srun: error: spank_tf: plugstack.conf: $line" srun -n1 --tf-tasks=worker touch started
    run slurm env SLURM_JOB_ID="$job" srun -n1 echo runs
    [ "$status" -eq 0 ] && [ "$output" = runs ] || fail "a step that does not use us hears of \"$*\""
}

# Plugin: it is about plugstack.conf.
# bats test_tags=core,release,plugin
@test "an invalid site argument is reported to steps that use the plugin, and to no others" {
    refused_site 'timeout: "soon" is not a time from 1 to 604800 seconds, as in 300, 5m or 5:00' timeout=soon
    refused_site 'libexecdir: an absolute path is needed' libexecdir=lib
    refused_site 'notify: the absolute path of a program is needed' notify=logger
    refused_site 'roles: names separated by commas are needed, as in roles=tester,logger' roles=tester:2
    refused_site '"tiemout=5" is not an argument of spank_tf' timeout=5 tiemout=5
    refused_site '"show" is not an argument of spank_tf' show
    refused_site 'hold: "\x1b" is neither yes nor no' hold=$'\e'
}

# Plugin: it is about plugstack.conf.
# bats test_tags=plugin
@test "an invalid site argument is reported by sbatch and salloc, too" {
    plugstack "required $plugin tiemout=5"
    run slurm salloc -Q -n1 echo runs
    [ "$status" -eq 0 ] && [ "$output" = runs ] || fail "a plain job is affected"
    script
    refused 'sbatch: error: spank_tf: plugstack.conf: "tiemout=5" is not an argument of spank_tf' sbatch -o /dev/null --tf-tasks=worker script
    refused 'salloc: error: spank_tf: plugstack.conf: "tiemout=5" is not an argument of spank_tf' salloc -n1 --tf-tasks=worker touch started
}

# Plugin: it is about plugstack.conf.
# bats test_tags=release,plugin
@test "an invalid site argument is in slurmd's log" {
    local name pid

    slurm_is_from 21.08 || skip "Slurm $(slurm_version) calls no plugin in slurmd that has no slurmd_exit"
    name=$(node 4)
    pid=$(< "$SPANK_TF_CLUSTER/$name.pid")
    plugstack "required $plugin timeout=soon"
    kill "$pid"
    eventually 10 gone "$pid"
    "$tests/cluster" run --on "$name" slurmd -N "$name"
    eventually 10 grep -q 'error: spank_tf: plugstack.conf: timeout: "soon" is not a time from 1 to 604800 seconds, as in 300, 5m or 5:00' \
        "$SPANK_TF_CLUSTER/log/$name.log" || fail "it is not: $(tail "$SPANK_TF_CLUSTER/log/$name.log")"
}

gone ()
{
    ! kill -0 "$1" 2> /dev/null
}

# Plugin: it is about plugstack.conf.
# bats test_tags=core,release,plugin
@test "a rendezvous that cannot be started is reported, and no rank starts" {
    local lib=$work/lib line

    mkdir -p "$lib"
    plugstack "required $plugin libexecdir=$lib"
    refused_step "$lib/tf-rendezvous: No such file or directory; spank-tf is not installed completely on this host" --tf-tasks=ps,worker:2
    echo "this is not a program" > "$lib/tf-rendezvous"
    refused_step "$lib/tf-rendezvous: Permission denied; spank-tf is not installed completely on this host" --tf-tasks=ps,worker:2
    # Known only when the step is there.
    chmod 755 "$lib/tf-rendezvous"
    refused_step "$lib/tf-rendezvous: Exec format error" --tf-tasks=ps,worker:2
    # Such as one that lacks a library.
    printf '#!/bin/false\n' > "$lib/tf-rendezvous"
    refused_step "$lib/tf-rendezvous ended before it had read its configuration, exit 1" --tf-tasks=ps,worker:2
}

# Plugin: it is about plugstack.conf.
# bats test_tags=plugin
@test "a node needs none of the programs where tasks end by themselves, but a line says what is missing" {
    plugstack_on "$(node 1)" "required $plugin libexecdir=/nowhere"
    run --separate-stderr slurm env SLURM_JOB_ID="$job" srun -w "$(node 1),$(node 2)" -N2 -n2 --tf-tasks=worker:2 "$task_check" --roles=worker,worker
    [ "$status" -eq 0 ] && [ "$(grep -c " ok digest=" <<< "$output")" -eq 2 ] || fail "a task is not ok"
    [[ $stderr == *": /nowhere/tf-supervise: No such file or directory; spank-tf is not installed completely there; the step runs without supervisors, so srun does not report which task fails first" ]] ||
        fail "nothing says that there are no supervisors"
}

# Plugin: it is about plugstack.conf.
# bats test_tags=core,release,plugin
@test "an optional plugin launches correctly, or refuses the step" {
    plugstack "optional $plugin"
    run --separate-stderr slurm env SLURM_JOB_ID="$job" srun -N2 -n2 --tf-tasks=ps,worker "$task_check" --roles=ps,worker
    [ "$status" -eq 0 ] && [ -z "$stderr" ] || fail "a task is not ok"
    refused_everywhere '--tf-tasks: "wroker" (item 2) is not a TensorFlow role; did you mean "worker"?' --tf-tasks=ps,wroker:2
    refused_step 'step J.S has 3 tasks, but --tf-tasks lists 2 (ps,worker). Use ps,worker:2, or ps,worker:rest to fit any number' --tf-tasks=ps,worker
}

# Plugin: it is about plugstack.conf.
# bats test_tags=plugin
@test "an optional plugin refuses contradicting components" {
    plugstack "optional $plugin"
    refused 'srun: error: spank_tf: --tf-tasks: component 2 has no list; give one to each component, or one for the whole step' \
        srun -n1 --tf-tasks=ps touch started : -n1 --tf-tasks=worker touch started : -n1 touch started
    refused 'srun: error: spank_tf: --tf-timeout: "5" on component 0, but "6" on component 1; a step has only one value' \
        srun -n1 --tf-tasks=worker:3 --tf-timeout=5 touch started : -n1 --tf-timeout=6 touch started : -n1 touch started
}

# Plugin: it is about plugstack.conf.
# bats test_tags=plugin
@test "an optional plugin refuses invalid site arguments" {
    plugstack "optional $plugin libexecdir=/nowhere"
    refused_step '/nowhere/tf-rendezvous: No such file or directory; spank-tf is not installed completely on this host' --tf-tasks=ps,worker:2
    plugstack "optional $plugin timeout=soon"
    refused_step 'plugstack.conf: timeout: "soon" is not a time from 1 to 604800 seconds, as in 300, 5m or 5:00' --tf-tasks=ps,worker:2
}

# bats test_tags=core
@test "spare tasks, and an input that a spare does not have" {
    local why='a spare would not have the input of the task whose place it takes; with spare tasks, give all tasks the same input'

    refused "srun: error: spank_tf: --input=0: $why" \
        srun --no-kill -N2 -n2 --input=0 --tf-tasks=worker,spare --tf-restart=1 touch started
    # Slurm does not find the files, either.
    run --separate-stderr slurm env SLURM_JOB_ID="$job" SLURM_STDINMODE=in.%2t \
        srun --no-kill -N2 -n2 --tf-tasks=worker,spare --tf-restart=1 touch started
    [[ $stderr == *"error: spank_tf: --input=in.%2t: $why"* ]] && [ ! -e "$work/started" ] || fail "it is not refused"
}

# --- half a plugin

# Plugin: it is about plugstack.conf.
# bats test_tags=plugin
@test "a rank with a list but without a rendezvous exits, as under srun --async" {
    plugstack "required $plugin" "required $SPANK_TF_PROGRAMS/other_plugin.so unset"
    refused 'slurmstepd: error: spank_tf: --tf-tasks needs an srun that waits for its step and has spank_tf; no rendezvous was exported' \
        srun -N2 -n3 --tf-tasks=ps,worker:2 touch started
}

# Plugin: it is about plugstack.conf.
# bats test_tags=plugin
@test "with the plugin on the nodes only, srun does not know the options" {
    plugstack_on login
    run slurm env SLURM_JOB_ID="$job" srun -n1 --tf-tasks=worker touch started
    [ "$status" -ne 0 ] && [ ! -e "$work/started" ] && [ "${lines[0]}" = "srun: unrecognized option '--tf-tasks=worker'" ] || fail "it is not so"
}

# Plugin: it is about plugstack.conf.
# bats test_tags=core,release,plugin
@test "with the plugin on some nodes only, these start no program" {
    local line

    line="srun: error: spank_tf: step J.S: 1 of 2 tasks did not register within 1 s (on $(node 2)), so the step was refused: worker 1 (rank 1); check slurmd on the nodes, and that they can reach srun's host (SrunPortRange)"
    plugstack_on "$(node 2)" "required /nowhere/spank_tf.so"
    mask='/ task 1 launch failed: /d' refused "$line" \
        srun -w "$(node 1),$(node 2)" -N2 -n2 --tf-timeout=1 --tf-tasks=worker:2 touch started
    plugstack_everywhere
    # Nothing can keep a program from starting on a node without the plugin.
    plugstack_on "$(node 2)"
    refused "$line" srun -w "$(node 1),$(node 2)" -N2 -n2 --tf-timeout=1 --tf-tasks=worker:2 \
        sh -c 'case $SLURM_PROCID in 0) touch started;; esac'
}

# Plugin: it is about plugstack.conf.
# bats test_tags=plugin
@test "a batch script on a node without the plugin starts no program on the nodes that have it" {
    plugstack_on "$(node 1)"
    cat > "$work/script" <<'SCRIPT'
#!/bin/sh
srun sh -c 'touch started.$SLURM_PROCID'
SCRIPT
    rm -f "$work"/started*
    run slurm sbatch -W -o batch.out -w "$(node 1),$(node 2)" -N2 -n2 --tf-tasks=worker:2 script
    [ ! -e "$work/started.1" ] || fail "a program runs without its dictionary: $(cat "$work/batch.out")"
}
