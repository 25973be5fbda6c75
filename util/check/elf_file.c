/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Every offset in the file is checked before it is used: the file may be cut or damaged.
 */
#include "config.h"

#include "elf_file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/version.h"

typedef ElfW (Ehdr) header;
typedef ElfW (Shdr) section;
typedef ElfW (Sym) symbol;

/* `length` bytes at `offset`, or NULL if the file does not have them. */
static const void *_at (const struct elf_file *file, uint64_t offset, uint64_t length)
{
    if (offset > file->size || length > file->size - offset)
        return NULL;
    return file->bytes + offset;
}

static size_t _sections (const struct elf_file *file)
{
    header h;

    memcpy (&h, file->bytes, sizeof (h));
    return h.e_shentsize == sizeof (section) ? h.e_shnum : 0;
}

/* Copy the header of a section. It may be at any address. */
static int _section (const struct elf_file *file, size_t i, section *s)
{
    const void *from;
    header h;

    memcpy (&h, file->bytes, sizeof (h));
    if (i >= _sections (file) || !(from = _at (file, h.e_shoff + i * sizeof (section), sizeof (section))))
        return -1;
    memcpy (s, from, sizeof (*s));
    return 0;
}

/* A string in a section of strings; NULL if it is not there or has no end. */
static const char *_string (const struct elf_file *file, const section *strings, uint64_t offset)
{
    const char *all = _at (file, strings->sh_offset, strings->sh_size);

    if (!all || strings->sh_type == SHT_NOBITS || offset >= strings->sh_size
        || !memchr (all + offset, '\0', strings->sh_size - offset))
        return NULL;
    return all + offset;
}

static int _section_by_name (const struct elf_file *file, const char *name, section *s)
{
    section names;
    header h;

    memcpy (&h, file->bytes, sizeof (h));
    if (_section (file, h.e_shstrndx, &names) < 0)
        return -1;
    for (size_t i = 0; i < _sections (file); i++) {
        const char *one = _section (file, i, s) < 0 ? NULL : _string (file, &names, s->sh_name);

        if (one && strcmp (one, name) == 0)
            return 0;
    }
    return -1;
}

const char *elf_file_note (const struct elf_file *file, const char *name)
{
    size_t length = strlen (name);
    const char *note;
    section s;

    if (_section_by_name (file, VERSION_SECTION, &s) < 0)
        return NULL;
    for (uint64_t at = 0; (note = _string (file, &s, at)); at += strlen (note) + 1)
        if (strncmp (note, name, length) == 0 && note[length] == '=')
            return note + length + 1;
    return NULL;
}

/* The number at a symbol's place in its section. */
static int _number_at (const struct elf_file *file, const symbol *sym, uint32_t *number)
{
    const void *from;
    section s;

    if (_section (file, sym->st_shndx, &s) < 0 || s.sh_type == SHT_NOBITS || sym->st_value < s.sh_addr
        || sym->st_size < sizeof (*number)
        || !(from = _at (file, s.sh_offset + (sym->st_value - s.sh_addr), sizeof (*number))))
        return -1;
    memcpy (number, from, sizeof (*number));
    return 0;
}

static int _number_in (const struct elf_file *file, const section *symbols, const char *name,
                       uint32_t *number)
{
    section strings;

    if (_section (file, symbols->sh_link, &strings) < 0)
        return -1;
    for (uint64_t at = 0; at + sizeof (symbol) <= symbols->sh_size; at += sizeof (symbol)) {
        const void *from = _at (file, symbols->sh_offset + at, sizeof (symbol));
        const char *one;
        symbol sym;

        if (!from)
            return -1;
        memcpy (&sym, from, sizeof (sym));
        one = _string (file, &strings, sym.st_name);
        if (one && strcmp (one, name) == 0)
            return _number_at (file, &sym, number);
    }
    return -1;
}

int elf_file_number (const struct elf_file *file, const char *name, uint32_t *number)
{
    section s;

    for (size_t i = 0; i < _sections (file); i++)
        if (_section (file, i, &s) == 0 && s.sh_type == SHT_DYNSYM)
            return _number_in (file, &s, name, number);
    return -1;
}

static int _read_header (header *h, const char *path)
{
    int fd = open (path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : pread (fd, h, sizeof (*h), 0);

    if (fd >= 0)
        close (fd);
    return n == sizeof (*h) ? 0 : -1;
}

/* A file for this machine has the same class, byte order and processor as this program. */
static int _check_header (const struct elf_file *file, struct errtext *err)
{
    header h, own;

    if (file->size < sizeof (h) || memcmp (file->bytes, ELFMAG, SELFMAG) != 0)
        return errtext_set (err, "it is not a program or a library");
    memcpy (&h, file->bytes, sizeof (h));
    if (_read_header (&own, "/proc/self/exe") == 0
        && (h.e_ident[EI_CLASS] != own.e_ident[EI_CLASS] || h.e_ident[EI_DATA] != own.e_ident[EI_DATA]
            || h.e_machine != own.e_machine))
        return errtext_set (err, "it is for another kind of machine");
    return 0;
}

static int _map (struct elf_file *file, int fd, struct errtext *err)
{
    struct stat st;
    void *bytes;

    if (fstat (fd, &st) < 0)
        return errtext_set (err, "%s", strerror (errno));
    if (!S_ISREG (st.st_mode) || st.st_size == 0)
        return errtext_set (err, "it is not a program or a library");
    bytes = mmap (NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED)
        return errtext_set (err, "%s", strerror (errno));
    file->bytes = bytes;
    file->size = (size_t)st.st_size;
    return 0;
}

int elf_file_open (struct elf_file *file, const char *path, struct errtext *err)
{
    /* O_NONBLOCK: a FIFO would wait for its writer. */
    int fd = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), rc;

    if (fd < 0)
        return errtext_set (err, "%s", strerror (errno));
    rc = _map (file, fd, err);
    close (fd);
    if (rc == 0 && _check_header (file, err) < 0) {
        elf_file_close (file);
        rc = -1;
    }
    return rc;
}

void elf_file_close (struct elf_file *file)
{
    munmap ((void *)(uintptr_t)file->bytes, file->size);
}
