# SPDX-License-Identifier: GPL-2.0-or-later
#
# Debian's PyTorch; that of PyPI brings CUDA.
#
# shellcheck disable=SC2034  # the lists of packages are for the tests

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

# A cluster with it: start_with_torch PREFIX NODES
start_with_torch ()
{
    start_cluster --nodes "$2" --prefix "$1"
    install_torch
}

after_test ()
{
    slurm scancel --quiet --user "$user"
    nothing_left
}

# The test is skipped without it.
needs_torch ()
{
    [[ ! ${why_no_torch-} ]] || skip "$why_no_torch"
    # PyTorch 2.4 and later asks for libuv, which Debian's lacks.
    export OMP_NUM_THREADS=1 USE_LIBUV=0
}

# The oldest Python and PyTorch decide on these versions.
accelerate_packages='accelerate==0.23.0 huggingface-hub==0.17.3 psutil==5.9.8 PyYAML==6.0.2 packaging==23.2 filelock==3.13.1
    fsspec==2023.10.0 requests==2.31.0 urllib3==2.0.7 idna==3.4 certifi==2023.7.22 charset-normalizer==3.3.2 tqdm==4.66.1'
lightning_packages='lightning==2.2.5 lightning-utilities==0.11.9 torchmetrics==1.4.3 PyYAML==6.0.2 packaging==23.2
    fsspec==2023.10.0 tqdm==4.66.1'

ignite_packages='pytorch-ignite==0.4.13 packaging==23.2'
mmengine_packages='mmengine==0.10.4 addict==2.4.0 PyYAML==6.0.2 termcolor==2.4.0 rich==13.7.1 yapf==0.40.2 platformdirs==4.2.2
    markdown-it-py==3.0.0 mdurl==0.1.2 Pygments==2.18.0 tomli==2.0.1 importlib-metadata==8.0.0 zipp==3.19.2 packaging==24.1'

# Make a virtual environment, $venv, with these packages beside Debian's PyTorch: venv_with NAME==VERSION…
venv_with ()
{
    needs_torch
    venv=$SPANK_TF_CLUSTER/${1%%=*}
    # --no-deps, because Debian's PyTorch is none for pip.
    /usr/bin/python3 -m venv --system-site-packages "$venv" && "$venv/bin/pip" install -q --no-deps "$@" ||
        skip "${1%%=*} cannot be installed"
}
