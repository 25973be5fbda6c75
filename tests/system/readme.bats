#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The commands of README.md and of the pages in doc/ are run as they stand there, with stand-ins for the programs that
# they start: every line of srun in an example, the commands for GPUs, the second columns of doc/migrating.md, and the
# batch files of doc/recipes.md.

load launch

readme=$tests/../README.md
guide=$tests/../doc/guide
migrating=$tests/../doc/migrating.md
recipes=$tests/../doc/recipes.md

setup_file ()
{
    make_gpus
    # Jobs without GPUs run on other nodes.
    start_cluster --nodes 4 --prefix readme --conf GresTypes=gpu --node-conf readme2:"Gres=gpu:4 Weight=2" \
        --node-conf readme3:"Gres=gpu:4 Weight=2" --node-conf readme4:"Gres=gpu:4 Weight=2"
    stand_ins
}

# The programs of the examples. With ROLES they are task-check; otherwise a ps and what auxiliary tasks run serve until
# they are stopped, and all others end. With COUNT_GPUS they print their role and how many GPUs they see, with
# SHOW_RANK PyTorch's place.
# PROCESS_ID, NUM_PROCESSES and COORDINATOR_ADDRESS have to be JAX's.
stand_ins ()
{
    local work=$SPANK_TF_CLUSTER/work name

    chown "$user" "$work"
    mkdir "$work/bin"
    cat > "$work/train" <<END
#!/bin/sh
[ ! "\$ROLES" ] || exec $task_check --roles="\$ROLES"
[ ! "\$COUNT_GPUS" ] || echo "\$SLURM_TF_ROLE \$(echo "\$CUDA_VISIBLE_DEVICES" | tr , '\\n' | grep -c '[0-9]')"
[ ! "\$SHOW_RANK" ] || echo "\$RANK of \$WORLD_SIZE"
[ ! "\$PROCESS_ID" ] ||
    [ "\$PROCESS_ID \$NUM_PROCESSES \$COORDINATOR_ADDRESS" = "\$SLURM_PROCID \$SLURM_NTASKS \$JAX_COORDINATOR_ADDRESS" ] || exit 1
case \$SLURM_TF_ROLE in ps | tensorboard | dispatcher | data | head | node) exec sleep 600 ;; esac
END
    chmod 755 "$work/train"
    for name in python tensorboard tf-server torchrun apptainer ray jupyter; do
        ln -s ../train "$work/bin/$name"
    done
    printf '#!/bin/sh\ncat > /dev/null\n' > "$work/bin/chat"
    chmod 755 "$work/bin/chat"
}

# Run a command of a page's on the login host, as its reader would.
try ()
{
    run --separate-stderr slurm env PATH="$SPANK_TF_CLUSTER/work/bin:$SPANK_TF_STAGE/bin:$PATH" ROLES="${2-}" timeout 60 bash -c "$1" < /dev/null
}

# examples PAGE: print each command that an example shows, a tab, the error that follows it there, and a null character. A
# command goes on in the next line after a backslash, and while a quotation is open.
examples ()
{
    awk '
        function goes_on (text) { return text ~ /\\$/ || gsub (/\047/, "", text) % 2 }
        function flush () { if (command != "") printf "%s\t%s%c", command, error, 0; command = error = "" }
        open                            { command = command "\n" $0; open = goes_on(command); next }
        /^    (\$ )?srun -/             { flush(); command = $0; sub (/^ *(\$ )?/, "", command); open = goes_on(command); next }
        /^    srun: error: spank_tf: /  { if (error == "") error = $0; next }
        !/^    /                        { flush() }
        END                             { flush() }' "$1"
}

# Print the cells of the table below a heading, one row a line, separated by tabs: table FILE HEADING
table ()
{
    awk -v heading="$2" '
        /^##* / { inside = $0 == heading }
        inside && /^\|/ && !/^\| (---|you ha)/ { gsub (/^\| | \|$/, ""); gsub (/ \| /, "\t"); print }' "$1"
}

# InfiniBand and the checks of tf-check have files of their own, infiniband.bats and check.bats.
# Plugin: one of them is srun --help.
# bats test_tags=core,plugin
@test "every command of an example runs, or fails as the page says" {
    local command error page count=0

    while IFS=$'\t' read -r -d '' command error; do
        [[ $command != *' --tf-ib'* && $command != *' tf-check '* && $command != *--container-image* ]] || continue
        count=$((count + 1))
        try "$command"
        if [[ $error ]]; then
            # Steps have other numbers.
            error=$(sed 's/.*spank_tf: //; s/^step [0-9.]* //' <<< "$error")
            [ "$status" -ne 0 ] && [[ $stderr == *"spank_tf: "*"$error"* ]] || fail "this does not fail so: $command"
        else
            [ "$status" -eq 0 ] || fail "this fails: $command"
        fi
    done < <(examples "$readme"; for page in "$guide"/*.md; do examples "$page"; done; examples "$recipes")
    [ "$count" -ge 25 ] || fail "only $count commands are found"
}

# Plugin: it is about sbatch and salloc, too.
# bats test_tags=core,plugin
@test "--tf-tasks=help prints the roles and examples that run, and starts nothing, in srun, sbatch and salloc" {
    local command role count=0

    try "srun --tf-tasks=help"
    [ "$status" -eq 0 ] && [ -z "$stderr" ] || fail "srun"
    for role in chief master ps worker evaluator spare +NAME; do
        grep -q " $role  " <<< "$output" || fail "$role is missing"
    done
    awk 'length > 80' <<< "$output" | diff /dev/null - || fail "a line is too long for a terminal"
    while read -r command; do
        count=$((count + 1))
        try "$command" < /dev/null
        [ "$status" -eq 0 ] || fail "this fails: $command"
    done < <(slurm srun --tf-tasks=help | grep '^  srun ')
    [ "$count" -eq 3 ] || fail "$count examples are found"
    try "sbatch --tf-tasks-per-node=help --wrap=true; salloc --tf-tasks=help true; squeue -h"
    [ "$status" -eq 0 ] && [ -z "$stderr" ] && [ "$(grep -c '^--tf-tasks=LIST' <<< "$output")" -eq 2 ] || fail "sbatch, salloc"
    [[ $output != *Submitted* ]] || fail "a job was submitted"
}

# bats test_tags=core
@test "the batch job of the examples runs" {
    local script=$SPANK_TF_CLUSTER/work/job

    sed -n '/^    #!\/bin\/bash$/,/^$/s/^    //p' "$readme" > "$script"
    grep -q '^#SBATCH --tf-tasks=' "$script" || fail "not a batch job: $(< "$script")"
    batch --export="ALL,PATH=$SPANK_TF_CLUSTER/work/bin:$PATH" "$script"
    [ "$status" -eq 0 ] && [ -z "$stderr" ] || fail "it fails"
}

# Print each task's role and how many GPUs it sees, for the strategy in the first column of a row.
gpus_of ()
{
    case $1 in
        MultiWorkerMirroredStrategy)    printf 'worker 4\n%.0s' 1 2 ;;
        *"two GPUs for each task")      printf 'worker 2\n%.0s' {1..4} ;;
        "Keras 3 on JAX, "*)            printf 'worker 4\n%.0s' {1..8} ;;
        ParameterServerStrategy)        printf '%s\n' 'chief 0' 'ps 0' 'worker 1'{,,,,,,,} ;;
        *)                              fail "a row that this test does not know: $1" >&2 ;;
    esac
}

# bats test_tags=core
@test "how many tasks on a node: each row's command gives them these GPUs" {
    local strategy command count=0

    while IFS=$'\t' read -r strategy _ command; do
        [[ $command == \`srun\ * ]] || continue
        count=$((count + 1))
        try "COUNT_GPUS=yes ${command//\`/}"
        [ "$status" -eq 0 ] || fail "this fails: $command"
        diff <(gpus_of "$strategy") <(sort <<< "$output") || fail "other tasks: $command"
    done < <(table "$guide/frameworks.md" "## How many tasks on a node")
    [ "$count" -eq 4 ] || fail "$count rows are found"
}

# The roles that the first column of a row describes.
roles_of ()
{
    case $1 in
        "a TF_CONFIG "*)                        echo ps,worker,worker ;;
        "SlurmClusterResolver "*)               echo ps,worker,worker,worker,worker ;;
        "tf4slurm "*)                           echo ps,worker,worker,worker ;;
        "psd_run "* | "TonY: "*)                echo ps,ps,worker,worker,worker,worker ;;
        "TFJob "*)                              echo chief,ps,ps,worker,worker,worker,worker,evaluator ;;
        "tf-yarn: "*)                           echo chief,worker,worker,worker,worker,ps,evaluator,+tensorboard ;;
        "mpirun "* | "JAX "* | "horovodrun "*)  echo worker,worker,worker,worker ;;
        *)                                      fail "a row that this test does not know: $1" >&2 ;;
    esac
}

# The rows of torchrun and submitit lead to examples; Snakemake's is a piece of a Snakefile.
# bats test_tags=core
@test "coming from something else: each row's command gives the roles of the job before" {
    local had now roles count=0

    while IFS=$'\t' read -r had now _; do
        [[ $had != torchrun* && $had != submitit* && $had != Snakemake* ]] || continue
        count=$((count + 1))
        [[ $now =~ ^\`(srun\ -[nN].*)\`$ ]] || fail "the second column is not a command: $now"
        if [[ $had == deepspeed* || $had == Ray* ]]; then
            try "SHOW_RANK=yes ${BASH_REMATCH[1]}"
            diff <(printf '%s of 8\n' {0..7}) <(sort <<< "$output") || fail "$had: $now"
            continue
        fi
        roles=$(roles_of "$had")
        try "${BASH_REMATCH[1]}" "$roles"
        all_tasks_ok "$roles" || fail "$had: $now"
    done < <(table "$migrating" "## One command for each tool")
    [ "$count" -ge 12 ] || fail "only $count rows are found"
}

# These stand in a batch file with a list, unless they have their own.
# bats test_tags=core
@test "coming from something else, tool by tool: each command runs" {
    local had now command count=0

    while IFS=$'\t' read -r had now; do
        while [[ $now =~ \`(srun\ [^\`]*)\`(.*)$ ]]; do
            command=${BASH_REMATCH[1]} now=${BASH_REMATCH[2]}
            [[ $command != *…* ]] || continue
            count=$((count + 1))
            echo "$command" > "$SPANK_TF_CLUSTER/work/command"
            try "salloc -Q -N4 -n5 --exclusive --tf-tasks=ps,worker:4 sh command"
            [ "$status" -eq 0 ] || fail "$had: $command"
        done
    done < <(table "$migrating" "## Tool by tool")
    [ "$count" -ge 8 ] || fail "only $count commands are found"
}

# jobs PAGE: print each batch file that an example shows, behind its heading and a tab, and a null character.
jobs ()
{
    awk '
        /^## /              { heading = substr ($0, 4) }
        /^    #!\/bin\/bash$/ { printf "%s\t", heading; job = 1 }
        job && !/^    /     { job = 0; printf "%c", 0 }
        job                 { print substr ($0, 5) }' "$1"
}

@test "recipes: each batch file runs, but those in a container of pyxis" {
    local heading job count=0

    cd "$SPANK_TF_CLUSTER/work"
    while IFS=$'\t' read -r -d '' heading job; do
        [[ $job != *--container-image* ]] || continue
        count=$((count + 1))
        echo "$job" > job
        batch --export="ALL,PATH=$SPANK_TF_CLUSTER/work/bin:$SPANK_TF_STAGE/bin:$PATH" job
        [ "$status" -eq 0 ] || fail "this fails: $heading"
        ! grep -q error: <<< "$output$stderr" || fail "an error: $heading"
    done < <(jobs "$recipes")
    [ "$count" -ge 16 ] || fail "only $count batch files are found"
}

# Each is run by a test that is there, or the page says that it is not run here.
@test "recipes: there are 22, and each names its test, or says that it is not run here" {
    awk '
        function flush () { if (heading != "" && !told) print heading }
        /^## / { flush(); heading = $0; told = 0; count++ }
        /(^Run|are run).* by `[a-z_/ .-]*[.]bats`|`tests\/run pyxis`|^Tried by hand with|not run here/ { told = 1 }
        END { flush(); if (count != 22) print count " recipes" }' "$recipes" | diff /dev/null -
}
