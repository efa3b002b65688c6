"""Packs a binary of entourage into a wheel, without a build: wheel.py BINARY VERSION FOLDER.

A wheel is a zip file; what stands in `NAME.data/scripts` is put on the PATH. Prints the file's path.
"""

import base64
import hashlib
import pathlib
import sys
import sysconfig
import zipfile

binary, version, folder = pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3])
platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
tag = f"py3-none-{platform}"
name = f"entourage-{version}"
files = {
    f"{name}.data/scripts/entourage": (binary.read_bytes(), 0o755),
    f"{name}.dist-info/METADATA": (
        f"Metadata-Version: 2.1\nName: entourage\nVersion: {version}\nSummary: Durable LLM agents in one binary\n"
        "License: MIT OR Apache-2.0\nRequires-Python: >=3.8\n".encode(),
        0o644,
    ),
    f"{name}.dist-info/WHEEL": (
        f"Wheel-Version: 1.0\nGenerator: entourage\nRoot-Is-Purelib: false\nTag: {tag}\n".encode(),
        0o644,
    ),
}


def digest(content):
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


record = f"{name}.dist-info/RECORD"
lines = [f"{path},sha256={digest(content)},{len(content)}" for path, (content, _) in files.items()]
files[record] = ("\n".join([*lines, f"{record},,", ""]).encode(), 0o644)
wheel = folder / f"{name}-{tag}.whl"
with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
    for path, (content, mode) in files.items():
        entry = zipfile.ZipInfo(path)  # its time is the same for each build
        entry.external_attr = (0o100000 | mode) << 16
        entry.compress_type = zipfile.ZIP_DEFLATED
        archive.writestr(entry, content)
print(wheel)
