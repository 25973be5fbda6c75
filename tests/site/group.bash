# SPDX-License-Identifier: GPL-2.0-or-later
#
# The group `site` of tests/run: the site that `make site` makes, in a browser; and that a defect is found.
#
# shellcheck disable=SC2154  # tests/run has set the variables

group_site ()
{
    step "the packages for the site" "$top/tests/install-packages" site
    step "make site" make -s -C "$work/build" site
    step "the film has the words of today's program" "$top/tests/site/film-words"
    step "make site refuses broken links and anchors" refuse_broken_links
    # TMPDIR: for Chromium's profile.
    step "every page in Chromium, on the screens of a desktop and a phone, in light and dark colours" \
        env TMPDIR="$run" "$top/tests/site/browse.py" --pictures="$run/site" "$work/build/site"
    step "a page with one defect of each kind" find_defects
}

# With a link to no file in README.md, with links to anchors that do not exist, here and in another page; and with a
# document that is not in the navigation. Only one of the manual pages is there.
refuse_broken_links ()
{
    local tree=$run/broken-site

    mkdir -p "$tree/tests" "$tree/build/contrib" && cp -r "$top"/*.md "$top/doc" "$top/contrib" "$tree" &&
        cp "$top/tests/README.md" "$tree/tests" && cp "$work/build/contrib/psd_run.1" "$tree/build/contrib" &&
        ln -s "$work/build/site-env" "$tree/build/site-env" &&
        build_refuses doc/guide/hangs.md "[x](nothing.md)" "doc/guide/hangs.md:[0-9]*: no file nothing.md" &&
        build_refuses doc/guide/hangs.md "[x](../design/launch.md#nothing)" "local id not found in doc 'doc/design/launch': 'nothing'" &&
        build_refuses doc/guide/hangs.md "[x](#nothing)" "'myst' cross-reference target not found: 'nothing'" &&
        build_refuses doc/new.md "# New" "doc/new.md: is not in the navigation"
}

# build_refuses FILE LINE MESSAGE: with LINE at the end of this document.
build_refuses ()
{
    local output result=0

    [[ ! -e $top/$1 ]] || cp "$top/$1" "$tree/$1"
    printf '\n%s\n' "$2" >> "$tree/$1"
    output=$(cd "$tree/build" && "$tree/contrib/site/build" 0 contrib/psd_run.1 2>&1) && result=1
    [[ ! -e $top/$1 ]] || cp "$top/$1" "$tree/$1"
    echo "$output"
    ((result == 0)) && grep -q "$3" <<< "$output" && [[ ! -e $tree/build/site ]] || { echo "not refused: $2"; return 1; }
}

find_defects ()
{
    ! TMPDIR=$run "$top/tests/site/browse.py" "$top/tests/site/defects" > "$run/defects" || return
    diff -u "$top/tests/site/defects/found" "$run/defects"
}
