# SPDX-License-Identifier: GPL-2.0-or-later
#
# The versions of TensorFlow that every test here runs with: the oldest that is promised, with
# Keras 2 and Estimator, and the newest.

versions="2.15.1 newest"

# In setup_file: each in a virtual environment of its own.
install_versions ()
{
    local version

    for version in $versions; do
        "$tests/../contrib/tensorflow-env" "$version" > "$BATS_FILE_TMPDIR/venv-$version"
    done
}

# The environment of a version, and its Python: venv VERSION
venv ()
{
    cat "$BATS_FILE_TMPDIR/venv-$1"
}

python ()
{
    echo "$(venv "$1")/bin/python"
}
