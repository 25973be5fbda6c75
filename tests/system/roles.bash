# SPDX-License-Identifier: GPL-2.0-or-later
#
# Steps whose tasks run a different command for each role, and how the step and its tasks end.

# Write the program ./by-role. Its arguments are ROLE=COMMANDS or, for one task,
# ROLEINDEX=COMMANDS, as in worker1='exit 3'. A task runs the commands of the first argument that
# names it, in the shell; without one it sleeps for longer than any test. In the commands, `await
# NAME` waits until another task, or the test, has called `mark NAME`.
write_by_role ()
{
    work=$SPANK_TF_CLUSTER/work
    find "$work" -mindepth 1 -delete
    cat > "$work/by-role" <<'END'
#!/bin/sh
mark () { touch "mark.$1"; }
await () { until [ -e "mark.$1" ]; do sleep 0.05; done; }
ulimit -c 0
for argument; do
    case ${argument%%=*} in
        "$SLURM_TF_ROLE" | "$SLURM_TF_ROLE$SLURM_TF_INDEX")
            eval "${argument#*=}"
            exit
    esac
done
exec sleep 1000
END
    chmod 755 "$work/by-role"
}

# Run a step and wait for its end; run_and_show also prints the table of how its tasks ended:
# run_step OPTION… ./by-role ROLE=COMMANDS…
run_step ()
{
    start=$EPOCHSECONDS
    run --separate-stderr slurm timeout 60 srun -Q "$@"
    took=$((EPOCHSECONDS - start))
}

run_and_show ()
{
    run_step --tf-show "$@"
}

# The plugin's messages in $stderr, without its tables, the first failure, and that the others may wait for it, and with fixed step
# and node names.
plugin_messages ()
{
    sed -E '/^spank_tf: step .*(network|how its tasks ended)/d; / first (failure|to end): /d; /. spank_tf does not stop the other tasks, /d; /spank_tf:/!d; s/\bstep [0-9]+\.[0-9]+/step J.S/; s/(\(rank [0-9]+, )[a-z]+[0-9]+\)/\1NODE)/g; s/ ended at [0-9:]{8},/ ended at TIME,/' <<< "$stderr"
}

# Require that srun exited with this code; that the step did not hang; and that $message, or nothing, was the plugin's
# only message, so that no task had to be killed: step_ends CODE
step_ends ()
{
    [ "$status" -eq "$1" ] || fail "srun's exit code is not $1"
    ((took < 200)) || fail "it took $took s"
    [ "$(plugin_messages)" = "${message-}" ] || fail "the plugin does not print \"${message-}\" alone"
}

# The same, and --tf-show reports these ends of the tasks, in rank order: step_and_tasks_end CODE
# END…
step_and_tasks_end ()
{
    step_ends "$1"
    tasks_end "${@:2}"
}

tasks_end ()
{
    local seen

    seen=$(task_ends <<< "$stderr" | cut -d' ' -f4-)
    [ "$seen" = "$(printf '%s\n' "$@")" ] || fail "the tasks do not end as: $*"
}
