#!/usr/bin/env python3
"""Makes the packages of one program: archive, Debian package, wheel, npm, MCP bundle, checksums.

Usage: packages/build.py PROGRAM OUT [--platform linux-x64], or packages/build.py --sums OUT

PROGRAM is a static `edt`, which has to run here: it prints its manual pages and completions. The same
program gives the same bytes: files are sorted, have the time of SOURCE_DATE_EPOCH (that of the
latest commit if it is not set), and belong to root. Needs Python 3.9, cargo and git.
"""

import argparse
import base64
import dataclasses
import gzip
import hashlib
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import time
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
DESCRIPTION = "Git-native edit transactions for AI coding agents"
SHELLS = {"bash": "edt", "zsh": "_edt", "fish": "edt.fish"}


@dataclasses.dataclass(frozen=True)
class Platform:
    """One platform in the words of each packager."""

    rust: str
    debian: str
    wheel: str
    npm_os: str
    npm_cpu: str

    @property
    def npm(self):
        return f"{self.npm_os}-{self.npm_cpu}"


# A static program needs no C library, so it runs with either.
PLATFORMS = {
    platform.npm: platform
    for platform in [
        Platform(
            rust="x86_64-unknown-linux-gnu",
            debian="amd64",
            wheel="py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64",
            npm_os="linux",
            npm_cpu="x64",
        ),
        Platform(
            rust="aarch64-unknown-linux-gnu",
            debian="arm64",
            wheel="py3-none-manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64",
            npm_os="linux",
            npm_cpu="arm64",
        ),
    ]
}


@dataclasses.dataclass(frozen=True)
class File:
    """A file of a package."""

    path: str
    content: bytes
    mode: int = 0o644


@dataclasses.dataclass(frozen=True)
class Build:
    program: pathlib.Path
    platform: Platform
    version: str
    epoch: int

    def printed(self, *words):
        return subprocess.run([self.program, *words], check=True, capture_output=True).stdout

    def binary(self, path):
        return File(path, self.program.read_bytes(), 0o755)


def manifest(key):
    """A value of the workspace's Cargo.toml."""
    found = re.search(rf'^{key} = "([^"]+)"', (ROOT / "Cargo.toml").read_text(), re.M)
    return found.group(1)


HOMEPAGE = manifest("repository")


def template(path, version):
    """A file of this directory with the version, and with the address of the repository."""
    return (HERE / path).read_text().replace("@URL@", HOMEPAGE).replace("@VERSION@", version)


def tar_gz(files, epoch, prefix=""):
    """A .tar.gz with these files, and with the directories above them."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        known = set()
        for file in sorted(files, key=lambda file: file.path):
            path = prefix + file.path
            parents = [str(parent) for parent in pathlib.PurePosixPath(path).parents]
            for parent in reversed([p for p in parents if p not in (".", *known)]):
                known.add(parent)
                entry = tarfile.TarInfo(parent + "/")
                entry.type, entry.mode, entry.mtime = tarfile.DIRTYPE, 0o755, epoch
                entry.uname = entry.gname = "root"
                tar.addfile(entry)
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode, entry.mtime = len(file.content), file.mode, epoch
            entry.uname = entry.gname = "root"
            tar.addfile(entry, io.BytesIO(file.content))
    packed = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=packed, mtime=epoch, compresslevel=9) as gz:
        gz.write(raw.getvalue())
    return packed.getvalue()


def zip_of(files, epoch):
    """A .zip with these files in this order."""
    packed = io.BytesIO()
    date = time.gmtime(max(epoch, 315532800))[:6]  # The format begins in 1980.
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for file in files:
            entry = zipfile.ZipInfo(file.path, date)
            entry.external_attr = (0o100000 | file.mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, file.content)
    return packed.getvalue()


def documents(build):
    """Manual pages, completions, licences and notes, as paths of an archive."""
    commands = re.findall(r"^  ([a-z][a-z-]*) ", build.printed("help", "all").decode(), re.M)
    pages = [("edt", build.printed("man"))]
    pages += [(f"edt-{name}", build.printed("man", name)) for name in commands if name != "help"]
    files = [File(f"man/man1/{name}.1", page) for name, page in pages]
    for shell, name in SHELLS.items():
        files.append(File(f"completions/{shell}/{name}", build.printed("completions", shell)))
    for name in ("README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"):
        files.append(File(name, (ROOT / name).read_bytes()))
    files.append(File("LICENSES-THIRD-PARTY.txt", third_party(build.platform)))
    return files


def third_party(platform):
    """The packages that are linked, with their licences and the texts of these."""
    words = ["cargo", "metadata", "--locked", "--format-version=1", f"--filter-platform={platform.rust}"]
    metadata = json.loads(subprocess.run(words, cwd=ROOT, check=True, capture_output=True).stdout)
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    root = next(id for id, package in packages.items() if package["name"] == "edt-cli")
    linked, waiting = set(), [root]
    while waiting:
        id = waiting.pop()
        if id in linked:
            continue
        linked.add(id)
        for dependency in nodes[id]["deps"]:
            if any(kind["kind"] is None for kind in dependency["dep_kinds"]):
                waiting.append(dependency["pkg"])
    foreign = [packages[id] for id in linked if packages[id]["source"]]
    foreign.sort(key=lambda package: (package["name"], package["version"]))
    out, texts = [], {}
    for package in foreign:
        name = f"{package['name']} {package['version']}"
        out.append(f"{name}: {package['license'] or 'see its licence file'}")
        directory = pathlib.Path(package["manifest_path"]).parent
        for path in sorted(directory.iterdir()):
            if re.match(r"(?i)(licen[cs]e|copying|notice|unlicense)", path.name) and path.is_file():
                texts.setdefault(path.read_text(errors="replace").strip(), []).append(name)
    for text, names in texts.items():
        out += ["", "-" * 80, ", ".join(names), "", text]
    return ("\n".join(out) + "\n").encode()


def archive(build, docs):
    name = f"edt-{build.version}-{build.platform.npm}"
    return f"{name}.tar.gz", tar_gz([build.binary("edt"), *docs], build.epoch, f"{name}/")


def debian(build, docs):
    def place(path):
        if path.startswith("man/"):
            return "usr/share/" + path + ".gz"
        shells = {
            "completions/bash/": "usr/share/bash-completion/completions/",
            "completions/zsh/": "usr/share/zsh/vendor-completions/",
            "completions/fish/": "usr/share/fish/vendor_completions.d/",
        }
        for prefix, directory in shells.items():
            if path.startswith(prefix):
                return directory + path[len(prefix) :]
        names = {"LICENSE-MIT": "copyright", "CHANGELOG.md": "changelog.gz"}
        return "usr/share/doc/edt/" + names.get(path, path)

    def packed(file):
        path = place(file.path)
        content = gzip.compress(file.content, 9, mtime=0) if path.endswith(".gz") else file.content
        return File(path, content)

    files = [build.binary("usr/bin/edt"), *map(packed, docs)]
    size = sum(len(file.content) for file in files) // 1024 + 1
    control = (
        f"Package: edt\nVersion: {build.version}-1\nArchitecture: {build.platform.debian}\n"
        f"Maintainer: The edt project <edt@edt-dev.org>\nInstalled-Size: {size}\n"
        "Section: vcs\nPriority: optional\nRecommends: git\nSuggests: bubblewrap\n"
        f"Homepage: {HOMEPAGE}\nDescription: {DESCRIPTION}\n"
        " Every edit of an agent is one guarded transaction and one commit on a branch\n"
        " of its own. The developer reviews the branch and lands it.\n"
    )
    sums = "".join(f"{hashlib.md5(file.content).hexdigest()}  {file.path}\n" for file in sorted(files, key=lambda f: f.path))
    parts = [
        ("debian-binary", b"2.0\n"),
        ("control.tar.gz", tar_gz([File("control", control.encode()), File("md5sums", sums.encode())], build.epoch)),
        ("data.tar.gz", tar_gz(files, build.epoch)),
    ]
    out = io.BytesIO(b"!<arch>\n")
    out.seek(0, io.SEEK_END)
    for name, content in parts:
        out.write(f"{name:<16}{build.epoch:<12}{0:<6}{0:<6}{100644:<8}{len(content):<10}`\n".encode())
        out.write(content + b"\n" * (len(content) % 2))
    return f"edt_{build.version}-1_{build.platform.debian}.deb", out.getvalue()


def wheel(build):
    dist = f"edt_cli-{build.version}"
    module = HERE / "python" / "edt_cli"
    files = [File(f"edt_cli/{path.name}", path.read_bytes()) for path in sorted(module.iterdir()) if path.is_file()]
    files.append(build.binary(f"{dist}.data/scripts/edt"))
    readme = (HERE / "python/README.md").read_text()
    metadata = (
        f"Metadata-Version: 2.4\nName: edt-cli\nVersion: {build.version}\nSummary: {DESCRIPTION}\n"
        f"Project-URL: Homepage, {HOMEPAGE}\nLicense-Expression: MIT OR Apache-2.0\n"
        "Requires-Python: >=3.9\nClassifier: Typing :: Typed\n"
        f"Description-Content-Type: text/markdown\n\n{readme}"
    )
    tags = build.platform.wheel.split("-")
    all_tags = "".join(f"Tag: {tags[0]}-{tags[1]}-{one}\n" for one in tags[2].split("."))
    about = f"Wheel-Version: 1.0\nGenerator: edt\nRoot-Is-Purelib: false\n{all_tags}"
    files += [File(f"{dist}.dist-info/METADATA", metadata.encode()), File(f"{dist}.dist-info/WHEEL", about.encode())]
    files += [File(f"{dist}.dist-info/licenses/{name}", (ROOT / name).read_bytes()) for name in ("LICENSE-APACHE", "LICENSE-MIT")]

    def line(file):
        digest = base64.urlsafe_b64encode(hashlib.sha256(file.content).digest()).rstrip(b"=").decode()
        return f"{file.path},sha256={digest},{len(file.content)}\n"

    record = "".join(map(line, files)) + f"{dist}.dist-info/RECORD,,\n"
    files.append(File(f"{dist}.dist-info/RECORD", record.encode()))
    return f"{dist}-{build.platform.wheel}.whl", zip_of(files, build.epoch)


def npm(build):
    """The launcher with the client, and the package of the platform."""
    source = HERE / "npm" / "edt"
    about = json.loads((source / "package.json").read_text())
    about["version"] = build.version
    about["optionalDependencies"] = {name: build.version for name in about["optionalDependencies"]}
    about.pop("scripts")
    paths = [path for part in about["files"] for path in sorted((source / part).iterdir())]
    files = [File(str(path.relative_to(source)), path.read_bytes(), 0o755 if path.parent.name == "bin" else 0o644) for path in paths]
    licences = [File(name, (ROOT / name).read_bytes()) for name in ("LICENSE-APACHE", "LICENSE-MIT")]
    files += [File("README.md", (source / "README.md").read_bytes()), *licences]
    own = {
        "name": f"edt-cli-{build.platform.npm}",
        "version": build.version,
        "description": f"The program edt for {build.platform.npm}",
        "license": about["license"],
        "os": [build.platform.npm_os],
        "cpu": [build.platform.npm_cpu],
        "files": ["bin"],
        "preferUnplugged": True,
    }

    def packed(about, files):
        about = File("package.json", (json.dumps(about, indent=2) + "\n").encode())
        return tar_gz([about, *files], build.epoch, "package/")

    return [
        (f"edt-cli-{build.version}.tgz", packed(about, files)),
        (f"edt-cli-{build.platform.npm}-{build.version}.tgz", packed(own, [build.binary("bin/edt"), *licences])),
    ]


def mcp_bundle(build):
    about = json.loads(template("mcp/manifest.json", build.version))
    about["compatibility"]["platforms"] = [build.platform.npm_os]
    files = [File("manifest.json", (json.dumps(about, indent=2) + "\n").encode()), build.binary("server/edt")]
    return f"edt-{build.version}-{build.platform.npm}.mcpb", zip_of(files, build.epoch)


def homebrew(version, sums):
    """The formula, with the checksums of the archives in OUT."""
    text = template("homebrew/edt.rb.in", version)
    for platform in PLATFORMS:
        name = f"edt-{version}-{platform}.tar.gz"
        text = text.replace(f"@{platform}@", sums.get(name, "0" * 64))
    return text


def write_sums(out):
    """Writes the checksums of all packages in OUT, and the formula, which has those of the archives."""
    sums = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(out.glob("edt*"))}
    sums.pop("edt.rb", None)
    (out / "edt.rb").write_text(homebrew(manifest("version"), sums))
    (out / "server.json").write_text(template("mcp/server.json", manifest("version")))
    (out / "SHA256SUMS").write_text("".join(f"{sum}  {name}\n" for name, sum in sums.items()))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=pathlib.Path, nargs="?")
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--platform", choices=sorted(PLATFORMS), default="linux-x64")
    parser.add_argument("--sums", action="store_true", help="write the checksums and the formula of OUT alone")
    arguments = parser.parse_args()
    if arguments.sums:
        return write_sums(arguments.out)
    if arguments.program is None:
        parser.error("PROGRAM is missing")
    latest = ["git", "log", "-1", "--format=%ct"]
    epoch = os.environ.get("SOURCE_DATE_EPOCH") or subprocess.check_output(latest, cwd=ROOT, text=True)
    build = Build(arguments.program.resolve(), PLATFORMS[arguments.platform], manifest("version"), int(epoch))
    told = build.printed("--version").decode().split()
    if told[1] != build.version:
        sys.exit(f"the program is version {told[1]}, Cargo.toml says {build.version}")
    docs = documents(build)
    made = [archive(build, docs), debian(build, docs), wheel(build), *npm(build), mcp_bundle(build)]
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name, content in made:
        (arguments.out / name).write_bytes(content)
        print(f"{len(content):>10}  {name}")
    write_sums(arguments.out)


if __name__ == "__main__":
    main()
