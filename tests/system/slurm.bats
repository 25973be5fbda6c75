#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The rest of what Slurm does for a task, and what a program finds when it starts: it is as
# without us, with and without a supervisor. The file by its other name, slurm-cgroup.bats, is
# the same under proctrack/cgroup.

load ../common
load launch
load ways

# All tasks end by themselves, and nobody is stopped for it.
list[supervised]=--tf-tasks=worker:rest,evaluator

setup_file ()
{
    local proctrack=linuxproc why=$BATS_FILE_TMPDIR/why

    [[ $BATS_TEST_FILENAME != *-cgroup.bats ]] || proctrack=cgroup
    export BATS_TEST_NAME_PREFIX="$proctrack: " no_cluster=
    start_cluster --nodes 2 --cpus 32 --proctrack $proctrack \
        --conf "TaskProlog=$BATS_FILE_TMPDIR/prolog" --conf "TaskEpilog=$BATS_FILE_TMPDIR/epilog" \
        --conf TaskPlugin=task/affinity --conf TaskPluginParam=none \
        --conf JobAcctGatherType=jobacct_gather/linux --conf JobAcctGatherFrequency=task=1 2> "$why" || case $? in
        77) no_cluster=$(< "$why") ;;
        *) cat "$why"; return 1 ;;
    esac
    write_prologs
}

setup ()
{
    [[ ! $no_cluster ]] || skip "$no_cluster"
    make_ways
}

teardown ()
{
    [[ ! $no_cluster ]] || return 0
    end_ways
}

teardown_file ()
{
    stop_cluster
}

# The site's, and the user's: they do something for who asks.
write_prologs ()
{
    local name

    for name in prolog epilog; do
        cat > "$BATS_FILE_TMPDIR/$name" <<END
#!/bin/sh
[ "\$TELL" ] || exit 0
echo "\$SLURM_TASK_PID" > "\${TELL}$name.\$SLURM_PROCID"
END
        chmod 755 "$BATS_FILE_TMPDIR/$name"
    done
    cat >> "$BATS_FILE_TMPDIR/prolog" <<'END'
echo "export PROLOG=$SLURM_TASK_PID"
echo "unset NOT_WANTED"
echo "print the prolog speaks"
END
}

# --- all three ways at once, and alike

# srun ends with this code in every way, and has said the same: same CODE ARGUMENTS…
same ()
{
    begin -Q "${@:2}"
    all_end "$1"
    alike output
    alike errors
}

output ()
{
    sort "$work/$1.out"
}

# Without what is different each time: numbers, times, who of several speaks first, whether
# a slurmstepd that is about to end still says that its step is cancelled, and whether a task that
# is killed has its epilog killed too. Of an evaluator that ends last we say that it is waited for.
errors ()
{
    sed -E "/^srun: spank_tf: .* waiting up to [0-9]+ s for /d; /^slurmstepd.*: \*\*\* STEP .* CANCELLED /d
        /^slurmstepd.*: error: --task-epilog failed status=9$/d; s#$work/$1#DIRECTORY#g; s/[0-9]+\.0/J.S/
        s/StepId=[^ ]+/StepId/; s/ AT [0-9T:-]+//; s/tasks? [0-9,-]+:/tasks:/; s/-[a-z]+[12]:/:/" "$work/$1.err" | sort -u
}

# --- what a program finds

@test "a program finds itself as without us" {
    cat > "$work/what" <<'END'
echo "SLURM_TASK_PID is its number: $((SLURM_TASK_PID == $$))"
ulimit -S -a
ulimit -H -a
grep -E '^(Tgid|TracerPid|Uid|Gid|Groups|Sig[BIC]|Cap|NoNewPrivs|Seccomp|Mems_allowed_list|Umask|Threads)' /proc/$$/status |
    sed "s/\<$$\>/PID/"
cat /proc/$$/oom_score_adj
sed 's/job_[0-9]*/job/' /proc/$$/cgroup
ps -o ni=,cls=,tty= -p $$
readlink /proc/$$/cwd | sed 's#.*/##; s/plain\|unsupervised\|supervised/WAY/'
echo "session of its own: $(($(ps -o sid= -p $$) == $(ps -o pgid= -p $$)))"
for fd in /proc/$$/fd/*; do
    [ "${fd##*/}" -ge 200 ] || echo "${fd##*/} $(readlink "$fd" | sed 's/[0-9]*//g')"
done
END
    # What a user says of limits is for the program.
    ulimit -S -c 4096
    ulimit -S -n 321
    ulimit -S -s 4096
    same 0 -l sh ../what
    grep -qx '0: nofiles *321' "$work/plain.out"
}

@test "the parent of a program is tf-supervise when it is supervised, and slurmstepd else" {
    local way

    begin sh -c 'cat /proc/$PPID/comm'
    all_end 0
    for way in "${ways[@]}"; do
        [ "$(sort -u "$work/$way.out")" = "$([ $way = supervised ] && echo tf-supervise || echo slurmstepd)" ] ||
            fail "$way: $(cat "$work/$way.out")"
    done
}

# Whoever held the other end of a task's input or output open would be taken for the task. Rank
# 0's supervisor may have something to say.
@test "a supervisor lets go of its task's input and output" {
    cat > "$work/held" <<'END'
own=$(readlink /proc/$$/fd/0 /proc/$$/fd/1 /proc/$$/fd/2)
for i in $(seq 100); do
    held=$(readlink /proc/$PPID/fd/* | grep -cxF "$own")
    [ $SLURM_PROCID:$held != 0:1 ] && [ $held != 0 ] || break
    sleep 0.1
done
echo "$SLURM_PROCID holds $held"
END
    begin -Q sh ../held
    all_end 0
    [ "$(output supervised | xargs)" = "0 holds 1 1 holds 0 2 holds 0" ]
}

@test "the environment is Slurm's, and ours beside it" {
    same 0 -l sh -c 'env | grep -v -E "^(TF_|SLURM_TF_|[A-Z]+_VISIBLE_DEVICES=|ZE_AFFINITY_MASK=)" |
        sed -E "s/$(basename "$PWD")/WAY/; s/^(SLURM_[A-Z_]*(JOB_?ID|PID|PORT|CPU_BIND[A-Z_]*))=.*/\1/"'
    grep -q '^2: SLURM_PROCID=2$' "$work/plain.out"
}

@test "--cpu-bind holds for the program" {
    (($(nproc) > 1)) || skip "this machine has one CPU"
    same 0 -l -N1 -n2 --exclusive --cpu-bind=map_cpu:1,0 grep Cpus_allowed_list: /proc/self/status
    [ "$(output plain | tr '\t' ' ')" = $'0: Cpus_allowed_list: 1\n1: Cpus_allowed_list: 0' ]
}

# --- how a program begins, and ends

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

@test "codes and signals are the program's" {
    same 0 true
    same 7 sh -c 'exit $((SLURM_PROCID + 5))'
    same 137 sh -c '[ $SLURM_PROCID = 0 ] && exit 200; kill -$((SLURM_PROCID + 7)) $$'
    same 143 sh -c 'kill -TERM $$'
}

# In a directory for each rank, how many core files there are.
cores ()
{
    find "$work/$1" -type f -name '*core*' | wc -l
}

@test "a crash leaves one core file" {
    [[ $(< /proc/sys/kernel/core_pattern) != [/\|]* ]] || skip "core files are not left where the program was"
    ulimit -S -c unlimited
    begin -Q sh -c 'mkdir dir.$SLURM_PROCID && cd dir.$SLURM_PROCID && exec python3 -c "import os; os.abort ()"'
    all_end 134
    [ "$(cores plain)" -eq 3 ]
    alike cores
}

@test "-K: one that fails ends all" {
    same 143 -K sh -c '[ $SLURM_PROCID != 1 ] || exit 3; exec sleep 1000'
}

@test "-W: the first end is all others' end some seconds later" {
    same 137 -W 1 sh -c '[ $SLURM_PROCID != 1 ] || exit 3; exec sleep 1000'
}

@test "--wait-for-children: a task is there as long as a child of its" {
    slurm srun --help | grep -q -e --wait-for-children || skip "not in $(slurm srun --version), but from 25.05 on"
    same 0 --wait-for-children sh -c '(sleep 1; : > late.$SLURM_PROCID) &'
    [ "$(find "$work" -name 'late.*' | wc -l)" -eq 9 ]
}

# --- prologs and epilogs

# As what those called NAME were told of their task: told NAME WAY
told ()
{
    local rank

    for rank in 0 1 2; do
        sed "s/^$(< "$work/$2/program.$rank")$/the program's number/" "$work/$2/$1.$rank"
    done
}

@test "TaskProlog and TaskEpilog, Slurm's and the user's" {
    local name

    for name in prolog epilog; do
        cat > "$work/$name" <<END
#!/bin/sh
echo "\$SLURM_TASK_PID" > my-$name.\$SLURM_PROCID
END
        chmod 755 "$work/$name"
    done
    export TELL=site- NOT_WANTED=there
    same 0 --task-prolog="$work/prolog" --task-epilog="$work/epilog" sh -c '
        echo $$ > program.$SLURM_PROCID
        echo "$((PROLOG == $$)) ${NOT_WANTED-unset}"'
    [ "$(sort "$work/plain.out" | uniq -c | xargs)" = "3 1 unset 3 the prolog speaks" ]
    for name in {site,my}-{prolog,epilog}; do
        alike told $name
    done
    [ "$(told site-prolog plain | sort -u)$(told my-prolog plain | sort -u)" = "the program's numberthe program's number" ]
}

# --- input and output

# Slurm may lose what srun has not read when tasks end. These programs end when so many lines have
# arrived: whole LINES ARGUMENTS…
whole ()
{
    rm -f "$work"/*/enough
    begin -Q "${@:2}"
    every_way has_lines "$1"
    enough
    all_end 0
    alike output
    alike errors
}

has_lines ()
{
    [ "$(words "$2" | wc -l)" -ge "$1" ]
}

enough ()
{
    touch "$work"/{plain,unsupervised,supervised}/enough
}

until_enough='until [ -e enough ]; do sleep 0.1; done'

@test "input is for all tasks, or for one, or a file, or nobody" {
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

# More than fits into a pipe.
@test "input that a program does not read to its end" {
    local input=$work/words program

    seq 20000 > "$work/words"
    for program in 'head -n 1' 'exec < /dev/null; echo "all is well"'; do
        whole 3 -l sh -c "$program; $until_enough"
        [ "$(output plain | wc -l)" -eq 3 ]
    done
}

@test "output arrives whole, labelled or not" {
    whole 120000 sh -c "seq 20000; seq 20000 >&2; $until_enough"
    whole 120000 -l sh -c "seq 20000; seq 20000 >&2; $until_enough"
    same 0 -o out.%t -e err.%t sh -c 'seq 20000; seq 20000 >&2'
    alike files
    [ "$(files plain | wc -l)" -eq 120000 ]
}

@test "-u: output arrives before the line is complete" {
    begin -Q -u sh -c "printf 'name? '; $until_enough"
    every_way said 'name\?'
    enough
    all_end 0
}

# A way's files, with their names and all that is in them.
files ()
{
    (cd "$work/$1" && grep -r . | sort)
}

@test "--output and --error are files of each task" {
    same 0 -o out.%t -e err.%t sh -c 'echo "out of $SLURM_PROCID"; echo "err of $SLURM_PROCID" >&2'
    [ "$(files plain | wc -l)" -eq 6 ]
    alike files
}

@test "--pty: an interactive shell with job control" {
    cat > "$work/shell" <<'END'
test ! -t 0 || TERM=dumb PS1= HISTFILE= exec bash --norc -i
until [ -e enough ]; do sleep 0.1; done
END
    begin_on_terminals --pty sh ../shell
    type_in 'sh -c "echo one begins; sleep 1000"\n'
    every_way said '^one begins'
    type_in '\003'
    type_in 'echo one ended: $?; sh -c "echo two begins; sleep 1000"\n'
    every_way said '^one ended: 130'
    every_way said '^two begins'
    type_in '\032'
    every_way said 'Stopped'
    type_in 'bg; fg\n'
    every_way said '^sh -c "echo two begins; sleep 1000"'
    type_in '\003'
    type_in 'echo two ended: $?; touch enough; exit 9\n'
    every_way said '^two ended: 130'
    all_end 9
}

# What one who looks on has seen.
seen ()
{
    sort -u "$work/$1.seen"
}

sees_all ()
{
    [ "$(seen "$1" | grep -c 'still here$')" -eq 3 ]
}

@test "sattach: one looks on" {
    local way
    local -A sattach

    begin -Q sh -c 'until [ -e enough ]; do echo "still here"; sleep 0.1; done; exit 4'
    for way in "${ways[@]}"; do
        eventually 30 said 'still here' "$way"
        slurm sattach -l "$(job_of "$way").0" > "$work/$way.seen" 2>&1 3>&- &
        sattach[$way]=$!
    done
    every_way sees_all
    enough
    all_end 4
    for way in "${ways[@]}"; do
        wait "${sattach[$way]}" || echo "its code is $?" >> "$work/$way.seen"
    done
    alike seen
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
    # Its nodes would share a directory, as they share the machine.
    same 0 -l -N1 --mpi=pmix sh -c 'echo "$PMIX_RANK"'
    [ "$(grep -c . "$work/plain.out")" -eq 3 ]
}

@test "--multi-prog: a program for each rank" {
    echo 'echo "$1 of $SLURM_PROCID"; exit $2' > "$work/say"
    printf '%s\n' '0 sh ../say zero 3' '1 echo one of %t' '2 sh ../say two 5' > "$work/programs"
    same 5 -l --multi-prog "$work/programs"
    [ "$(sort "$work/plain.out" | xargs)" = "0: zero of 0 1: one of 1 2: two of 2" ]
}

# The greatest memory of the step's tasks, in MB.
max_rss ()
{
    slurm sstat -nP --noconvert -o MaxRSS -j "$(job_of "$1").0" | awk '{ print int ($1 / 1048576) }'
}

has_grown ()
{
    [ "$(max_rss "$1")" -ge 60 ]
}

@test "sstat: memory is the program's" {
    local way

    begin -Q python3 -c 'import os, time
room = b"x" * (60 << 20)
while not os.path.exists ("enough"): time.sleep (0.1)'
    every_way has_grown
    for way in "${ways[@]}"; do
        [ "$(max_rss "$way")" -lt 80 ] || fail "$way: $(max_rss "$way") MB"
    done
    enough
    all_end 0
}
