#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What `make install` installs, and what a user sees of it.

# bats file_tags=core
load launch

setup_file ()
{
    start_cluster --nodes 2 --prefix node
}

after_test ()
{
    site_arguments
    nothing_left
}

# Plugin: it is about its files.
# bats test_tags=plugin
@test "plugstack.conf names the installed plugin by its absolute path, as required" {
    local conf=$SPANK_TF_STAGE/etc/plugstack.conf.d/10-spank-tf.conf word path more

    run -0 grep -v '^#' "$conf"
    read -r word path more <<< "$output"
    [ "$word" = required ] && [ -z "$more" ] && [ ${#lines[@]} -eq 1 ] || fail "not one line, or not \"required\""
    [[ $path == /* && -r $path ]] || fail "no such plugin"
    [ "$(stat -c %a "$conf")" = 644 ] && [ "$(stat -c %a "$path")" = 755 ] || fail "not readable by every user"
}

# Plugin: it is about its files.
# bats test_tags=plugin
@test "the second stage is in a file that sorts last, and optional: a host without it works as before" {
    local conf=$SPANK_TF_STAGE/etc/plugstack.conf.d/zz-spank-tf.conf word path more

    run -0 grep -v '^#' "$conf"
    read -r word path more <<< "$output"
    [ "$word" = optional ] && [ -z "$more" ] && [ ${#lines[@]} -eq 1 ] || fail "not one line, or not \"optional\""
    [ "$(stat -c %a "$conf")" = 644 ] && [ "$(stat -c %a "$path")" = 755 ] || fail "not readable by every user"
    sed -i 's|spank_tf_late.so|nowhere.so|' "$SPANK_TF_CLUSTER/plugstack.conf"
    run --separate-stderr slurm srun -Q -N2 --tf-tasks=worker:2 true
    sed -i 's|nowhere.so|spank_tf_late.so|' "$SPANK_TF_CLUSTER/plugstack.conf"
    [ "$status" -eq 0 ] && [ -z "$output$stderr" ] || fail "not as before"
}

# Plugin: it is about its files.
# bats test_tags=plugin
@test "the plugins depend on libc only" {
    local plugin

    for plugin in spank_tf.so spank_tf_late.so; do
        run -0 readelf -d "$(find "$SPANK_TF_STAGE" -name $plugin)"
        [ "$(grep -c '(NEEDED)' <<< "$output")" -eq 1 ] && [[ $output == *"(NEEDED)"*"[libc.so.6]"* ]] || fail "$plugin depends on more"
        [[ $output != *RPATH* && $output != *RUNPATH* && $output != *TEXTREL* ]] || fail "$plugin has a path, or text relocations"
    done
}

# Plugin: it is about its files.
# bats test_tags=plugin
@test "the plugins export what Slurm and the second one look up, and nothing else" {
    local -a names=(plugin_name plugin_type plugin_version slurm_spank_init slurm_spank_init_post_opt
        slurm_spank_local_user_init slurm_spank_task_init spank_tf_late_stage)

    run -0 nm -D --defined-only --format=just-symbols "$(find "$SPANK_TF_STAGE" -name spank_tf.so)"
    ! slurm_is_from 25.05 || names+=(slurm_spank_init_failure_mode)
    [ "$(sort <<< "$output")" = "$(printf '%s\n' "${names[@]}" | sort)" ] || fail "it exports other names"
    run -0 nm -D --defined-only --format=just-symbols "$(find "$SPANK_TF_STAGE" -name spank_tf_late.so)"
    [ "$(sort <<< "$output")" = $'plugin_name\nplugin_type\nplugin_version\nslurm_spank_task_init' ] || fail "the second one exports other names"
}

is_script () {                  # PROGRAM
    [ "$(head -c 2 "$1")" = '#!' ]
}

@test "every program has --version" {
    local version program

    version=$(sed -n 's/^AC_INIT(\[spank-tf\], \[\(.*\)\])$/\1/p' "$tests/../configure.ac")
    for program in "$SPANK_TF_STAGE"/bin/* "$SPANK_TF_STAGE"/libexec/spank-tf/*; do
        is_script "$program" && continue
        run -0 --separate-stderr "$program" --version
        [ "$output" = "spank-tf $version" ] && [ -z "$stderr" ] || fail "$program"
    done
}

# Plugin: it is about its files.
# bats test_tags=plugin
@test "the files say the version, and the plugin the Slurm for which it was built, without being run" {
    local program

    for program in "$SPANK_TF_STAGE"/libexec/spank-tf/* "$SPANK_TF_STAGE/bin/tf-exec" \
        "$SPANK_TF_STAGE/lib/spank-tf/spank_tf_late.so"; do
        is_script "$program" && continue
        run -0 readelf -p .spank_tf "$program"
        [[ $output == *spank-tf=[0-9]* ]] || fail "$program"
    done
    run -0 readelf -p .spank_tf "$(find "$SPANK_TF_STAGE" -name spank_tf.so)"
    [[ $output == *spank-tf=[0-9]* && $output == *"libexecdir=$SPANK_TF_STAGE/libexec/spank-tf"* ]] || fail "the plugin"
    # "slurm-wlm 22.05.8"
    [[ "$(slurm srun --version)" =~ \ ([0-9]+\.[0-9]+)\. && $output == *"slurm=${BASH_REMATCH[1]}"* ]] ||
        fail "not for $(slurm srun --version)"
}

# Plugin: it is the help of Slurm's own commands.
# bats test_tags=plugin
@test "--help of srun, sbatch and salloc lists the options, in lines of 80 columns at most" {
    local command options

    options=$("$SPANK_TF_PROGRAMS/print-options" | awk -F '\t' '$1 { print $1 "=" $3 }')
    [[ $options == *"
--tf-ib=auto|require|no
"* ]] || fail "not the table of options: $options"
    for command in srun sbatch salloc; do
        run -0 slurm $command --help
        output=$(sed -n '/^Options provided by plugins:/,/^[A-Z].*:$/p' <<< "$output" | sed 1d)
        # Slurm breaks a word that is too long for a line with a hyphen.
        [ -n "$output" ] && ! grep -qE '.{81}|-$' <<< "$output" || fail "$command: a line is too long"
        # Not their help texts: Slurm breaks these into lines.
        [ "$(grep -oE '^ +--tf-[a-z-]+(=[^ ]+)?' <<< "$output" | tr -d ' ')" = "$options" ] ||
            fail "$command lists other options"
    done
}

# Plugin: it is about plugstack.conf.
# bats test_tags=plugin
@test "a job without options of the plugin sees nothing of it" {
    site_arguments show=yes hold=no ports=28000-28999
    run --separate-stderr slurm srun -N2 -n4 sh -c \
        'env | grep -E "^TF_CONFIG=|^TF_GRPC_|^SLURM_TF_|^KERAS_|^JAX_|^NCCL_|^GLOO_|SPANK_OPTION" || echo nothing of spank-tf; cat /proc/self/comm'
    [ "$status" -eq 0 ] && [ -z "$stderr" ] || fail "something is printed"
    [ "$(sort -u <<< "$output")" = "cat
nothing of spank-tf" ] || fail "a variable is set"
}

# The tables of --tf-show, without what differs in every run.
tables ()
{
    # Whether a task exits before it is stopped is a matter of chance.
    sed -E 's/:[0-9]{4,5}$/:PORT/; s/ step [0-9]+\./ step JOB./; s/stopped$/exit 0/; s/ 00:00:0[0-9] / 00:00:0S /' <<< "$stderr"
}

@test "--tf-show prints the cluster, and nothing else is printed" {
    run --separate-stderr slurm srun -Q -N2 -n12 --ntasks-per-node=6 -m cyclic --tf-show --tf-stop=never \
        --tf-tasks=chief,ps:2,evaluator,worker:rest "$task_check" \
        --roles=chief,ps,ps,evaluator,worker,worker,worker,worker,worker,worker,worker,worker
    [ "$status" -eq 0 ] || fail "a task is not ok"
    diff -u <(tables) - <<'END'
spank_tf: step JOB.0: 12 tasks on 2 nodes, network 10.98.0.0/16 (eth0)
  rank  role         node   address
     0  chief 0      node1  10.98.0.1:PORT
     1  ps 0         node2  10.98.0.2:PORT
     2  ps 1         node1  10.98.0.1:PORT
     3  evaluator 0  node2  10.98.0.2:PORT
     4  worker 0     node1  10.98.0.1:PORT
     5  worker 1     node2  10.98.0.2:PORT
     6  worker 2     node1  10.98.0.1:PORT
     7  worker 3     node2  10.98.0.2:PORT
     8  worker 4     node1  10.98.0.1:PORT
     9  worker 5     node2  10.98.0.2:PORT
    10  worker 6     node1  10.98.0.1:PORT
    11  worker 7     node2  10.98.0.2:PORT
spank_tf: step JOB.0: how its tasks ended
  rank  role         node   elapsed   end
     0  chief 0      node1  00:00:0S  exit 0
     1  ps 0         node2  00:00:0S  exit 0
     2  ps 1         node1  00:00:0S  exit 0
     3  evaluator 0  node2  00:00:0S  exit 0
     4  worker 0     node1  00:00:0S  exit 0
     5  worker 1     node2  00:00:0S  exit 0
     6  worker 2     node1  00:00:0S  exit 0
     7  worker 3     node2  00:00:0S  exit 0
     8  worker 4     node1  00:00:0S  exit 0
     9  worker 5     node2  00:00:0S  exit 0
    10  worker 6     node1  00:00:0S  exit 0
    11  worker 7     node2  00:00:0S  exit 0
END
    # Every rank's own report agrees.
    diff <(sed -nE 's/^ +([0-9]+)  ([a-z]+ [0-9]+) +(\S+)  (10\S+)$/\1 \2 \3 \4/p' <<< "$stderr") \
        <(sed -E 's/^task-check: rank (.*) ok .*/\1/' <<< "$output" | sort -n)
}

# Print what this expression of Python makes of the start object, s, and the end object, e.
of_json ()
{
    /usr/bin/python3 -c 'import json, sys
s, e = (json.loads(line) for line in sys.argv[2].splitlines())
print(eval(sys.argv[1]))' "$1" "$stderr"
}

# bats test_tags=core
@test "--tf-show=json prints the same facts as two objects, in lines of their own" {
    local logs=$SPANK_TF_CLUSTER/work/json-logs version

    version=$(sed -n 's/^AC_INIT(\[spank-tf\], \[\(.*\)\])$/\1/p' "$tests/../configure.ac")
    run -0 --separate-stderr slurm srun -Q -N2 -n3 --tf-show=json --tf-log-dir="$logs" --tf-tasks=ps,worker:2 \
        "$task_check" --roles=ps,worker,worker
    [ "$(of_json '[s["spank_tf"], s["event"], s["nodes"], s["network"], e["spank_tf"], e["event"], e["first_to_fail"]]')" = \
        "['$version', 'start', 2, '10.98.0.0/16 (eth0)', '$version', 'end', None]" ] || fail "other facts"
    [ "$(of_json 's["step"] == e["step"] and [t["log"] for t in s["tasks"]]')" = \
        "['$logs/ps0.log', '$logs/worker0.log', '$logs/worker1.log']" ] || fail "other log files"
    # Every rank's own report agrees.
    diff <(of_json '"\n".join("{rank} {role} {index} {node} {address}:{port}".format(**t) for t in s["tasks"])') \
        <(cat "$logs"/*[01].log | sed -E 's/^task-check: rank (.*) ok .*/\1/' | sort -n)
    [ "$(of_json 'e["log_dir"], all(0 <= t["elapsed"] < 60 for t in e["tasks"])')" = "('$logs', True)" ] || fail "other facts at the end"
    # The ps may end by itself before it is stopped. Then it has a number.
    [ "$(of_json '[(t["rank"], t["role"], t["index"], t["node"], t.get("number", 0)) for t in e["tasks"]]')" = \
        "[(0, 'ps', 0, '$(node 1)', 0), (1, 'worker', 0, '$(node 1)', 0), (2, 'worker', 1, '$(node 2)', 0)]" ] || fail "other ends"
    diff <(undated "$logs/master.log" | grep '^{') - <<< "$stderr"
}

@test "--tf-show=json says how tasks fail, and which failed first" {
    rm -f "$SPANK_TF_CLUSTER/work/failed"
    run -137 --separate-stderr slurm srun -Q -N2 -n3 --tf-show=json --tf-tasks=worker:2,ps sh -c 'case $SLURM_PROCID in
        0) until [ -e failed ]; do sleep 0.1; done; sleep 0.5; exit 3 ;;
        1) touch failed; kill -KILL $$ ;;
        2) exec sleep 1000
    esac'
    stderr=$(grep '^{' <<< "$stderr")
    [ "$(of_json '[(t["end"], t.get("number"), "out_of_memory" in t) for t in e["tasks"]]')" = \
        "[('exit', 3, False), ('signal', 9, False), ('stopped', None, False)]" ] || fail "other ends"
    [ "$(of_json 'e["first_to_fail"], s["tasks"][0]["port"] > 0, 0 <= e["tasks"][0]["time"] - e["tasks"][1]["time"] < 60')" = "(1, True, True)" ] ||
        fail "another task was first"
}

# Plugin: it is about variables of SPANK.
# bats test_tags=plugin
@test "--tf-show=no switches a site's or a job's tables off" {
    site_arguments show=json
    run -0 --separate-stderr slurm env SLURM_SPANK__SLURM_SPANK_OPTION_spank_tf_tf_show=yes \
        srun -Q -n1 --tf-show=no --tf-tasks=worker true
    [ -z "$stderr" ] || fail "something is printed"
    run -0 --separate-stderr slurm env SLURM_SPANK__SLURM_SPANK_OPTION_spank_tf_tf_show=yes srun -Q -n1 --tf-tasks=worker true
    [[ $stderr == spank_tf:*worker* ]] || fail "no tables"
    run -0 --separate-stderr slurm srun -Q -n1 --tf-tasks=worker true
    [ "$(of_json 's["event"] + e["event"]')" = startend ] || fail "no objects"
}

@test "--tf-show of one task" {
    run --separate-stderr slurm srun -Q -n1 --tf-show --tf-tasks=worker "$task_check" --roles=worker
    diff -u <(tables) - <<'END'
spank_tf: step JOB.0: 1 task on 1 node, network 10.98.0.0/16 (eth0)
  rank  role      node   address
     0  worker 0  node1  10.98.0.1:PORT
spank_tf: step JOB.0: how its tasks ended
  rank  role      node   elapsed   end
     0  worker 0  node1  00:00:0S  exit 0
END
}
