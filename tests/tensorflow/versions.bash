# SPDX-License-Identifier: GPL-2.0-or-later
#
# The versions of TensorFlow that the tests here run with: 2.15.1, the oldest that is supported,
# with Keras 2 and Estimator, and the newest. contrib/tensorflow-env installs each once. Where Python is too new
# for 2.15.1, the tests of several versions run without it, and those of 2.15.1 alone are skipped.
versions=(2.15.1 newest)
# shellcheck disable=SC2034  # for the tests
why_no_2_15=$("$tests/../contrib/tensorflow-env" --check 2.15.1 2>&1) || versions=(newest)

# Called by setup() of common.bash.
skip_impossible ()
{
    [[ ! $why_no_2_15 || $(declare -f "$BATS_TEST_NAME") != *2.15.1* ]] || skip "${why_no_2_15#*: }"
}

# A training that a failed test leaves would go on for long.
after_test ()
{
    slurm scancel --quiet --user "$user"
    nothing_left
}

# The virtual environment of a version, and its Python: venv VERSION
venv ()
{
    "$tests/../contrib/tensorflow-env" "$1"
}

python ()
{
    echo "$(venv "$1")/bin/python"
}
