# SPDX-License-Identifier: GPL-2.0-or-later
#
# A cluster whose nodes have the real pyxis and enroot, and images for them. SPANK_TF_PYXIS is the prefix of `make
# install` of both, as in `make prefix=DIR install`: it has lib/slurm/spank_pyxis.so and bin/enroot.

# Why the tests here cannot run, or nothing.
why_no_pyxis ()
{
    if [[ ! ${SPANK_TF_PYXIS-} ]]; then
        echo "SPANK_TF_PYXIS does not name a directory with pyxis and enroot"
    elif [[ ! -e $SPANK_TF_PYXIS/lib/slurm/spank_pyxis.so || ! -x $SPANK_TF_PYXIS/bin/enroot ]]; then
        echo "$SPANK_TF_PYXIS lacks lib/slurm/spank_pyxis.so or bin/enroot"
    elif ! type -P mksquashfs > /dev/null; then
        echo "mksquashfs, of squashfs-tools, is not installed"
    elif ! unshare --user true 2> /dev/null; then
        echo "this machine does not let users create namespaces"
    fi
}

# Called by setup() of common.bash.
skip_impossible ()
{
    local why

    why=$(why_no_pyxis)
    [[ ! $why ]] || skip "$why"
}

# A root file system without device nodes, which a user cannot make. Its programs are this machine's, by mounts:
# image NAME [VARIABLE=VALUE…]
image ()
{
    local root=$BATS_FILE_TMPDIR/root name

    rm -rf "$root"
    mkdir -p "$root"/{etc,dev,proc,sys,tmp,root,run,var,usr,workspace}
    for name in bin sbin lib lib64; do
        ln -s "usr/$name" "$root/$name"
    done
    printf '%s\n' root:x:0:0:root:/root:/bin/bash > "$root/etc/passwd"
    printf '%s\n' root:x:0: > "$root/etc/group"
    printf '%s\n' "PATH=/usr/local/bin:/usr/bin:/bin" "${@:2}" > "$root/etc/environment"
    : > "$root/etc/fstab"
    printf '%s\n' '#!/bin/sh' 'export FROM_ENTRYPOINT=yes' 'exec "$@"' > "$root/entrypoint"
    chmod 755 "$root/entrypoint"
    printf '%s\n' 'cd /workspace' 'exec /entrypoint "$@"' > "$root/etc/rc"
    mksquashfs "$root" "$BATS_FILE_TMPDIR/$1.sqsh" -all-root -no-progress -noappend > "$BATS_FILE_TMPDIR/mksquashfs.log"
}

# enroot's data is each node's own, as on a real cluster. A hook waits for SLOW_SETUP seconds.
configure_enroot ()
{
    local conf=$BATS_FILE_TMPDIR/conf hooks=$BATS_FILE_TMPDIR/hooks name

    mkdir "$conf" "$hooks"
    for name in RUNTIME DATA CACHE TEMP; do
        printf 'ENROOT_%s_PATH %s/user-$(id -u)\n' $name "$BATS_FILE_TMPDIR/local/$name"
    done > "$conf/node.conf"
    echo "ENROOT_ROOTFS_WRITABLE yes" >> "$conf/node.conf"
    # Those that enroot's documents name for pyxis are not in use by default.
    cp "$SPANK_TF_PYXIS"/etc/enroot/hooks.d/* "$hooks"
    cp "$SPANK_TF_PYXIS"/share/enroot/hooks.d/50-slurm-*.sh "$hooks"
    printf '%s\n' '#!/bin/sh' 'sleep "${SLOW_SETUP:-0}"' > "$hooks/20-slow.sh"
    chmod 755 "$hooks"/*
}

start_pyxis_cluster ()
{
    local name local=$BATS_FILE_TMPDIR/local

    image plain
    image torch PYTORCH_VERSION=2.6.0
    configure_enroot
    mkdir "$local"
    PATH=$SPANK_TF_PYXIS/bin:$PATH start_cluster "$@"
    while read -r name; do
        "$tests/cluster" run --on "$name" -- sh -e -c "
            mount -t tmpfs -o mode=1777 local $local
            mkdir -m 1777 $local/RUNTIME $local/DATA $local/CACHE $local/TEMP
            mkdir -m 755 $local/pyxis
            # As udev makes it.
            mknod -m 666 $local/fuse c 10 229
            mount --bind $local/fuse /dev/fuse
            mount --bind $BATS_FILE_TMPDIR/conf $SPANK_TF_PYXIS/etc/enroot/enroot.conf.d
            mount --bind $BATS_FILE_TMPDIR/hooks $SPANK_TF_PYXIS/etc/enroot/hooks.d"
    done < "$SPANK_TF_CLUSTER/nodes"
}
