#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What becomes of a job of each kind when its first node is lost, with plain Slurm and with spank_tf and a spare: the
# table of seconds from the loss until its nodes are free, and it runs again. The jobs of all kinds run side by side, on
# three nodes each, and lose their first nodes at the same time.
#
# bats file_tags=slow

load ../common
load ../system/launch
load ../system/nodes

setup_file ()
{
    export SPANK_TF_CLUSTER=$BATS_FILE_TMPDIR/cluster
    local -a conf=(--conf ReturnToService=1)

    ! slurm_is_from 24.05 || conf+=(--conf SlurmctldParameters=enable_stepmgr --conf PrologFlags=contain)
    start_mortal_cluster --nodes 30 --cpus 1 "${conf[@]}"
}

before_test ()
{
    work=$SPANK_TF_CLUSTER/work
    find "$work" -mindepth 1 -delete
    kinds=("--no-kill --requeue" "--no-kill" "--requeue" "neither" "salloc --no-kill" "het 1+2" "het 2+1")
    ! slurm_is_from 24.05 || kinds+=("stepmgr")
    # Each life leaves a mark with the number of the run and its own, and a beat as long as it lives.
    cat > "$work/program" <<END
#!/bin/sh
echo > $work/began.\$1.\${SPANK_TF_FORMER_SLURM_PROCID-\$SLURM_PROCID}.\${SLURM_RESTART_COUNT-0}.\${SLURM_TF_RESTART-0}
while sleep 0.5; do echo > $work/beat.\$1.\${SPANK_TF_FORMER_SLURM_PROCID-\$SLURM_PROCID}; done
END
    chmod 755 "$work/program"
    site_arguments lost_after=5
}

after_test ()
{
    slurm_conf SlurmdTimeout 20
    slurm scancel --user "$user" --quiet
    # That of salloc waits for a step that has lost a node, also with plain Slurm.
    ! slurm_is_from 24.05 || slurm pkill -KILL -x srun || true
    reconnect_nodes
    site_arguments
    nothing_left
}

slurm_conf ()               # NAME VALUE
{
    sed -i "s/^$1=.*/$1=$2/" "$SPANK_TF_CLUSTER/slurm.conf"
    "$tests/cluster" run -- scontrol reconfigure
}

# Submit the job of the I-th kind. Spares need --no-kill: start I plain|spares
start ()
{
    local i=$1 srun="srun --no-kill" requeue=--no-requeue
    local -a options=(-N3 -n3) ours=(--tf-tasks=worker:3)

    [[ ${kinds[i]} != *no-kill* && ${kinds[i]} != [hs]* ]] || ours=(--tf-tasks=worker:2,spare --tf-restart=3,any)
    [[ $2 == spares ]] || ours=(--tf-tasks=none)
    [[ ${kinds[i]} == *no-kill* || ${kinds[i]} == [hs]* ]] || srun=srun
    [[ ${kinds[i]} != *requeue && ${kinds[i]} != [hs]* ]] || requeue=--requeue
    [[ $srun == srun ]] || requeue+=" --no-kill"
    case ${kinds[i]} in
        "het 1+2") options=(-N1 -n1 : -N2 -n2 --no-kill) srun+=" --het-group=0,1" ;;
        "het 2+1") options=(-N2 -n2 : -N1 -n1 --no-kill) srun+=" --het-group=0,1" ;;
        stepmgr) options+=(--stepmgr) ;;
    esac
    if [[ ${kinds[i]} == salloc* ]]; then
        slurm salloc -Q -J "kind$i" -N3 -n3 --no-kill srun --no-kill "${ours[@]}" "$work/program" "$i" > "$work/out.$i" 2>&1 &
        return
    fi
    printf '#!/bin/sh\nexec %s %s %s %s\n' "$srun" "${ours[*]}" "$work/program" "$i" > "$work/script.$i"
    # shellcheck disable=SC2086  # options
    slurm sbatch -Q $requeue -J "kind$i" -o "$work/out.$i" "${options[@]}" "$work/script.$i"
}

# The jobs as Slurm shows them: "KIND JOB NODES", of a heterogeneous job its first component.
jobs_run ()
{
    slurm squeue -h -t R -o '%j %A %N' | sed -n 's/^kind//p' | sort -n -k 1,2 | awk '!seen[$1]++'
}

# So that they lose nodes while all run.
all_began ()
{
    local i

    for i in "${!kinds[@]}"; do
        [ -e "$work/began.$i.0.0.0" ] && [ -e "$work/began.$i.1.0.0" ] || return 1
    done
}

# Start a job of each kind, and take the links of their first nodes, ${lost[@]}, down: lose plain|spares
lose ()
{
    local i job nodes name

    for i in "${!kinds[@]}"; do
        start "$i" "$1" || fail "${kinds[i]} cannot be submitted"
    done
    eventually 90 all_began || fail "not all have begun: $(slurm squeue) $(tail -n 3 "$work"/out.*)"
    # Younger jobs are treated otherwise by Slurm 22.05.
    sleep 20
    jobs=() lost=()
    while read -r i job nodes; do
        name=$(slurm scontrol show hostnames "$nodes" | head -n 1)
        jobs[i]=$job
        lost+=("$(grep -nx "$name" "$SPANK_TF_CLUSTER/nodes" | cut -d: -f1)")
    done < <(jobs_run)
    ((${#lost[@]} == ${#kinds[@]})) || fail "these jobs run: $(jobs_run)"
    for i in "${lost[@]}"; do
        disconnect_node "$i"
    done
    begin=$SECONDS
    # Of each kind, in seconds.
    # shellcheck disable=SC2034  # for the assertions
    free=() again=() life=() end=()
}

# Of each kind: the state of its job, and what has begun since the loss. Sets free, again, life and end.
look ()
{
    local i state now=$((SECONDS - begin))
    local -A states=()

    while read -r i state; do
        states[$i]=$state
    done < <(slurm squeue -h -t all -o '%A %T')
    ((${#states[@]})) || return 0
    for i in "${!kinds[@]}"; do
        state=${states[${jobs[i]}]-GONE}
        case $state in
            RUNNING | COMPLETING) ;;
            PENDING | REQUEUE*) free[i]=${free[i]-$now} ;;
            *) free[i]=${free[i]-$now} end[i]=$state ;;
        esac
        # It may have waited for less time than there is between two looks.
        [[ ${again[i]-} || ! -e $work/began.$i.0.1.0 ]] || again[i]=$now free[i]=${free[i]-$now}
        [[ ${life[i]-} ]] || ! compgen -G "$work/began.$i.*.0.1" > /dev/null || life[i]=$now
    done
    return 0
}

# Until so many seconds since the loss are over.
look_for ()                 # SECONDS
{
    while ((SECONDS - begin < $1)); do
        look
        sleep 1
    done
}

# Everything that is expected has happened.
is_settled ()
{
    local i

    for i in "${!kinds[@]}"; do
        [[ ${life[i]-} || ${again[i]-} || ${end[i]-} ]] || return 1
    done
}

# Look until all is settled, or so many seconds since the loss are over, and print a line for each kind.
watch ()                    # SECONDS
{
    local i running text

    until ((SECONDS - begin >= $1)) || is_settled; do
        look
        sleep 1
    done
    for i in "${!kinds[@]}"; do
        running=$(find "$work" -name "beat.$i.*" -newermt "-3 seconds" | wc -l)
        text=${free[i]+free after ${free[i]} s} text=${text:-$running tasks run, its nodes are kept}${again[i]+, runs again after ${again[i]} s}
        text+=${end[i]+, ${end[i]}}${life[i]+, all begin again after ${life[i]} s}
        echo "# ${kinds[i]}: $text" >&3
    done
}

# With spares, of these kinds.
for_each ()                 # ARRAY WHAT KIND…
{
    local kind i
    local -n array=$1

    for kind in "${@:3}"; do
        for i in "${!kinds[@]}"; do
            [[ ${kinds[i]} != "$kind" || ${array[i]-} ]] || fail "$kind: $2"
        done
    done
}

# The processes of the nodes that are lost. What one of them has stopped, or begun, before it died is met the second time.
kill_nodes ()
{
    local i keeper slurmd inode pid
    local -A namespaces=() spared=()

    for i in "${lost[@]}"; do
        keeper=$(< "$SPANK_TF_CLUSTER/ns/$(node "$i")")
        slurmd=$(< "$SPANK_TF_CLUSTER/$(node "$i").pid")
        kill -STOP "$slurmd"
        spared[$keeper]=x spared[$slurmd]=x
        namespaces[$(stat -L -c %i "/proc/$keeper/ns/net")]=x
    done
    for _ in 1 2; do
        while IFS=' /' read -r inode _ pid _; do
            [[ ! ${namespaces[$inode]-} || ${spared[$pid]-} ]] || kill -9 "$pid" || true
        done < <(stat -L -c '%i %n' /proc/[0-9]*/ns/net)
        sleep 0.5
    done 2> /dev/null
}

reboot_nodes ()
{
    local i name

    for i in "${lost[@]}"; do
        name=$(node "$i")
        kill -9 "$(< "$SPANK_TF_CLUSTER/$name.pid")"
        "$tests/cluster" run --on "$name" -- ip link set eth0 up
        "$tests/cluster" run --on "$name" -- slurmd -b -N "$name"
    done
}

@test "the first node dies, plain Slurm" {
    lose plain
    kill_nodes
    watch 80
}

@test "the first node dies, spank_tf" {
    lose spares
    kill_nodes
    watch 110
    for_each again "it does not run again" "--no-kill --requeue" "--requeue" "het 2+1" stepmgr
    for_each free "its nodes are not free" "--no-kill" "neither" "het 1+2"
    for_each life "its spare has no place" "salloc --no-kill"
}

@test "the first node is cut off for 60 s, plain Slurm" {
    slurm_conf SlurmdTimeout 100
    lose plain
    look_for 60
    for i in "${lost[@]}"; do reconnect_node "$i"; done
    watch 75
}

@test "the first node is cut off for 60 s, spank_tf" {
    slurm_conf SlurmdTimeout 100
    lose spares
    look_for 60
    for i in "${lost[@]}"; do reconnect_node "$i"; done
    watch 90
    for_each life "they do not begin again" "--no-kill --requeue" "--no-kill" "salloc --no-kill" "het 1+2" "het 2+1" stepmgr
}

@test "the first node comes back empty, plain Slurm" {
    slurm_conf SlurmdTimeout 100
    lose plain
    kill_nodes
    look_for 30
    reboot_nodes
    watch 80
}

@test "the first node comes back empty, spank_tf" {
    slurm_conf SlurmdTimeout 100
    lose spares
    kill_nodes
    look_for 30
    reboot_nodes
    watch 110
    for_each free "its nodes are not free" "--no-kill --requeue" "--no-kill" "--requeue" "neither" "het 1+2" "het 2+1" stepmgr
}
