# SPDX-License-Identifier: GPL-2.0-or-later
#
# Three variants of the same step: plain, without options of the plugin; unsupervised, with a
# list and --tf-stop=never; supervised, with tf-supervise as the parent of every task.
# Slurm, the user and the program must see no difference. The tasks of a variant run in
# $work/VARIANT.

variants=(plain unsupervised supervised)
declare -gA options=(
    [plain]=''
    [unsupervised]='--tf-tasks=worker:rest --tf-stop=never'
    [supervised]=--tf-tasks=ps,worker:rest
)
declare -gA srun=() code=() keys=()

# For before_test.
make_variants ()
{
    work=$SPANK_TF_CLUSTER/work
    find "$work" -mindepth 1 -delete
    install -d -o "$user" "${variants[@]/#/$work/}"
}

# For after_test: end what a failed test has left running.
end_variants ()
{
    local variant

    ((${#srun[@]} == 0)) || kill -KILL "${srun[@]}" || true
    slurm scancel --user "$user" --quiet
    for variant in "${!keys[@]}"; do
        # shellcheck disable=SC2086,SC2093  # a descriptor
        exec {keys[$variant]}>&-
    done
    eventually 30 no_job_left
    nothing_left
}

# --- steps in the background

# Seconds between the launches of the variants. Slurm 22.05's slurmd sometimes crashes, by heap
# corruption, when it launches several steps at the same time: with an empty plugstack.conf,
# three "srun -N2 -n3 true" at once crash it in about 1 of 200 rounds; with 0.1 s between them in
# none of 300.
pause=0.2

# Start an srun of three tasks on two nodes for each variant, in the background, as a job with the
# variant's name; stdin is the file $input, if set: start_steps ARGUMENTS…
start_steps ()
{
    local variant

    for variant in "${variants[@]}"; do
        # Not by slurm(): $! has to be the process of srun.
        # shellcheck disable=SC2086  # several words
        "$tests/cluster" run --user "$user" -- srun -J "$(name_of "$variant")" -D "$work/$variant" -N2 -n3 ${options[$variant]} "$@" \
            < "${input-/dev/null}" > "$work/$variant.out" 2> "$work/$variant.err" 3>&- &
        srun[$variant]=$!
        sleep "$pause"
    done
}

# The same with each srun on a terminal of its own, for type_in.
start_on_terminals ()
{
    local variant

    for variant in "${variants[@]}"; do
        mkfifo "$work/$variant.keys"
        "$tests/cluster" run --user "$user" -- script -qefc "tty > $variant/tty; exec srun -J $(name_of "$variant") -D $work/$variant -N2 -n3 ${options[$variant]} $*" \
            /dev/null < "$work/$variant.keys" > "$work/$variant.out" 2> "$work/$variant.err" 3>&- &
        srun[$variant]=$!
        sleep "$pause"
        # shellcheck disable=SC2086,SC2093  # a descriptor
        exec {keys[$variant]}> "$work/$variant.keys"
    done
}

# Type the same on every terminal; \003 is Ctrl-C.
type_in ()
{
    local variant

    for variant in "${variants[@]}"; do
        # shellcheck disable=SC2059  # it has escapes of printf
        printf "$1" >&"${keys[$variant]}"
    done
}

# Wait until COMMAND succeeds for each variant, whose name is appended; at most 30 seconds, or
# $timeout: every_variant COMMAND…
every_variant ()
{
    local variant

    for variant in "${variants[@]}"; do
        eventually "${timeout-30}" "$@" "$variant" || fail "\"$*\" fails for $variant: $(output_of "$variant")"
    done
}

# Everything that srun has printed.
output_of ()
{
    cat "$work/$1.out" "$work/$1.err"
}

printed ()
{
    output_of "$2" | grep -E "$1" > /dev/null
}

# Wait until srun -v reports that its tasks have started; before that it forwards no signals.
all_tasks_started ()
{
    every_variant has_started
}

has_started ()
{
    [ "$(output_of "$1" | grep -c 'Node .* tasks started')" -eq 2 ]
}

# The id of a variant's job.
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

# Wait for every srun, and require this exit code; "like plain" is the plain variant's code, and
# without CODE any code will do: all_end [CODE]
all_end ()
{
    local variant

    every_variant srun_ended
    for variant in "${variants[@]}"; do
        wait "${srun[$variant]}" && code[$variant]=0 || code[$variant]=$?
    done
    srun=()
    (($#)) || return 0
    [[ $1 != "like plain" ]] || set -- "${code[plain]}"
    for variant in "${variants[@]}"; do
        [ "${code[$variant]}" -eq "$1" ] || fail "$variant exits with ${code[$variant]}, not with $1: $(output_of "$variant")"
    done
}

# Require that COMMAND prints the same for each variant as for plain: same_as_plain COMMAND…
same_as_plain ()
{
    local variant

    for variant in "${variants[@]:1}"; do
        diff <("$@" plain) <("$@" "$variant") || fail "$variant differs from plain: $*"
    done
}
