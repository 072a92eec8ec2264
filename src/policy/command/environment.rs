//! Variables that decide what a program does or which code it loads.

use super::Decision;

/// What a variable is to edt: whoever sets it moves edt's own files or speaks for it.
const DENIED: [&str; 1] = ["EDT_*"];

/// Variables that name programs, code, options or configuration. Globs.
const ASKED: &[&str] = &[
    "PATH",
    "LD_*",
    "DYLD_*",
    "BASH_ENV",
    "BASH_FUNC_*",
    "ENV",
    "IFS",
    "PS4",
    "PROMPT_COMMAND",
    "SHELL",
    "SHELLOPTS",
    "BASHOPTS",
    "ZDOTDIR",
    "CDPATH",
    "GLOBIGNORE",
    "HOME",
    "XDG_*",
    "TMPDIR",
    "EDITOR",
    "VISUAL",
    "PAGER",
    "MANPAGER",
    "BROWSER",
    "LESSOPEN",
    "LESSCLOSE",
    "LESS",
    "GIT_*",
    "SSH_*",
    "PYTHON*",
    "PERL*",
    "RUBYOPT",
    "RUBYLIB",
    "GEM_*",
    "BUNDLE_*",
    "NODE_*",
    "NPM_*",
    "npm_*",
    "YARN_*",
    "PNPM_*",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "_JAVA_OPTIONS",
    "MAVEN_OPTS",
    "MAVEN_ARGS",
    "GRADLE_OPTS",
    "CLASSPATH",
    "PHP*",
    "LUA_*",
    "RUSTC",
    "RUSTC_*",
    "RUSTDOC",
    "RUSTUP_*",
    "CARGO",
    "CARGO_HOME",
    "CARGO_*_RUNNER",
    "CARGO_*_LINKER",
    "CARGO_BUILD_RUST*",
    "CARGO_ALIAS_*",
    "CARGO_ENCODED_*",
    "RUSTFLAGS",
    "CC",
    "CXX",
    "CPP",
    "LD",
    "AR",
    "AS",
    "NVCC",
    "CMAKE_*",
    "MAKE",
    "MAKEFLAGS",
    "GNUMAKEFLAGS",
    "MFLAGS",
    "GOFLAGS",
    "GOROOT",
    "GOPATH",
    "GOPROXY",
    "GONOSUMDB",
    "GOENV",
    "GOTOOLCHAIN",
    "GCC_*",
    "COMPILER_PATH",
    "R_*",
    "RIPGREP_CONFIG_PATH",
    "GREP_OPTIONS",
    "DOCKER_*",
    "KUBECONFIG",
    "AWS_*",
    "AZURE_*",
    "GOOGLE_*",
    "PIP_*",
    "UV_*",
    "PIPX_*",
    "CONDA_*",
    "VIRTUAL_ENV",
    "PROCESS_*",
    "GCONV_PATH",
    "LOCPATH",
    "MALLOC_*",
    "GLIBC_TUNABLES",
    "TERMINFO*",
    "TAR_OPTIONS",
    "RSYNC_*",
    "CVS_RSH",
    "http_proxy",
    "https_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "all_proxy",
    "CURL_*",
    "WGETRC",
    "PSQL*",
    "MYSQL_*",
    "FAKEROOT*",
];

/// Exceptions from [`ASKED`] that decide nothing.
const HARMLESS: &[&str] = &[
    "GIT_TERMINAL_PROMPT",
    "GIT_OPTIONAL_LOCKS",
    "GIT_AUTHOR_NAME",
    "GIT_AUTHOR_EMAIL",
    "GIT_AUTHOR_DATE",
    "GIT_COMMITTER_NAME",
    "GIT_COMMITTER_EMAIL",
    "GIT_COMMITTER_DATE",
    "GIT_LITERAL_PATHSPECS",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONUNBUFFERED",
    "PYTHONHASHSEED",
    "PYTHONIOENCODING",
    "PYTHONUTF8",
    "NODE_ENV",
    "NODE_NO_WARNINGS",
    "RUSTC_BOOTSTRAP",
    "MALLOC_ARENA_MAX",
    "PERL_HASH_SEED",
];

/// Values with which a variable that is asked about decides nothing.
const HARMLESS_VALUES: &[(&str, &[&str])] =
    &[("GIT_PAGER", &["cat", ""]), ("PAGER", &["cat", ""]), ("GIT_EDITOR", &["true", ":"]), ("EDITOR", &["true", ":"])];

/// Lists of folders with code; folders of the worktree are where code comes from anyway.
const LISTS: [&str; 4] = ["PYTHONPATH", "NODE_PATH", "RUBYLIB", "PERL5LIB"];

/// What becomes of setting `name` to `value`, with the reason; `None` if it is free.
pub(super) fn judged(name: &str, value: &str) -> Option<(Decision, String)> {
    use super::fit::alike;
    let any = |list: &[&str]| list.iter().any(|glob| alike(glob, name));
    if any(&DENIED) {
        return Some((Decision::Deny, format!("{name} speaks to edt itself. Leave it out.")));
    }
    let below = LISTS.contains(&name)
        && value.split(':').all(|one| !one.starts_with('/') && !one.split('/').any(|part| part == ".."));
    let free =
        below || any(HARMLESS) || HARMLESS_VALUES.iter().any(|(one, values)| *one == name && values.contains(&value));
    let asked = any(ASKED) && !free;
    asked.then(|| {
        (Decision::Ask, format!("{name} can change which program or code runs. Leave it out, or ask a person."))
    })
}
