#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Completion, by pressing Tab in a real bash.

# bats file_tags=core
load ../common

# There is no cluster.
after_test ()
{
    :
}

# All options, as bash sorts them, and a shell that has read only our file.
before_test ()
{
    options=$("$SPANK_TF_PROGRAMS/print-options" | awk -F '\t' '$1 { print $1 "=" }' | LC_ALL=C sort | paste -sd ' ')
    rc=$BATS_TEST_TMPDIR/rc
    echo ". '$SPANK_TF_STAGE/etc/bash_completion.d/spank-tf'" > "$rc"
}

# A completion like Slurm's: a function that completes --slurm only, and wants no blank behind it.
write_slurms ()
{
    cat > "$1" <<'END'
_srun ()
{
    [[ --slurm != "$2"* ]] || COMPREPLY=(--slurm)
}
complete -o nospace -F _srun srun
END
}

# What the line becomes by Tab: tab TEXT RESULT
tab ()
{
    run timeout 60 "$tests/system/press-tab" "$rc" "$1"
    [ "$output" = "$2" ] || fail "$1: not $2"
}

# All completions of the word: every TEXT RESULT
every ()
{
    run timeout 60 "$tests/system/press-tab" --all "$rc" "$1"
    [ "$output" = "$2 " ] || fail "$1: not $2"
}

@test "the names of the options of srun, sbatch and salloc" {
    local command

    for command in srun sbatch salloc /usr/bin/srun; do
        every "$command --tf-" "$command $options"
    done
    tab "srun -N2 --tf-sh" "srun -N2 --tf-show="
    tab "srun --tf-ho" "srun --tf-hold="
    tab "srun --tf-ta" "srun --tf-tasks"
}

@test "roles, also behind a comma" {
    every "srun --tf-tasks=" "srun --tf-tasks=chief evaluator master none ps spare worker"
    every "srun --tf-tasks-per-node=" "srun --tf-tasks-per-node=chief evaluator master none ps spare worker"
    tab "srun --tf-tasks=wor" "srun --tf-tasks=worker"
    tab "srun --tf-tasks=chief,wor" "srun --tf-tasks=chief,worker"
    tab "srun --tf-tasks=chief,ps:2,wor" "srun --tf-tasks=chief,ps:2,worker"
    tab "srun --tf-tasks=chief,ps:2,worker:" "srun --tf-tasks=chief,ps:2,worker:rest "
    # Only one item can have the rest.
    tab "srun --tf-tasks=ps:rest,worker:" "srun --tf-tasks=ps:rest,worker:"
    tab "srun --tf-tasks ev" "srun --tf-tasks evaluator"
}

@test "the words of the other options" {
    local option words count=0

    while read -r option words; do
        # shellcheck disable=SC2086
        every "srun $option=" "srun $option=$(printf '%s\n' $words | LC_ALL=C sort | paste -sd ' ')"
        count=$((count + 1))
    done < <("$SPANK_TF_PROGRAMS/print-options" | awk -F '\t' '$1 && $6 && $7 == "words" { print $1, $6 }')
    [ "$count" -ge 5 ] || fail "only $count options have words"
    every "srun --tf-frameworks=" "srun --tf-frameworks=auto jax keras none tf torch"
    tab "srun --tf-frameworks=tf,ja" "srun --tf-frameworks=tf,jax"
    tab "srun --tf-frameworks=keras,tf,ke" "srun --tf-frameworks=keras,tf,ke"
    tab "srun --tf-hold y" "srun --tf-hold yes "
    every "srun --tf-restart=" "srun --tf-restart=1 1,any 1,total="
    tab "srun --tf-restart=20,a" "srun --tf-restart=20,any "
    tab "srun --tf-restart=20,any,t" "srun --tf-restart=20,any,total="
    # Their values are optional, so the next word is not one.
    tab "srun --tf-ib requ" "srun --tf-ib requ"
    tab "srun --tf-show jso" "srun --tf-show jso"
}

@test "interfaces and directories" {
    local interface

    interface=$(find /sys/class/net -mindepth 1 ! -name lo ! -name bonding_masters -printf '%f\n' | sort | head -n 1)
    [ "$interface" ] || skip "this machine has no interface"
    tab "srun --tf-network=$interface" "srun --tf-network=$interface"
    tab "srun --tf-network=10.1.0.0/16,$interface" "srun --tf-network=10.1.0.0/16,$interface"
    run timeout 60 "$tests/system/press-tab" --all "$rc" "srun --tf-network="
    [[ $output == *any* && $output == *"$interface"* && $output != *lo\ * ]] || fail "not any and the interfaces"
    mkdir -p "$BATS_TEST_TMPDIR/logs/inside"
    touch "$BATS_TEST_TMPDIR/log"
    tab "srun --tf-log-dir=$BATS_TEST_TMPDIR/lo" "srun --tf-log-dir=$BATS_TEST_TMPDIR/logs/"
}

@test "the programs of spank-tf" {
    every "tf-exec --" "tf-exec --chief= --environment= --evaluator= --help --master= --ps= --tf1-flags --version --worker="
    every "tf-check --" "tf-check --help --json --quiet --slurm-conf= --version"
    every "tf-server --" "tf-server --default-ps --help --version"
    every "psd_run --" "psd_run --cluster-config= --cluster_config= --help --out= --version"
    mkdir "$BATS_TEST_TMPDIR/cluster.d"
    touch "$BATS_TEST_TMPDIR/cluster.json"
    tab "psd_run -c $BATS_TEST_TMPDIR/cluster.j" "psd_run -c $BATS_TEST_TMPDIR/cluster.json "
    tab "psd_run -o $BATS_TEST_TMPDIR/cl" "psd_run -o $BATS_TEST_TMPDIR/cluster.d/"
    tab "tf-exec --tf1-flags mkfif" "tf-exec --tf1-flags mkfifo "
    tab "tf-exec --ps=mkfif" "tf-exec --ps=mkfifo "
}

@test "without a completion of Slurm's, files are completed" {
    touch "$BATS_TEST_TMPDIR/train.py"
    tab "srun $BATS_TEST_TMPDIR/tr" "srun $BATS_TEST_TMPDIR/train.py "
}

@test "Slurm's completion stays if the shell has read it before" {
    write_slurms "$BATS_TEST_TMPDIR/slurm"
    sed -i "1i . '$BATS_TEST_TMPDIR/slurm'" "$rc"
    tab "srun --sl" "srun --slurm"
    every "srun --" "srun --slurm $options"
    tab "srun --tf-stop=ch" "srun --tf-stop=chief "
}

@test "Slurm's completion stays if bash-completion loads it" {
    local completion=/usr/share/bash-completion/bash_completion

    [[ -e $completion ]] || skip "bash-completion is not installed"
    mkdir -p "$BATS_TEST_TMPDIR/completions"
    write_slurms "$BATS_TEST_TMPDIR/completions/srun"
    cat > "$rc" <<END
BASH_COMPLETION_USER_DIR=$BATS_TEST_TMPDIR
BASH_COMPLETION_COMPAT_DIR=$SPANK_TF_STAGE/etc/bash_completion.d
. $completion
END
    tab "srun --sl" "srun --slurm"
    tab "srun --tf-stop=ch" "srun --tf-stop=chief "
    every "srun --" "srun --slurm $options"
}

@test "the completion of the Slurm that is installed" {
    local completion=/usr/share/bash-completion

    [[ -e $completion/bash_completion && -e $completion/completions/srun ]] || skip "it is not installed"
    mkdir "$BATS_TEST_TMPDIR/compat"
    ln -s "$SPANK_TF_STAGE/etc/bash_completion.d/spank-tf" "$BATS_TEST_TMPDIR/compat"
    # Of bash-completion 2.12 and later: functions that Slurm's completion calls.
    cp /etc/bash_completion.d/000_bash_completion_compat.bash "$BATS_TEST_TMPDIR/compat" || true
    # That of Slurm 23.11 and later asks srun, which wants a configuration.
    printf '%s\n' ClusterName=none SlurmctldHost=localhost NodeName=none PartitionName=none > "$BATS_TEST_TMPDIR/slurm.conf"
    cat > "$rc" <<END
export SLURM_CONF=$BATS_TEST_TMPDIR/slurm.conf
BASH_COMPLETION_COMPAT_DIR=$BATS_TEST_TMPDIR/compat
. $completion/bash_completion
END
    tab "srun --exclus" "srun --exclusive"
    tab "srun --exclusive --tf-ho" "srun --exclusive --tf-hold="
    tab "sbatch --tf-tasks=chief,wor" "sbatch --tf-tasks=chief,worker"
}

@test "a user who has taken = and : out of COMP_WORDBREAKS" {
    echo 'COMP_WORDBREAKS=" "' >> "$rc"
    tab "srun --tf-stop=ch" "srun --tf-stop=chief "
    tab "srun --tf-tasks=chief,ps:2,wor" "srun --tf-tasks=chief,ps:2,worker"
}
