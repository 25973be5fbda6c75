# SPDX-License-Identifier: GPL-2.0-or-later
#
# The group `releases` of tests/run, the same tests in other releases of Debian, with their releases of Slurm.
#
# shellcheck disable=SC2154  # tests/run has set the variables

# Start the tests of a release in its root file system, by its own tests/run: the unit tests (after a build in
# which a warning is an error), of the system tests those with the tag "release", by tf-run those with "by-run", and the tests of PyTorch, where that
# release's is installed. One bats file at a time, because the releases run beside each other. What it prints waits
# in a file. Of the proctrack types that a test may depend on, the one that sites with this release have:
# start_release NAME ROOT PROCTRACK
start_release ()
{
    local name=$1 root=$2 type=$3
    local -a more=()

    [[ ! -e $root/usr/bin/torchrun ]] || more=(tensorflow/torch.bats)
    rm -rf "$root$work/run"
    "$top/tests/releases/enter" "$root" env SPANK_TF_USERS="$(users_in_roots)" "$top/tests/run" --jobs=1 --tags=release \
        --proctrack="$type,default" unit system by_run "${more[@]}" < /dev/null > "$run/$name.output" 2>&1 &
}

# Print the root file system of a release, or why there is none.
release_root ()
{
    local result=0

    "$top/tests/releases/root" "$1" 2> "$run/step.log" || result=$?
    ((result == 0)) || tail -n 5 "$run/step.log"
    return "$result"
}

# Runs in several trees share the root file systems.
users_in_roots ()
{
    local tree=${work##*-}

    echo "tf$tree"{a,b,c,d}
}

# Add its results to those of this run.
count_release ()
{
    local name=$1 results=$2 result=$3 ok not_ok skip failed_before=$failed

    while IFS=$'\t' read -r _ _ ok not_ok skip _; do
        count "$ok" "$not_ok" "$skip"
    done < "$results"
    cat "$results" >> "$run/results"
    if ((result != 0 && failed == failed_before)); then
        echo "not ok $name cannot be tested"
        count 0 1 0
    fi
}

group_releases ()
{
    local name version root result
    local -A roots=() started=()

    while read -r name version; do
        say "$name, Slurm $version"
        result=0
        root=$(release_root "$name") || result=$?
        if ((result == 0)); then
            start_release "$name" "$root" "$([[ $version == 20.11 ]] && echo cgroup || echo cgroup-v2)"
            roots[$name]=$root started[$name]=$!
        elif ((result == 77)); then
            echo "ok $name # skip it is not available: ${root##*$'\n'}"
            count 0 0 1
        else
            printf '%s\n' "$root" "not ok $name"
            count 0 1 0
        fi
    done < <("$top/tests/releases/root" --list)
    for name in "${!started[@]}"; do
        result=0
        wait "${started[$name]}" || result=1
        say "$name"
        cat "$run/$name.output"
        count_release "$name" "${roots[$name]}$work/run/results" "$result"
    done
}

# A row for each group and file that ran in another release, a column for each release of Slurm.
print_releases ()
{
    say "passed/failed/skipped, and seconds, by release of Slurm"
    awk -F'\t' -v own="$(slurm_version)" -v versions="$(cut -f 1 "$run/results" | sort -Vu | paste -sd' ')" '
        $1 != own && !seen[$2]++ { name[++names] = $2 }
        {
            key = $1 FS $2
            passed[key] += $3; failed[key] += $4; skipped[key] += $5; seconds[key] += $6
        }
        END {
            columns = split (versions, version, " ")
            for (i = 0; i <= names; i++) {
                printf "%-32s", name[i]
                for (j = 1; j <= columns; j++) {
                    key = version[j] FS name[i]
                    cell = key in passed ? passed[key] "/" failed[key] "/" skipped[key] "  " seconds[key] " s" : "-"
                    printf "  %-16s", i ? cell : version[j]
                }
                print ""
            }
        }' "$run/results"
}
