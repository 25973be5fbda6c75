/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "unit.h"

#include "batch_script.h"

TEST (a_script_that_starts_a_python_file_without_a_launcher_runs_it_once)
{
    static const char *const script[] = {
        "python train.py",
        "python3 train.py --epochs=3\n",
        "#!/bin/bash\n#SBATCH -N3\n#SBATCH --array=1-3\n#SBATCH --tf-tasks=worker:rest\n\npython train.py\n",
        "#!/bin/bash -l\nmodule load cuda/12 ; cd \"$SLURM_SUBMIT_DIR\" && python -u train.py > log 2>&1\n",
        "#!/usr/bin/env bash\nsource setup.sh\n. /opt/conda/etc/profile.d/conda.sh\npython run.py &> log\n",
        "exec /opt/bin/python3.11 \\\n -u t.py\n",
        "CUDA_VISIBLE_DEVICES=0 OMP_NUM_THREADS=2 time python train.py | tee log",
        "python \"$HOME/train.py\"",
        "python 'train.py'",
        "echo start; for i in 1 2; do python train.py $i; done",
        "if true; then python train.py; fi",
        "torchrun --nproc_per_node 4 train.py\n",
        "/venv/bin/torchrun --standalone train.py",
        "./prepare\n\tpython train.py # all of it",
    };

    for (size_t i = 0; i < COUNT (script); i++)
        if (!batch_script_runs_once (script[i]))
            fail_msg ("script %zu:\n%s", i, script[i]);
}

TEST (of_a_script_that_may_start_more_nothing_is_said)
{
    static const char *const script[] = {
        "",
        "\n",
        "\\\n",
        "#",
        "#!/bin/sh\n",
        /* Not at the beginning of a command, or no file. */
        "echo python train.py",
        "# python train.py",
        "# first; python train.py",
        "cd python train.py",
        "$LAUNCHER python train.py",
        "$LAUNCHER \\\n  python train.py",
        "echo a \\\n\\\n python train.py",
        "python",
        "python -c 'import train' train.py",
        "python train",
        "python .py",
        "pythonic train.py",
        "python3-config train.py",
        "./python.sh train.py",
        "python # train.py",
        "python; cat train.py",
        "\\\npython",
        /* A module may be a launcher, or start jobs of its own. */
        "python -m snakemake --cores 4 -s flow.py",
        "python3 -m torch.distributed.run train.py",
        "torchrun -m package.train config.py",
        /* A launcher, even in a comment. */
        "srun python train.py",
        "python a.py\nsrun -n3 python b.py",
        "python prepare.py # then srun",
        "RUN=/usr/bin/srun\npython train.py",
        "python a.py; mpirun python train.py",
        "python a.py; mpiexec -n 3 python train.py",
        "python a.py; psd_run -c c.json python train.py",
        "python a.py; ssh n2 python train.py",
        "python a.py && snakemake --slurm",
        "python launch.py",
        "python submit.py",
        "accelerate launch train.py; python sum.py",
        "cat > job <<EOF\npython train.py\nEOF\nsh job",
        /* Not for a shell. */
        "#!/usr/bin/python3\n\"\"\"Use:\n  python train.py\n\"\"\"",
        "#!/usr/bin/perl\npython train.py\n",
    };

    for (size_t i = 0; i < COUNT (script); i++)
        if (batch_script_runs_once (script[i]))
            fail_msg ("script %zu:\n%s", i, script[i]);
}

TEST (a_launchers_name_is_a_whole_word)
{
    static const char *const name[] = { "srun", "mpirun", "ray", "launch" };
    char text[128];

    for (size_t i = 0; i < COUNT (name); i++) {
        snprintf (text, sizeof (text), "python train.py --%s=1", name[i]);
        assert_false (batch_script_runs_once (text));
        snprintf (text, sizeof (text), "python x%s.py; a_%s %ss; %s_b", name[i], name[i], name[i], name[i]);
        assert_true (batch_script_runs_once (text));
    }
}
