#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A node without files in /etc/slurm, whose slurmd gets them from slurmctld ("configless"): plugstack.conf is among them,
# the files that it includes are not.

# Plugin: it is about plugstack.conf.
# bats file_tags=release,plugin
load launch

setup_file ()
{
    local conf

    start_cluster --nodes 2 --conf SlurmctldParameters=enable_configless
    conf=$SPANK_TF_CLUSTER/slurm.conf
    # plugstack.conf is handed out if it is beside slurm.conf.
    sed -i /^PlugStackConfig=/d "$conf"
    mkdir "$SPANK_TF_CLUSTER/plugstack.conf.d"
    # On a node, /run/slurm/conf becomes a link to slurmd's copies.
    cat > "$SPANK_TF_CLUSTER/work/configless" <<END
mount -t tmpfs tmpfs /run
mkdir /run/slurm /run/munge
ln -s "$SPANK_TF_CLUSTER/munge/socket" /run/munge/munge.socket.2
unset SLURM_CONF
slurmd -N "\$1" --conf-server "$(sed -n 's/^SlurmctldHost=.*(\(.*\))/\1/p' "$conf")"
exec sleep infinity
END
}

# Replace the slurmd of node 2 by one that has no files, when slurmctld's plugstack.conf is the text on stdin. $shell is a
# process on that node, which sees its /run.
start_configless ()
{
    local name

    name=$(node 2)
    # First, because a slurmd of 23.11 or later becomes another process when it is told to reconfigure.
    kill "$(< "$SPANK_TF_CLUSTER/$name.pid")"
    eventually 20 test ! -e "$SPANK_TF_CLUSTER/$name.pid" || fail "slurmd does not end"
    cat > "$SPANK_TF_CLUSTER/plugstack.conf"
    "$tests/cluster" run -- scontrol reconfigure
    [[ ! ${shell-} ]] || kill "$shell"
    "$tests/cluster" run --on "$name" -- unshare --mount sh configless "$name" < /dev/null > "$SPANK_TF_CLUSTER/work/slurmd.out" 2>&1 3>&- &
    shell=$!
    eventually 20 test -s "$SPANK_TF_CLUSTER/$name.pid" || fail "slurmd does not start: $(< "$SPANK_TF_CLUSTER/work/slurmd.out")"
    eventually 20 all_nodes_idle
}

# Run a command on the node without files, as a user: configless COMMAND…
configless ()
{
    nsenter -t "$shell" --mount --uts --net -- env -u SLURM_CONF \
        setpriv --reuid "$user" --regid "$(id -g "$user")" --init-groups "$@"
}

@test "configless: a plugstack.conf that includes others loads nothing on the node, and tf-check says what to do" {
    local line

    line=$(grep '^required' "$SPANK_TF_STAGE/etc/plugstack.conf.d/10-spank-tf.conf")
    echo "$line" > "$SPANK_TF_CLUSTER/plugstack.conf.d/10-spank-tf.conf"
    start_configless <<< "include plugstack.conf.d/*.conf"
    run configless srun -n1 --tf-tasks=worker true
    [[ $output == *"unrecognized option '--tf-tasks=worker'"* ]] || fail "srun knows the option"
    run -2 configless "$SPANK_TF_STAGE/bin/tf-check" -q
    [ "$output" = "error: /run/slurm/conf/plugstack.conf came from slurmctld (configless), which does not hand out the files that it includes: there is no /run/slurm/conf/plugstack.conf.d/*.conf, so Slurm does not load the plugin; write the line of 10-spank-tf.conf into plugstack.conf itself, on slurmctld's host, and run scontrol reconfigure there" ] ||
        fail "tf-check does not say so"

    # So it is.
    start_configless <<< "$line"
    run configless "$SPANK_TF_STAGE/bin/tf-check"
    grep -qxF "ok: /run/slurm/conf/plugstack.conf:1 loads the plugin" <<< "$output" || fail "tf-check does not find the line"
    launch ps,worker -N2 --tf-tasks=ps,worker
    # An absolute path is found where the node has the file.
    start_configless <<< "include $SPANK_TF_CLUSTER/plugstack.conf.d/*.conf"
    launch ps,worker -N2 --tf-tasks=ps,worker
    kill "$shell"
}
