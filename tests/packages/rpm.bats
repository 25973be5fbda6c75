#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The RPM packages, built by rpmbuild on Debian and installed by rpm with a database of their own: their
# files and scriptlets are tried, but not the dependencies, which no package of Debian satisfies.

load ../common
load packages

template=/usr/share/spank-tf/10-spank-tf.conf

setup_file ()
{
    start_slurm
    # These belong to packages that an RPM distribution has.
    mkdir -p /usr/share/licenses
    echo "# the configuration of another plugin" > /etc/slurm/plugstack.conf.d/99-other.conf
    all_files > "$work/before"
}

package ()
{
    echo "$packages/$1-$(version)-1.sl$(slurm_release | tr -d .).$(uname -m).rpm"
}

# rpm with a database of its own.
rpm_with ()
{
    rpm --dbpath "$work/database" --nodeps "$@"
}

@test "make rpm, as an ordinary user in a clean tree: two packages, with Slurm's release in the release" {
    make_packages rpm RPMBUILD_OPTIONS="--nodeps --without check" > "$work/build.log" 2>&1 ||
        fail "$(tail -n 30 "$work/build.log")"
    [ -e "$(package spank-tf)" ] && [ -e "$(package spank-tf-tools)" ] || fail "$(ls "$packages")"
}

@test "spank-tf has what belongs to one Slurm, and requires its library; spank-tf-tools has the rest, and does not" {
    local file

    run -0 rpm -qpl "$(package spank-tf)"
    for file in spank-tf/spank_tf.so libexec/spank-tf/tf-rendezvous libexec/spank-tf/tf-supervise \
        libexec/spank-tf/tf-addresses share/spank-tf/10-spank-tf.conf share/spank-tf/zz-spank-tf.conf spank-tf/spank_tf_late.so man7/spank-tf.7 man5/spank-tf-events.5 man8/tf-supervise.8; do
        [[ $output == *"/$file"* ]] || fail "$file is missing"
    done
    [[ $output != */bin/* ]] || fail "there is more"
    run -0 rpm -qpc "$(package spank-tf)"
    [ "$output" = "$enabled"$'\n'"$late" ] || fail "not the configuration files"
    run -0 rpm -qp --requires "$(package spank-tf)"
    grep -qxF "$(basename "$(ls /usr/lib/*/libslurm.so.[0-9][0-9])")()(64bit)" <<< "$output" || fail "it does not require libslurm"

    run -0 rpm -qpl "$(package spank-tf-tools)"
    for file in bin/tf-run bin/tf-exec bin/tf-server bin/psd_run bin/tf-check bin/tf-status python/tf4slurm/__main__.py python/spank_tf_watchdog.py \
        bash_completion.d/spank-tf man1/tf-run.1 man1/tf-exec.1 man1/psd_run.1 examples/train.sbatch notify/syslog \
        enroot/60-spank-tf.sh event.schema.json; do
        [[ $output == *"/$file"* ]] || fail "$file is missing"
    done
    if command -v cmark-gfm mandoc > /dev/null; then
        [[ $output == */html/guide.html* && $output == */html/spank-tf.7.txt* ]] || fail "no HTML"
    fi
    run -0 rpm -qp --requires "$(package spank-tf-tools)"
    [[ $output != *slurm* ]] || fail "it depends on Slurm"
}

@test "rpmlint finds no errors" {
    command -v rpmlint > /dev/null || skip "rpmlint is not installed"
    run rpmlint "$(package spank-tf)" "$(package spank-tf-tools)"
    # Who packs and signs is the site's matter; the interpreter is that of the user's environment.
    run grep -vE "no-(signature|packager-tag|group-tag|changelogname-tag)|env-script-interpreter /usr/bin/(tf-server|psd_run) " \
        <<< "$(grep " E: " <<< "$output")"
    [ -z "$output" ] || fail "rpmlint"
}

@test "the package says once that plugstack.conf does not include plugstack.conf.d" {
    local text="include /etc/slurm/plugstack.conf.d/\*.conf"

    : > "$work/empty"
    mount --bind "$work/empty" /etc/slurm/plugstack.conf
    run -0 rpm_with -i "$(package spank-tf)"
    grep -q "$text" <<< "$output" || fail "it does not say so"
    run -0 rpm_with -U --force "$(package spank-tf)"
    ! grep -q "$text" <<< "$output" || fail "it says so again"
    umount /etc/slurm/plugstack.conf
    rpm_with -e spank-tf
}

@test "packages of the release before are upgraded, the configuration stays as the administrator has edited it, and srun works meanwhile" {
    make_released rpm RPMBUILD_OPTIONS="--nodeps --without check"
    rpm_with -i "$work"/released/*.rpm
    sed -i 's|spank_tf.so$|& timeout=77|' "$enabled"
    cp "$enabled" "$work/edited"
    srun_works
    during rpm_with -U "$(package spank-tf)" "$(package spank-tf-tools)"
    run -0 rpm --dbpath "$work/database" -q spank-tf
    [[ $output == "spank-tf-$(version)-"* ]] || fail "not upgraded"
    cmp "$enabled" "$work/edited"
    [ -e "$late" ] && [ ! -e "$late_disabled" ] || fail "there is no second stage"
    srun_works
    rpm_with -e spank-tf spank-tf-tools
    [ ! -e "$late" ] && [ ! -e "$late_disabled" ] || fail "a file for a plugin that is not there"
    rm "$disabled"
}

@test "installed, srun --tf-tasks works" {
    during rpm_with -i "$(package spank-tf)" "$(package spank-tf-tools)"
    cmp "$enabled" "$template"
    srun_works
    run -0 rpm_with -V spank-tf spank-tf-tools
}

@test "an upgrade keeps the configuration, and srun works meanwhile" {
    sed -i 's|spank_tf.so$|& show=yes|' "$enabled"
    during rpm_with -U --force "$(package spank-tf)"
    grep -q "show=yes" "$enabled" && [ ! -e "$disabled" ] || fail "the edit is lost"
    sed -i 's| show=yes||' "$enabled"
    srun_works
}

@test "the plugin is disabled from before another Slurm is unpacked until the end of the transaction" {
    local plugin

    plugin=$(sed -n 's/^required //p' "$template")
    rpm_with -U --force --noposttrans "$(package spank-tf)"
    [ -e "$enabled" ] || fail "disabled, although it is for the same Slurm"
    # The installed plugin was built for another Slurm.
    sed -i "s/slurm=$(slurm_release)/slurm=99.05/" "$plugin"
    # What runs before the first package of a transaction is unpacked, without what runs after the last.
    rpm_with -U --force --noposttrans "$(package spank-tf)"
    [ ! -e "$enabled" ] && [ -e "$disabled" ] || fail "it is enabled"
    [ ! -e "$late" ] && [ -e "$late_disabled" ] || fail "its second stage is enabled"
    only_plain_srun_works
    rpm_with -U --force "$(package spank-tf)"
    [ -e "$enabled" ] && [ ! -e "$disabled" ] || fail "it is not enabled again"
    [ -e "$late" ] && [ ! -e "$late_disabled" ] || fail "its second stage is not enabled again"
    srun_works
}

@test "a configuration that the administrator has deleted stays deleted" {
    rm "$enabled"
    rpm_with -U --force "$(package spank-tf)"
    only_plain_srun_works
    cp "$template" "$enabled"
}

@test "a removal is refused while another file loads the plugin, and names the file" {
    cp "$enabled" /etc/slurm/plugstack.conf.d/50-site.conf
    mv "$enabled" "$work/kept"
    run rpm_with -e spank-tf
    [ "$status" -ne 0 ] && [[ $output == *"/etc/slurm/plugstack.conf.d/50-site.conf loads"* ]] || fail "it is removed"
    srun_works
    rm /etc/slurm/plugstack.conf.d/50-site.conf
    mv "$work/kept" "$enabled"
}

@test "removed: plain srun works, also meanwhile; installed again, the configuration is as it was" {
    sed -i 's|spank_tf.so$|& timeout=77|' "$enabled"
    during rpm_with -e spank-tf
    only_plain_srun_works
    rpm_with -i "$(package spank-tf)"
    grep -q "timeout=77" "$enabled" || fail "the edit is lost"
    srun_works
}

@test "removed without an edit: nothing is left" {
    cp "$template" "$enabled"
    rpm_with -e spank-tf spank-tf-tools
    plain_srun_works
    # A folder of RPM's own stays if programs of both packages happen to have build numbers that begin with it.
    diff <(all_files) "$work/before" | grep -vE '^[0-9,acd]*$|^< /usr/lib/\.build-id(/..)?$' > "$work/left" || true
    [ ! -s "$work/left" ] || fail "$(cat "$work/left")"
}
