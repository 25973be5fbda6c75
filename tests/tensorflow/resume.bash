# SPDX-License-Identifier: GPL-2.0-or-later
#
# What contrib/examples/resume_*.py print, each of their tasks:
#
#     worker 0: starts at step 20
#     worker 0: step 30, loss 1.46
#     worker 0: preempted, saved at step 33
#     worker 0: done, 60 steps

# Print the number of the last such line, or nothing, in these files: last PATTERN FILE…
last ()
{
    cat "${@:2}" 2> /dev/null | sed -nE "s/^$1([0-9]+).*/\1/p" | tail -n 1
}

# Has a task, as in "worker 0", done this step? has_done TASK STEP FILE…
has_done ()
{
    local step

    step=$(last "$1: step " "${@:3}")
    ((${step:-0} >= $2))
}

# Do N lines match? printed N PATTERN FILE…
printed ()
{
    [ "$(cat "${@:3}" 2> /dev/null | grep -cE -- "$2")" -ge "$1" ]
}

# Require that the loss of a task is lower by this factor in its last line than in its first one:
# loss_falls FACTOR TASK FILE…
loss_falls ()
{
    sed -nE "s/^$2: step [0-9]+, loss (.*)/\1/p" "${@:3}" |
        awk -v factor="$1" 'NR == 1 { first = $1 } { last = $1 } END { exit !(NR > 1 && last < first / factor) }' ||
        fail "the loss of $2 does not fall: $(grep -h "^$2: step" "${@:3}")"
}

ms_since ()                 # MS
{
    echo $((${EPOCHREALTIME//[.,]/} / 1000 - $1))
}
