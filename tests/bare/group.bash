# SPDX-License-Identifier: GPL-2.0-or-later
#
# The group `bare` of tests/run, and `bare_quick`, the part of it that takes minutes: what README.md and
# doc/administration.md promise of a machine with nothing but Debian, in scratch copies of root file systems that are as
# debootstrap has made them (releases/root --bare).
#
# shellcheck disable=SC2154  # tests/run has set the variables

# What takes minutes. Both releases at the same time: while one downloads, the other compiles.
group_bare_quick ()
{
    local suite
    local -a jobs_started=()

    if ! pack_for_bare > "$run/step.log" 2>&1; then
        echo "not ok make dist"
        tail -n 40 "$run/step.log"
        count 0 1 0
        return 1
    fi
    for suite in bookworm trixie; do
        in_bare "$suite" quick_tests > "$run/$suite.results" 2>&1 &
        jobs_started+=($!)
    done
    wait "${jobs_started[@]}"
    for suite in bookworm trixie; do
        cat "$run/$suite.results"
        count_tap "$run/$suite.results"
    done
}

# And README.md's second command, which takes as long as the core does here. One release after the other, because its
# tests expect both cores.
group_bare ()
{
    local suite

    group_bare_quick || return
    for suite in bookworm trixie; do
        in_bare "$suite" core_test > "$run/$suite.results" 2>&1 &
        wait $!
        cat "$run/$suite.results"
        count_tap "$run/$suite.results"
    done
}

# Tests on one release, as TAP: in_bare SUITE FUNCTION
in_bare ()
{
    local suite=$1 root child=''

    # When the run is interrupted.
    trap '[[ ! $child ]] || { kill "$child"; wait "$child"; }; exit 1' TERM
    if ! root=$("$top/tests/releases/root" --bare "$suite" 2> "$run/$suite.root"); then
        echo "ok bare $suite # skip it is not available: $(tail -n 1 "$run/$suite.root")"
        return
    fi
    "$2"
}

quick_tests ()
{
    bare_test "$suite: apt has every package that the tests, the site and the plots need" tests/install-packages --simulate test site bench
    bare_test "$suite: contrib/demo" contrib/demo
    bare_test "$suite: make deb, with exactly the packages that doc/administration.md names" \
        env COMMANDS='./autogen.sh; ./configure -q; make -s deb; ls packages/spank-tf_*.deb packages/spank-tf-tools_*.deb' \
        sh -c "$(declare -f in_tree); in_tree $(packages_of_pages | paste -sd' ')"
    bare_test "$suite: make wheel, by README.md, with the packages that the guide names" \
        env COMMANDS="$(line_of_readme); ls packages/spank_tf-*.whl" sh -c "$(declare -f in_tree); in_tree python3 $(packages_of_guide)"
    bare_test "$suite: the wheel, without a compiler" sh -c "$(declare -f try_wheel); try_wheel"
}

# Of the tarball, so that the release's own autoconf makes `configure`.
core_test ()
{
    bare_test "$suite: tests/run" sh -ec '
        mkdir /srv/spank-tf
        tar -C /srv/spank-tf --strip-components=1 -xzf /tmp/spank-tf.tar.gz
        exec /srv/spank-tf/tests/run'
    # How many have passed.
    sed -n '$s/^/# /p' "$run/${root##*/}.log"
}

# Run a command in a scratch copy of $root, in this tree: bare_test NAME COMMAND...
bare_test ()
{
    local name=$1 log=$run/${root##*/}.log begin=$SECONDS

    shift
    # shellcheck disable=SC2016  # the shell in the scratch root expands it
    "$top/tests/releases/enter" --network --scratch "$root" env -u SPANK_TF_PACKAGES PIP_CONFIG_FILE=/tmp/pip.conf \
        PIP_CERT=/tmp/ca-certificates.crt sh -c 'tar -C /tmp -x && exec "$@" < /dev/null' - "$@" \
        < "$run/bare.tar" > "$log" 2>&1 &
    child=$!
    if wait "$child"; then
        echo "ok $name ($((SECONDS - begin)) s)"
    else
        echo "not ok $name"
        # Indented, because tests of its own are not counted here.
        { grep -a -A 20 '^not ok' "$log"; tail -n 40 "$log"; } | sed 's/^/    /'
    fi
}

# For /tmp there: the tarball of this tree; the mirror of this machine's pip, and the certificates that it trusts.
pack_for_bare ()
{
    local files=$run/bare-files

    rm -f "$work"/build/spank-tf-*.tar.gz
    mkdir "$files" && make -s -C "$work/build" dist && cp "$work"/build/spank-tf-*.tar.gz "$files/spank-tf.tar.gz" &&
        touch "$files/pip.conf" "$files/ca-certificates.crt" || return
    cp /etc/pip.conf "$files"
    cp /etc/ssl/certs/ca-certificates.crt "$files"
    make_static && cp "$work"/run/static/*.whl "$files" || return
    # Not ".": /tmp there would get its mode.
    (cd "$files" && tar -c ./*) > "$run/bare.tar"
}

# In the scratch root. Without a Slurm cluster, tf-run refuses a wrong list, and has all the other programs.
try_wheel ()
{
    apt-get -q update && apt-get -q install -y --no-install-recommends python3-venv slurm-client || return
    ! command -v cc || return
    python3 -m venv /srv/venv && /srv/venv/bin/pip install --no-index /tmp/spank_tf-*.whl || return
    PATH=/srv/venv/bin:$PATH
    cd / && python -c 'import spank_tf_watchdog' && tf-run --help > /dev/null && tf-exec --help > /dev/null || return
    printf '%s\n' ClusterName=c SlurmctldHost=localhost NodeName=localhost 'PartitionName=p Nodes=ALL' > /etc/slurm/slurm.conf
    tf-run --tf-tasks=ps,wroker srun -n2 true 2>&1 | grep -F 'did you mean "worker"?' || return
    ln -s "$(command -v tf-run)" /usr/local/bin/tf-check
    tf-check --version | grep -F "$(tf-run --version | grep -oE '[0-9.]+')"
}

line_of_readme ()
{
    sed -n 's/^    \(\.\/autogen\.sh.* make wheel\) .*/\1/p' "$top/README.md"
}

packages_of_guide ()
{
    tr '\n' ' ' < "$top/doc/guide/without-an-administrator.md" | sed 's/.*`apt install \([^`]*\)`.*/\1/'
}

packages_of_pages ()
{
    tr '\n' ' ' < "$top/doc/administration.md" |
        sed 's/.* a compiler for C, and the packages \(.*\) on Debian and Ubuntu.*/\1/; s/([^)]*)//g' | grep -oE '`[^` ]+`' | tr -d '`'
}

# In the scratch root, as an ordinary user, $COMMANDS in the tree of the tarball: in_tree PACKAGE...
in_tree ()
{
    set -ex
    export DEBIAN_FRONTEND=noninteractive
    apt-get -q update
    apt-get -q -y --no-install-recommends install gcc "$@"
    install -d -o nobody /tmp/tree
    exec runuser -u nobody -- env HOME=/tmp/tree sh -exc '
        cd /tmp/tree
        tar --strip-components=1 -xzf /tmp/spank-tf.tar.gz
        eval "$COMMANDS"'
}
