#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# --tf-log-dir: the directory and name of each task's log file, and the contents of master.log.
# All sruns have -Q, so that their stderr holds only messages of the tasks and the plugin.

load launch

setup_file ()
{
    start_cluster --nodes 2
    # A ps exits by itself here, and must not be stopped before it has printed everything.
    site_arguments stop=never
    cat > "$SPANK_TF_CLUSTER/work/print" <<'END'
#!/bin/sh
echo "$SLURM_TF_ROLE $SLURM_TF_INDEX out"
echo "$SLURM_TF_ROLE $SLURM_TF_INDEX err" >&2
END
}

before_test ()
{
    work=$SPANK_TF_CLUSTER/work
    logs=logs.$BATS_TEST_NUMBER
}

after_test ()
{
    site_arguments stop=never
    nothing_left
}

# Require that srun has ended with 0, and that the terminal shows where the logs are and nothing else, N
# times: shows_only_where N DIR
shows_only_where ()
{
    [ "$status" -eq 0 ] || fail "srun"
    [ -z "$output" ] && [ "$(sed -E 's/ step [0-9.]+: / STEP /' <<< "$stderr")" = "$(yes "srun: spank_tf: STEP logs are in $2" | head -n "$1")" ] ||
        fail "the terminal shows something else than $1 times where the logs are"
}

# Run a step of a ps and two workers, and require that its logs are in this directory, as the terminal shows:
# run_step DIR OPTION…
run_step ()
{
    run --separate-stderr slurm srun -Q -N2 -n3 --tf-tasks=ps,worker:2 "${@:2}" sh "$work/print"
    shows_only_where 1 "$1"
}

# Require that a directory contains exactly these files: holds DIR NAME…
holds ()
{
    diff <(cd "$work/$1" && find . -mindepth 1 -printf '%P\n' | sort) <(printf '%s\n' "${@:2}" | sort)
}

# Require that a directory contains the complete logs of run_step: holds_three DIR
holds_three ()
{
    local task

    holds "$1" master.log ps0.log worker0.log worker1.log
    for task in "ps 0" "worker 0" "worker 1"; do
        diff "$work/$1/${task/ /}.log" <(printf '%s\n' "$task out" "$task err")
    done
}

# --- the directory

# bats test_tags=core,by-run
@test "each task has a file of its own for its output, and the terminal shows where it is" {
    run_step "$work/$logs" --tf-log-dir="$logs"
    holds_three "$logs"
}

@test "missing directories are created, and existing ones are used" {
    run_step "$work/$logs/a/b c/d" --tf-log-dir="$logs/a/b c/d"
    holds_three "$logs/a/b c/d"
    slurm mkdir "$work/$logs/there"
    run_step "$work/$logs/there/" --tf-log-dir="$work/$logs/there/"
    holds_three "$logs/there"
}

@test "a relative name is relative to the tasks' working directory" {
    slurm mkdir -p "$work/$logs/there"
    run_step "$work/$logs/there/out" --chdir="$work/$logs/there" --tf-log-dir=out
    holds_three "$logs/there/out"
    batch -N2 -n3 --tf-tasks=ps,worker:2 --tf-log-dir=batch <<END
#!/bin/bash
cd $logs/there
srun -Q sh $work/print
END
    [ "$status" -eq 0 ] || fail "srun"
    holds_three "$logs/there/batch"
}

@test "files and directories belong to the user, with the user's umask" {
    run --separate-stderr slurm sh -c "umask 027 && srun -Q -N2 -n3 --tf-tasks=ps,worker:2 --tf-log-dir=$logs/a sh print"
    [ "$status" -eq 0 ] || fail "srun"
    holds_three "$logs/a"
    diff <(find "$work/$logs" -printf '%U:%G %m %y\n' | sort | uniq -c | sed 's/^ *//' | sort) - <<END
2 $(id -u "$user"):$(id -g "$user") 750 d
4 $(id -u "$user"):$(id -g "$user") 640 f
END
}

# On local disks of the nodes.
@test "a directory may be local to each node; master.log is on srun's host" {
    local i

    slurm mkdir "$work/$logs"
    for i in 1 2; do
        "$tests/cluster" run --on "$(node $i)" -- mount -t tmpfs -o mode=1777 none "$work/$logs"
    done
    run_step "$work/$logs/$(node 1), $work/$logs/$(node 2)" -w "$(node 1),$(node 2)" --tf-log-dir="$logs/%N"
    holds "$logs" "$(node 1)" "$(node 1)/master.log"
    [ "$(slurm_on "$(node 1)" ls "$logs/$(node 1)" | paste -sd' ')" = "ps0.log worker0.log" ]
    [ "$(slurm_on "$(node 2)" ls "$logs/$(node 2)" | paste -sd' ')" = "worker1.log" ]
    for i in 1 2; do
        "$tests/cluster" run --on "$(node $i)" -- umount "$work/$logs"
    done
}

# --- where the option is given

# bats test_tags=core
@test "sbatch, #SBATCH and an srun of the script accept it; "none" switches it off" {
    batch -N2 -n3 --tf-tasks=ps,worker:2 --tf-log-dir="$logs/sbatch" <<END
#!/bin/bash
srun -Q sh print
srun -Q --tf-log-dir=$logs/own sh print
srun -Q --tf-log-dir=none sh print
END
    [ "$status" -eq 0 ] || fail "srun"
    holds_three "$logs/sbatch"
    holds_three "$logs/own"
    [ "$(grep -c out <<< "$output")" -eq 3 ] && [ "$(grep -cE '^(ps|worker) . err$' <<< "$stderr")" -eq 3 ] || fail "\"none\" does not switch it off"
    batch <<END
#!/bin/bash
#SBATCH -N2 -n3 --tf-tasks=ps,worker:2
#SBATCH --tf-log-dir=$logs/script
srun -Q --export=NONE /bin/sh print
END
    shows_only_where 1 "$work/$logs/script"
    holds_three "$logs/script"
}

@test "a step without a cluster keeps its output" {
    batch -N2 -n3 --tf-tasks=ps,worker:2 --tf-log-dir="$logs" <<END
#!/bin/bash
srun -Q --tf-tasks=none echo here
END
    [ "$status" -eq 0 ] && [ "$(grep -cx here <<< "$output")" -eq 3 ] || fail "its output is elsewhere"
    [ ! -e "$work/$logs" ]
}

@test "a task's environment has no variable of it" {
    run --separate-stderr slurm srun -Q -n1 --tf-tasks=worker --tf-log-dir="$logs" env
    [ "$status" -eq 0 ]
    grep -q ^TF_CONFIG= "$work/$logs/worker0.log"
    run grep -iE '^[^=]*log_?dir' "$work/$logs/worker0.log"
    [ "$status" -eq 1 ] || fail "there is a variable"
}

@test "a site can set a default, which a user can override or switch off" {
    site_arguments stop=never log_dir="$logs/%u"
    run_step "$work/$logs/$user"
    holds_three "$logs/$user"
    run_step "$work/$logs/own" --tf-log-dir="$logs/own"
    holds_three "$logs/own"
    run --separate-stderr slurm srun -Q -N2 -n3 --tf-tasks=ps,worker:2 --tf-log-dir=none sh print
    [ "$status" -eq 0 ] && [ "$(wc -l <<< "$output")" -eq 3 ] && [ "$(wc -l <<< "$stderr")" -eq 3 ] ||
        fail "\"none\" does not switch it off"
}

@test "all components of a heterogeneous step share the directory" {
    run --separate-stderr slurm srun -Q -n1 --tf-tasks=ps --tf-log-dir="$logs" sh print : \
        -n2 --tf-tasks=worker:2 sh print
    shows_only_where 1 "$work/$logs"
    holds_three "$logs"
}

# --- patterns

# Require that --tf-log-dir replaces the patterns in these names as srun's --output does.
same_as_srun ()
{
    local name made

    slurm mkdir -p "$work/$logs/plain"
    for name in "$@"; do
        rm -rf "$work/$logs"/{plain/*,tf}
        run --separate-stderr slurm srun -Q -J train -N2 -n2 --tf-tasks=worker:2 \
            -o "$logs/plain/$name" --tf-log-dir="$logs/tf/$name" true
        [ "$status" -eq 0 ] && [[ $stderr == *": logs are in "* && $stderr != *$'\n'* ]] || fail "srun"
        made=$(find "$work/$logs/plain" -type f -printf '%f\n' | sort)
        [ "$made" ] && [ "$(find "$work/$logs/tf" -mindepth 1 -type d -printf '%f\n' | sort)" = "$made" ] ||
            fail "$name: Slurm creates $made, the plugin $(ls "$work/$logs/tf")"
    done
}

# bats test_tags=core
@test "each pattern is replaced as in srun's --output" {
    same_as_srun %j %s %J %N %u %x 'x-%j.%s.%N.%u.%x_' '%j%j' '100%'
}

@test "numbers are padded as in srun's --output" {
    same_as_srun %4j %04j %0j %10j %12j %99999999999j %4s '%4N' '%4j-%j'
}

@test "a padded %J is as in srun's --output" {
    same_as_srun %6J
}

@test "what is not a pattern is kept as in srun's --output" {
    same_as_srun '%%j' '%%%j' '%' 'a b' '\%j' '\a%j'
}

# bats test_tags=core
@test "a pattern that is not one of a directory, and a ~ that the shell has not replaced, are refused" {
    local letter

    for letter in q t n; do
        run --separate-stderr slurm srun -n1 --tf-tasks=worker --tf-log-dir="$logs/%$letter" true
        [ "$status" -ne 0 ] && [[ $stderr == *"--tf-log-dir: %$letter is not a pattern of it; %j, %s, %J, %x, %u, %A, %a and %N are, and %%$letter is \"%$letter\""* ]] ||
            fail "%$letter: $stderr"
    done
    run --separate-stderr slurm env HOME=/home/anna srun -n1 --tf-tasks=worker --tf-log-dir='~/logs' true
    [ "$status" -ne 0 ]
    [[ $stderr == *'--tf-log-dir: the shell does not replace ~ here; /home/anna/logs is needed'* ]]
    run --separate-stderr slurm srun -n1 --tf-tasks=worker --tf-log-dir='logs/$SLURM_JOB_ID' true
    [ "$status" -ne 0 ]
    [[ $stderr == *'--tf-log-dir: the shell does not replace $SLURM_JOB_ID here; write its value, or a pattern such as %j'* ]]
    run --separate-stderr slurm srun -n1 --tf-tasks=worker --tf-log-dir='~anna/logs' true
    [ "$status" -ne 0 ]
    [[ $stderr == *'--tf-log-dir: the shell does not replace ~ here; an absolute path is needed'* ]]
    [ ! -e "$work/~" ]
}

@test "%A and %a give each member of an array its own directory" {
    local i

    submit --array=3-4 -N1 -n2 -o array.%a -e array.%a --tf-tasks=ps,worker --tf-log-dir="$logs/%A_%a" <<END
#!/bin/bash
mkdir -p $logs.plain
srun -Q -o $logs.plain/%A_%a sh print
END
    diff <(ls "$work/$logs") <(ls "$work/$logs.plain")
    for i in 3 4; do
        holds "$logs/${job}_$i" master.log ps0.log worker0.log
    done
}

@test "%A outside an array is the job id, as in srun's --output" {
    same_as_srun %A
}

# srun's --output uses the job's name for both, which a task does not get.
@test "in a batch job %x is the name of the job, or of the step if it has one" {
    batch -J train -N1 -n1 --tf-tasks=worker --tf-log-dir="$logs/tf/%x.%s" <<END
#!/bin/bash
srun -Q true
srun -Q -J step true
END
    [ "$status" -eq 0 ] || fail "srun"
    # shellcheck disable=SC2012  # our own names
    [ "$(ls "$work/$logs/tf" | paste -sd' ')" = "step.1 train.0" ]
}

# --- files that exist already

# Run two steps, and print how many of them are in the log files: kept WORD… srun OPTION…
kept ()
{
    local i

    rm -rf "${work:?}/$logs"
    for i in 1 2; do
        slurm "$@" -Q -n1 --tf-tasks=worker --tf-log-dir="$logs" sh print
    done
    [ "$(grep -c out "$work/$logs/worker0.log")" -eq "$(grep -c 'how its tasks ended' "$work/$logs/master.log")" ] ||
        fail "master.log differs from the task's log"
    grep -c out "$work/$logs/worker0.log"
}

# bats test_tags=core
@test "a step truncates no file of another step of its job, unless --open-mode=truncate says so" {
    batch -N1 -n1 --tf-tasks=worker --tf-log-dir="$logs" <<END
#!/bin/bash
srun -Q sh -c 'printf first'
srun -Q sh -c 'echo second'
END
    [ "$status" -eq 0 ] || fail "srun"
    diff "$work/$logs/worker0.log" <(printf '%s\n' first "spank_tf: step $job.1" second)
    [ "$(grep -c 'how its tasks ended' "$work/$logs/master.log")" -eq 2 ]
    batch -N1 -n1 --tf-tasks=worker --tf-log-dir="$logs" <<END
#!/bin/bash
srun -Q sh -c 'echo first'
srun -Q --open-mode=truncate sh -c 'echo second'
END
    diff "$work/$logs/worker0.log" <(echo second)
}

# bats test_tags=core
@test "what Python prints is not lost when its task is stopped, unless PYTHONUNBUFFERED is set" {
    run --separate-stderr slurm srun -Q -N2 -n2 --tf-tasks=ps,worker --tf-stop=auto python3 -c '
import os, time
print (os.environ["SLURM_TF_ROLE"], os.environ.get ("PYTHONUNBUFFERED"))
time.sleep (1000 if os.environ["SLURM_TF_ROLE"] == "ps" else 0)'
    [ "$(sort <<< "$output")" = $'ps 1\nworker 1' ] || fail "lost"
    run slurm env PYTHONUNBUFFERED= srun -Q -N1 -n2 --tf-tasks=worker:2 printenv PYTHONUNBUFFERED
    [ "$output" = $'\n' ] || [ -z "$output" ] || fail "the user's is replaced"
}

# bats test_tags=core
@test "existing files are truncated, or appended to with --open-mode=append" {
    [ "$(kept srun)" = 1 ]
    [ "$(kept srun --open-mode=append)" = 2 ]
    [ "$(kept srun --open-mode append)" = 2 ]
    [ "$(kept srun --open-mode=truncate)" = 1 ]
    [ "$(kept env SLURM_OPEN_MODE=a srun)" = 2 ]
    [ "$(kept env SLURM_OPEN_MODE=a srun --open-mode=truncate)" = 1 ]
}

@test "the last --open-mode counts, as in srun" {
    [ "$(kept srun --open-mode=append --open-mode=truncate)" = 1 ]
    [ "$(kept srun --open-mode=truncate --open-mode=append)" = 2 ]
}

@test "an --open-mode among the program's arguments is ignored" {
    local i

    for i in 1 2; do
        slurm srun -Q -n1 --tf-tasks=worker --tf-log-dir="$logs" sh print --open-mode=append
    done
    [ "$(grep -c out "$work/$logs/worker0.log")" -eq 1 ]
}

@test "sbatch's --open-mode is inherited, and an srun can have its own" {
    local mode

    for mode in append truncate; do
        batch -N1 -n1 --open-mode=$mode --tf-tasks=worker <<END
#!/bin/bash
srun -Q --tf-log-dir=$logs/$mode sh print
srun -Q --tf-log-dir=$logs/$mode sh print
srun -Q --tf-log-dir=$logs/$mode.append --open-mode=append sh print
srun -Q --tf-log-dir=$logs/$mode.append --open-mode=append sh print
srun -Q --tf-log-dir=$logs/$mode.truncate sh print
srun -Q --tf-log-dir=$logs/$mode.truncate --open-mode=truncate sh print
END
        [ "$status" -eq 0 ] || fail "srun"
    done
    diff <(cd "$work/$logs" && grep -c out -- */worker0.log | sort) - <<END
append.append/worker0.log:2
append.truncate/worker0.log:1
append/worker0.log:2
truncate.append/worker0.log:2
truncate.truncate/worker0.log:1
truncate/worker0.log:1
END
}

@test "JobFileAppend=1 in slurm.conf appends, and --open-mode overrides it" {
    sed '$aJobFileAppend=1' "$SPANK_TF_CLUSTER/slurm.conf" > "$work/slurm.conf"
    [ "$(kept env SLURM_CONF="$work/slurm.conf" srun)" = 2 ]
    [ "$(kept env SLURM_CONF="$work/slurm.conf" srun --open-mode=truncate)" = 1 ]
}

# --- refused before any program starts

# Require that a step of three ranks on two nodes is refused by this message, in which RANK
# stands for step, rank and node: refused MESSAGE OPTION…
refused ()
{
    local line=$1 printed

    shift
    rm -f "$work/started"
    run --separate-stderr slurm timeout 60 srun -Q -N2 -n3 --tf-tasks=ps,worker:2 "$@" touch started
    printed=$(sed -E '/: error: [^ ]+: tasks? [0-9,-]+: Exited with exit code 1$/d
                   s/step [0-9.]+: [a-z]+ [0-9] \(rank [0-9], [^)]+\)/RANK/; s/step [0-9.]+/STEP/' <<< "$stderr")
    [ "$status" -eq 1 ] && [ "$printed" = "srun: error: spank_tf: $line" ] || fail "it is not refused by \"$line\" alone"
    [ ! -e "$work/started" ] || fail "a program was started"
}

# bats test_tags=core
@test "a directory that cannot be created, or is not writable, refuses the launch" {
    local long

    printf -v long '%300s' ''
    mkdir -m 755 "$work/$logs"
    touch "$work/$logs/file"
    refused "RANK: --tf-log-dir: $work/$logs: Permission denied" --tf-log-dir="$logs"
    refused "RANK: --tf-log-dir: $work/$logs/a: Permission denied" --tf-log-dir="$logs/a"
    refused "RANK: --tf-log-dir: $work/$logs/a: Permission denied" --tf-log-dir="$logs/a/b/c"
    refused "RANK: --tf-log-dir: $work/$logs/file: Not a directory" --tf-log-dir="$logs/file"
    refused "RANK: --tf-log-dir: $work/$logs/file/a: Not a directory" --tf-log-dir="$logs/file/a"
    refused "RANK: --tf-log-dir: $work/${long// /x}: File name too long" --tf-log-dir="${long// /x}"
}

# bats test_tags=core
@test "one node that cannot create it refuses the whole launch" {
    slurm mkdir "$work/$logs"
    "$tests/cluster" run --on "$(node 2)" -- mount -t tmpfs -o ro none "$work/$logs"
    refused "RANK: --tf-log-dir: $work/$logs/a: Read-only file system" -w "$(node 1),$(node 2)" --tf-log-dir="$logs/a"
    "$tests/cluster" run --on "$(node 2)" -- umount "$work/$logs"
    [[ $stderr == *"worker 1 (rank 2, $(node 2)): "* ]] || fail "another node is named"
}

# A group's project: its owner is another member. The last directory is one for all users, such as /tmp.
# bats test_tags=core
@test "another user's directory has the logs, and his link or file in it refuses the launch" {
    local name uid

    uid=$(id -u "$other_user")
    mkdir "$work/$logs"
    install -d -m 2770 -o "$other_user" -g "$(id -g "$user")" "$work/$logs/group"
    install -d -m 1777 -o "$other_user" "$work/$logs/all"
    for name in group all; do
        run_step "$work/$logs/$name" --tf-log-dir="$logs/$name"
        holds_three "$logs/$name"
    done
    ln -s group "$work/$logs/link"
    chown -h "$other_user" "$work/$logs/link"
    run_step "$work/$logs/link" --tf-log-dir="$logs/link"
    mv "$work/$logs/link" "$work/$logs/all"
    refused "RANK: --tf-log-dir: $work/$logs/all/link: the symbolic link belongs to user $uid; it must be yours or root's" --tf-log-dir="$logs/all/link/"
    install -m 666 -o "$other_user" /dev/null "$work/$logs/group/worker1.log"
    run --separate-stderr slurm srun -Q -N2 -n3 --tf-tasks=ps,worker:2 --tf-log-dir="$logs/group" sh "$work/print"
    [ "$status" -eq 1 ] && [[ $stderr == *"--tf-log-dir: $work/$logs/group/worker1.log: the file belongs to user $uid; it must be yours or root's"* ]] ||
        fail "no such message"
    [ ! -s "$work/$logs/group/worker1.log" ] || fail "it has output"
}

# Where others can make links PyTorch does not get a path to write to: prints_error_file DIR
prints_error_file ()
{
    slurm srun -Q -n1 --tf-tasks=worker --tf-log-dir="$1" printenv TORCHELASTIC_ERROR_FILE
    cat "$work/$1/worker0.log"
}

@test "PyTorch gets no path in a directory in which others can make names" {
    mkdir "$work/$logs"
    install -d -m 777 -o "$user" "$work/$logs/all"
    install -d -m 2770 -o "$other_user" -g "$(id -g "$user")" "$work/$logs/group"
    install -d -m 755 -o "$user" "$work/$logs/own"
    [ "$(prints_error_file "$logs/own")" = "$work/$logs/own/worker0.error.json" ]
    [ -z "$(prints_error_file "$logs/all" 2> /dev/null)" ] || fail "all can make names"
    [ -z "$(prints_error_file "$logs/group" 2> /dev/null)" ] || fail "its owner can make names"
}

# NFS with all_squash, CIFS, FUSE.
@test "a file system that shows another owner has the logs, and the last words of a task that fails" {
    local host
    local -a hosts=(login "$(node 1)" "$(node 2)")

    [ -w /dev/fuse ] || skip "no /dev/fuse"
    mkdir -m 777 "$work/$logs" "$work/$logs.behind"
    for host in "${hosts[@]}"; do
        "$tests/cluster" run --on "$host" -- bindfs --force-user="$other_user" --perms=a+rwX "$work/$logs.behind" "$work/$logs" ||
            fail "bindfs"
    done
    run_step "$work/$logs" --tf-log-dir="$logs"
    run_step "$work/$logs" --tf-log-dir="$logs"
    [ "$("$tests/cluster" run --on "$(node 1)" -- stat -c %U "$work/$logs/worker0.log")" = "$other_user" ] || fail "it shows the owner"
    run_step "$work/$logs/a/b" --tf-log-dir="$logs/a/b"
    run --separate-stderr slurm srun -Q -n1 --tf-tasks=worker --tf-log-dir="$logs/c" sh -c 'echo "the last words" >&2; exit 3'
    [ "$status" -eq 3 ] && [[ $stderr == *'ends with "the last words"'* ]] || fail "they are not shown"
    for host in "${hosts[@]}"; do
        "$tests/cluster" run --on "$host" -- umount "$work/$logs"
    done
    [ -z "$(find "$work/$logs.behind" -name '.spank*')" ] || fail "a file is left"
}

@test "a job that begins while another one writes to the same directory appends, and says so" {
    local first

    slurm srun -Q -n1 --tf-tasks=worker --tf-log-dir="$logs" sh -c 'echo first; until [ -e end ]; do sleep 0.1; done; echo end' > "$work/first" 2>&1 3>&- &
    first=$!
    eventually 30 grep -qsx first "$work/$logs/worker0.log"
    run --separate-stderr slurm srun -Q -n2 -N2 --tf-tasks=worker:2 --tf-log-dir="$logs" echo second
    [ "$status" -eq 0 ] && [[ $stderr == *": another running step writes its logs to $work/$logs, so this step appends to the files there. %j in --tf-log-dir gives each job its own directory"* ]] ||
        fail "it does not say so"
    touch "$work/end"
    wait $first
    rm "$work/end"
    [ "$(grep -v ^spank_tf "$work/$logs/worker0.log" | paste -sd ' ')" = "first second end" ] || fail "lines are lost: $(< "$work/$logs/worker0.log")"
    [ "$(grep -c 'begins, in attempt 1 of its job' "$work/$logs/master.log")" -eq 2 ] || fail "master.log"
    # Alone again.
    run_step "$work/$logs" --tf-log-dir="$logs"
    holds_three "$logs"
}

@test "a step of a job of an array has the name of the array, too" {
    local job

    printf '%s\n' '#!/bin/sh' 'srun -Q -n1 --tf-tasks=worker --tf-log-dir='"$logs"' true; echo $SLURM_JOB_ID > '"$logs.id" > "$work/script"
    job=$(slurm sbatch -W --parsable --array=3 -o "$logs.out" script)
    [ "$(< "$work/$logs.out")" = "srun: spank_tf: step $(< "$work/$logs.id").0 (${job}_3): logs are in $work/$logs" ] || fail "$(< "$work/$logs.out")"
}

@test "a directory that only the job sees is named" {
    local job host

    host=$(node 1)
    job=$(slurm sbatch --parsable -n2 -w "$host" -o "$work/$logs.out" --wrap "until [ -e $work/$logs.ready ]; do sleep 0.1; done
        srun -Q -N1 -n2 --tf-tasks=worker:2 --tf-log-dir=$work/tmp/logs true")
    mkdir -p "$work/tmp" "$work/containers/$job"
    chown "$user" "$work/containers/$job"
    "$tests/cluster" run --on "$host" -- mount --bind "$work/containers/$job" "$work/tmp"
    touch "$work/$logs.ready"
    eventually 60 slurm sh -c '[ -z "$(squeue -h -j '"$job"' 2> /dev/null)" ]'
    "$tests/cluster" run --on "$host" -- umount "$work/tmp"
    grep -qx "srun: spank_tf: step $job.0: --tf-log-dir: on $host only this job sees the directory: its files are removed when the job ends" "$work/$logs.out" ||
        fail "it is not named: $(< "$work/$logs.out")"
}

@test "a master.log that cannot be written refuses the launch" {
    slurm mkdir -p "$work/$logs/master.log"
    refused "STEP: --tf-log-dir: on srun's host: $work/$logs/master.log: Is a directory" --tf-log-dir="$logs"
}

# Plugin: without it, sbatch refuses nothing.
# bats test_tags=plugin
@test "an invalid name is refused by srun and sbatch at once" {
    local name command long

    printf -v long '%2048s' ''
    for name in "" "a"$'\n'"b" "${long// /x}"; do
        for command in "srun -n1" sbatch; do
            # shellcheck disable=SC2086  # one of them is "srun -n1"
            run --separate-stderr slurm $command --tf-tasks=worker --tf-log-dir="$name" print
            [ "$status" -ne 0 ] && [ "$(grep -c 'spank_tf: --tf-log-dir: ' <<< "$stderr")" -eq 1 ] || fail "it is accepted"
        done
    done
    run slurm squeue -h
    [ -z "$output" ] || fail "a job was made"
}

@test "a task whose file cannot be opened fails with a message" {
    slurm mkdir -p "$work/$logs/worker1.log"
    run --separate-stderr slurm srun -Q -N2 -n3 --tf-tasks=ps,worker:2 --tf-log-dir="$logs" \
        sh -c 'touch $SLURM_TF_ROLE$SLURM_TF_INDEX.started'
    [ "$status" -eq 1 ] && [[ $stderr == *"spank_tf: "*": --tf-log-dir: $work/$logs/worker1.log: Is a directory"* ]] ||
        fail "no such message"
    [ ! -e "$work/worker1.started" ] || fail "its program was started"
    [ "$(count_ends 'worker 1 exit 1' "$work/$logs/master.log")" -eq 1 ]
}

# --- master.log

# Print the tables of a step of a ps and two workers that ended so: tables END END END
tables ()
{
    cat <<END
spank_tf: step S: 3 tasks on 2 nodes, network N
rank role node address
0 ps 0 NODE
1 worker 0 NODE
2 worker 1 NODE
spank_tf: step S: how its tasks ended
rank role node elapsed end
0 ps 0 $(node 1) TIME $1
1 worker 0 $(node 1) TIME $2
2 worker 1 $(node 2) TIME $3
END
}

# Replace what differs in every run.
plain ()
{
    sed -E 's/step [0-9.]+:/step S:/; s/network .*/network N/; s/ +/ /g; s/^ //; s/[^ ]+ 10\.98\.[0-9.:]+$/NODE/
        s/ 00:00:0[0-9] / TIME /'
}

# bats test_tags=core
@test "master.log has the table of the cluster and the end of every task; the terminal has them only with --tf-show" {
    local task='case $SLURM_PROCID in 0) exit 0;; 1) exit 3;; 2) kill -9 $$;; esac'

    run --separate-stderr slurm srun -Q -w "$(node 1),$(node 2)" -n3 --tf-tasks=ps,worker:2 --tf-log-dir="$logs" sh -c "$task"
    [[ $stderr != *"rank  role"* ]] || fail "the terminal shows them"
    diff <(undated "$work/$logs/master.log" | grep -v '^srun: ' | plain) <(tables "exit 0" "exit 3" "signal 9")
    run --separate-stderr slurm srun -Q -w "$(node 1),$(node 2)" -n3 --tf-tasks=ps,worker:2 --tf-log-dir="$logs" --tf-show sh -c "$task"
    diff <(undated "$work/$logs/master.log" | grep -v '^srun: ' | plain) <(tables "exit 0" "exit 3" "signal 9")
    diff <(grep -v '^srun: ' <<< "$stderr") <(undated "$work/$logs/master.log" | grep -v '^srun: ')
}

# A step whose worker 1 runs this command, and fails: the message ends so. fails_with TEXT [OPTION] COMMAND...
fails_with ()
{
    local text=$1 options=()

    shift
    while [[ $1 == --* ]]; do
        options+=("$1")
        shift
    done
    run --separate-stderr slurm srun -Q -N2 -n3 --tf-tasks=ps,worker:2 --tf-stop=auto "${options[@]}" \
        sh -c 'case $SLURM_PROCID in 0) exec sleep 60;; 1) exit 0;; 2) exec "$@";; esac' sh "$@"
    # Worker 0 may have ended before, or not.
    [ "$(sed -nE 's/; worker 0 had ended with 0 before$//; s/.* first failure: worker 1 \(.*, exit code 3//p' <<< "$stderr")" = "$text" ] ||
        fail "the message ends with something else than: $text"
}

# bats test_tags=core
@test "a step that fails names one log file, and no directory; one that is cancelled names the directory" {
    fails_with ". Its log is $work/$logs/worker1.log" --tf-log-dir="$logs" sh -c 'exit 3'
    [[ $stderr != *"logs are in"* ]] || fail "it has both"
    fails_with ". Its log is $work/$logs/$(node 2)/worker1.log" --nodelist="$(node 1),$(node 2)" --tf-log-dir="$logs/%N" sh -c 'exit 3'
    [[ $stderr == *": logs are in $work/$logs/$(node 1), $work/$logs/$(node 2)"* ]] || fail "the other directory is not named"
    slurm timeout 60 srun -Q -J cancelled -N2 -n3 --tf-tasks=ps,worker:2 --tf-log-dir="$logs" sh -c 'touch started.$SLURM_PROCID; exec sleep 60' \
        2> "$work/stderr" 3>&- &
    eventually 20 [ -e "$work/started.0" -a -e "$work/started.1" -a -e "$work/started.2" ]
    slurm scancel --quiet --name cancelled
    wait $! || true
    stderr=$(grep spank_tf: "$work/stderr")
    [[ $stderr == *"was cancelled"$'\n'"srun: spank_tf: step "*": logs are in $work/$logs" ]] || fail "the directory is not named"
    [ "$(count_ends 'ps 0 signal 15' "$work/$logs/master.log")" -eq 1 ] || fail "master.log has no table"
}

# bats test_tags=core
@test "the message about the first failure names the task's log file, and ends with its last line" {
    fails_with ". Its log $work/$logs/sh/worker1.log ends with \"ValueError: (3,)\"" \
        --tf-log-dir="$logs/%x" sh -c 'echo trained; echo "ValueError: (3,)" >&2; echo; exit 3'
    [ "$(head -1 "$work/$logs/sh/worker1.log")" = trained ]
    fails_with ". Its log is $work/$logs/sh/worker1.log" --tf-log-dir="$logs/%x" sh -c 'exit 3'
    fails_with "" sh -c 'echo ValueError; exit 3'
}

# bats test_tags=core
@test "the message about the first failure has the exception that PyTorch has written" {
    local error='{"message": {"message": "RuntimeError: no\nNCCL", "extraInfo": {"timestamp": "1"}}}'

    fails_with ". Its log is $work/$logs/worker1.log, its error file contains \"RuntimeError: no NCCL\"" \
        --tf-log-dir="$logs" sh -c 'echo lost; printf "%s\n" "$0" > $TORCHELASTIC_ERROR_FILE; exit 3' "$error"
    [ "$(cat "$work/$logs/worker1.error.json")" = "$error" ] || fail "it is another file"
    # The next run does not write one, and nor does the next life of the task.
    fails_with ". Its log $work/$logs/worker1.log ends with \"lost\"" --tf-log-dir="$logs" \
        sh -c 'echo lost; exit 3'
    fails_with ". Its log $work/$logs/worker1.log ends with \"lost again\"" --tf-log-dir="$logs" --tf-restart=1,any \
        sh -c '[ ! "$SLURM_TF_RESTART" ] || { echo lost again; exit 3; }
            printf "%s\n" "$0" > $TORCHELASTIC_ERROR_FILE; exit 3' "$error"
}

@test "the message about the first failure says why, where the end of the log is certain, and so does JSON" {
    fails_with ": a Python module is missing: no_such_module. Its log $work/$logs/worker1.log ends with \"ModuleNotFoundError: No module named 'no_such_module'\"" \
        --tf-log-dir="$logs" sh -c '/usr/bin/python3 -c "import no_such_module" || exit 3'
    # The program has caught that, and goes on.
    fails_with ". Its log $work/$logs/worker1.log ends with \"the loss is not a number\"" --tf-log-dir="$logs" \
        sh -c '/usr/bin/python3 -c "import no_such_module"; echo the loss is not a number; exit 3'
    run --separate-stderr slurm srun -Q -n1 --tf-tasks=worker --tf-show=json --tf-log-dir="$logs" /usr/bin/python3 -c 'open("/dev/full", "wb", 0).write(b"x")'
    [[ $output$stderr == *'"end":"exit","number":1,"cause":"space"'* ]] || fail "JSON does not say why"
}

@test "a traceback of a task that does not end comes before those that fail later, unless the task goes on" {
    local raise='import os, threading, time
threading.Thread(target=time.sleep, args=[%s]).start()
%s
raise ValueError("NaN in the loss")'
    local printed="worker 1 \([^ ]+\) printed a traceback at [0-9:]{8}: \"ValueError: NaN in the loss\"; its log is $work/$logs/1/worker1.log; first failure: worker 0 \([^ ]+\) at [0-9:]{8}, signal 6"

    site_arguments fail_grace=8
    # It is stopped while it waits for its thread; or ends by itself, with 1; or goes on and is stopped.
    # shellcheck disable=SC2059
    for case in 1:60: 2:9: '3:60:threading.Thread(target=lambda: (time.sleep(5), print("goes on", flush=True), time.sleep(60))).start()'; do
        IFS=: read -r nth seconds more <<< "$case"
        run --separate-stderr slurm srun -Q -N2 -n2 --tf-tasks=worker:2 --tf-stop=auto --tf-show=json --tf-log-dir="$logs/$nth" sh -c '
            [ $SLURM_PROCID = 1 ] || { sleep 7; kill -ABRT $$; }
            exec /usr/bin/python3 -c "$0"' "$(printf "$raise" "$seconds" "$more")"
        case $nth in
            1) [[ $stderr =~ $printed && $stderr == *'"first_to_fail":0,'*'"traceback":"ValueError: NaN in the loss"'* ]] ;;
            2) [[ $stderr == *'first failure: worker 1 ('*', exit code 1. Its log '*' ends with "ValueError: NaN in the loss"'* && $stderr == *'"first_to_fail":1,'* ]] ;;
            3) [[ $stderr != *traceback* && $stderr == *'first failure: worker 0 '* ]] ;;
        esac || fail "$nth: another task is named"
    done
}

# Run two tasks. When worker 1 says so, worker 0 fails with this exception, and ends before it; which came first is known
# to a tenth of a second: fails_of EXCEPTION CODE SRUN-OPTION…
fails_of ()
{
    local raise="import atexit, os, time
def tell ():
    open ('$work/told', 'w').close ()
    time.sleep (3)
$2"

    rm -f "$work/told"
    run --separate-stderr slurm srun -Q -N2 -n2 --tf-tasks=worker:2 --tf-stop=auto --tf-show=json --tf-log-dir="$logs/first" "${@:3}" sh -c '
        [ $SLURM_PROCID = 0 ] || exec /usr/bin/python3 -c "$0"
        until [ -e "$1" ]; do sleep 0.1; done
        sleep 0.3
        exec /usr/bin/python3 -c "$2"' "$raise" "$work/told" "raise $1"
}

# bats test_tags=core
@test "the task that printed its traceback first is the first to fail, and not one that lost its connection" {
    local at_exit='atexit.register (tell)
raise ValueError ("NaN in the loss")' cleanup='try:
    raise ValueError ("NaN in the loss")
finally:
    tell ()' lost='ConnectionResetError (104, "Connection reset by peer")'

    # It has a long end; its traceback comes after that.
    for case in 'RuntimeError ("another reason")|'"$at_exit" "$lost|$cleanup"; do
        fails_of "${case%%|*}" "${case#*|}"
        [[ $stderr == *'first failure: worker 1 ('*', exit code 1. Its log '*' ends with "ValueError: NaN in the loss"'* &&
            $stderr == *'"first_to_fail":1,'* && $stderr != *'printed a traceback'* ]] || fail "another task is named: ${case%%|*}"
    done
    [[ $stderr == *'"cause":"connection"'* ]] || fail "JSON does not have the cause of the other"
    # It is stopped in its end.
    fails_of "$lost" "$at_exit" --tf-restart=1,any
    grep -qE 'spank_tf: step [^ ]+: worker 0 \(rank 0, [^ ]+\) lost a connection; worker 1 \(rank 1, [^ ]+\) printed a traceback at [0-9:]{8}: "ValueError: NaN in the loss"; its log is ' <<< "$stderr" ||
        fail "it is not named before the restart"
}

@test "TORCHELASTIC_ERROR_FILE is the user's if it is set, and not that of a step in the task" {
    run --separate-stderr slurm srun -Q -n1 --tf-tasks=worker --tf-log-dir="$logs" sh -c '
        echo "$TORCHELASTIC_ERROR_FILE"
        srun -Q --overlap --tf-tasks=worker sh -c "echo inner \${TORCHELASTIC_ERROR_FILE-none}" >&2'
    [ "$(head -1 "$work/$logs/worker0.log")" = "$work/$logs/worker0.error.json" ] || fail "it is not set"
    grep -qx 'inner none' "$work/$logs/worker0.log" || fail "the inner step has it"
    run slurm env TORCHELASTIC_ERROR_FILE=/mine srun -Q -n1 --tf-tasks=worker --tf-log-dir="$logs" \
        printenv TORCHELASTIC_ERROR_FILE
    [ "$(cat "$work/$logs/worker0.log")" = /mine ] || fail "the user's is replaced"
    run --separate-stderr slurm srun -Q -n1 --tf-tasks=worker printenv TORCHELASTIC_ERROR_FILE
    [ "$status" -eq 1 ] && [ -z "$output" ] || fail "it is set without log files"
}

@test "master.log says which run of the job it is, and how a step ended whose job was cancelled" {
    slurm env SLURM_RESTART_COUNT=2 srun -Q -n1 --tf-tasks=worker --tf-log-dir="$logs" true
    head -1 "$work/$logs/master.log" | grep -qE '^[0-9T:+-]{25} spank_tf: step [0-9.]+ begins, in attempt 3 of its job$' || fail "the run"
    # In a batch job Slurm may kill srun's host's processes at once.
    slurm srun -Q -N2 -n3 -J cancelled --tf-tasks=ps,worker:2 --tf-log-dir="$logs" sh -c 'touch up.$SLURM_PROCID; exec sleep 60' \
        > "$BATS_TEST_TMPDIR/out" 2>&1 3>&- &
    eventually 30 [ -e "$work/up.0" -a -e "$work/up.1" -a -e "$work/up.2" ] || fail "it does not start"
    slurm scancel --quiet --name cancelled
    eventually 30 grep -qE 'was cancelled|srun has ended before' "$work/$logs/master.log" || fail "not how it ended"
    eventually 10 grep -q 'how its tasks ended' "$work/$logs/master.log" || fail "no table"
    undated "$work/$logs/master.log" > /dev/null
    head -1 "$work/$logs/master.log" | grep -q ' in attempt 1 of its job$' || fail "not the first run"
}

@test "a task's log has a line at each restart in place" {
    run --separate-stderr slurm srun -Q -n1 --tf-tasks=worker --tf-log-dir="$logs" --tf-restart=2,any \
        sh -c 'printf "life %s" ${SLURM_TF_RESTART-0}; [ ${SLURM_TF_RESTART-0} = 2 ] || exit $((3 + ${SLURM_TF_RESTART-0}))'
    [ "$status" -eq 0 ] || fail "it fails"
    diff <(sed -E 's/, [0-9]{4}-[0-9T:-]{14}[+-][0-9]{2}:[0-9]{2}$/, TIME/; s/step [0-9.]+/step S/' "$work/$logs/worker0.log") \
        <(printf '%s\n' 'life 0' 'spank_tf: step S, restart 1, TIME' 'life 1' 'spank_tf: step S, restart 2, TIME'; printf 'life 2')
    [[ $output != *spank_tf* ]] || fail "srun gets the lines"
}

@test "master.log has the messages that the terminal shows, too" {
    run --separate-stderr slurm srun -Q -N2 -n3 --tf-tasks=ps,worker:2 --tf-stop=auto --tf-log-dir="$logs" --tf-ib=auto \
        sh -c 'case $SLURM_PROCID in 0) exit 2;; *) exec sleep 60;; esac'
    [ "$(grep -c 'spank_tf: .*InfiniBand' <<< "$stderr")" -eq 1 ] || fail "no message about InfiniBand"
    [ "$(grep -c 'ps 0 (rank 0, .*) failed with exit code 2' <<< "$stderr")" -eq 1 ] || fail "no message about the ps"
    diff <(grep spank_tf <<< "$stderr") <(undated "$work/$logs/master.log" | grep '^srun: ')
    diff <(undated "$work/$logs/master.log" | grep -v '^srun: ' | plain) <(tables "exit 2" stopped stopped)
}

# --- other

@test "with --pty only the task's stdin is the terminal" {
    run slurm timeout 60 script -qec "srun -Q --pty -n1 --tf-tasks=worker --tf-log-dir=$logs sh -c '
        read word; echo \"\$word from \$(readlink /proc/self/fd/0)\"; echo err >&2'" /dev/null <<< word
    [ "$status" -eq 0 ] || fail "srun"
    [[ $output != *from* && $output != *err* ]] || fail "the terminal shows the output"
    grep -qx "word from /dev/pts/[0-9]*" "$work/$logs/worker0.log" && grep -qx err "$work/$logs/worker0.log"
}

@test "what a task prints when it is stopped is logged, 4 MB of it" {
    cat > "$work/verbose" <<'END'
[ "$SLURM_TF_ROLE" = ps ] || { until [ -e "$1/ready" ]; do sleep 0.1; done; exit; }
trap 'seq -w 1 1000000 | head -c 4194304; exit' TERM
touch "$1/ready"
while true; do sleep 0.1; done
END
    run --separate-stderr slurm srun -Q -N2 -n3 --tf-tasks=ps,worker:2 --tf-stop=auto --tf-log-dir="$logs" sh verbose "$logs"
    shows_only_where 1 "$work/$logs"
    # The shell may report that its sleep was terminated.
    cmp <(grep -v Terminated "$work/$logs/ps0.log") <(seq -w 1 1000000 | head -c 4194304)
}
