# SPDX-License-Identifier: GPL-2.0-or-later
#
# Debian's PyTorch; that of PyPI brings CUDA.

# Install it, and make a directory for PATH, $torch_bin, in which it is `python`. For setup_file, behind start_cluster.
install_torch ()
{
    local why

    # The reason is kept for each test.
    why=$("$tests/install-packages" python3-torch 2>&1 > /dev/null) ||
        export why_no_torch="PyTorch cannot be installed: ${why##*$'\n'}"
    export torch_bin=$SPANK_TF_CLUSTER/work/bin
    mkdir -p "$torch_bin"
    ln -sf /usr/bin/python3 "$torch_bin/python"
}

# The test is skipped without it.
needs_torch ()
{
    [[ ! ${why_no_torch-} ]] || skip "$why_no_torch"
    # PyTorch 2.4 and later asks for libuv, which Debian's lacks.
    export OMP_NUM_THREADS=1 USE_LIBUV=0
}

# Make a virtual environment, $venv, with these packages beside Debian's PyTorch: venv_with NAME==VERSION…
venv_with ()
{
    needs_torch
    venv=$SPANK_TF_CLUSTER/${1%%=*}
    # --no-deps, because Debian's PyTorch is none for pip.
    /usr/bin/python3 -m venv --system-site-packages "$venv" && "$venv/bin/pip" install -q --no-deps "$@" ||
        skip "${1%%=*} cannot be installed"
}
