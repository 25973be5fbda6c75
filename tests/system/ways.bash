# SPDX-License-Identifier: GPL-2.0-or-later
#
# The same step three ways: plain, without a word of ours; unsupervised, with a list of which
# nobody is ever stopped; supervised, with tf-supervise above every task. For Slurm, the user
# and the program they must be one. Each way has a directory of its own, $work/WAY, where its
# tasks run.

ways=(plain unsupervised supervised)
declare -gA list=(
    [plain]=''
    [unsupervised]=--tf-tasks=worker:rest
    [supervised]=--tf-tasks=ps,worker:rest
)
declare -gA srun=() code=() keys=()

# In setup.
make_ways ()
{
    work=$SPANK_TF_CLUSTER/work
    find "$work" -mindepth 1 -delete
    install -d -o "$user" "${ways[@]/#/$work/}"
}

# In teardown: what a test that failed has begun ends.
end_ways ()
{
    local way

    ((${#srun[@]} == 0)) || kill -KILL "${srun[@]}" || true
    slurm scancel --me --quiet
    for way in "${!keys[@]}"; do
        exec {keys[$way]}>&-
    done
    eventually 30 no_job_left
    nothing_left
}

# --- steps in the background

# Seconds between the ways' launches. A slurmd of Slurm 22.05 that is asked for several steps in one
# moment dies now and then, in its own heap: of "srun -N2 -n3 true", three at once and without any
# plugin, in some 1 of 200 rounds; 0.1 s apart in none of 300.
apart=0.2

# srun of three tasks on two nodes, all ways at once, each as a job that has its name, with the
# file $input, if it is set: begin ARGUMENTS…
begin ()
{
    local way

    for way in "${ways[@]}"; do
        # Without the function in between, its process is srun.
        "$tests/cluster" run --user "$user" -- srun -J "$(name_of "$way")" -D "$work/$way" -N2 -n3 ${list[$way]} "$@" \
            < "${input-/dev/null}" > "$work/$way.out" 2> "$work/$way.err" 3>&- &
        srun[$way]=$!
        sleep "$apart"
    done
}

# The same on terminals, where one can type.
begin_on_terminals ()
{
    local way

    for way in "${ways[@]}"; do
        mkfifo "$work/$way.keys"
        "$tests/cluster" run --user "$user" -- script -qefc "tty > $way/tty; exec srun -J $(name_of "$way") -D $work/$way -N2 -n3 ${list[$way]} $*" \
            /dev/null < "$work/$way.keys" > "$work/$way.out" 2> "$work/$way.err" 3>&- &
        srun[$way]=$!
        sleep "$apart"
        exec {keys[$way]}> "$work/$way.keys"
    done
}

# What one types, on every terminal; \003 is Ctrl-C.
type_in ()
{
    local way

    for way in "${ways[@]}"; do
        printf "$1" >&"${keys[$way]}"
    done
}

# Soon, or within $patience seconds, COMMAND is true of each way, whose name is its last word:
# every_way COMMAND…
every_way ()
{
    local way

    for way in "${ways[@]}"; do
        eventually "${patience-30}" "$@" "$way" || fail "not \"$*\" of $way: $(words "$way")"
    done
}

# All that srun has printed.
words ()
{
    cat "$work/$1.out" "$work/$1.err"
}

said ()
{
    words "$2" | grep -E "$1" > /dev/null
}

# With -v, srun knows of all its tasks. Before that it hands no signal on to them.
all_started ()
{
    every_way has_started
}

has_started ()
{
    [ "$(words "$1" | grep -c 'Node .* tasks started')" -eq 2 ]
}

# The job of a way, by the name that it has.
job_of ()
{
    slurm squeue -h -n "$(name_of "$1")" -o %i
}

name_of ()
{
    echo "${work##*/}-$1"
}

srun_ended ()
{
    [[ $(ps -o stat= -p "${srun[$1]}") != [^Z]* ]]
}

# All end soon, with this code; "like plain" is whatever that had, and without any code it is no
# matter: all_end [CODE]
all_end ()
{
    local way

    every_way srun_ended
    for way in "${ways[@]}"; do
        wait "${srun[$way]}" && code[$way]=0 || code[$way]=$?
    done
    srun=()
    (($#)) || return 0
    [[ $1 != "like plain" ]] || set -- "${code[plain]}"
    for way in "${ways[@]}"; do
        [ "${code[$way]}" -eq "$1" ] || fail "the code of $way is ${code[$way]}, not $1: $(words "$way")"
    done
}

# What COMMAND says of a way is what it says of the plain one: alike COMMAND…
alike ()
{
    local way

    for way in unsupervised supervised; do
        diff <("$@" plain) <("$@" $way) || fail "$way is not as plain: $*"
    done
}
