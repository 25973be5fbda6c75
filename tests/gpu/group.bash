# SPDX-License-Identifier: GPL-2.0-or-later
#
# tests/run gpu: without a GPU, device.bats is one skipped line.

group_gpu ()
{
    local why

    enqueue "$top/tests/gpu/files.bats" '' -
    # shellcheck disable=SC1091  # it is checked for itself
    if why=$(source "$top/tests/gpu/device.bash" && why_no_device) && [[ ! $why ]]; then
        enqueue "$top/tests/gpu/device.bats" '' -
    else
        echo "ok gpu/device.bats # skip $(grep -c '^@test' "$top/tests/gpu/device.bats") tests: $why"
        count 0 0 "$(grep -c '^@test' "$top/tests/gpu/device.bats")"
    fi
}
