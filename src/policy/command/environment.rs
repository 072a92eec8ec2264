//! Variables that decide what a program does or which code it loads.

use super::Decision;

/// What a variable is to edt: whoever sets it moves edt's own files or speaks for it.
const DENIED: [&str; 1] = ["EDT_*"];

/// Variables that decide how things look, how many run at once, for what is built, or that tests look at. Globs.
const FREE: &[&str] = &[
    "CI",
    "DEBUG",
    "VERBOSE",
    "RUST_LOG",
    "RUST_BACKTRACE",
    "RUST_LIB_BACKTRACE",
    "RUST_TEST_THREADS",
    "RUST_MIN_STACK",
    "RUSTC_BOOTSTRAP",
    "CARGO_INCREMENTAL",
    "CARGO_TERM_*",
    "CARGO_NET_OFFLINE",
    "CARGO_BUILD_JOBS",
    "PROPTEST_*",
    "QUICKCHECK_TESTS",
    "INSTA_UPDATE",
    "NEXTEST_*",
    "NODE_ENV",
    "NODE_NO_WARNINGS",
    "GOOS",
    "GOARCH",
    "GOMAXPROCS",
    "GO111MODULE",
    "CGO_ENABLED",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONUNBUFFERED",
    "PYTHONHASHSEED",
    "PYTHONIOENCODING",
    "PYTHONUTF8",
    "PERL_HASH_SEED",
    "MALLOC_ARENA_MAX",
    "OMP_NUM_THREADS",
    "MIX_ENV",
    "RAILS_ENV",
    "RACK_ENV",
    "APP_ENV",
    "FLASK_ENV",
    "DJANGO_DEBUG",
    "TEST",
    "TESTING",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "TZ",
    "TERM",
    "COLORTERM",
    "NO_COLOR",
    "FORCE_COLOR",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "COLUMNS",
    "LINES",
    "PORT",
    "SOURCE_DATE_EPOCH",
    "DEBIAN_FRONTEND",
    "GIT_TERMINAL_PROMPT",
    "GIT_OPTIONAL_LOCKS",
    "GIT_AUTHOR_NAME",
    "GIT_AUTHOR_EMAIL",
    "GIT_AUTHOR_DATE",
    "GIT_COMMITTER_NAME",
    "GIT_COMMITTER_EMAIL",
    "GIT_COMMITTER_DATE",
    "GIT_LITERAL_PATHSPECS",
];

/// Variables that name folders which programs fill and empty: they are free in the worktree.
pub(super) const FOLDERS: [&str; 3] =
    ["CARGO_TARGET_DIR", "CARGO_BUILD_TARGET_DIR", "PYTHONPYCACHEPREFIX"];

/// Values with which a variable that is asked about decides nothing.
const HARMLESS_VALUES: &[(&str, &[&str])] = &[
    ("GIT_PAGER", &["cat", ""]),
    ("PAGER", &["cat", ""]),
    ("GIT_EDITOR", &["true", ":"]),
    ("EDITOR", &["true", ":"]),
];

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
        && value.split(':').all(|one| {
            !one.starts_with(['/', '~', '$']) && !one.split('/').any(|part| part == "..")
        });
    let free = below
        || any(FREE)
        || HARMLESS_VALUES.iter().any(|(one, values)| *one == name && values.contains(&value));
    (!free).then(|| {
        (
            Decision::Ask,
            format!("{name} may change which program or code runs. Leave it out, or ask a person."),
        )
    })
}
