#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The packages for Debian, from the build to the removal: each test goes on where the one before has ended.

load ../common
load packages

setup_file ()
{
    start_slurm
}

# The packages that the first test has built.
package ()
{
    echo "$packages/$1_$(version)-1~slurm$(slurm_release)_$(dpkg --print-architecture).deb"
}

# Build another version of spank-tf, with other contents of control: repack NAME SED-SCRIPT
repack ()
{
    local tree=$work/repack.$1

    rm -rf "$tree"
    dpkg-deb -R "$(package spank-tf)" "$tree"
    sed -i "$2" "$tree/DEBIAN/control"
    # Maintainer scripts of the new version note when dpkg begins to unpack it.
    unpacked_script "spank-tf $1" > "$tree/DEBIAN/preinst"
    chmod 755 "$tree/DEBIAN/preinst"
    sed -i "s/~slurm[0-9.]*)/~slurm$(sed -n 's/^Version:.*~slurm//p' "$tree/DEBIAN/control"))/" "$tree/DEBIAN/prerm"
    dpkg-deb --root-owner-group -b "$tree" "$work/$1.deb" > /dev/null
}

# A preinst that notes whether the plugin is enabled when dpkg unpacks the package.
unpacked_script ()
{
    echo "#!/bin/sh
if [ -e $enabled ]; then state=enabled; else state=disabled; fi
echo \"$1: \$state\" >> $work/unpacked"
}

# A package of a Slurm that is to come: future_slurm NAME [DEPENDS]
future_slurm ()
{
    local tree=$work/future/$1

    mkdir -p "$tree/DEBIAN" "$work/repository"
    printf '%s\n' "Package: $1" "Version: 99.05.1-1" "Architecture: $(dpkg --print-architecture)" \
        "Maintainer: none" "Description: Slurm of the future" ${2:+"Depends: $2"} > "$tree/DEBIAN/control"
    unpacked_script "$1" > "$tree/DEBIAN/preinst"
    chmod 755 "$tree/DEBIAN/preinst"
    # The configuration stays.
    if [ "$1" = slurm-wlm-basic-plugins ]; then
        mkdir -p "$tree/etc/slurm"
        cp /etc/slurm/plugstack.conf "$tree/etc/slurm"
        echo /etc/slurm/plugstack.conf > "$tree/DEBIAN/conffiles"
    fi
    dpkg-deb --root-owner-group -b "$tree" "$work/repository/$1.deb" > /dev/null
}

# A repository with another Slurm, whose packages depend on each other as Debian's do.
future_repository ()
{
    local name

    future_slurm slurm-wlm-basic-plugins
    future_slurm libslurm99
    for name in $(dpkg-query -W -f '${db:Status-Status} ${Package}\n' 'slurm*' |
        sed -n 's/^installed //p'); do
        [ "$name" = slurm-wlm-basic-plugins ] || future_slurm "$name" "slurm-wlm-basic-plugins (= 99.05.1-1)"
    done
    index_repository
}

index_repository ()
{
    (cd "$work/repository" && dpkg-scanpackages -m . > Packages 2> /dev/null)
    echo "deb [trusted=yes] file:$work/repository ./" > "$work/sources.list"
    apt_get update
}

apt_get ()
{
    apt-get -q -y -o Dir::Etc::SourceList="$work/sources.list" -o Dir::Etc::SourceParts=/dev/null "$@" < /dev/null
}

installed_version ()
{
    dpkg-query -W -f '${db:Status-Status} ${Version}' "$1"
}

@test "make deb, as an ordinary user in a clean tree: two packages, with Slurm's release in the version" {
    make_packages deb DEB_BUILD_OPTIONS="nocheck parallel=2" DEB_BUILD_PROFILES=nocheck > "$work/build.log" 2>&1 ||
        fail "$(tail -n 30 "$work/build.log")"
    [ -e "$(package spank-tf)" ] && [ -e "$(package spank-tf-tools)" ] || fail "$(ls "$packages")"
}

@test "make dist, with the tools of this release, makes the bytes of the tarball" {
    cmp "$work/tree/${SPANK_TF_TARBALL##*/}" "$SPANK_TF_TARBALL"
}

@test "lintian finds no errors" {
    run lintian --allow-root --fail-on error "$packages"/*.changes
    [ "$status" -eq 0 ] && [[ $output != *E:* ]] || fail "lintian"
}

@test "spank-tf has what belongs to one Slurm, and depends on it; spank-tf-tools has the rest, and does not" {
    local release file

    release=$(slurm_release)
    run -0 dpkg-deb -c "$(package spank-tf)"
    for file in spank-tf/spank_tf.so libexec/spank-tf/tf-rendezvous libexec/spank-tf/tf-supervise \
        libexec/spank-tf/tf-addresses share/spank-tf/10-spank-tf.conf share/spank-tf/zz-spank-tf.conf spank-tf/spank_tf_late.so man7/spank-tf.7.gz man5/spank-tf-events.5.gz man8/tf-supervise.8.gz; do
        [[ $output == *"/$file"* ]] || fail "$file is missing"
    done
    [[ $output != */bin/* ]] || fail "there is more"
    run -0 dpkg-deb -f "$(package spank-tf)" Depends
    [[ $output == *"slurm-wlm-basic-plugins (>= $release), slurm-wlm-basic-plugins (<< $release"[0-9]*")"* ||
        $output == *"slurm-wlm-basic-plugins (>= $release), slurm-wlm-basic-plugins (<< ${release%.*}."* ]] || fail "Depends"
    [[ $output =~ libslurm[0-9]+ ]] || fail "Depends"

    run -0 dpkg-deb -c "$(package spank-tf-tools)"
    for file in bin/tf-run bin/tf-exec bin/tf-server bin/psd_run bin/tf-check bin/tf-status python/tf4slurm/__main__.py python/spank_tf_watchdog.py \
        bash_completion.d/spank-tf man1/tf-run.1.gz man1/tf-exec.1.gz man1/psd_run.1.gz examples/train.sbatch examples/notify/syslog \
        examples/enroot/60-spank-tf.sh event.schema.json; do
        [[ $output == *"/$file"* ]] || fail "$file is missing"
    done
    run -0 dpkg-deb -f "$(package spank-tf-tools)" Depends
    [[ $output != *slurm* ]] || fail "it depends on Slurm"
}

@test "spank-tf-tools has the documents as HTML and the manuals as text, and every link of them leads somewhere" {
    dpkg-deb -x "$(package spank-tf-tools)" "$BATS_TEST_TMPDIR"
    run "$tests/packages/check-links" "$BATS_TEST_TMPDIR/usr/share/doc/spank-tf-tools/html"
    [ "$status" -eq 0 ] && [ -z "$output" ] || fail "links"
    grep -q '^OPTIONS$' "$BATS_TEST_TMPDIR/usr/share/doc/spank-tf-tools/html/spank-tf.7.txt" || fail "spank-tf.7.txt"
}

@test "the release of Slurm can be read in the plugin without loading it" {
    dpkg-deb -x "$(package spank-tf)" "$BATS_TEST_TMPDIR"
    run -0 readelf -p .spank_tf "$(find "$BATS_TEST_TMPDIR" -name spank_tf.so)"
    [[ $output == *"slurm=$(slurm_release)"* && $output == *"spank-tf=$(version)"* ]] || fail "not in the file"
}

@test "with SchedMD's packages, it depends on slurm-smd of this release" {
    local bin=$BATS_TEST_TMPDIR/bin release next

    release=$(slurm_release)
    mkdir "$bin"
    printf '#!/bin/sh\necho "slurm-smd:amd64: $2"\n' > "$bin/dpkg-query"
    chmod 755 "$bin/dpkg-query"
    run -0 env PATH="$bin:$PATH" "$tests/../contrib/packages/debian/slurm" substvars
    next=$(sed -n 's/.*Depends=.*(<< \(.*\))/\1/p' <<< "$output")
    [[ ${lines[0]} == "slurm:Depends=slurm-smd (>= $release), slurm-smd (<< $next)" ]] || fail "Depends"
    [[ ${lines[1]} == *"slurm-smd-client (>= $next)"* ]] || fail "Conflicts"
    dpkg --compare-versions "$release.99-1" lt "$next" && dpkg --compare-versions "$next" le "${release%.*}.$((10#${release#*.} + 1))" ||
        fail "the range is not one release"
}

@test "unpacked, but not configured: plain srun works" {
    all_files > "$work/before"
    during dpkg --unpack "$(package spank-tf)"
    only_plain_srun_works
    dpkg --purge spank-tf
}

@test "installed without a package that it needs: plain srun works" {
    repack needs 's/^Depends: /Depends: not-there, /'
    run dpkg -i "$work/needs.deb"
    [ "$status" -ne 0 ] || fail "it is configured"
    only_plain_srun_works
    dpkg --purge spank-tf
}

@test "the package says once that plugstack.conf does not include plugstack.conf.d" {
    local text="include /etc/slurm/plugstack.conf.d/\*.conf"

    : > "$work/empty"
    mount --bind "$work/empty" /etc/slurm/plugstack.conf
    run -0 dpkg -i "$(package spank-tf)"
    grep -q "$text" <<< "$output" || fail "it does not say so"
    run -0 dpkg -i "$(package spank-tf)"
    ! grep -q "$text" <<< "$output" || fail "it says so again"
    umount /etc/slurm/plugstack.conf
    dpkg --purge spank-tf
    run -0 dpkg -i "$(package spank-tf)"
    ! grep -q "$text" <<< "$output" || fail "it says so although Debian's plugstack.conf has it"
    dpkg --purge spank-tf
}

@test "packages of the release before are upgraded, the configuration stays as the administrator has edited it, and srun works meanwhile" {
    make_released deb DEB_BUILD_OPTIONS="nocheck parallel=2" DEB_BUILD_PROFILES=nocheck
    apt-get install -q -y "$work"/released/*.deb < /dev/null
    [[ "$(installed_version spank-tf)" == "installed $(released_version)-"* ]] || fail "$(installed_version spank-tf)"
    sed -i 's|spank_tf.so$|& timeout=77|' "$enabled"
    cp "$enabled" "$work/edited"
    srun_works
    during apt-get install -q -y "$(package spank-tf)" "$(package spank-tf-tools)" < /dev/null
    [[ "$(installed_version spank-tf)" == "installed $(version)-"* ]] || fail "$(installed_version spank-tf)"
    cmp "$enabled" "$work/edited"
    [ ! -e "$disabled" ] || fail "there is a second configuration"
    [ -e "$late" ] && [ ! -e "$late_disabled" ] || fail "there is no second stage"
    srun_works
    apt-get purge -q -y spank-tf spank-tf-tools < /dev/null
}

@test "apt installs both, and srun --tf-tasks works" {
    local program

    during apt-get install -q -y "$(package spank-tf)" "$(package spank-tf-tools)" < /dev/null
    srun_works
    [ "$(stat -c '%U %a' "$enabled")" = "root 644" ] || fail "not readable by every user"
    for program in /usr/libexec/spank-tf/* tf-run tf-exec tf-server tf-check tf-status psd_run; do
        run -0 --separate-stderr "$program" --version
        [ "$output" = "spank-tf $(version)" ] || fail "$program is not of this version"
    done
    run -0 --separate-stderr slurm srun -N2 tf-check
    [[ $output != *error:* ]] || fail "tf-check finds an error"
    run -0 slurm srun --tf-tasks=help
    [ -e "$(sed -n 's/^A guide, with examples: //p' <<< "$output")" ] || fail "the guide is not where the help says"
}

@test "an upgrade keeps the configuration, and srun works meanwhile" {
    sed -i 's|spank_tf.so$|& show=yes|' "$enabled"
    repack newer 's/^Version: /&1:/'
    during dpkg -i "$work/newer.deb"
    grep -q "show=yes" "$enabled" || fail "the edit is lost"
    sed -i 's| show=yes||' "$enabled"
    srun_works
    dpkg -i "$(package spank-tf)"
}

@test "an upgrade that fails while it is unpacked changes nothing" {
    repack broken 's/^Version: .*/Version: 1:1-1~slurm99.05/; /^\(Depends\|Conflicts\):/d'
    truncate -s -5000 "$work/broken.deb"
    run dpkg -i "$work/broken.deb"
    [ "$status" -ne 0 ] || fail "it is installed"
    [[ "$(installed_version spank-tf)" == "installed $(version)-1~"* ]] || fail "$(installed_version spank-tf)"
    srun_works
}

@test "a configuration that the administrator has deleted stays deleted" {
    mv "$enabled" "$work/kept"
    dpkg -i "$(package spank-tf)"
    only_plain_srun_works
    mv "$work/kept" "$enabled"
}

@test "another configuration of the administrator stays, and is named" {
    mv "$enabled" "$work/kept"
    echo "# nothing" > "$enabled"
    run -0 dpkg -i "$(package spank-tf)"
    [[ $output == *"$enabled stays as it is"* && "$(cat "$enabled")" = "# nothing" ]] || fail "it is changed, or not named"
    mv "$work/kept" "$enabled"
}

@test "apt upgrade keeps a Slurm of another release back, and full-upgrade does so or removes spank-tf" {
    future_repository
    run -0 apt_get upgrade --with-new-pkgs
    [[ "$(installed_version slurm-client)" != *99.05* ]] || fail "Slurm is upgraded"
    [[ $output == *slurm-client* ]] || fail "Slurm is not kept back"
    srun_works
    run -0 apt_get full-upgrade --simulate
    grep -q "^Remv spank-tf " <<< "$output" || ! grep -q "^Inst slurm-client" <<< "$output" || fail "Slurm is upgraded"
}

@test "dpkg refuses a Slurm of another release, and this package with another Slurm" {
    run dpkg -i "$work/repository/slurm-client.deb"
    [ "$status" -ne 0 ] && [[ $output == *"spank-tf conflicts with slurm-client"* ]] || fail "Slurm is installed"
    repack other 's/^Version: .*/Version: 1:1-1~slurm99.05/; s/^Conflicts: .*/Conflicts: slurm-client (<< 99.05)/'
    run dpkg -i "$work/other.deb"
    [ "$status" -ne 0 ] || fail "spank-tf is installed"
    srun_works
}

@test "a removal is refused while another file loads the plugin, and names the file" {
    grep '^required' "$enabled" > /etc/slurm/plugstack.conf.d/50-site.conf
    mv "$enabled" "$work/kept"
    run dpkg -r spank-tf
    [ "$status" -ne 0 ] && [[ $output == *"/etc/slurm/plugstack.conf.d/50-site.conf loads"* ]] || fail "it is removed"
    srun_works
    mv "$work/kept" "$enabled"
    rm /etc/slurm/plugstack.conf.d/50-site.conf
    dpkg --configure -a
}

@test "removed: plain srun works, also meanwhile; installed again, the configuration is as it was" {
    sed -i 's|spank_tf.so$|& timeout=77|' "$enabled"
    during apt_get remove spank-tf
    only_plain_srun_works
    [ ! -e "$late" ] || fail "a file for a plugin that is not there"
    dpkg -i "$(package spank-tf)"
    grep -q "timeout=77" "$enabled" || fail "the edit is lost"
    srun_works
}

@test "purged: nothing is left" {
    apt_get purge spank-tf spank-tf-tools
    plain_srun_works
    diff <(all_files) "$work/before" | grep -v '^[0-9,acd]*$' > "$work/left" || true
    [ ! -s "$work/left" ] || fail "$(cat "$work/left")"
}

@test "Slurm and spank-tf of another release are upgraded together, and the plugin is disabled meanwhile" {
    local name

    dpkg -i "$(package spank-tf)"
    stop_cluster
    : > "$work/unpacked"
    repack future "s/^Version: .*/Version: $(version)-1~slurm99.05/
        s/^Depends: .*/Depends: libslurm99, slurm-wlm-basic-plugins (>= 99.05), slurm-wlm-basic-plugins (<< 99.06)/
        s/^Conflicts: .*/Conflicts: $(for name in slurm-wlm-basic-plugins slurm-client slurmd; do
            echo "$name (<< 99.05), $name (>= 99.06),"
        done | paste -sd ' ' | sed 's/,$//')/"
    mv "$work/future.deb" "$work/repository"
    index_repository
    run -0 apt_get upgrade --with-new-pkgs
    [[ "$(installed_version slurm-client)" == "installed 99.05.1-1" ]] || fail "Slurm is not upgraded"
    [[ "$(installed_version spank-tf)" == "installed $(version)-1~slurm99.05" ]] || fail "spank-tf is not upgraded"
    # The packages with srun and slurmstepd, and their plugins.
    for name in slurm-client slurmd slurm-wlm-basic-plugins "spank-tf future"; do
        grep -qx "$name: disabled" "$work/unpacked" || fail "unpacked: $(cat "$work/unpacked")"
    done
    [ -e "$enabled" ] && [ ! -e "$disabled" ] || fail "the plugin is not enabled"
    [ -e "$late" ] && [ ! -e "$late_disabled" ] || fail "the second stage is not enabled"
}
