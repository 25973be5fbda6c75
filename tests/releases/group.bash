# SPDX-License-Identifier: GPL-2.0-or-later
#
# The group `releases` of tests/run, the same tests in other releases of Debian, with their releases of Slurm.
#
# shellcheck disable=SC2154  # tests/run has set the variables

# Compile and run the unit tests, and of the system tests those with the tag "release", in the root
# file system of a release: its own tests/run. So too of the tests of PyTorch, where that release's is installed.
release ()
{
    local name=$1 version=$2 root result=0
    local -a more=()

    say "$name, Slurm $version"
    root=$("$top/tests/releases/root" "$name" 2> "$run/step.log") || result=$?
    if ((result != 0)); then
        tail -n 5 "$run/step.log"
        ((result == 77)) || { echo "not ok $name"; count 0 1 0; return; }
        echo "ok $name # skip it is not available: $(tail -n 1 "$run/step.log")"
        count 0 0 1
        return
    fi
    [[ ! -e $root/usr/bin/torchrun ]] || more=(tensorflow/torch.bats)
    rm -rf "$root$run"
    "$top/tests/releases/enter" "$root" env SPANK_TF_USERS="$(users_in_roots)" \
        "$top/tests/run" --tags=release --proctrack=cgroup,cgroup-v2 compile unit system "${more[@]}" < /dev/null || result=1
    count_release "$name" "$root$run/results" "$result"
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
    local name version

    while read -r name version; do
        release "$name" "$version"
    done < <("$top/tests/releases/root" --list)
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
