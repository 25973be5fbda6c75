# SPDX-License-Identifier: GPL-2.0-or-later
#
# The group `fuzz` of tests/run, every fuzz target for a while.
#
# shellcheck disable=SC2154  # tests/run has set the variables

# Run these targets one after the other, each for so many seconds. What they find grows in
# $work/corpus, from run to run.
fuzz_targets ()
{
    local seconds=$1 target log corpus

    shift
    trap 'kill $(jobs -p); exit 1' TERM
    for target in "$@"; do
        log=$run/fuzz-$target.log corpus=$work/corpus/$target
        mkdir -p "$corpus"
        "$work/fuzz/tests/fuzz/$target" -max_total_time="$seconds" -max_len=4096 -timeout=20 \
            -malloc_limit_mb=128 -artifact_prefix="$work/crashes/$target-" -print_final_stats=1 \
            "$corpus" "$top/tests/fuzz/corpus/$target" > "$log" 2>&1 &
        if wait $!; then
            awk -v name="fuzz $target" -v seconds="$seconds" '
                match ($0, / cov: [0-9]+/) { edges = substr ($0, RSTART + 6, RLENGTH - 6) }
                /^stat::number_of_executed_units:/ { runs = $2 }
                END { print "ok " name ": " runs " runs in " seconds " s, " edges " edges" }' "$log"
        else
            echo "not ok fuzz $target"
            tail -n 40 "$log"
            sed -n "s|.*Test unit written to |replay it with: $work/fuzz/tests/fuzz/$target |p" "$log"
        fi
    done
}

# fuzz [SECONDS], for each target; as many at a time as there are cores.
group_fuzz ()
{
    # Without the blank in front, which the fuzzer takes for 0, and that for ever.
    local seconds=$((${numbers[fuzz]-10})) cores job i
    local -a targets mine started=()

    cores=$(nproc)
    step "clang with the fuzzer" variant fuzz all CC=clang --enable-werror --enable-fuzzing
    mkdir -p "$work/crashes"
    mapfile -t targets < <(ls "$top/tests/fuzz/corpus")
    for ((job = 0; job < cores; job++)); do
        mine=()
        for ((i = job; i < ${#targets[@]}; i += cores)); do
            mine+=("${targets[i]}")
        done
        fuzz_targets "$seconds" "${mine[@]}" > "$run/fuzz-$job.results" &
        started+=($!)
    done
    wait "${started[@]}"
    cat "$run"/fuzz-*.results
    for ((job = 0; job < cores; job++)); do
        count_tap "$run/fuzz-$job.results"
    done
}
