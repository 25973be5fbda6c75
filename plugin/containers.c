/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config.h"

#include "containers.h"

#include <link.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* srun exports these for --container, --container-id, and the variables that stand for them. */
static bool _are_slurms (void)
{
    return getenv ("SLURM_CONTAINER") || getenv ("SLURM_CONTAINER_ID");
}

/* pyxis' options that put a task into a container, with the shortest form that getopt_long () takes. */
static const struct {
    const char *name, *variable, *inherited;
    size_t shortest;
} pyxis_option[] = {
    { "--container-image", "PYXIS_CONTAINER_IMAGE", "SLURM_SPANK__SLURM_SPANK_OPTION_pyxis_container_image",
      sizeof ("--container-im") - 1 },
    { "--container-name", "PYXIS_CONTAINER_NAME", "SLURM_SPANK__SLURM_SPANK_OPTION_pyxis_container_name",
      sizeof ("--container-n") - 1 },
};

static bool _is_pyxis_option (const char *argument)
{
    size_t length = strcspn (argument, "=");

    for (size_t i = 0; i < sizeof (pyxis_option) / sizeof (pyxis_option[0]); i++)
        if (length >= pyxis_option[i].shortest && length <= strlen (pyxis_option[i].name)
            && strncmp (argument, pyxis_option[i].name, length) == 0)
            return true;
    return false;
}

static bool _are_pyxis (const struct cmdline *options)
{
    bool are = false;

    for (size_t i = 0; i < sizeof (pyxis_option) / sizeof (pyxis_option[0]); i++)
        are = are || getenv (pyxis_option[i].variable) || getenv (pyxis_option[i].inherited);
    for (size_t i = 0; i < options->count; i++)
        are = are || _is_pyxis_option (options->text[i]);
    return are;
}

/* Where plugins stand among the files that this program has loaded, in the order of plugstack.conf. */
struct places {
    int count, pyxis, late;     /* 0: it is not loaded */
};

static int _note_place (struct dl_phdr_info *file, size_t size, void *data)
{
    struct places *places = data;
    const char *slash = strrchr (file->dlpi_name, '/'), *name = slash ? slash + 1 : file->dlpi_name;

    (void)size;
    places->count++;
    if (strstr (name, "pyxis"))
        places->pyxis = places->count;
    else if (strcmp (name, "spank_tf_late.so") == 0)
        places->late = places->count;
    return 0;
}

const char *containers_forbid_restart (const struct cmdline *options)
{
    struct places places = { 0 };

    /*
     * Slurm 24.11 and later write the container's configuration once for each task. On 22.05 a runtime that
     * was killed, as by the stop before a restart, leaves a container whose name is taken.
     */
    if (_are_slurms ())
        return "the programs of a step with --container cannot be restarted";
    dl_iterate_phdr (_note_place, &places);
    if (places.pyxis > places.late && _are_pyxis (options))
        return "in a container of pyxis, tasks are restarted by spank_tf_late.so, which must come after "
               "pyxis in plugstack.conf; see tf-check";
    return NULL;
}
