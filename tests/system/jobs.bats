#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A list given to sbatch or salloc is inherited by every srun of the job, and by nothing else.
# The sruns have -Q, because on a busy machine Slurm reports that a step waits for the end of
# another.

# bats file_tags=core,release
load launch

setup_file ()
{
    start_cluster --conf LaunchParameters=use_interactive_step
    # Prints the variables of the plugin in the environment.
    cat > "$SPANK_TF_CLUSTER/work/variables" <<'END'
env | grep -v '^SLURM_TF_RUN=' | grep -E '^TF_CONFIG=|^TF_GRPC_|^SLURM_TF_|SPANK_OPTION_spank_tf' || echo no variables
END
}

# Require that N tasks of a batch job are ok, in M steps: steps_ok N M
steps_ok ()
{
    [ "$status" -eq 0 ] && [ -z "$stderr" ] || fail "a task is not ok"
    [ "$(grep -c ' ok digest=' <<< "$output")" -eq "$1" ] || fail "not $1 tasks are ok"
    [ "$(sed -n 's/.* ok digest=//p' <<< "$output" | sort -u | wc -l)" -eq "$2" ] || fail "not $2 dictionaries"
}

# bats test_tags=by-run
@test "#SBATCH --tf-tasks is inherited by every srun of the script" {
    batch -N2 -n3 <<END
#!/bin/bash
#SBATCH --tf-tasks=ps,worker:rest
srun -Q $task_check --roles=ps,worker,worker
srun -Q -N1 -n2 --exact $task_check --roles=ps,worker
END
    steps_ok 5 2
}

@test "sbatch --wrap: an srun in it inherits" {
    batch -N2 -n3 --tf-tasks=ps,worker:2 --wrap "srun -Q $task_check --roles=ps,worker,worker" < /dev/null
    steps_ok 3 1
}

# Plugin: it is about sbatch.
# bats test_tags=core,plugin
@test "a batch script that starts a Python file without srun is accepted, and sbatch says that it runs once" {
    local list script='#!/bin/sh
cd .
python3 once.py'

    cd "$SPANK_TF_CLUSTER/work"
    : > once.py
    run --separate-stderr slurm sbatch -W -N2 -n3 -o once.%j --tf-tasks=worker:3 <<< "$script"
    [ "$status" -eq 0 ] || fail "sbatch refuses it"
    [[ $stderr != *spank_tf* ]] || fail "a script from standard input cannot be read again"
    echo "$script" > alone
    for list in worker:3 worker:rest; do
        run --separate-stderr slurm sbatch -W -N2 -n3 -o once.%j --tf-tasks="$list" alone
        [ "$status" -eq 0 ] && [[ $stderr == *'spank_tf: --tf-tasks: the script starts a Python program without srun, so it will run once'* ]] ||
            fail "sbatch does not say that python runs once"
    done
    for script in 'srun python3 once.py' 'python3 -m once' 'python3 once.py; echo snakemake'; do
        run --separate-stderr slurm sbatch -W -N2 -n3 -o once.%j --tf-tasks=worker:rest --wrap="$script"
        [ "$status" -eq 0 ] && [[ $stderr != *spank_tf* ]] || fail "sbatch says something about $script"
    done
}

# Plugin: with another PATH, srun is Slurm's here.
# bats test_tags=plugin
@test "a list is inherited whatever sbatch and srun export" {
    local exported

    for exported in ALL NONE PATH,COLOUR=blue; do
        batch -N2 -n3 --tf-tasks=ps,worker:2 --export="$exported" <<END
#!/bin/bash
srun -Q $task_check --roles=ps,worker,worker
srun -Q --export=NONE $task_check --roles=ps,worker,worker
srun -Q --export=COLOUR=red,PATH $task_check --roles=ps,worker,worker
srun -Q --export=ALL,COLOUR=red $task_check --roles=ps,worker,worker
END
        steps_ok 12 4
    done
}

@test "an srun's own list overrides the inherited one" {
    batch -N2 --ntasks-per-node=2 --tf-tasks=ps,worker:3 <<END
#!/bin/bash
srun -Q --tf-tasks=chief,worker:3 $task_check --roles=chief,worker,worker,worker
srun -Q --tf-tasks-per-node=ps,worker $task_check --roles=ps,worker,ps,worker
srun -Q $task_check --roles=ps,worker,worker,worker
END
    steps_ok 12 3
    batch -N2 --ntasks-per-node=2 --tf-tasks-per-node=ps,worker <<END
#!/bin/bash
srun -Q --tf-tasks=chief,worker:3 $task_check --roles=chief,worker,worker,worker
srun -Q $task_check --roles=ps,worker,ps,worker
END
    steps_ok 8 2
}

@test "--tf-tasks=none switches the inherited list off for one srun" {
    batch -N2 -n3 --tf-tasks=ps,worker:2 <<END
#!/bin/bash
srun -Q --tf-tasks=none sh variables
srun -Q $task_check --roles=ps,worker,worker
srun -Q --tf-tasks=none --export=NONE /bin/sh variables
END
    steps_ok 3 1
    [ "$(grep -c '^no variables$' <<< "$output")" -eq 6 ] || fail "a variable of the plugin is set"
}

# Plugin: with another PATH, srun is Slurm's here.
# bats test_tags=plugin
@test "the other options are inherited, too, and can be overridden" {
    batch -N2 -n3 --tf-tasks=ps,worker:2 --tf-ports=28000-28099 --tf-hold=no --export=NONE <<END
#!/bin/bash
srun -Q --export=PATH $task_check --not-held --roles=ps,worker,worker
END
    steps_ok 3 1
    [ "$(grep -cE ':280[0-9]{2} ok' <<< "$output")" -eq 3 ] || fail "the range is not inherited"
    batch -N2 -n3 --tf-tasks=ps,worker:2 --tf-ports=28000-28099 --tf-hold=no <<END
#!/bin/bash
srun -Q --tf-ports=29000-29099 --tf-hold=yes $task_check --roles=ps,worker,worker
END
    steps_ok 3 1
    [ "$(grep -cE ':290[0-9]{2} ok' <<< "$output")" -eq 3 ] || fail "the range is not overridden"
}

# Plugin: the words of SLURM_TF_RUN have no blanks.
# bats test_tags=plugin
@test "values as people write them: blanks beside commas, times, other words for yes and no, other names" {
    batch -N2 -n3 <<END
#!/bin/bash
#SBATCH --tf-tasks="ps, worker:2"
#SBATCH --tf-ports="28000-28049, 28050-28099"
#SBATCH --tf-hold=off --tf-timeout=1:00 --tf-restart="3, any"
srun -Q --tf-frameworks="tensorflow, jax" $task_check --not-held --roles=ps,worker,worker
END
    steps_ok 3 1
    [ "$(grep -cE ':280[0-9]{2} ok' <<< "$output")" -eq 3 ] || fail "the range is not inherited"
    run --separate-stderr slurm srun -Q -n2 --tf-tasks=worker:2 --tf-frameworks=pytorch --tf-show=1 sh -c 'echo $RANK $TF_CONFIG'
    [ "$status" -eq 0 ] && [ "$(sort <<< "$output")" = $'0\n1' ] && [[ $stderr == *"2 tasks on 1 node"* ]] ||
        fail "not PyTorch's variables, or not the table"
    run --separate-stderr slurm srun -Q -n1 --tf-tasks=worker --tf-watchdog=1:30:00,2h sh -c 'echo $WATCHDOG_USEC'
    [ "$status" -eq 0 ] && [ "$output" = 5400000000 ] || fail "not an hour and a half"
}

# bats test_tags=release
@test "without a list the other options have no effect, and only an srun that was given them itself says so" {
    run --separate-stderr slurm srun -n1 --tf-restart=1 --tf-show true
    [ "$status" -eq 0 ] && [ "${stderr/#tf-run:/srun:}" = 'srun: spank_tf: --tf-show, --tf-restart: no effect without --tf-tasks' ] ||
        fail "it prints otherwise"
    run --separate-stderr slurm srun -Q -n1 --tf-restart=1 true
    [ "$stderr" = "" ] || fail "-Q"
    run --separate-stderr slurm srun -n1 --tf-tasks=none --tf-restart=1 true
    [ "$stderr" = "" ] || fail "a list that is switched off"
    batch -n1 --tf-show <<END
#!/bin/bash
#SBATCH --tf-restart=1
srun true
srun --tf-tasks=none true
srun --tf-restart=2 -n1 true
END
    # Slurm's own lines say that a step had to wait for the one before.
    [ "$(lines_of_spank_tf <<< "$stderr")" = "srun: spank_tf: --tf-restart: no effect without --tf-tasks" ] || fail "the job's options"
    site_arguments restart=1 show=yes
    run --separate-stderr slurm srun -n1 true
    site_arguments
    [ "$stderr" = "" ] || fail "the site's options"
}

@test "every member of a job array is a cluster of its own" {
    local work=$SPANK_TF_CLUSTER/work i

    submit --array=1-3 -N2 -n2 -o array.%a -e array.%a --tf-tasks=ps,worker <<END
#!/bin/bash
srun -Q $task_check --roles=ps,worker
touch $work/started.\$SLURM_ARRAY_TASK_ID
until [ -e $work/started.1 -a -e $work/started.2 -a -e $work/started.3 ]; do sleep 0.1; done
END
    for i in 1 2 3; do
        all_ok "$(cat "$work/array.$i")" 2 && [ "$(wc -l < "$work/array.$i")" -eq 2 ] ||
            fail "task $i: $(cat "$work/array.$i")"
    done
}

# --- heterogeneous jobs

# Without -n for the second component, srun 24.11 and later take the first component's.
@test "#SBATCH hetjob: a list on the first component only is for the whole step" {
    batch <<END
#!/bin/bash
#SBATCH -N1 -n1 --tf-tasks=chief,ps:2,worker:2
#SBATCH hetjob
#SBATCH -N2 -n4 --ntasks-per-node=2
srun -Q --het-group=0,1 $task_check --roles=chief,ps,ps,worker,worker
END
    steps_ok 5 1
}

need_components ()
{
    slurm_is_from 21.08 ||
        skip "Slurm $(slurm_version) refuses such an srun in a job, also without the plugin: job size of 2, already allocated 1 nodes"
}

@test "#SBATCH hetjob: a list on the first component only is for an srun with several components" {
    need_components
    batch <<END
#!/bin/bash
#SBATCH -N1 -n1 --tf-tasks=chief,ps:2,worker:2
#SBATCH hetjob
#SBATCH -N2 -n4 --ntasks-per-node=2
srun -Q --het-group=0 --export=NONE $task_check --roles=chief,ps,ps,worker,worker : \
     --het-group=1 $task_check --roles=chief,ps,ps,worker,worker
END
    steps_ok 5 1
}

@test "salloc: a list on the first component only is for the whole step" {
    run --separate-stderr slurm salloc -Q -n1 --tf-tasks=ps,worker:2 : -N2 -n2 \
        srun -Q --het-group=0,1 "$task_check" --roles=ps,worker,worker
    all_tasks_ok ps,worker,worker
}

@test "a list given once to an srun with several components is for the whole step" {
    batch <<END
#!/bin/bash
#SBATCH -N1 -n1
#SBATCH hetjob
#SBATCH -N1 -n2
srun -Q --het-group=0,1 --tf-tasks=ps,worker:2 $task_check --roles=ps,worker,worker
END
    steps_ok 3 1
}

@test "an srun with several components in a heterogeneous job can have a list for each" {
    need_components
    batch <<END
#!/bin/bash
#SBATCH -N1 -n1
#SBATCH hetjob
#SBATCH -N1 -n2
srun -Q --het-group=0 --tf-tasks=ps $task_check --roles=ps,worker,worker : \
     --het-group=1 --tf-tasks=worker:2 $task_check --roles=ps,worker,worker
END
    steps_ok 3 1
}

@test "messages name the step of a heterogeneous job as its tasks see it, by the first component's job id" {
    run --separate-stderr slurm salloc -Q -n1 --tf-tasks=ps,worker : -n1 bash -ec '
        for i in 1 2 3 4 5 6 7 8; do srun -Q --het-group=0,1 --tf-show sh -c "echo \$SLURM_JOB_ID.\$SLURM_STEP_ID"; done'
    [ "$status" -eq 0 ]
    diff <(sort -u <<< "$output") <(sed -n 's/^spank_tf: step \([^:]*\): [0-9].*/\1/p' <<< "$stderr")
}

@test "a message about an inherited list that does not fit names the --het-group" {
    batch <<END
#!/bin/bash
#SBATCH -N1 -n1 --tf-tasks=ps,worker:2
#SBATCH hetjob
#SBATCH -N1 -n2
srun -Q --het-group=1 touch started
srun -Q --het-group=1 --tf-tasks=worker:2 $task_check --roles=worker,worker
END
    [ "$(grep -c ' ok digest=' <<< "$output")" -eq 2 ] || fail "the next step is not ok"
    [ "$(head -n 1 <<< "$stderr")" = "srun: error: spank_tf: step $job.0 (--het-group=1) has 2 tasks, but the inherited --tf-tasks lists 3 (ps,worker:2). Use ps,worker, or ps,worker:rest to fit any number. --tf-tasks=none disables the inherited list" ] || fail "another message"
    [ ! -e "$SPANK_TF_CLUSTER/work/started" ] || fail "a program was started"
}

# --- interactive jobs

@test "salloc COMMAND: an srun in it inherits" {
    run --separate-stderr slurm salloc -Q -N2 -n3 --tf-tasks=ps,worker:2 srun -Q "$task_check" --roles=ps,worker,worker
    all_tasks_ok ps,worker,worker
}

# Run the commands on stdin in the shell of salloc, on a terminal, with these variables. Plain salloc, too, puts its
# shell into the foreground after it has started it: a shell that finds itself in the background stops, for ever.
shell ()
{
    local continues

    while sleep 1; do pkill -CONT -r T -u "$user" -x sh || true; done 3>&- &
    continues=$!
    run slurm timeout 60 env SHELL=/bin/sh PS1= "$@" script -qec "salloc -Q -N2 -n3 --tf-tasks=ps,worker:2" /dev/null
    kill "$continues"
    # By tf-run, there is a prompt.
    output=$(tr -d '\r' <<< "$output" | sed -E 's/^(\$ )+//')
}

@test "salloc: the interactive step is not refused for what an srun in its shell needs" {
    run slurm timeout 60 env SHELL=/bin/sh script -qec "env SHELL=/bin/true salloc -Q -N2 -n3 --no-kill --tf-tasks=worker:2,spare --tf-restart=3" /dev/null
    [ "$status" -eq 0 ] || fail "no shell"
}

@test "salloc: the interactive step has no cluster, and an srun in its shell inherits" {
    shell <<END
echo "on \$(hostname)"; env | grep -v '^SLURM_TF_RUN=' | grep -E '^TF_CONFIG|^SLURM_TF_' || echo "clean"
srun -Q $task_check --roles=ps,worker,worker < /dev/null
exit \$?
END
    [ "$status" -eq 0 ] && all_ok "$output" 3 || fail "a task is not ok"
    grep -qx "on $(node 1)" <<< "$output" && grep -qx "clean" <<< "$output" || fail "no clean shell on the first node"
}

@test "salloc without an interactive step: its shell is on the login host, and an srun in it inherits" {
    sed /^LaunchParameters=/d "$SPANK_TF_CLUSTER/slurm.conf" > "$SPANK_TF_CLUSTER/work/slurm.conf"
    shell SLURM_CONF="$SPANK_TF_CLUSTER/work/slurm.conf" <<END
echo "on \$(hostname)"; env | grep -v '^SLURM_TF_RUN=' | grep -E '^TF_CONFIG|^SLURM_TF_' || echo "clean"
srun -Q $task_check --roles=ps,worker,worker < /dev/null
exit \$?
END
    [ "$status" -eq 0 ] && all_ok "$output" 3 || fail "a task is not ok"
    grep -qx "on login" <<< "$output" && grep -qx "clean" <<< "$output" || fail "no clean shell on the login host"
}

# --- mpirun, which starts its daemons by srun

@test "mpirun in a job with a list: it runs if the list fits its srun, or is none, and otherwise one line says why not" {
    local list nodes
    # As Open MPI 5 needs it, under plain Slurm, too: it would bind each process to a core, but the nodes have more CPUs than
    # the machine; and after programs that end at once it sometimes loses a daemon, and hangs.
    local -a program=(--bind-to none -n 4 sh -c 'hostname; sleep 1')

    command -v mpirun > /dev/null || skip "Open MPI is not installed"
    nodes=$(node 1),$(node 2)
    for list in worker:rest worker:2; do
        run slurm timeout 60 salloc -Q -N2 -n4 -w "$nodes" --tf-tasks=$list mpirun "${program[@]}"
        [ "$status" -eq 0 ] && [ "$(grep -cxE "${nodes/,/|}" <<< "$output")" -eq 4 ] || fail "$list: mpirun does not run"
    done
    run slurm timeout 60 salloc -Q -N2 -n4 -w "$nodes" --tf-tasks=worker:4 mpirun --mca plm_slurm_args --tf-tasks=none "${program[@]}"
    [ "$status" -eq 0 ] && [ "$(grep -cxE "${nodes/,/|}" <<< "$output")" -eq 4 ] || fail "--tf-tasks=none does not help"
    # Open MPI gives its srun /dev/null as stderr.
    run slurm timeout 60 salloc -Q -N2 -n4 --tf-tasks=worker:4 sh -c 'mpirun --bind-to none -n 4 hostname 2>&1 | cat'
    [ "$(grep -c 'spank_tf: step .* has 2 tasks, but the inherited --tf-tasks lists 4 (worker:4). Use worker:2, or ' <<< "$output")" -eq 1 ] ||
        fail "the line is not there"
}

# --- inside a job

@test "a batch script itself has no cluster" {
    batch -N2 -n3 --tf-tasks=ps,worker:2 <<< "#!/bin/bash
env | grep -v '^SLURM_TF_RUN=' | grep -E '^TF_CONFIG|^SLURM_TF_' || echo clean"
    [ "$status" -eq 0 ] && [ "$output" = clean ] && [ -z "$stderr" ] || fail "the script has a cluster"
}

@test "an srun inside a task inherits nothing" {
    cat > "$SPANK_TF_CLUSTER/work/outer" <<END
if [ \$SLURM_PROCID = 0 ]; then
    srun -Q --overlap -N1 -n1 sh -c 'env | grep -E "^SLURM_TF_RENDEZVOUS|SPANK_OPTION_spank_tf" || echo clean'
    srun -Q --overlap -N2 -n2 --tf-tasks=chief,worker $task_check --roles=chief,worker
fi
exec $task_check --roles=ps,worker,worker,worker
END
    batch -N2 --ntasks-per-node=2 <<END
#!/bin/bash
srun -Q --tf-tasks=ps,worker:3 sh outer
END
    steps_ok 6 2
    grep -qx clean <<< "$output" || fail "the inner srun inherits"
}

@test "a step inside a task can have --tf-hold=no where the outer one holds its ports" {
    batch -N1 -n2 <<END
#!/bin/bash
srun -Q -n1 --tf-tasks=worker srun -Q --overlap -n2 --tf-tasks=ps,worker --tf-hold=no $task_check --not-held --roles=ps,worker
END
    steps_ok 2 1
}
