#!/usr/bin/env python3
"""Builds `ptx/*.ptx` from `*.cu`, and the table `ptx/report.md` of what each kernel needs.

    python3 build_ptx.py            build, assemble, check, and write what changed
    python3 build_ptx.py --check    the same, but fail where anything would change

No GPU and no CUDA installation is needed: the compiler and the assembler come from the packages of `requirements.txt`,
which are installed into a directory of their own (`TADPOLE_CUDA_TOOLS`, or one in the user's cache).

One PTX a source, for the oldest architecture that we support: every later one runs it. It is assembled for each
architecture of ARCHITECTURES to see what its registers come to, and refused where

- a kernel spills or keeps a stack,
- an addition or multiplication of floats says no rounding: an assembler may contract those,
- it calls anything or uses an approximate instruction.
"""

import ctypes
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
PTX = HERE / "ptx"
TARGET = "compute_80"
ARCHITECTURES = ["sm_80", "sm_90", "sm_100"]
FLAGS = ["--fmad=false", "--prec-div=true", "--prec-sqrt=true", "--ftz=false", "-default-device"]


def tools():
    """The directory of the compiler's files; installed where it is not there."""
    default = pathlib.Path.home() / ".cache" / "tadpole-cuda-tools"
    root = pathlib.Path(os.environ.get("TADPOLE_CUDA_TOOLS", default))
    requirements = HERE / "requirements.txt"
    stamp = root / "requirements.txt"
    if not stamp.exists() or stamp.read_text() != requirements.read_text():
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--upgrade"]
        subprocess.run([*command, "--target", str(root), "-r", str(requirements)], check=True)
        stamp.write_text(requirements.read_text())
    cuda = root / "nvidia" / "cu13"
    # Archives of packages carry no permissions.
    (cuda / "bin" / "ptxas").chmod(0o755)
    return cuda


class Compiler:
    """NVRTC."""

    def __init__(self, cuda):
        # The compiler opens its built-ins by name.
        ctypes.CDLL(str(cuda / "lib" / "libnvrtc-builtins.so.13.0"), mode=ctypes.RTLD_GLOBAL)
        self.nvrtc = ctypes.CDLL(str(cuda / "lib" / "libnvrtc.so.13"))

    def text(self, program, what):
        size = ctypes.c_size_t()
        getattr(self.nvrtc, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
        text = ctypes.create_string_buffer(size.value)
        getattr(self.nvrtc, f"nvrtcGet{what}")(program, text)
        return text.value.decode()

    def compile(self, source):
        program = ctypes.c_void_p()
        name = source.name.encode()
        self.nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.read_bytes(), name, 0, None, None)
        flags = [f"--gpu-architecture={TARGET}", f"--include-path={HERE}", *FLAGS]
        encoded = (ctypes.c_char_p * len(flags))(*[flag.encode() for flag in flags])
        failed = self.nvrtc.nvrtcCompileProgram(program, len(flags), encoded)
        log = self.text(program, "ProgramLog").strip()
        if failed or log:
            raise SystemExit(f"{source.name} does not compile cleanly:\n{log}")
        return self.text(program, "PTX")


FLOAT = r"\.f(?:16|32|64)"
REFUSED = [
    (re.compile(rf"^\s*(?:@\S+\s+)?(?:add|sub|mul|mad|fma){FLOAT}\s", re.M), "says no rounding"),
    (re.compile(r"^\s*(?:@\S+\s+)?\S+\.(?:approx|ftz|full)\S*\s", re.M), "is approximate"),
    (re.compile(r"^\s*(?:@\S+\s+)?call\S*\s", re.M), "is a call"),
]


def refuse_inexact(name, ptx):
    for pattern, reason in REFUSED:
        if found := pattern.search(ptx):
            raise SystemExit(f"{name}: `{found.group().strip()}` {reason}")


def assemble(cuda, name, ptx):
    """For each kernel and architecture: registers and bytes of shared memory."""
    rows = {}
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory) / "kernels.ptx"
        path.write_text(ptx)
        for architecture in ARCHITECTURES:
            command = [cuda / "bin" / "ptxas", "-v", f"-arch={architecture}", path, "-o", os.devnull]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                raise SystemExit(f"{name} cannot be assembled for {architecture}:\n{done.stderr}")
            kernels = re.split(r"Compiling entry function '", done.stderr)[1:]
            for kernel in kernels:
                entry = kernel.split("'")[0]
                stack, stores, loads = map(int, re.search(
                    r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", kernel).groups())
                if stack or stores or loads:
                    raise SystemExit(f"{entry} on {architecture}: {stack} bytes of stack, {stores + loads} of spills")
                registers = int(re.search(r"Used (\d+) registers", kernel).group(1))
                shared = re.search(r"(\d+) bytes smem", kernel)
                rows.setdefault(entry, []).append((registers, int(shared.group(1)) if shared else 0))
    return rows


def report(tables):
    heads = [f"{architecture}: registers | shared" for architecture in ARCHITECTURES]
    lines = [
        "# What each kernel needs",
        "",
        "Registers a thread, and bytes of shared memory a block beside what a launch adds. No kernel spills or keeps a stack on",
        "any of these architectures: `build_ptx.py`, which writes this table, refuses such a one.",
        "",
        f"| source | kernel | {' | '.join(heads)} |",
        f"| --- | --- |{' ---: | ---: |' * len(ARCHITECTURES)}",
    ]
    for source, kernels in tables:
        for entry, cells in sorted(kernels.items()):
            numbers = " | ".join(f"{registers} | {shared}" for registers, shared in cells)
            lines.append(f"| {source} | {entry} | {numbers} |")
    return "\n".join(lines) + "\n"


def digests():
    """The sources that the PTX is made from, each with its SHA-256: a test compares them with the sources."""
    sources = sorted([*HERE.glob("*.cu"), *HERE.glob("*.cuh"), HERE / "requirements.txt", HERE / "build_ptx.py"])
    return "".join(f"{hashlib.sha256(source.read_bytes()).hexdigest()}  {source.name}\n" for source in sources)


def main():
    check = sys.argv[1:] == ["--check"]
    cuda = tools()
    compiler = Compiler(cuda)
    files, tables = {}, []
    for source in sorted(HERE.glob("*.cu")):
        ptx = compiler.compile(source)
        refuse_inexact(source.name, ptx)
        tables.append((source.name, assemble(cuda, source.name, ptx)))
        files[f"{source.stem}.ptx"] = ptx
    files["report.md"] = report(tables)
    files["sources.sha256"] = digests()
    stale = [name for name, text in files.items() if not (PTX / name).exists() or (PTX / name).read_text() != text]
    stale += [path.name for path in PTX.iterdir() if path.name not in files]
    if check and stale:
        raise SystemExit(f"not what the sources give: {', '.join(sorted(stale))}; run {pathlib.Path(__file__).name}")
    if not check:
        for path in PTX.iterdir():
            if path.name not in files:
                path.unlink()
        for name in stale:
            if name in files:
                (PTX / name).write_text(files[name])
    print(f"{len(tables)} sources, {sum(len(kernels) for _, kernels in tables)} kernels, {len(stale)} files changed")


if __name__ == "__main__":
    main()
