#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# tf-check on the hosts of a real cluster. tests/unit/test_check.c has every line that it can print.

# Plugin: it is about what is installed for the plugin.
# bats file_tags=core,plugin
load launch

setup_file ()
{
    start_cluster --nodes 2 --conf SrunPortRange=61001-62000
}

after_test ()
{
    site_arguments
    nothing_left
}

# Run it as the user, on a node: check_on NODE ARGUMENTS…
check_on ()
{
    run --separate-stderr slurm_on "$1" "$SPANK_TF_STAGE/bin/tf-check" "${@:2}"
    [ -z "$stderr" ] || fail "it prints something on stderr"
}

# Require this exit code and this line: says CODE LINE
says ()
{
    [ "$status" -eq "$1" ] || fail "not exit code $1"
    grep -qxF -- "$2" <<< "$output" || fail "no such line: $2"
}

# bats test_tags=release
@test "a node on which the plugin works is ok" {
    local slurm address

    slurm=$(slurm srun --version) slurm=${slurm#* } slurm=${slurm%.*}
    address=$(slurm_on "$(node 2)" ip -o -4 addr show eth0 | grep -oE '10\.98\.[0-9.]+' | head -n 1)
    site_arguments
    check_on "$(node 2)"
    says 0 "ok: slurm.conf is $SPANK_TF_CLUSTER/slurm.conf"
    says 0 "ok: $SPANK_TF_CLUSTER/plugstack.conf:1 loads the plugin"
    says 0 "ok: $(find "$SPANK_TF_STAGE" -name spank_tf.so) is of version $(version), built for Slurm $slurm"
    says 0 "ok: the helper programs in $SPANK_TF_STAGE/libexec/spank-tf are of version $(version), as the plugin"
    says 0 "ok: SrunPortRange=61001-62000: ports are free"
    says 0 "ok: this host has no InfiniBand interface"
    says 0 "ok: tasks on this host would be reached at $address (eth0), which faces slurmctld's host"
    ! grep -qv '^ok: ' <<< "$output" || fail "a line is not ok"
    # So it is: the plugin works.
    launch worker,worker -N2 --tf-tasks=worker:2
}

version ()
{
    sed -n 's/^AC_INIT(\[spank-tf\], \[\(.*\)\])$/\1/p' "$tests/../configure.ac"
}

@test "what breaks a launch is found: no line in plugstack.conf, a bad argument, no helper programs" {
    local none=$SPANK_TF_CLUSTER/work/none

    mkdir -p "$none"
    : > "$SPANK_TF_CLUSTER/plugstack.conf"
    run --separate-stderr slurm srun -n1 --tf-tasks=worker true
    [[ $stderr == *"unrecognized option '--tf-tasks=worker'"* ]] || fail "srun knows the option"
    check_on "$(node 1)" -q
    says 2 "error: neither $SPANK_TF_CLUSTER/plugstack.conf nor a file that it includes loads spank_tf.so; let it include 10-spank-tf.conf, which make install has installed"
    [ "${#lines[@]}" -eq 1 ] || fail "--quiet prints more"

    site_arguments timeout=soon
    run --separate-stderr slurm srun -n1 --tf-tasks=worker true
    [ "$status" -ne 0 ] || fail "srun accepts the argument"
    check_on "$(node 1)"
    says 2 "error: $SPANK_TF_CLUSTER/plugstack.conf:1: timeout: \"soon\" is not a time from 1 to 604800 seconds, as in 300, 5m or 5:00; correct or remove it; see spank-tf-plugstack(5)"

    site_arguments "libexecdir=$none"
    run --separate-stderr slurm srun -n1 --tf-tasks=worker true
    [ "$status" -ne 0 ] || fail "srun needs no tf-rendezvous"
    check_on "$(node 1)"
    says 2 "error: $none/tf-rendezvous: No such file or directory; install spank-tf again"
    says 2 "error: $none/tf-supervise: No such file or directory; install spank-tf again"
    says 2 "warning: $none/tf-addresses: No such file or directory; install spank-tf again"
}

@test "a container image without spank-tf's files: each that is missing is named" {
    local plugin helper

    slurm bwrap --dev-bind / / true || skip "this machine does not allow bwrap"
    site_arguments
    plugin=$(find "$SPANK_TF_STAGE" -name spank_tf.so)
    run -2 slurm_on "$(node 1)" bwrap --dev-bind / / --tmpfs "${plugin%/*}" "$SPANK_TF_STAGE/bin/tf-check" -q
    [ "$output" = "error: $plugin: No such file or directory; install spank-tf again, or correct the path in plugstack.conf" ] ||
        fail "not the plugin alone"
    run -2 slurm_on "$(node 1)" bwrap --dev-bind / / --tmpfs "$SPANK_TF_STAGE/libexec" "$SPANK_TF_STAGE/bin/tf-check" -q
    [ "${#lines[@]}" -eq 3 ] || fail "not the three programs alone"
    for helper in tf-rendezvous tf-supervise tf-addresses; do
        grep -q "$SPANK_TF_STAGE/libexec/spank-tf/$helper: No such file or directory; install spank-tf again" <<< "$output" ||
            fail "$helper is not named"
    done
}

@test "a plugin, a configuration and programs that the user could replace are named" {
    local own=$SPANK_TF_CLUSTER/work/own id

    id=$(id -u "$user")
    mkdir -p "$own/conf.d"
    cp "$(find "$SPANK_TF_STAGE" -name spank_tf.so)" "$own"
    cp -r "$SPANK_TF_STAGE/libexec/spank-tf" "$own/libexec"
    echo "required $own/spank_tf.so libexecdir=$own/libexec" > "$own/conf.d/10.conf"
    echo "include $own/conf.d/*.conf" > "$SPANK_TF_CLUSTER/plugstack.conf"
    chmod 755 "$SPANK_TF_CLUSTER/work"
    check_on "$(node 1)"
    says 0 "ok: only root can change plugstack.conf, the plugins and the programs"
    chown "$user" "$own/spank_tf.so"
    chmod 1777 "$own/conf.d"
    chgrp "$user" "$own/libexec/tf-supervise"
    chmod 775 "$own/libexec/tf-supervise"
    check_on "$(node 1)" -q
    chmod 1777 "$SPANK_TF_CLUSTER/work"
    says 1 "warning: $own/spank_tf.so belongs to user $id, who can change what slurmd runs as root; let it belong to root (chown -h root)"
    says 1 "warning: directory $own/conf.d has mode 1777: every user can change what slurmd runs as root; let only root write it (chmod go-w)"
    says 1 "warning: $own/libexec/tf-supervise has mode 0775: group $(id -g "$user") can change what runs as the user of each step; let only root write it (chmod go-w)"
    [ "${#lines[@]}" -eq 3 ] || fail "it names more"
}

@test "--json has every finding" {
    site_arguments ib=auto
    check_on "$(node 1)" --json
    [ "$status" -eq 1 ] || fail "ib=auto without InfiniBand is a warning"
    run -0 python3 -c '
import json, sys
report = json.load(sys.stdin)
print(report["host"], report["level"], report["version"] == report["plugin"])
for finding in report["findings"]:
    if finding["level"] != "ok":
        print(finding["check"], finding["advice"])' <<< "$output"
    [ "$output" = "$(node 1) warning True
infiniband load the driver ib_ipoib, or set ib=no in plugstack.conf" ] || fail "not these findings"
}

@test "it starts no program and connects to nothing" {
    local trace=$SPANK_TF_CLUSTER/work/trace

    command -v strace > /dev/null || skip "strace is not installed"
    run -0 slurm strace -f -qq -o "$trace" -e trace=execve,fork,vfork,clone,clone3,connect,sendto,sendmsg,sendmmsg \
        "$SPANK_TF_STAGE/bin/tf-check" -q
    # connect () of a UDP socket sends nothing; the kernel chooses the local address. A netlink
    # message asks the kernel for its interfaces, and libc asks for nscd's socket. A child looks up the host's own name.
    run grep -vE 'execve\("[^"]*/tf-check"|sin6?_port=htons\(9\)|AF_NETLINK|nscd| clone3?(\(| resumed>)|SIGCHLD' "$trace"
    [ -z "$output" ] || fail "it does"
}

@test "the command line: --help, and what is not valid" {
    local call

    run -0 "$SPANK_TF_STAGE/bin/tf-check" --help
    for call in --slurm-conf --quiet --json --version; do
        [[ $output == *" $call"* ]] || fail "$call is not in --help"
        grep -q -- "${call//-/\\\\-}" "$tests/../util/check/tf-check.1.in" || fail "$call is not in the manual page"
    done
    for call in --nothing word --json=yes; do
        run -2 --separate-stderr "$SPANK_TF_STAGE/bin/tf-check" "$call"
        [ -z "$output" ] && [[ $stderr == *"See tf-check --help." ]] || fail "$call"
    done
    run --separate-stderr groff -man -ww -Tutf8 -P-cbou "$SPANK_TF_STAGE/share/man/man1/tf-check.1"
    [ "$status" -eq 0 ] && [ -z "$stderr" ] || fail "the manual page"
}

# --- in a step

tf_check=$SPANK_TF_STAGE/bin/tf-check

# bats test_tags=release
@test "in a step, each node prints its own lines, once" {
    local n

    site_arguments
    run --separate-stderr slurm srun -Q -N2 -n4 --ntasks-per-node=2 "$tf_check"
    [ "$status" -eq 0 ] && [ -z "$stderr" ] || fail "not all nodes are ok"
    for n in 1 2; do
        [ "$(grep -cE "^$(node $n): ok: srun's host 10\.98\.[0-9.]+ is reached, on port 61001, 61500, 62000$" <<< "$output")" -eq 1 ] ||
            fail "not one line of node $n"
    done
    # With ports that are not held, of a range in which the tasks have every port.
    site_arguments ports=29000-29001
    run -0 --separate-stderr slurm srun -Q -N2 -n4 --ntasks-per-node=2 --tf-hold=no --tf-tasks=worker:4 "$tf_check" -q
    [ -z "$output" ] && [ -z "$stderr" ] || fail "--quiet prints something"
}

@test "in a step, the node with another plugstack.conf is found" {
    local conf=$SPANK_TF_CLUSTER/work/other.conf

    site_arguments
    sed "s|^PlugStackConfig=.*|PlugStackConfig=/nowhere/plugstack.conf|" "$SPANK_TF_CLUSTER/slurm.conf" > "$conf"
    # shellcheck disable=SC2016  # the task expands it
    run --separate-stderr slurm srun -Q -N2 sh -c \
        '[ $SLURM_PROCID -ne 1 ] || set -- --slurm-conf='"$conf"'; exec '"$tf_check"' -q "$@"' sh
    [ "$status" -eq 2 ] || fail "not an error"
    [ "$output" = "$(node 2): error: there is no /nowhere/plugstack.conf, so Slurm does not load the plugin; write \"include /etc/slurm/plugstack.conf.d/*.conf\" into it" ] ||
        fail "another line, or more"
}

@test "in a step, the node that cannot reach the rendezvous' ports is found" {
    local rule=(OUTPUT -p tcp --dport 29100:29199 -j DROP)

    site_arguments rendezvous_ports=29100-29199
    "$tests/cluster" run --on "$(node 2)" -- iptables -A "${rule[@]}"
    run --separate-stderr slurm srun -Q -N2 "$tf_check"
    "$tests/cluster" run --on "$(node 2)" -- iptables -D "${rule[@]}"
    [ "$status" -eq 2 ] || fail "not an error"
    grep -qE "^$(node 2): error: srun's host 10\.98\.[0-9.]+ cannot be reached on port 29100, 29149, 29199: Connection timed out; open rendezvous_ports= there for connections from this node$" <<< "$output" ||
        fail "node 2 does not say it"
    grep -qE "^$(node 1): ok: srun's host 10\.98\.[0-9.]+ is reached, on port 29100, 29149, 29199$" <<< "$output" ||
        fail "node 1 does not reach it"
}

@test "--step, an option of before, is refused with what to use instead" {
    run -2 --separate-stderr "$tf_check" --step
    [[ $stderr == "tf-check: --step "*"--tf-preflight true"* ]] && [ "${#stderr_lines[@]}" -eq 1 ] || fail "another message"
}
