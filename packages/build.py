#!/usr/bin/env python3
"""Makes the packages of one program: archive, Debian package, wheel, npm, MCP bundle, checksums.

Usage: packages/build.py PROGRAM OUT [--platform linux-x64] [--order FILE], or packages/build.py --sums OUT

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
import lzma
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
MAINTAINER = "The edt project <edt@edt-dev.org>"
THIRD_PARTY = "LICENSES-THIRD-PARTY.txt"
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


def tar(files, epoch, prefix=""):
    """A .tar with these files, and with the directories above them."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.USTAR_FORMAT) as made:
        known = set()
        for file in sorted(files, key=lambda file: file.path):
            path = prefix + file.path
            parents = [str(parent) for parent in pathlib.PurePosixPath(path).parents]
            for parent in reversed([p for p in parents if p not in (".", *known)]):
                known.add(parent)
                entry = tarfile.TarInfo(parent + "/")
                entry.type, entry.mode, entry.mtime = tarfile.DIRTYPE, 0o755, epoch
                entry.uname = entry.gname = "root"
                made.addfile(entry)
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode, entry.mtime = len(file.content), file.mode, epoch
            entry.uname = entry.gname = "root"
            made.addfile(entry, io.BytesIO(file.content))
    return raw.getvalue()


def tar_gz(files, epoch, prefix=""):
    """The same, compressed for every reader of npm packages and Debian packages."""
    return gzip.compress(tar(files, epoch, prefix), 9, mtime=epoch)


def tar_xz(files, epoch, prefix=""):
    """The same with two thirds of the bytes."""
    return lzma.compress(tar(files, epoch, prefix), preset=9)


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
    files.append(File(THIRD_PARTY, third_party(build.platform)))
    return files


LICENSE_FILE = re.compile(r"(?i)(licen[cs]e|copying|notice|unlicense)")


def third_party(platform):
    """What is linked, with its licences and the texts of these."""
    foreign, texts, without = [], {}, []
    for package in linked(platform):
        name = f"{package['name']} {package['version']}"
        foreign.append(f"{name}: {package['license'] or 'see its licence file'}")
        found = license_files(pathlib.Path(package["manifest_path"]).parent)
        for path in found:
            texts.setdefault(path.read_text(errors="replace").strip(), []).append(name)
        if not found:
            authors = ", ".join(package["authors"]) or f"the authors of {package['repository']}"
            without.append(f"{name}: {package['license']}, copyright {authors}, {package['repository']}")
    for name, license, path in libraries():
        foreign.append(f"{name}: {license}")
        texts.setdefault(path.read_text(errors="replace").strip(), []).append(name)
    out = ["edt links these packages. The texts of their licences follow.", "", *foreign]
    if without:
        out += ["", "These have no file with the text of their licence. The texts of MIT and of Apache-2.0 are below."]
        out += ["", *without]
        texts.setdefault(standard_text("LICENSE-MIT"), []).append("MIT")
        texts.setdefault(standard_text("LICENSE-APACHE"), []).append("Apache-2.0")
    for text, names in texts.items():
        out += ["", "-" * 80, ", ".join(names), "", text]
    return ("\n".join(out) + "\n").encode()


def standard_text(name):
    """The text of a licence without the line that names edt's authors."""
    return re.sub(r"(?m)^Copyright \(c\).*\n+", "", (ROOT / name).read_text()).strip()


def linked(platform):
    """The packages of other projects that the program links, as `cargo metadata` describes them."""
    features = ["--locked", "--features=otel"]
    words = ["cargo", "metadata", "--format-version=1", f"--filter-platform={platform.rust}", *features]
    metadata = json.loads(subprocess.check_output(words, cwd=ROOT))
    known = {(one["name"], one["version"]): one for one in metadata["packages"] if one["source"]}
    words = ["cargo", "tree", "--package=edt-cli", f"--target={platform.rust}", *features]
    words += ["--edges=normal,no-proc-macro", "--prefix=none", "--format={p}"]
    tree = subprocess.check_output(words, cwd=ROOT, text=True)
    names = {tuple(line.split(" ")[:2]) for line in tree.splitlines() if line}
    return [known[name, version[1:]] for name, version in sorted(names) if (name, version[1:]) in known]


def license_files(directory):
    """The licences in a directory, and in its directories with such a name."""
    found = []
    for path in sorted(directory.iterdir()):
        if LICENSE_FILE.match(path.name):
            found += [path] if path.is_file() else sorted(one for one in path.rglob("*") if one.is_file())
    return found


def libraries():
    """What the compilers link: name, licence and the file with its text."""
    toolchain = subprocess.check_output(["rustc", "--print=sysroot"], cwd=ROOT, text=True).strip()
    rust = pathlib.Path(toolchain, "share/doc/rust/COPYRIGHT-library.html")
    # The packages of Debian's C library: libc.a is in libc6-dev.
    glibc = pathlib.Path("/usr/share/doc/libc6/copyright")
    lesser = pathlib.Path("/usr/share/common-licenses/LGPL-2.1")
    found = [
        ("Rust standard library", "MIT OR Apache-2.0 and others", rust),
        ("GNU C library", "LGPL-2.1-or-later", glibc),
        ("GNU C library (GNU Lesser General Public License)", "LGPL-2.1-or-later", lesser),
    ]
    for name, _, path in found:
        if not path.is_file():
            sys.exit(f"{path} is missing: the licence of the {name} belongs into the packages")
    return found


def archive(build, docs):
    name = f"edt-{build.version}-{build.platform.npm}"
    return f"{name}.tar.xz", tar_xz([build.binary("edt"), *docs], build.epoch, f"{name}/")


def shared(path):
    """Where Linux systems look for a document, below `share`, or None: it has no such place."""
    places = {
        "man/": "man/",
        "completions/bash/": "bash-completion/completions/",
        "completions/zsh/": "zsh/site-functions/",
        "completions/fish/": "fish/vendor_completions.d/",
    }
    for prefix, directory in places.items():
        if path.startswith(prefix):
            return directory + path[len(prefix) :]
    return None


def packed(content):
    return gzip.compress(content, 9, mtime=0)


def debian(build, docs):
    files = [build.binary("usr/bin/edt")]
    for file in docs:
        place = shared(file.path)
        if file.path.startswith("man/"):
            files.append(File(f"usr/share/{place}.gz", packed(file.content)))
        elif place:
            place = place.replace("zsh/site-functions", "zsh/vendor-completions")
            files.append(File(f"usr/share/{place}", file.content))
        elif file.path == "CHANGELOG.md":
            files.append(File("usr/share/doc/edt/changelog.gz", packed(file.content)))
        elif file.path == THIRD_PARTY:
            files.append(File("usr/share/doc/edt/third-party.txt.gz", packed(file.content)))
        elif not file.path.startswith("LICENSE-"):
            files.append(File(f"usr/share/doc/edt/{file.path}", file.content))
    date = time.strftime("%a, %d %b %Y %H:%M:%S +0000", time.gmtime(build.epoch))
    release = (
        f"edt ({build.version}-1) unstable; urgency=medium\n\n"
        f"  * Release {build.version}; changelog.gz says what changed.\n\n -- {MAINTAINER}  {date}\n"
    )
    files.append(File("usr/share/doc/edt/changelog.Debian.gz", packed(release.encode())))
    files.append(File("usr/share/doc/edt/copyright", debian_copyright().encode()))
    # One program for every distribution has its own C library, and is not uploaded to Debian.
    overrides = b"edt: statically-linked-binary [usr/bin/edt]\nedt: initial-upload-closes-no-bugs\n"
    files.append(File("usr/share/lintian/overrides/edt", overrides))
    size = sum(len(file.content) for file in files) // 1024 + 1
    control = (
        f"Package: edt\nVersion: {build.version}-1\nArchitecture: {build.platform.debian}\n"
        f"Maintainer: {MAINTAINER}\nInstalled-Size: {size}\n"
        "Section: vcs\nPriority: optional\nRecommends: git\nSuggests: bubblewrap\n"
        f"Homepage: {HOMEPAGE}\nDescription: {DESCRIPTION}\n"
        " Every edit of an agent is one guarded transaction and one commit on a branch\n"
        " of its own. The developer reviews the branch and lands it.\n"
    )
    files.sort(key=lambda file: file.path)
    sums = "".join(f"{hashlib.md5(file.content).hexdigest()}  {file.path}\n" for file in files)
    about = [File("control", control.encode()), File("md5sums", sums.encode())]
    parts = [
        ("debian-binary", b"2.0\n"),
        ("control.tar.gz", tar_gz(about, build.epoch)),
        ("data.tar.xz", tar_xz(files, build.epoch)),
    ]
    out = io.BytesIO(b"!<arch>\n")
    out.seek(0, io.SEEK_END)
    for name, content in parts:
        out.write(f"{name:<16}{build.epoch:<12}{0:<6}{0:<6}{100644:<8}{len(content):<10}`\n".encode())
        out.write(content + b"\n" * (len(content) % 2))
    return f"edt_{build.version}-1_{build.platform.debian}.deb", out.getvalue()


def debian_copyright():
    mit = standard_text("LICENSE-MIT").removeprefix("MIT License").strip()
    indented = "\n".join(f" {line}" if line.strip() else " ." for line in mit.splitlines())
    holder = re.search(r"(?m)^Copyright \(c\) (.*)$", (ROOT / "LICENSE-MIT").read_text()).group(1)
    return (
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n"
        f"Upstream-Name: edt\nSource: {HOMEPAGE}\n"
        "Comment: third-party.txt.gz has the licences of the libraries that the program links.\n\n"
        f"Files: *\nCopyright: {holder}\nLicense: Expat or Apache-2.0\n\n"
        f"License: Expat\n{indented}\n\n"
        "License: Apache-2.0\n On Debian systems, the text of the Apache License, version 2.0, is in\n"
        " /usr/share/common-licenses/Apache-2.0.\n"
    )


def wheel(build, docs):
    dist = f"edt_cli-{build.version}"
    module = HERE / "python" / "edt_cli"
    files = [File(f"edt_cli/{path.name}", path.read_bytes()) for path in sorted(module.iterdir()) if path.is_file()]
    files.append(build.binary(f"{dist}.data/scripts/edt"))
    files += [File(f"{dist}.data/data/share/{shared(doc.path)}", doc.content) for doc in docs if shared(doc.path)]
    readme = (HERE / "python/README.md").read_text()
    licences = [doc for doc in docs if doc.path.startswith("LICENSE")]
    license_names = "".join(f"License-File: {doc.path}\n" for doc in licences)
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
    # `uvx edt-cli` and `pipx run edt-cli` start the program that has the name of the package.
    scripts = "[console_scripts]\nedt-cli = edt_cli.__main__:main\n"
    files.append(File(f"{dist}.dist-info/entry_points.txt", scripts.encode()))
    files += [File(f"{dist}.dist-info/licenses/{doc.path}", doc.content) for doc in licences]

    def line(file):
        digest = base64.urlsafe_b64encode(hashlib.sha256(file.content).digest()).rstrip(b"=").decode()
        return f"{file.path},sha256={digest},{len(file.content)}\n"

    record = "".join(map(line, files)) + f"{dist}.dist-info/RECORD,,\n"
    files.append(File(f"{dist}.dist-info/RECORD", record.encode()))
    return f"{dist}-{build.platform.wheel}.whl", zip_of(files, build.epoch)


def npm(build, docs):
    """The launcher with the client, and the package of the platform."""
    source = HERE / "npm" / "edt"
    about = json.loads((source / "package.json").read_text())
    about["version"] = build.version
    about["optionalDependencies"] = {name: build.version for name in about["optionalDependencies"]}
    about.pop("scripts")
    paths = [path for part in about["files"] for path in sorted((source / part).iterdir())]
    files = [File(str(path.relative_to(source)), path.read_bytes(), 0o755 if path.parent.name == "bin" else 0o644) for path in paths]
    licences = [doc for doc in docs if doc.path.startswith("LICENSE") and doc.path != THIRD_PARTY]
    help = [File(doc.path.replace("man/man1/", "man/"), doc.content) for doc in docs if shared(doc.path)]
    about["man"] = [f"./{doc.path}" for doc in help if doc.path.startswith("man/")]
    about["files"] += ["completions", "man"]
    about["repository"] = {"type": "git", "url": f"git+{HOMEPAGE}.git"}
    files += [File("README.md", (source / "README.md").read_bytes()), *licences, *help]
    own = {
        "name": f"edt-cli-{build.platform.npm}",
        "version": build.version,
        "description": f"The program edt for {build.platform.npm}",
        "license": about["license"],
        "os": [build.platform.npm_os],
        "cpu": [build.platform.npm_cpu],
        "repository": about["repository"],
        "files": ["bin", THIRD_PARTY],
        "preferUnplugged": True,
    }
    linked_licences = [doc for doc in docs if doc.path == THIRD_PARTY]

    def package(about, files):
        about = File("package.json", (json.dumps(about, indent=2) + "\n").encode())
        return tar_gz([about, *files], build.epoch, "package/")

    return [
        (f"edt-cli-{build.version}.tgz", package(about, files)),
        (f"edt-cli-{build.platform.npm}-{build.version}.tgz", package(own, [build.binary("bin/edt"), *licences, *linked_licences])),
    ]


def mcp_bundle(build, docs):
    about = json.loads(template("mcp/manifest.json", build.version))
    about["compatibility"]["platforms"] = [build.platform.npm_os]
    files = [File("manifest.json", (json.dumps(about, indent=2) + "\n").encode()), build.binary("server/edt")]
    files += [doc for doc in docs if doc.path.startswith("LICENSE")]
    return f"edt-{build.version}-{build.platform.npm}.mcpb", zip_of(files, build.epoch)


def homebrew(version, sums):
    """The formula, with the checksums of the archives in OUT."""
    text = template("homebrew/edt.rb.in", version)
    for platform in PLATFORMS:
        name = f"edt-{version}-{platform}.tar.xz"
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
    parser.add_argument("--order", type=pathlib.Path, help="the order of functions that the program was linked with")
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
    made = [archive(build, docs), debian(build, docs), wheel(build, docs), *npm(build, docs), mcp_bundle(build, docs)]
    if arguments.order:
        # Who repeats the build needs it.
        made.append((f"edt-{build.version}-{build.platform.npm}-order.txt", arguments.order.read_bytes()))
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name, content in made:
        (arguments.out / name).write_bytes(content)
        print(f"{len(content):>10}  {name}")
    write_sums(arguments.out)


if __name__ == "__main__":
    main()
