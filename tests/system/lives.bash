# SPDX-License-Identifier: GPL-2.0-or-later
#
# Steps whose tasks are restarted. Each life of a task adds a line to the file of its rank in
# $LIVES.

# For before_test.
make_lives ()
{
    export LIVES=$SPANK_TF_CLUSTER/lives
    rm -rf "$LIVES"
    mkdir -m 777 "$LIVES"
}

# For after_test.
end_lives ()
{
    slurm scancel --user "$user" --quiet
    nothing_left
}

# In a script: note that a life begins; $life is its number, from 0, and $rank that of its task, which is Slurm's own
# number also where the program gets another one.
begin='life=${SLURM_TF_RESTART-0} rank=${SPANK_TF_FORMER_SLURM_PROCID-$SLURM_PROCID}; echo "$TF_CONFIG" >> $LIVES/$rank;'

# Wait until every task of the step has begun this life. A task that is stopped earlier has not
# written its line.
# shellcheck disable=SC2034  # for the tests
together='for other in $(seq 0 $((${SPANK_TF_FORMER_SLURM_NTASKS-$SLURM_NTASKS} - 1))); do
    until [ "$(cat $LIVES/$other | wc -l)" -gt $life ]; do sleep 0.05; done
done 2>/dev/null;'

# Run a step whose tasks run this script in each life: run_lives SCRIPT OPTION…
run_lives ()
{
    run --separate-stderr slurm timeout 60 srun -Q --export=ALL "${@:2}" sh -c "$begin $1"
}

# How many lives each rank, from 0, has had: had_lives 1 2
had_lives ()
{
    local rank had=()

    for ((rank = 0; rank < $#; rank++)); do
        had+=("$(lives "$rank")")
    done
    [ "${had[*]}" = "$*" ] || fail "the ranks had ${had[*]} lives, not $*"
}

lives ()                    # RANK
{
    # shellcheck disable=SC2002  # the file may be missing
    cat "$LIVES/$1" 2> /dev/null | wc -l
}

# For eventually: has_lives RANK N
has_lives ()
{
    [ "$(lives "$1")" -ge "$2" ]
}
