# SPDX-License-Identifier: GPL-2.0-or-later
#
# For the tests of the packages, which run in a scratch root file system (releases/enter --scratch): they
# install packages for real, and start a Slurm with the plugstack.conf of that system.

# What the builder and the tests write.
work=/var/tmp/spank-tf
packages=$work/packages
# shellcheck disable=SC2034  # for the tests
enabled=/etc/slurm/plugstack.conf.d/10-spank-tf.conf
# shellcheck disable=SC2034  # for the tests
disabled=/etc/slurm/10-spank-tf.conf.disabled
# That of the second stage.
# shellcheck disable=SC2034  # for the tests
late=/etc/slurm/plugstack.conf.d/zz-spank-tf.conf
# shellcheck disable=SC2034  # for the tests
late_disabled=/etc/slurm/zz-spank-tf.conf.disabled

# The tarball is SPANK_TF_TARBALL; beside it is that of the version before, released.tar.gz, if it is to be upgraded.
start_slurm ()
{
    umask 022
    export SPANK_TF_STAGE=/nowhere DEBIAN_FRONTEND=noninteractive
    mkdir -p "$work"
    id "$user" > /dev/null 2>&1 || "$tests/create-user" "$user"
    id "$other_user" > /dev/null 2>&1 || "$tests/create-user" "$other_user"
    start_cluster --nodes 2 --prefix node --plugstack /etc/slurm/plugstack.conf
}

# Build in a clean tree as an ordinary user: make_packages deb|rpm [VARIABLE=VALUE...]
make_packages ()
{
    make_packages_of "$SPANK_TF_TARBALL" "$packages" "$@"
}

# make_packages_of TARBALL DIRECTORY deb|rpm [VARIABLE=VALUE...]
make_packages_of ()
{
    local tarball=$1 directory=$2 kind=$3 tree=$work/tree

    rm -rf "$tree"
    install -d -o "$user" "$tree"
    runuser -u "$user" -- env HOME="$tree" "${@:4}" sh -ec '
        tar --strip-components=1 -C "$1" -xzf "$2"
        cd "$1"
        ./autogen.sh
        ./configure -q
        make -s "$3"' - "$tree" "$tarball" "$kind"
    mkdir -p "$directory"
    cp "$tree"/packages/* "$directory"
}

# Build the packages of the version before, in $work/released: make_released deb|rpm [VARIABLE=VALUE...]
make_released ()
{
    [ -e /tmp/released.tar.gz ] || skip "the version before is not there: git lacks it, or it was upgraded on another release"
    make_packages_of /tmp/released.tar.gz "$work/released" "$@" > "$work/released.log" 2>&1 || fail "$(tail -n 30 "$work/released.log")"
}

# The version before.
released_version ()
{
    tar -xzOf /tmp/released.tar.gz spank-tf/configure.ac | sed -n 's/^AC_INIT(\[spank-tf\], \[\(.*\)\])$/\1/p'
}

version ()
{
    sed -n 's/^AC_INIT(\[spank-tf\], \[\(.*\)\])$/\1/p' "$tests/../configure.ac"
}

# Such as 24.11.
slurm_release ()
{
    slurm_version | cut -d. -f1,2
}

# A step with the plugin, and one without, work.
srun_works ()
{
    run --separate-stderr slurm srun -Q -N2 --tf-tasks=ps,worker --tf-stop=never sh -c 'echo "$TF_CONFIG"'
    [ "$status" -eq 0 ] && [ -z "$stderr" ] || fail "srun --tf-tasks fails"
    [ "$(grep -c '^{"cluster":{"ps":\["10.*"worker":\["10' <<< "$output")" -eq 2 ] || fail "TF_CONFIG is not set"
    plain_srun_works
}

plain_srun_works ()
{
    run --separate-stderr slurm srun -Q -N2 hostname
    [ "$status" -eq 0 ] && [ -z "$stderr" ] && [ "${#lines[@]}" -eq 2 ] || fail "plain srun fails"
}

# Without the plugin, its options are unknown, and that is all.
only_plain_srun_works ()
{
    plain_srun_works
    run slurm srun -N2 --tf-tasks=ps,worker hostname
    [ "$status" -ne 0 ] && [[ $output == *"unrecognized option '--tf-tasks="* ]] || fail "--tf-tasks is still known"
}

# Run plain srun again and again while a command runs; each has to work: during COMMAND...
during ()
{
    local loop log=$BATS_TEST_TMPDIR/during result=0

    : > "$log.failed"
    : > "$log.count"
    while [ ! -e "$log.stop" ]; do
        slurm srun -N1 true > "$log.srun" 2>&1 < /dev/null || cat "$log.srun" >> "$log.failed"
        echo >> "$log.count"
    done &
    loop=$!
    # The first step may take long beside other tests. bats waits for the loop, also if the test fails.
    { eventually 60 [ -s "$log.count" ] && "$@"; } || result=$?
    touch "$log.stop"
    wait "$loop" || true
    [ ! -s "$log.failed" ] || fail "a step failed meanwhile: $(cat "$log.failed")"
    return $result
}

# Every file outside of the package managers' own directories, and of what these tests write. Chromium, which tests of the
# site run at the same time, makes a directory in its own one.
all_files ()
{
    find /etc /usr /var /opt -xdev \( -path /var/lib/dpkg -o -path /var/lib/apt -o -path /var/lib/swcatalog -o -path /var/cache -o -path /var/log \
        -o -path /var/lib/rpm -o -path /usr/lib/chromium -o -path "$work" -o -path /var/tmp \) -prune -o -print | grep -v '~$\|ld.so.cache' | sort
}
