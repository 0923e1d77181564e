"""From the description of a kernel to machine code: memory, disk, shipped files, the compiler."""
