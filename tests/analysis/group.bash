# SPDX-License-Identifier: GPL-2.0-or-later
#
# The group `analysis` of tests/run: what reads the sources without running them finds nothing, or what it finds
# has its reason at the line. .clang-format, .clang-tidy, tests/.clang-tidy, .shellcheckrc and .codespellrc say what
# is asked.
#
# A finding of gcc that is wrong has the comment "gcc -fanalyzer is wrong: REASON" at its line or above it.
#
# shellcheck disable=SC2154  # tests/run has set the variables

group_analysis ()
{
    step "packages for the analysis" "$top/tests/install-packages" analysis
    step "gcc -fanalyzer" analyze_with_gcc
    step "clang-tidy" analyze_with_clang_tidy
    step "clang-format" analyze_with_clang_format
    step "shellcheck" analyze_with_shellcheck
    step "codespell" analyze_with_codespell
    step "check-docs with gawk, mawk and busybox" analyze_with_each_awk
}

# The files of this tree, not those of builds in it, none that autogen.sh has written, and no input of the fuzzer.
sources ()
{
    find "$top" -mindepth 1 \( -name .git -o -name autom4te.cache -o -path "$top/config" -o -name __pycache__ \
        -o -path "$top/tests/fuzz/corpus" -o -type d -exec test -e {}/config.status \; \) -prune -o \
        -type f ! -name Makefile.in ! -name configure ! -name aclocal.m4 ! -name config.h.in "$@" -print
}

# The programs and the plugin.
analyze_with_gcc ()
{
    variant analyzer all CC=gcc CFLAGS='-O2 -fanalyzer' > "$run/analyzer" 2>&1 || { cat "$run/analyzer"; return 1; }
    ! sed -nE 's/^([^: ]+):([0-9]+):[0-9]+: warning: (.*)/\1 \2 \3/p' "$run/analyzer" | sort -u | unexplained | grep .
}

# Of lines "FILE LINE WARNING", those that lack the comment.
unexplained ()
{
    local file line warning

    while read -r file line warning; do
        sed -n "$((line > 1 ? line - 1 : 1)),${line}p" "$file" | grep -qF 'gcc -fanalyzer is wrong: ' ||
            echo "$file:$line: $warning"
    done
}

# The build of `sanitizers` says how each file is compiled. clang-tidy takes one file at a time, because that of LLVM 14
# mistakes a va_list of the second one.
analyze_with_clang_tidy ()
{
    [[ -e $run/commands ]] || build_sanitized "check TESTS=" || return
    { echo '['; cat "$run"/commands/*.json | sed '$s/,$//'; echo ']'; } > "$work/sanitized/compile_commands.json"
    sources -name '*.c' | xargs -n 1 -P "$(nproc)" clang-tidy -p "$work/sanitized" --quiet 2> "$run/tidy" && return
    grep -vE ' warnings? generated' "$run/tidy"
    return 1
}

analyze_with_clang_format ()
{
    sources -name '*.[ch]' | xargs clang-format-19 --dry-run --Werror
}

# By the first line, or the name.
analyze_with_shellcheck ()
{
    local -a scripts

    mapfile -t scripts < <(
        sources | xargs -d '\n' awk '/^#!.*\/(ba)?sh( |$)/ { print FILENAME } { nextfile }'
        sources \( -name '*.bash' -o -name '*.bats' -o -path '*/contrib/completion/*' \)
    )
    ((${#scripts[@]} > 100)) && shellcheck -f gcc "${scripts[@]}"
}

analyze_with_codespell ()
{
    cd "$top" && sources | xargs -d '\n' codespell --check-hidden
}

# RHEL's awk is gawk, Debian's mawk; each takes something for an error that the others accept.
analyze_with_each_awk ()
{
    local name

    for name in gawk mawk busybox; do
        mkdir -p "$run/$name" && ln -sf "$(command -v "$name")" "$run/$name/awk" &&
            PATH=$run/$name:$PATH make -s -C "$work/build/tests" docs || { echo "with $name"; return 1; }
    done
}
