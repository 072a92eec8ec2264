"""The languages' own parsers, as judges of what is broken.

A judge is opened with a human change: `open(row)` says whether the human text is accepted (only then is there anything to judge), and
`judge(texts)` gives for each damaged text the parser's first complaint, or None where it is accepted.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import warnings

try:
    import yaml
except ImportError:
    yaml = None


class Judge:
    """Accepts a change if it accepts its text."""

    def open(self, row):
        self.path = row["path"]
        return self.judge([row["after"]]) == [None]

    def judge(self, texts):
        return [self.complaint(text) for text in texts]

    def close(self):
        pass


class Json(Judge):
    def complaint(self, text):
        try:
            json.loads(text)
        except (ValueError, RecursionError) as error:
            return str(error)


class Toml(Judge):
    def complaint(self, text):
        try:
            tomllib.loads(text)
        except (ValueError, RecursionError) as error:
            return str(error)


class Yaml(Judge):
    """Checks only syntax: tags stay unresolved, keys may repeat."""

    def complaint(self, text):
        try:
            for _ in yaml.compose_all(text, Loader=yaml.CSafeLoader):
                pass
        except (yaml.YAMLError, RecursionError) as error:
            return " ".join(str(error).split())


class Python(Judge):
    def complaint(self, text):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                compile(text, "text", "exec", dont_inherit=True)
            except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
                return str(error)


class Go(Judge):
    """`gofmt -e`, all texts of a change in one call."""

    def __init__(self):
        self.directory = tempfile.TemporaryDirectory()

    def judge(self, texts):
        names = [os.path.join(self.directory.name, f"{n}.go") for n in range(len(texts))]
        for name, text in zip(names, texts):
            with open(name, "w", encoding="utf-8", newline="") as file:
                file.write(text)
        said = subprocess.run(["gofmt", "-e", "-l", *names], capture_output=True, text=True, errors="replace").stderr
        first = {}
        for line in said.splitlines():
            name, _, complaint = line.partition(".go:")
            first.setdefault(name + ".go", complaint)
        return [first.get(name) for name in names]

    def close(self):
        self.directory.cleanup()


class Rust(Judge):
    """`rustfmt` parses from its standard input, so that `mod` declarations are not followed."""

    def open(self, row):
        for self.edition in ("2024", "2021", "2015"):
            if super().open(row):
                return True
        return False

    def complaint(self, text):
        command = ["rustfmt", "--emit", "stdout", "--edition", self.edition, "--color", "never"]
        done = subprocess.run(command, input=text.encode(), capture_output=True, cwd="/")
        if done.returncode == 0:
            return None
        complaints = re.findall(r"^error(?:\[E\d+\])?: .*", done.stderr.decode(errors="replace"), re.M)
        return complaints[0] if complaints else None


TYPESCRIPT = """
const ts = require(process.argv[1]);
require("readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { path, text } = JSON.parse(line);
  const first = ts.createSourceFile(path, text, ts.ScriptTarget.ESNext).parseDiagnostics[0];
  console.log(JSON.stringify(first ? ts.flattenDiagnosticMessageText(first.messageText, " ") : null));
});
"""


class TypeScript(Judge):
    """One node process with the TypeScript compiler's parser, the only source of the errors of `transpileModule`; it also accepts `.d.ts`."""

    def __init__(self, module, program=TYPESCRIPT):
        self.node = subprocess.Popen(["node", "-e", program, module], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def complaint(self, text):
        self.node.stdin.write(json.dumps({"path": self.path, "text": text}).encode() + b"\n")
        self.node.stdin.flush()
        return json.loads(self.node.stdout.readline())

    def close(self):
        self.node.stdin.close()
        self.node.wait()


class Bash(Judge):
    """`bash -n`."""

    def complaint(self, text):
        done = subprocess.run(["bash", "-n"], input=text.encode(), capture_output=True)
        return done.stderr.decode(errors="replace").split("\n")[0] or "rejected" if done.returncode else None


class Make(Judge):
    """What GNU make says about syntax while it reads. No shell runs, and a file that could write or load is not judged."""

    SYNTAX = re.compile(r"\*\*\* (.*(?:separator|unterminated|extraneous|missing|commences|mixed|empty variable name|only one|invalid).*)  Stop")

    def __init__(self):
        self.directory = tempfile.TemporaryDirectory()

    def open(self, row):
        return not re.search(r"\$[({]\s*(file|guile|eval)\b|^-?load\b|override.*SHELL|include\s+/", row["after"], re.M) and super().open(row)

    def complaint(self, text):
        name = os.path.join(self.directory.name, "Makefile")
        with open(name, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        command = ["make", "-nrR", "SHELL=/bin/false", "MAKEFLAGS=", "edt-no-such-target"]
        env = {"PATH": "/nonexistent", "LC_ALL": "C.UTF-8"}
        try:
            done = subprocess.run([shutil.which("make"), *command[1:]], capture_output=True, cwd=self.directory.name, env=env, timeout=20)
        except subprocess.TimeoutExpired:
            return None
        found = self.SYNTAX.search(done.stderr.decode(errors="replace"))
        return found[1] if found else None

    def close(self):
        self.directory.cleanup()


POSTCSS = """
const postcss = require(process.argv[1]);
require("readline").createInterface({ input: process.stdin }).on("line", (line) => {
  try {
    postcss.parse(JSON.parse(line).text);
    console.log("null");
  } catch (error) {
    console.log(JSON.stringify(error.reason || String(error)));
  }
});
"""


JAVA = """
import com.sun.source.util.JavacTask;
import java.io.*;
import java.net.URI;
import java.util.*;
import javax.tools.*;

class Judge {
  public static void main(String[] args) throws Exception {
    JavaCompiler javac = ToolProvider.getSystemJavaCompiler();
    DataInputStream in = new DataInputStream(System.in);
    while (true) {
      byte[] bytes = new byte[in.readInt()];
      in.readFully(bytes);
      String text = new String(bytes, "UTF-8");
      DiagnosticCollector<JavaFileObject> found = new DiagnosticCollector<>();
      JavaFileObject file = new SimpleJavaFileObject(URI.create("string:///A.java"), JavaFileObject.Kind.SOURCE) {
        public CharSequence getCharContent(boolean ignored) { return text; }
      };
      ((JavacTask) javac.getTask(null, null, found, List.of("-proc:none"), null, List.of(file))).parse();
      String first = "";
      for (Diagnostic<?> one : found.getDiagnostics())
        if (one.getKind() == Diagnostic.Kind.ERROR) { first = one.getMessage(Locale.ENGLISH); break; }
      System.out.println(first.replace('\\n', ' '));
      System.out.flush();
    }
  }
}
"""


class Java(Judge):
    """One Java process with the parser of javac."""

    def __init__(self):
        self.directory = tempfile.TemporaryDirectory()
        name = os.path.join(self.directory.name, "Judge.java")
        with open(name, "w", encoding="utf-8") as file:
            file.write(JAVA)
        self.java = subprocess.Popen(["java", name], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def complaint(self, text):
        data = text.encode()
        self.java.stdin.write(len(data).to_bytes(4, "big") + data)
        self.java.stdin.flush()
        return self.java.stdout.readline().decode(errors="replace").strip() or None

    def close(self):
        self.java.kill()
        self.java.wait()
        self.directory.cleanup()


# Messages of gcc about syntax; the rest ("undeclared", "redefinition", …) is about meaning.
SYNTAX = re.compile(
    r"error: (?!.*expected .* but argument)"
    r"(.*(expected|expects|stray|missing terminating|unterminated|unbalanced|extraneous|at end of input|invalid suffix|missing binary operator|"
    r"missing '\(' |without #if|invalid preprocessing directive|‘else’ without|label at end|conflict marker).*)"
)
INCLUDES = {
    "redis": "src . deps/hiredis deps/linenoise deps/lua/src deps/hdr_histogram deps/fpconv deps/xxhash deps/fast_float",
    "curl": "include lib src tests/libtest tests/unit tests/server lib/curlx",
    "jq": "src . c",
}
STUBS = {
    "redis": {"release.h": '#define REDIS_GIT_SHA1 "0"\n#define REDIS_GIT_DIRTY "0"\n#define REDIS_BUILD_ID "0"\n'},
    "jq": {"version.h": '#define JQ_VERSION "0"\n', "builtin.inc": "0\n", "config_opts.inc": '#define JQ_CONFIG ""\n'},
}
CURL_CONFIG = "".join(
    f"#define {word} 1\n"
    for word in (
        "STDC_HEADERS HAVE_SYS_TYPES_H HAVE_SYS_SOCKET_H HAVE_SYS_TIME_H HAVE_SYS_STAT_H HAVE_SYS_SELECT_H HAVE_SYS_IOCTL_H HAVE_SYS_UN_H "
        "HAVE_SYS_PARAM_H HAVE_SYS_POLL_H HAVE_SYS_RESOURCE_H HAVE_SYS_UTSNAME_H HAVE_NETINET_IN_H HAVE_NETINET_TCP_H HAVE_ARPA_INET_H "
        "HAVE_NETDB_H HAVE_NET_IF_H HAVE_UNISTD_H HAVE_FCNTL_H HAVE_ERRNO_H HAVE_TIME_H HAVE_POLL_H HAVE_PWD_H HAVE_STDLIB_H HAVE_STRING_H "
        "HAVE_STRINGS_H HAVE_SIGNAL_H HAVE_STDINT_H HAVE_INTTYPES_H HAVE_STDBOOL_H HAVE_BOOL_T HAVE_LIMITS_H HAVE_STDIO_H HAVE_ASSERT_H "
        "HAVE_LOCALE_H HAVE_SETJMP_H HAVE_TERMIOS_H HAVE_UTIME_H HAVE_IFADDRS_H HAVE_LIBGEN_H HAVE_DIRENT_H HAVE_ZLIB_H HAVE_LIBZ "
        "HAVE_SOCKET HAVE_SELECT HAVE_POLL HAVE_POLL_FINE HAVE_RECV HAVE_SEND HAVE_FCNTL HAVE_FCNTL_O_NONBLOCK HAVE_GETTIMEOFDAY "
        "HAVE_STRUCT_TIMEVAL HAVE_STRUCT_POLLFD HAVE_LONGLONG HAVE_STRCASECMP HAVE_STRDUP HAVE_STRTOK_R HAVE_STRTOLL HAVE_STRERROR_R "
        "HAVE_POSIX_STRERROR_R HAVE_INET_NTOP HAVE_INET_PTON HAVE_GETADDRINFO HAVE_FREEADDRINFO HAVE_GETHOSTNAME HAVE_ALARM HAVE_SIGACTION "
        "HAVE_GETPPID HAVE_SIG_ATOMIC_T HAVE_STRUCT_SOCKADDR_STORAGE HAVE_SOCKADDR_IN6_SIN6_SCOPE_ID HAVE_VARIADIC_MACROS_C99 HAVE_GMTIME_R "
        "HAVE_BASENAME HAVE_FTRUNCATE HAVE_PIPE HAVE_GETPWUID HAVE_SA_FAMILY_T HAVE_SUSECONDS_T HAVE_MEMRCHR HAVE_DECL_GETPWUID_R "
        "HAVE_OPENSSL_SSL_H HAVE_OPENSSL_CRYPTO_H HAVE_OPENSSL_X509_H HAVE_OPENSSL_RSA_H HAVE_OPENSSL_PEM_H HAVE_OPENSSL_ERR_H "
        "USE_OPENSSL USE_SSLEAY ENABLE_IPV6 USE_IPV6 CURL_STATICLIB HAVE_GETEUID HAVE_UNAME HAVE_GETRLIMIT HAVE_SETLOCALE HAVE_SNPRINTF "
        "TIME_WITH_SYS_TIME HAVE_STRSTR HAVE_STRTOUL HAVE_PERROR HAVE_UTIME HAVE_SETMODE_NOT HAVE_GETPWUID_R HAVE_FCHMOD"
    ).split()
) + (
    "#define SIZEOF_INT 4\n#define SIZEOF_SHORT 2\n#define SIZEOF_LONG 8\n#define SIZEOF_SIZE_T 8\n#define SIZEOF_TIME_T 8\n"
    "#define SIZEOF_OFF_T 8\n#define SIZEOF_CURL_OFF_T 8\n#define SIZEOF_LONG_LONG 8\n#define SIZEOF_CURL_SOCKET_T 4\n"
    '#define OS "Linux"\n#define CURL_OS "Linux"\n#define CURL_EXTERN_SYMBOL\n#define CURL_SA_FAMILY_T sa_family_t\n'
    "#define RECV_TYPE_ARG1 int\n#define RECV_TYPE_ARG2 void *\n#define RECV_TYPE_ARG3 size_t\n#define RECV_TYPE_ARG4 int\n"
    "#define RECV_TYPE_RETV ssize_t\n#define SEND_TYPE_ARG1 int\n#define SEND_TYPE_ARG2 void *\n#define SEND_QUAL_ARG2 const\n"
    "#define SEND_TYPE_ARG3 size_t\n#define SEND_TYPE_ARG4 int\n#define SEND_TYPE_RETV ssize_t\n#define GETHOSTNAME_TYPE_ARG2 size_t\n"
    '#define RETSIGTYPE void\n#define SELECT_TYPE_ARG1 int\n#define SELECT_TYPE_ARG234 fd_set *\n#define SELECT_TYPE_ARG5 struct timeval *\n'
    "#define SELECT_QUAL_ARG5\n#define STRERROR_R_TYPE_ARG3 size_t\n#define GETSERVBYPORT_R_ARGS 6\n#define VERSION \"0\"\n#define PACKAGE \"curl\"\n"
)
STUBS["curl"] = {"curl_config.h": CURL_CONFIG, "config.h": CURL_CONFIG}
FLAGS = {
    "redis": ["-D_GNU_SOURCE"],
    "curl": ["-DHAVE_CONFIG_H", "-DBUILDING_LIBCURL", "-D_GNU_SOURCE"],
    "jq": ["-D_GNU_SOURCE", "-DIEEE_8087", "-DHAVE_ISATTY", "-DHAVE_GETTIMEOFDAY", '-DJQ_VERSION="0"'],
}


class C(Judge):
    """`gcc -fsyntax-only` among the commit's own headers.

    Only files that compile whole are judged. Of a damaged text only complaints about syntax count: `accepted` may still not compile.
    """

    NAMES = (".h", ".c", ".inc", ".def")
    COMMAND = ("-std=gnu11", "-x", "c")

    def __init__(self, repos, objects):
        self.repos, self.objects, self.trees = repos, {name: objects(repo) for name, repo in repos.items()}, {}
        self.directory = tempfile.TemporaryDirectory()

    def open(self, row):
        self.repo, rest = row["id"].split("@", 1)
        if self.repo not in self.repos:
            return False
        self.path = row["path"]
        self.root = os.path.join(self.directory.name, self.repo)
        self.check_out(rest.split(":", 1)[0])
        self.stubs = os.path.join(self.directory.name, "stubs", self.repo)
        shutil.rmtree(self.stubs, ignore_errors=True)
        for name, text in STUBS.get(self.repo, {}).items():
            self.stub(name, text)
        # Headers made by a build, or of libraries that are not installed, count as empty.
        for _ in range(12):
            said = self.gcc(row["after"])
            absent = re.search(r"fatal error: ([\w./-]+): No such file", said)
            if not absent or ".." in absent[1]:
                break
            self.stub(absent[1], "")
        return not re.search(r"error:", said)

    def complaint(self, text):
        found = SYNTAX.search(self.gcc(text))
        return found[1] if found else None

    def gcc(self, text):
        name = os.path.join(self.root, self.path)
        os.makedirs(os.path.dirname(name), exist_ok=True)
        with open(name, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        directories = [os.path.join(self.root, directory) for directory in self.includes()]
        directories += [self.stubs, os.path.join(self.stubs, "src"), os.path.dirname(name)]
        command = ["gcc", "-fsyntax-only", "-w", *self.COMMAND, "-fmax-errors=40", "-fno-diagnostics-show-caret"]
        command += FLAGS.get(self.repo, ["-D_GNU_SOURCE"]) + [f"-I{directory}" for directory in directories]
        try:
            done = subprocess.run([*command, name], capture_output=True, env={**os.environ, "LC_ALL": "C.UTF-8"}, timeout=30)
        except subprocess.TimeoutExpired:
            return "error: out of time"
        return done.stderr.decode(errors="replace")

    def includes(self):
        """The directories of headers: those of the table, or the root and every one that is called so."""
        if self.repo in INCLUDES:
            return INCLUDES[self.repo].split()
        parts = {os.path.dirname(path).split("/")[n] and "/".join(os.path.dirname(path).split("/")[: n + 1])
                 for path in self.trees.get(self.repo, ()) for n in range(path.count("/"))}
        return [".", *sorted(each for each in parts if os.path.basename(each) in ("include", "inc", "src", "compat"))]

    def stub(self, name, text):
        name = os.path.join(self.stubs, name)
        os.makedirs(os.path.dirname(name), exist_ok=True)
        with open(name, "w", encoding="utf-8") as file:
            file.write(text)

    def check_out(self, commit):
        """Updates the C files of the directory to `commit`; unchanged files are kept."""
        command = ["git", "-C", self.repos[self.repo], "ls-tree", "-r", "-z", commit]
        listing = subprocess.run(command, check=True, capture_output=True).stdout.decode(errors="replace")
        wanted = {}
        for entry in filter(None, listing.split("\0")):
            about, path = entry.split("\t", 1)
            if path.endswith(self.NAMES) and ".." not in path and about.startswith("100"):
                wanted[path] = about.split()[2]
        there = self.trees.setdefault(self.repo, {})
        for path in there.keys() - wanted.keys():
            os.unlink(os.path.join(self.root, path))
            del there[path]
        for path, blob in wanted.items():
            if there.get(path) != blob:
                name = os.path.join(self.root, path)
                os.makedirs(os.path.dirname(name), exist_ok=True)
                with open(name, "wb") as file:
                    file.write(self.objects[self.repo].blob(blob) or b"")
                there[path] = blob
        there[self.path] = "changed"

    def close(self):
        for each in self.objects.values():
            each.close()
        self.directory.cleanup()


class Cpp(C):
    """The same with C++17."""

    NAMES = (*C.NAMES, ".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx", ".ipp", ".inl")
    COMMAND = ("-std=gnu++17", "-x", "c++")


def judge_of(language, out, repos, objects):
    """The language's judge, or (None, what is missing)."""
    module = os.path.join(os.path.abspath(out), "node", "node_modules", "typescript")
    postcss = os.path.join(os.path.abspath(out), "node", "node_modules", "postcss")
    makers = {
        "bash": (Bash, shutil.which("bash"), "bash"),
        "make": (Make, shutil.which("make"), "make"),
        "css": (
            lambda: TypeScript(postcss, POSTCSS),
            shutil.which("node") and os.path.isdir(postcss),
            f"node, and postcss (npm install --prefix {out}/node postcss@8)",
        ),
        "html": (None, False, "a reader that rejects HTML"),
        "cpp": (lambda: Cpp(repos, objects), shutil.which("g++"), "g++"),
        "json": (Json, True, ""),
        "python": (Python, True, ""),
        "yaml": (Yaml, yaml is not None, "pyyaml (pip install pyyaml)"),
        "go": (Go, shutil.which("gofmt"), "gofmt"),
        "toml": (Toml, True, ""),
        "java": (Java, shutil.which("javac"), "javac"),
        "rust": (Rust, shutil.which("rustfmt"), "rustfmt"),
        "c": (lambda: C(repos, objects), shutil.which("gcc"), "gcc"),
        "typescript": (
            lambda: TypeScript(module),
            shutil.which("node") and os.path.isdir(module),
            f"node, and typescript (npm install --prefix {out}/node typescript@5)",
        ),
    }
    makers["javascript"] = makers["typescript"]
    make, there, missing = makers[language]
    return (make(), None) if there else (None, missing)


if __name__ == "__main__":
    sys.exit(__doc__)
