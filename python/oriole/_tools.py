"""Tools of others that are found where Python's packages have them."""

from __future__ import annotations

import glob
import os
import shutil
import sysconfig

__all__ = ["find_ptxas"]

#: Where packages have ptxas, below the folder of all packages.
_PLACES = ("nvidia/cu*/bin/ptxas", "nvidia/cuda_nvcc/bin/ptxas", "triton/backends/nvidia/bin/ptxas")


def find_ptxas() -> str | None:
    """The path of ptxas: on the path, in ``CUDA_HOME``, or in the packages nvidia-cuda-nvcc or triton."""
    found = shutil.which("ptxas")
    home = os.environ.get("CUDA_HOME")
    if found is None and home is not None:
        found = shutil.which(os.path.join(home, "bin", "ptxas"))
    for place in _PLACES:
        for folder in dict.fromkeys((sysconfig.get_path("platlib"), sysconfig.get_path("purelib"))):
            for path in sorted(glob.glob(os.path.join(glob.escape(folder), place)), reverse=True):
                found = found or shutil.which(path)
    return found
