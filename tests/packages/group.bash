# SPDX-License-Identifier: GPL-2.0-or-later
#
# The group `packages` of tests/run: spank-tf's own packages, built, installed, upgraded and removed in
# scratch copies of root file systems (releases/enter --scratch): those of the other releases, and this
# machine's own.

group_packages ()
{
    local name root

    # shellcheck disable=SC2154  # tests/run has set top, work, run, users and bats_options
    step "tools for packages" install_package_tools
    step "make dist twice makes the same bytes" same_tarballs
    if git -C "$top" rev-parse > /dev/null 2>&1; then
        step "the tarball has what git has" tarball_is_complete
    else
        echo "ok the tarball has what git has # skip this is not a checkout"
        count 0 0 1
    fi
    if install_sbom_tools > "$run/step.log" 2>&1; then
        step "make sbom: valid SPDX, of every file of the tarball and every library" sbom_is_valid
    else
        echo "ok make sbom # skip its validator cannot be installed: $(tail -n 1 "$run/step.log")"
        count 0 0 1
    fi
    pack_released 2> /dev/null || rm -f "$run/released.tar.gz"
    packages_in / deb.bats rpm.bats
    # doc/releasing.md has this group as a step of its own.
    [[ ! $all ]] || return 0
    # The upgrade is tested once.
    rm -f "$run/released.tar.gz"
    while read -r name _; do
        if root=$("$top/tests/releases/root" "$name" 2> "$run/step.log") &&
            "$top/tests/releases/enter" --network "$root" "$top/tests/install-packages" packages > "$run/step.log" 2>&1; then
            packages_in "$root" deb.bats
        else
            echo "ok packages in $name # skip it is not available: $(tail -n 1 "$run/step.log")"
            count 0 0 1
        fi
    done < <("$top/tests/releases/root" --list)
}

install_package_tools ()
{
    "$top/tests/install-packages" packages && "$top/tests/install-packages" rpm rpmlint
}

# In this tree, and at another time with another umask in a tree that was packed before.
same_tarballs ()
{
    local tarball tree=$run/tree

    # Those of another version.
    rm -f "$work"/build/spank-tf-*.tar.gz "$work"/build/spank-tf-*.spdx.json
    make -s -C "$work/build" dist
    tarball=$(echo "$work"/build/spank-tf-*.tar.gz)
    cp "$tarball" "$run"
    mkdir -p "$tree"
    (
        umask 077
        tar --strip-components=1 -C "$tree" -xzf "$tarball"
        mkdir -p "$tree/contrib/python/__pycache__"
        cd "$tree" && ./autogen.sh && ./configure -q && make -s dist
    ) && cmp "$run/${tarball##*/}" "$tree/${tarball##*/}"
}

# But for what only a checkout needs, and what configure writes: the spec file, which rpmbuild looks for, and recipes.
tarball_is_complete ()
{
    diff <(git -C "$top" ls-files | grep -vE '^\.(ci|github)/|^\.git(ignore|-blame-ignore-revs)$' | sort) \
        <(tar -tzf "$run"/spank-tf-*.tar.gz | sed 's|^[^/]*/||; /^$/d; /\/$/d; /^contrib\/packages\/\(package.py\|spank-tf.eb\|spank-tf.spec\)$/d' | sort)
}

install_sbom_tools ()
{
    local env=$work/sbom-env

    ! cmp -s "$top/tests/packages/requirements.txt" "$env/requirements.txt" || return 0
    rm -rf "$env"
    python3 -I -m venv "$env" && "$env/bin/python" -I -m pip install --quiet --disable-pip-version-check \
        --only-binary=:all: --no-deps -r "$top/tests/packages/requirements.txt" &&
        cp "$top/tests/packages/requirements.txt" "$env"
}

sbom_is_valid ()
{
    make -s -C "$work/build" sbom && cmp "$work"/build/spank-tf-*.tar.gz "$run"/spank-tf-*.tar.gz &&
        "$work/sbom-env/bin/python" -I "$top/tests/packages/check-sbom" \
            "$work"/build/spank-tf-*.spdx.json "$work"/build/spank-tf-*.tar.gz
}

# What the packages are upgraded from. 0.2.0 itself had none; its commit is of the first tree that has, and it still has that
# version, and its files in other places. A shallow clone lacks both.
pack_released ()
{
    local commit=76303936d8cd5b6fee418c352e2dd04693da186e           # 0.5.0

    # Until the next release has its number.
    ! grep -qF 'AC_INIT([spank-tf], [0.5.0])' "$top/configure.ac" || commit=b5dc392f5903a4c657c011fcc2368e9d6351c07b # 0.4.0
    git -C "$top" archive --format=tar.gz --prefix=spank-tf/ -o "$run/released.tar.gz" $commit
}

# packages_in ROOT FILE...: the bats files, in a scratch copy of ROOT. The tarballs come by stdin.
packages_in ()
{
    local root=$1 file tarball tap name

    shift
    tarball=$(cd "$run" && echo spank-tf-*.tar.gz)
    for file in "$@"; do
        name=${root##*/} tap=$run/packages.tap
        say "packages/$file in ${name:-this system}"
        # shellcheck disable=SC2016  # the shell in the scratch root expands it
        "$top/tests/releases/enter" --scratch "$root" env SPANK_TF_USERS="${users[0]} ${users[1]}" BATS_TEST_TIMEOUT=900 \
            SPANK_TF_TARBALL="/tmp/$tarball" sh -c 'tar -C /tmp -x && exec "$@" < /dev/null' - \
            bats "${bats_options[@]}" --tap --timing "$top/tests/packages/$file" 2>&1 \
            < <(cd "$run" && tar -c ./*.tar.gz) | tee "$tap"
        ((PIPESTATUS[0] == 0)) || grep -q '^not ok' "$tap" || echo "not ok packages/$file cannot be run" >> "$tap"
        count_tap "$tap"
    done
}
