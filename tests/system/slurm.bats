#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What a program finds when it starts, and everything else that Slurm does for a task, is the
# same as in a plain step, with and without a supervisor.

# bats file_tags=proctrack:cgroup,proctrack:cgroup-v2,proctrack:linuxproc
load launch
load variants

# A list with supervisors that stops no task.
# With auto, the first failure's exit code would be srun's.
options[supervised]='--tf-tasks=worker:rest,evaluator --tf-stop=workers'

setup_file ()
{
    start_cluster --nodes 2 --cpus 32 \
        --conf "TaskProlog=$BATS_FILE_TMPDIR/prolog" --conf "TaskEpilog=$BATS_FILE_TMPDIR/epilog" \
        --conf TaskPlugin=task/affinity --conf TaskPluginParam=none \
        --conf JobAcctGatherType=jobacct_gather/linux --conf JobAcctGatherFrequency=task=1
    write_prologs
}

before_test ()
{
    make_variants
}

after_test ()
{
    end_variants
}

# Write the site's prolog and epilog, which act only if TASK_PID_FILE is set.
write_prologs ()
{
    local name

    for name in prolog epilog; do
        cat > "$BATS_FILE_TMPDIR/$name" <<END
#!/bin/sh
[ "\$TASK_PID_FILE" ] || exit 0
echo "\$SLURM_TASK_PID" > "\${TASK_PID_FILE}$name.\$SLURM_PROCID"
END
        chmod 755 "$BATS_FILE_TMPDIR/$name"
    done
    cat >> "$BATS_FILE_TMPDIR/prolog" <<'END'
echo "export PROLOG=$SLURM_TASK_PID"
echo "unset NOT_WANTED"
echo "print printed by the prolog"
END
}

# --- all three variants at once

# Run all variants, and require this exit code and the same output: same CODE ARGUMENTS…
same ()
{
    start_steps -Q "${@:2}"
    all_end "$1"
    same_as_plain output
    same_as_plain errors
}

output ()
{
    sort "$work/$1.out"
}

# The messages without what differs in every run: numbers, times, which task is first, whether a
# slurmstepd that ends still reports that its step is cancelled, and whether the epilog of a task
# that is killed is killed, too, or before it begins; and without the plugin's messages that it waits for
# tasks (on a busy machine a launch may take five seconds) or for the evaluator, why a task is not restarted,
# and what the failure of a task leads to.
errors ()
{
    sed -E "s/^tf-run: error: execve/slurmstepd: error: execve/; s/^\[[0-9T:.-]+\] error/slurmstepd: error/; /^srun: spank_tf: .*( Waiting up to [0-9]+ s for |. Not restarted: )/d; /: (waiting for .* tasks to register|no task has registered yet)/d; / first (failure|to end): /d; /\. The other tasks .*stopped( in [0-9]+ s)?$/d; /. spank_tf does not stop the other tasks, /d; /^slurmstepd.*: \*\*\* STEP .* CANCELLED /d
        /^slurmstepd.*: error: --task-epilog failed status=9$/d; /: error: (run_script_as_user: Failed to wakeup slurm|write to unblock) task.*/d; s#$work/$1#DIRECTORY#g; s/[0-9]+\.0/J.S/
        s/StepId=[^ ]+/StepId/; s/ AT [0-9T:-]+//; s/tasks? [0-9,-]+:/tasks:/; s/-[a-z]+[12]:/:/" "$work/$1.err" | sort -u
}

# --- what a program finds

# bats test_tags=core,release
@test "limits, signals, cgroups and descriptors of a program are as in a plain step" {
    # Here also of one that may be restarted.
    variants+=(restarting)
    options[restarting]='--tf-tasks=worker:rest,evaluator --tf-restart=9'
    make_variants
    cat > "$work/what" <<'END'
echo "SLURM_TASK_PID is its number: $((SLURM_TASK_PID == $$))"
ulimit -S -a
ulimit -H -a
# The shell reads the file itself: while it starts another program, it may block signals.
while read -r line; do
    case $line in
        Tgid* | TracerPid* | Uid* | Gid* | Groups* | Sig[BIC]* | Cap* | NoNewPrivs* | Seccomp* | Mems_allowed_list* | Umask* | Threads*)
            echo "$line" ;;
    esac
done < /proc/$$/status > "status.$SLURM_PROCID"
sed "s/\<$$\>/PID/" "status.$SLURM_PROCID"
cat /proc/$$/oom_score_adj
sed -E 's#/(job_[0-9]+|s[0-9A-Z]{13})/#/job/#' /proc/$$/cgroup
ps -o ni=,cls=,tty= -p $$
readlink /proc/$$/cwd | sed 's#.*/##; s/plain\|unsupervised\|supervised\|restarting/VARIANT/'
echo "session of its own: $(($(ps -o sid= -p $$) == $(ps -o pgid= -p $$)))"
for fd in /proc/$$/fd/*; do
    [ "${fd##*/}" -ge 200 ] || echo "${fd##*/} $(readlink "$fd" | sed 's/[0-9]*//g')"
done
END
    # The user's limits apply to the program.
    ulimit -S -c 4096
    ulimit -S -n 321
    ulimit -S -s 4096
    same 0 -l sh ../what
    grep -qx '0: nofiles *321' "$work/plain.out"
}

# bats test_tags=core,release
@test "the parent of a supervised program is tf-supervise, otherwise slurmstepd" {
    local variant

    start_steps sh -c 'cat /proc/$PPID/comm'
    all_end 0
    for variant in "${variants[@]}"; do
        [ "$(sort -u "$work/$variant.out")" = "$([ "$variant" = supervised ] && echo tf-supervise || echo slurmstepd)" ] ||
            fail "$variant: $(cat "$work/$variant.out")"
    done
}

# A process that keeps a task's stdout open would delay the end of the step. Only rank 0's
# supervisor keeps stderr, for its messages.
# bats test_tags=core,release
@test "a supervisor closes its task's stdin and stdout" {
    cat > "$work/held" <<'END'
own=$(readlink /proc/$$/fd/0 /proc/$$/fd/1 /proc/$$/fd/2)
for i in $(seq 100); do
    held=$(readlink /proc/$PPID/fd/* | grep -cxF "$own")
    [ $SLURM_PROCID:$held != 0:1 ] && [ $held != 0 ] || break
    sleep 0.1
done
echo "$SLURM_PROCID holds $held"
END
    start_steps -Q sh ../held
    all_end 0
    [ "$(output supervised | xargs)" = "0 holds 1 1 holds 0 2 holds 0" ]
}

# bats test_tags=core,release
@test "the environment is Slurm's, and the plugin's variables" {
    # With JAX, Slurm's numbers do not count the evaluator.
    options[supervised]+=' --tf-frameworks=tf'
    same 0 -l sh -c 'env | grep -v -E "^(TF_|GLOO_SOCKET_IFNAME=|(LOCAL_)?(RANK|WORLD_SIZE)=|GROUP_RANK=|MASTER_(ADDR|PORT)=|TORCHELASTIC_RESTART_COUNT=|PYTHONUNBUFFERED=|SLURM_TF_|KERAS_DISTRIBUTION_|JAX_COORDINATOR_ADDRESS=|[A-Z]+_VISIBLE_DEVICES=|ZE_AFFINITY_MASK=)" |
        sed -E "s/$(basename "$PWD")/VARIANT/; s/^(SLURM_[A-Z_]*(JOB_?ID|SLUID|START_TIME|END_TIME|PID|PORT|CPU_BIND[A-Z_]*))=.*/\1/"'
    grep -q '^2: SLURM_PROCID=2$' "$work/plain.out"
}

# bats test_tags=core,release
@test "--cpu-bind applies to the program" {
    (($(nproc) > 1)) || skip "this machine has one CPU"
    same 0 -l -N1 -n2 --exclusive --cpu-bind=map_cpu:1,0 grep Cpus_allowed_list: /proc/self/status
    [ "$(output plain | tr '\t' ' ')" = $'0: Cpus_allowed_list: 1\n1: Cpus_allowed_list: 0' ]
}

# --- how a program starts and ends

@test "a program that cannot be started" {
    : > "$work/data"
    printf '#!/no/shell\n' > "$work/script"
    chmod 755 "$work/script"
    same 2 no-such-program
    same 2 ../no-such-program
    same 13 ../data
    same 13 ..
    same 2 ../script
    grep -q 'execve' "$work/plain.err"
}

# bats test_tags=core,release
@test "exit codes and signals are the program's" {
    same 0 true
    same 7 sh -c 'exit $((SLURM_PROCID + 5))'
    same 137 sh -c '[ $SLURM_PROCID = 0 ] && exit 200; kill -$((SLURM_PROCID + 7)) $$'
    same 143 sh -c 'kill -TERM $$'
}

# The number of core files; each rank has a directory of its own.
cores ()
{
    find "$work/$1" -type f -name '*core*' | wc -l
}

@test "a crash leaves one core file" {
    [[ $(< /proc/sys/kernel/core_pattern) != [/\|]* ]] || skip "core files are not left where the program was"
    ulimit -S -c unlimited
    start_steps -Q sh -c 'mkdir dir.$SLURM_PROCID && cd dir.$SLURM_PROCID && exec python3 -c "import os; os.abort ()"'
    all_end 134
    [ "$(cores plain)" -eq 3 ]
    same_as_plain cores
}

# bats test_tags=core,release
@test "-K: a task that fails ends the step" {
    same 143 -K sh -c '[ $SLURM_PROCID != 1 ] || exit 3; exec sleep 1000'
}

@test "-W: the other tasks are killed some seconds after the first has ended" {
    same 137 -W 1 sh -c '[ $SLURM_PROCID != 1 ] || exit 3; exec sleep 1000'
}

@test "--wait-for-children: a task ends with its last child" {
    slurm srun --help | grep -q -e --wait-for-children || skip "not in $(slurm srun --version), but from 25.05 on"
    [ "$proctrack" = cgroup-v2 ] && grep -qi '^TaskPlugin=.*task/cgroup' "$SPANK_TF_CLUSTER/slurm.conf" ||
        skip "Slurm does that only with cgroup v2 and task/cgroup"
    same 0 --wait-for-children sh -c '(sleep 1; : > late.$SLURM_PROCID) &'
    [ "$(find "$work" -name 'late.*' | wc -l)" -eq 9 ]
}

# --- prologs and epilogs

# The task pids that the prolog or epilog NAME has recorded, with the program's own pid masked:
# recorded_pids NAME VARIANT
recorded_pids ()
{
    local rank

    for rank in 0 1 2; do
        sed "s/^$(< "$work/$2/program.$rank")$/the program's number/" "$work/$2/$1.$rank"
    done
}

# Plugin: without it, TaskProlog runs before the step's values are set.
# bats test_tags=core,release,plugin
@test "TaskProlog and TaskEpilog, the site's and the user's" {
    local name

    for name in prolog epilog; do
        cat > "$work/$name" <<END
#!/bin/sh
echo "\$SLURM_TASK_PID" > my-$name.\$SLURM_PROCID
END
        chmod 755 "$work/$name"
    done
    export TASK_PID_FILE=site- NOT_WANTED=there
    same 0 --task-prolog="$work/prolog" --task-epilog="$work/epilog" sh -c '
        echo $$ > program.$SLURM_PROCID
        echo "$((PROLOG == $$)) ${NOT_WANTED-unset}"'
    [ "$(sort "$work/plain.out" | uniq -c | xargs)" = "3 1 unset 3 printed by the prolog" ]
    for name in {site,my}-{prolog,epilog}; do
        same_as_plain recorded_pids "$name"
    done
    [ "$(recorded_pids site-prolog plain | sort -u)$(recorded_pids my-prolog plain | sort -u)" = "the program's numberthe program's number" ]
}

# --- input and output

# Slurm may lose output that srun has not read when a task ends. So end the programs only when
# LINES lines have arrived: whole LINES ARGUMENTS…
whole ()
{
    rm -f "$work"/*/enough
    start_steps -Q "${@:2}"
    every_variant has_lines "$1"
    enough
    all_end 0
    same_as_plain output
    same_as_plain errors
}

has_lines ()
{
    [ "$(output_of "$2" | wc -l)" -ge "$1" ]
}

enough ()
{
    touch "$work"/{plain,unsupervised,supervised}/enough
}

until_enough='until [ -e enough ]; do sleep 0.1; done'

@test "input goes to all tasks, to one, to none, or comes from a file" {
    local input=$work/words cat="cat; $until_enough"

    seq 5000 > "$work/words"
    whole 15000 -l sh -c "$cat"
    whole 5000 -l -i 0 sh -c "$cat"
    [ "$(wc -l < "$work/plain.out")" -eq 5000 ]
    whole 5000 -l -i 2 sh -c "$cat"
    whole 0 -l -i none sh -c "$cat"
    whole 15000 -l -i "$work/words" sh -c "$cat"
    [ "$(wc -l < "$work/plain.out")" -eq 15000 ]
}

# The input does not fit into a pipe.
@test "input that a program does not read completely" {
    # shellcheck disable=SC2034  # for start_steps
    local input=$work/words program

    seq 20000 > "$work/words"
    for program in 'head -n 1' 'exec < /dev/null; echo "all is well"'; do
        whole 3 -l sh -c "$program; $until_enough"
        [ "$(output plain | wc -l)" -eq 3 ]
    done
}

# bats test_tags=core,release
@test "output is complete, with and without labels" {
    whole 120000 sh -c "seq 20000; seq 20000 >&2; $until_enough"
    whole 120000 -l sh -c "seq 20000; seq 20000 >&2; $until_enough"
    same 0 -o out.%t -e err.%t sh -c 'seq 20000; seq 20000 >&2'
    same_as_plain files
    [ "$(files plain | wc -l)" -eq 120000 ]
}

@test "-u: output arrives before the line is complete" {
    start_steps -Q -u sh -c "printf 'name? '; $until_enough"
    every_variant printed 'name\?'
    enough
    all_end 0
}

# A variant's files, with their names and contents.
files ()
{
    (cd "$work/$1" && grep -r . | sort)
}

@test "--output and --error with a file for each task" {
    same 0 -o out.%t -e err.%t sh -c 'echo "out of $SLURM_PROCID"; echo "err of $SLURM_PROCID" >&2'
    [ "$(files plain | wc -l)" -eq 6 ]
    same_as_plain files
}

# bats test_tags=core,release
@test "--pty: an interactive shell with job control" {
    cat > "$work/shell" <<'END'
test ! -t 0 || TERM=dumb PS1= HISTFILE= exec bash --norc -i
until [ -e enough ]; do sleep 0.1; done
END
    start_on_terminals --pty sh ../shell
    type_in 'sh -c "echo one begins; sleep 1000"\n'
    every_variant printed '^one begins'
    type_in '\003'
    type_in 'echo one ended: $?; sh -c "echo two begins; sleep 1000"\n'
    every_variant printed '^one ended: 130'
    every_variant printed '^two begins'
    type_in '\032'
    every_variant printed 'Stopped'
    type_in 'bg; fg\n'
    every_variant printed '^sh -c "echo two begins; sleep 1000"'
    type_in '\003'
    type_in 'echo two ended: $?; touch enough; exit 9\n'
    every_variant printed '^two ended: 130'
    all_end 9
}

# The output of sattach.
# sattach ends with the output, and may miss the ends of tasks, also without the plugin.
seen ()
{
    grep -v '^sattach: error: task .* exited with exit code' "$work/$1.seen" | sort -u
}

sees_all ()
{
    [ "$(seen "$1" | grep -c 'still here$')" -eq 3 ]
}

# bats test_tags=core,release
@test "sattach shows the output" {
    local variant
    local -A sattach

    start_steps -Q sh -c 'until [ -e enough ]; do echo "still here"; sleep 0.1; done; exit 4'
    for variant in "${variants[@]}"; do
        eventually 30 printed 'still here' "$variant"
        slurm sattach -l "$(job_of "$variant").0" > "$work/$variant.seen" 2>&1 3>&- &
        sattach[$variant]=$!
    done
    every_variant sees_all
    enough
    all_end 4
    for variant in "${variants[@]}"; do
        wait "${sattach[$variant]}" || echo "its code is $?" >> "$work/$variant.seen"
        # It may have left before slurmstepd tells it of the end.
        sed -i '/error: Failed to send MESSAGE_TASK_EXIT: /d' "$work/$variant.seen"
    done
    same_as_plain seen
}

# gdb plays the debugger: it says that it debugs srun, and srun calls MPIR_Breakpoint () when the
# tasks wait for it. The fifth int of an entry of MPIR_proctable, which has six, is the process ID.
# gdb does not stay until srun ends: it may fail when it looks at a thread that ends ("Couldn't read
# debug register"). `run` waits for srun, which has its output.
# Plugin: the debugger needs srun itself, in the place of which is a script.
# bats test_tags=core,release,plugin
@test "a parallel debugger finds every program stopped at its exec, and continues it" {
    local variant

    # srun may reach its breakpoint a moment before the last one stops.
    cat > "$work/states" <<'END'
#!/bin/bash
for ((i = 0; i < 50; i++)); do
    [ "$(ps -o state= -p "$1,$2,$3" | grep -c T)" -lt 3 ] || break
    sleep 0.1
done
ps -o state=,args= -p "$1,$2,$3"
END
    chmod 755 "$work/states"
    cat > "$work/debugger" <<'END'
handle all nostop noprint pass
starti
set variable *(int *) &MPIR_being_debugged = 1
break MPIR_Breakpoint
continue
set $table = *(int **) &MPIR_proctable
eval "shell ./states %d %d %d", $table[4], $table[10], $table[16]
delete
detach
END
    for variant in "${variants[@]}"; do
        # shellcheck disable=SC2086  # several words
        run --separate-stderr slurm timeout 60 env -u DEBUGINFOD_URLS gdb -batch -nx -x debugger --args \
            srun -Q -N2 -n3 ${options[$variant]} sh -c 'exit 7'
        [ "$(grep -c '^T .*sh -c exit 7$' <<< "$output")" -eq 3 ] || fail "$variant: not stopped"
        [ "$(grep -cE 'error: .*: tasks? (0-1|2): Exited with exit code 7$' <<< "$stderr")" -eq 2 ] ||
            fail "$variant: they do not go on"
    done
    [[ $stderr == *": under a parallel debugger no task is stopped "* ]] || fail "srun does not say so"
}

# --- MPI, several programs, accounting

@test "--mpi: none and pmi2" {
    same 0 --mpi=none true
    [ -x "$SPANK_TF_PROGRAMS/pmi2" ] || skip "libpmi2 is not there"
    same 0 --mpi=pmi2 "$SPANK_TF_PROGRAMS/pmi2"
}

@test "--mpi=pmix" {
    run slurm srun -Q -n1 --mpi=pmix true
    [ "$status" -eq 0 ] || skip "this Slurm has no PMIx: ${lines[0]}"
    # On one node, because all nodes of this machine would share PMIx's directory.
    same 0 -l -N1 --mpi=pmix sh -c 'echo "$PMIX_RANK"'
    [ "$(grep -c . "$work/plain.out")" -eq 3 ]
}

# Plugin: tf-run refuses --multi-prog.
# bats test_tags=core,release,plugin
@test "--multi-prog: a program for each rank" {
    echo 'echo "$1 of $SLURM_PROCID"; exit $2' > "$work/say"
    printf '%s\n' '0 sh ../say zero 3' '1 echo one of %t' '2 sh ../say two 5' > "$work/programs"
    same 5 -l --multi-prog "$work/programs"
    [ "$(sort "$work/plain.out" | xargs)" = "0: zero of 0 1: one of 1 2: two of 2" ]
}

# The largest memory of the step's tasks, in MB.
max_rss ()
{
    slurm sstat -nP --noconvert -o MaxRSS -j "$(job_of "$1").0" | awk '{ print int ($1 / 1048576) }'
}

has_grown ()
{
    [ "$(max_rss "$1")" -ge 60 ]
}

@test "sstat shows the program's memory" {
    local variant

    start_steps -Q python3 -c 'import os, time
room = b"x" * (60 << 20)
while not os.path.exists ("enough"): time.sleep (0.1)'
    every_variant has_grown
    for variant in "${variants[@]}"; do
        [ "$(max_rss "$variant")" -lt 80 ] || fail "$variant: $(max_rss "$variant") MB"
    done
    enough
    all_end 0
}
