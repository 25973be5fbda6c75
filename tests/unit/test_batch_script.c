/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "unit.h"

#include "batch_script.h"

static struct batch_script scan (const char *text)
{
    struct batch_script script = { true, true, true };

    batch_script_scan (&script, text);
    return script;
}

TEST (a_script_that_calls_python_alone_is_found)
{
    static const char *const script[] = {
        "python train.py",
        "python3 train.py --epochs=3\n",
        "#!/bin/bash\n#SBATCH -N3\n#SBATCH --tf-tasks=worker:3\n\npython train.py\n",
        "#!/bin/bash -l\nmodule load cuda/12 ; cd \"$SLURM_SUBMIT_DIR\" && python -u train.py > log 2>&1\n",
        "python train.py &> log\n",
        "#!/usr/bin/env bash\nset -euo pipefail\nsource ~/venv/bin/activate\npython run.py\n",
        "#!/bin/sh\n. /opt/conda/etc/profile.d/conda.sh\nconda activate tf\nexec /opt/bin/python3.11 t.py\n",
        "#!/bin/bash\r\nexport A=$(hostname | head -n1)\r\nCUDA_VISIBLE_DEVICES=0 python \\\r\n train.py\r\n",
        "python \\\n  train.py \\\n  --lr=1   # all of it\n",
        "echo \"it's; python 'srn'\"; time python a.py & wait\n",
        "X='a b' Y=2 python train.py | tee log.txt",
    };

    for (size_t i = 0; i < COUNT (script); i++)
        if (!scan (script[i]).lone)
            fail_msg ("script %zu:\n%s", i, script[i]);
}

TEST (of_a_script_that_may_start_more_nothing_is_said)
{
    static const char *const script[] = {
        "",
        "\n",
        "#",
        "#!/bin/sh\n",
        "echo python train.py",
        "# python train.py",
        "cd python",
        "srun python train.py",
        "python a.py\nsrun -n3 python b.py",
        "python prepare.py # then srun",
        "mpirun python train.py",
        "mpiexec -n 3 python train.py",
        "psd_run -c c.json python train.py",
        "prun python train.py",
        "torchrun train.py",
        "horovodrun -np 3 python train.py",
        "accelerate launch train.py",
        "ssh n2 python train.py",
        "uv run python train.py",
        "python -m submitit",
        "for n in $NODES; do ssh $n python train.py & done",
        "./launch.sh",
        "bash launch.sh",
        "sh -c 'python train.py'",
        "python a.py; ./launch.sh",
        "source setup.sh\npython train.py",
        ". ./env\npython train.py",
        "source\npython train.py",
        "$LAUNCH python train.py",
        "python a.py; $LAUNCH b.py",
        "eval python train.py",
        "f () { python train.py; }\nf",
        "if true; then python train.py; fi",
        "( python train.py )",
        "{ python train.py; }",
        "for i in 1 2; do python train.py; done",
        "! python train.py",
        "python <<EOF\nprint (1)\nEOF\n",
        "\"python\" train.py",
        "`which python` train.py",
        "#!/usr/bin/python3\nimport os\n",
        "#!/usr/bin/env python\npython = 1\n",
        "#!/usr/bin/perl\npython\n",
        "pythonic train.py",
        "python3-config",
        "./python.sh train.py",
        "A=1 B=2 ./run.sh",
        "singularity exec x python a",
        "apptainer run x.sif",
        "xargs python < list",
        "parallel python ::: a b",
        "python a.py &&\n\\\n./b.sh",
        "python 'a\n",
        "python \\",
    };

    for (size_t i = 0; i < COUNT (script); i++) {
        /* A quote that is not closed, and a line that goes on at the end, are harmless. */
        bool expected = i + 2 >= COUNT (script);

        if (scan (script[i]).lone != expected)
            fail_msg ("script %zu:\n%s", i, script[i]);
    }
}

TEST (an_srun_of_the_jobs_number_is_found_and_is_certain_as_a_command)
{
    static const struct {
        const char *text;
        bool srun, certain;
    /* clang-format off */
    } row[] = {
        { "srun program", true, true }, { "exec /usr/bin/srun -c2 program", true, true },
        { "cd /x; time srun -l --label program | tee log", true, true },
        { "srun -Q program & wait", true, true }, { "true && srun program", true, true },
        { "module load tf\nsource ~/venv/bin/activate\nsrun python train.py", true, true },
        { "python prepare.py\nsrun -l \\\n program # all", true, true },
        { "# -n 7, --ntasks\nsrun program", true, true },
        /* It may never run, or something else may decide, which a look does not tell. */
        { "if true; then srun program; fi", true, false }, { "(srun program)", true, false },
        { "test -e done || srun program", true, false }, { "redo srun program", true, false },
        { "./srun-all", true, false }, { "xsrun program", true, false }, { "./srun.sh worker", true, false },
        { ". ./srun.conf; work", true, false }, { "cd /scratch/srun/x; ./go", true, false },
        { "echo starting srun; ./go", true, false }, { "./go # calls srun", true, false },
        { "python -c 'run ([\"srun\"])'", true, false }, { "./setup.sh\nsrun program", true, false },
        { "srun $OPTIONS program", true, false }, { "srun \"$@\"", true, false },
        { "srun `cat options` program", true, false }, { "srun one : two", true, false },
        { "#!/usr/bin/perl\nsrun program", true, false }, { "echo srun", true, false },
        /* Another number, or another list, or none of the job's. */
        { "./run.sh", false, false }, { "mpirun program", false, false }, { "", false, false },
        { "# srun program", false, false },
        { "srun -n10 program", false, false }, { "srun -ln 10 program", false, false },
        { "srun --ntasks=10 program", false, false }, { "srun --ntasks-per-node=5 program", false, false },
        { "srun \\\n -n 10 program", false, false }, { "O='-n10'\nsrun $O program", false, false },
        { "srun --tf-tasks=none program", false, false },
        { "export SLURM_NTASKS=10; srun program", false, false },
        { "export SLURM_NPROCS=10; srun program", false, false }, { "srun one\nsrun -n2 two", false, false },
        { "srun --het-group=0,1 program", false, false }, { "srun -N2 program", false, false },
        { "srun --nodes=2 program", false, false }, { "salloc srun program", false, false },
        { "export SLURM_HOSTFILE=hosts; srun -m arbitrary program", false, false },
        { "cat > job <<END\nsrun program\nEND", false, false },
    };
    /* clang-format on */

    for (size_t i = 0; i < COUNT (row); i++)
        if (scan (row[i].text).srun != row[i].srun || scan (row[i].text).certain != row[i].certain)
            fail_msg ("%s", row[i].text);
}
