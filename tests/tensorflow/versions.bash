# SPDX-License-Identifier: GPL-2.0-or-later
#
# The versions of TensorFlow that the tests here run with: 2.15.1, the oldest that is supported,
# with Keras 2 and Estimator, and the newest. contrib/tensorflow-env installs each once.
versions="2.15.1 newest"

# The virtual environment of a version, and its Python: venv VERSION
venv ()
{
    "$tests/../contrib/tensorflow-env" "$1"
}

python ()
{
    echo "$(venv "$1")/bin/python"
}
