#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# --tf-restart: a task that fails is restarted in place.
#
# bats file_tags=proctrack:cgroup,proctrack:cgroup-v2,proctrack:linuxproc,proctrack:pgid
load launch
load lives

setup_file ()
{
    start_cluster --nodes 2
}

python=/usr/bin/python3

# A script's begin: it notes its life, and can say (STEP).
say='import os, socket, sys, time
life = int(os.environ.get("SLURM_TF_RESTART", 0))
with open(os.environ["LIVES"] + "/" + os.environ["SLURM_PROCID"], "a") as lives:
    lives.write("life\n")
def say(step):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
        s.sendto(f"WATCHDOG=1\nSTATUS=step {step}".encode(), os.environ["NOTIFY_SOCKET"].replace("@", "\0", 1))
'

before_test ()
{
    make_lives
}

after_test ()
{
    end_lives
}

step ()                     # LIST SCRIPT [OPTION...]
{
    local list=$1 script=$2

    shift 2
    run --separate-stderr slurm srun -N2 --export=ALL --tf-tasks="$list" "$@" sh -c "
        echo \"\$TF_CONFIG \$(taskset -p \$\$ | sed s/.*://) \$(umask) \$PWD\" \
            >> $LIVES/\$SLURM_PROCID
        life=\${SLURM_TF_RESTART-0}
        $script"
    echo "$output"
    echo "$stderr"
}

# bats test_tags=core,release,by-run
@test "a worker of a chief that is killed is restarted alone, with the same dictionary" {
    step chief,ps,worker:2 'case $SLURM_TF_ROLE$SLURM_TF_INDEX$life in
        chief0*) until [ "$(wc -l < $LIVES/2)" -ge 3 ]; do sleep 0.1; done;;
        worker00|worker01) kill -9 $$;;
        *) sleep 60;;
        esac' -n4 --tf-restart=2 --tf-show
    [ "$status" -eq 0 ]
    [ "$(lives 0) $(lives 1) $(lives 2) $(lives 3)" = "1 1 3 1" ]
    [ "$(sort -u "$LIVES/2" | wc -l)" -eq 1 ]
    [[ $stderr == *'worker 0 (rank '*') ended at '*', signal 9. Restarting it in 1 s (restarts left without progress: 1)'* ]]
    [[ $stderr == *'Restarting it in 2 s (restarts left without progress: 0)'* ]]
    [[ $stderr == *'(restarted 2 times)'* ]]
}

# bats test_tags=core,release
@test "eight workers that kill themselves within half a second use one restart, and one line names them" {
    step ps,worker:8 '[ $SLURM_TF_ROLE$life != worker1 ] || exit 0
        '"$together"'[ $SLURM_TF_ROLE = worker ] || exec sleep 60
        sleep 0.$((SLURM_TF_INDEX / 2 + 1)); kill -9 $$' -n9 --overcommit --tf-restart=5
    [ "$status" -eq 0 ]
    [ "$(for rank in 0 1 2 3 4 5 6 7 8; do lives $rank; done | xargs)" = "1 2 2 2 2 2 2 2 2" ]
    [ "$(grep -c 'spank_tf: .* ended' <<< "$stderr")" -eq 1 ]
    [[ $stderr == *' ended at '*', signal 9. Restarting them in 1 s (restarts left without progress: 4)'* ]]
    [ "$(grep -o 'worker [0-7] (rank' <<< "$stderr" | sort -u | wc -l)" -eq 8 ]
}

# bats test_tags=core,release
@test "what fails and is not restarted has a line that says why" {
    step worker,evaluator 'case $SLURM_TF_ROLE in
        evaluator) exit 1;;
        worker) until [ -s $LIVES/1 ]; do sleep 0.1; done; sleep 0.5;;
        esac' -n2 --tf-restart=5
    [[ $stderr == *'evaluator 0 (rank '*') ended at '*', exit code 1. Not restarted: exit code 1 is restarted only with --tf-restart=5,any'* ]]
    step worker 'exit 126' -N1 -n1 --tf-restart=5,any
    [[ $stderr == *' ended at '*', exit code 126. Not restarted: exit code 126 is always final'* ]]
}

# bats test_tags=core,release
@test "what fails after a SIGTERM that it survived is not restarted, and a line says why" {
    step worker 'trap "asked=yes" TERM
        scancel -s TERM $SLURM_JOB_ID.$SLURM_STEP_ID
        until [ "$asked" ]; do sleep 0.1; done
        exit 42' -N1 -n1 --tf-restart=5
    [ "$status" -eq 42 ]
    [ "$(lives 0)" -eq 1 ]
    grep -qE 'spank_tf: .* ended at [0-9:]{8}, exit code 42. Not restarted: the step was asked to end \(SIGTERM at [0-9:]{8}\)$' <<< "$stderr"
}

# bats test_tags=core,release
@test "a ps that is killed: all are stopped, and start when all have ended" {
    step ps,worker:2 "$together"'case $SLURM_TF_ROLE$life in
        ps0) kill -9 $$;;
        worker1) exit 0;;
        *) sleep 60;;
        esac' -n3 --tf-restart=1
    [ "$status" -eq 0 ]
    [ "$(lives 0) $(lives 1) $(lives 2)" = "2 2 2" ]
    [[ $stderr == *'Restarting all tasks in 1 s (restarts left without progress: 0)'* ]]
}

# bats test_tags=core,release
@test "without a ps all are restarted, and the exit code is that of the last life" {
    step worker:2 "$together"'if [ $life = 1 ]; then exit 6; fi
        [ $SLURM_PROCID = 0 ] || kill -9 $$; sleep 60' -n2 --tf-restart=1
    [ "$status" -eq 6 ]
    [ "$(lives 0) $(lives 1)" = "2 2" ]
}

@test "scancel ends a step whose tasks are restarted" {
    step chief,ps,worker 'case $SLURM_TF_ROLE$life in
        worker0) kill -9 $$;;
        worker1) scancel $SLURM_JOB_ID; sleep 60;;
        *) sleep 60;;
        esac' -n3 --tf-restart=9
    [ "$status" -ne 0 ]
    [ "$(lives 0) $(lives 1) $(lives 2)" = "1 1 2" ]
}

@test "scancel while a task waits for its next life ends the step" {
    step chief,ps,worker 'case $SLURM_TF_ROLE$life in
        worker[0-2]) kill -9 $$;;
        chief0) until [ "$(wc -l < $LIVES/2)" -ge 3 ]; do sleep 0.1; done
            scancel $SLURM_JOB_ID; sleep 60;;
        *) sleep 60;;
        esac' -n3 --tf-restart=9
    [ "$status" -ne 0 ]
    [ "$(lives 0) $(lives 1) $(lives 2)" = "1 1 3" ]
}

# bats test_tags=core,release
@test "log files are appended to, stdin begins again, and labels stay" {
    logs=$SPANK_TF_CLUSTER/lives
    run --separate-stderr slurm srun -N1 -n2 --tf-tasks=ps,worker --tf-restart=1 --tf-log-dir="$logs" \
        sh -c '[ $SLURM_TF_ROLE = worker ] || exec sleep 60
            echo "life ${SLURM_TF_RESTART-0}"; [ "$SLURM_TF_RESTART" ] || kill -9 $$'
    echo "$output$stderr"
    [ "$status" -eq 0 ]
    [ "$(grep -v '^spank_tf: step .*, restart 1, ' "$logs/worker0.log")" = $'life 0\nlife 1' ]
    grep -q 'restarted 1 time' "$logs/master.log"
    run --separate-stderr slurm srun -l -i0 -N1 -n2 --tf-tasks=worker,ps --tf-restart=1 \
        sh -c '[ $SLURM_TF_ROLE = worker ] || exec sleep 60
            read line; echo "$line"; [ "$SLURM_TF_RESTART" ] || kill -9 $$' <<< $'one\ntwo'
    echo "$output$stderr"
    [ "$status" -eq 0 ]
    [ "$output" = $'0: one\n0: one' ]
}

# bats test_tags=release
@test "a port that is not held, and many restarts of many tasks" {
    step worker:4 "$together"'[ $life = 3 ] || exit $((7 + life))' -n4 --tf-hold=no --tf-restart=3,any
    [ "$status" -eq 0 ]
    [ "$(lives 0) $(lives 1) $(lives 2) $(lives 3)" = "4 4 4 4" ]
}

# bats test_tags=core
@test "a crash loop ends after N restarts in a row, and a line has the last step" {
    run --separate-stderr slurm timeout 60 srun -Q --export=ALL -n1 --tf-tasks=worker --tf-restart=2,any --tf-watchdog=60 \
        "$python" -c "$say"'
say(7)
sys.exit(3)'
    [ "$status" -eq 3 ] || fail "$status: $stderr"
    [ "$(lives 0)" -eq 3 ] || fail "$(lives 0) lives"
    [[ $stderr == *', exit code 3. Not restarted: 2 restarts in a row without progress (last training step: 7)'* ]] ||
        fail "$stderr"
}

# bats test_tags=once
@test "the ledger of a step is what is known of its programs" {
    run -0 --separate-stderr slurm timeout 200 srun -Q --export=ALL -n2 --tf-tasks=worker:2 --tf-restart=3,any --tf-watchdog=60 --tf-show=json \
        "$python" -c "$say"'
time.sleep(4)
for step in range((1, 6)[life], (11, 31)[life]):
    say(step)
    time.sleep(1)
sys.exit(life == 0 and 3 * (os.environ["SLURM_PROCID"] == "1"))'
    grep -Eq ': all tasks restarted \((detection [0-9]+ s, )?pause [0-9]+ s, last training step 10\)' <<< "$stderr" || fail "$stderr"
    grep -Eq ': time report: [0-9]+ s in total, 3[0-9] s \([0-9]+ %\) new training steps \(last: 30\), [0-9]+ s start-up, .* for 1 restart \(repeating 5 steps ' <<< "$stderr" ||
        fail "$stderr"
    grep '^{' <<< "$stderr" | "$python" -c '
import json, sys
ledger = [json.loads(line) for line in sys.stdin][-1]["ledger"]
print(ledger)
accounts = {k: v for k, v in ledger.items() if k.endswith("_s") and k not in ("total_s", "idle_spare_s")}
assert abs(sum(v or 0 for v in accounts.values()) - ledger["total_s"]) < 0.02
for key, wanted in {"progress_s": 10 + 20, "repeated_s": 5, "starting_s": 4 + 4, "suspended_s": 0}.items():
    assert abs(ledger[key] - wanted) < 2, key
assert ledger["repeated_steps"] == 5 and ledger["last_step"] == 30 and ledger["restarts"] == 1 and ledger["running_s"] is None' || fail "the ledger"
}
