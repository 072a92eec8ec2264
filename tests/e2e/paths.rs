//! No path, however it is spelt and whatever file is there, leads out of the worktree or into a Git
//! directory.
//!
//! A sentinel checks it: everything around the worktree, every Git directory (without edt's own
//! files) and the worktree itself, byte for byte, with modes and link targets.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::test_repo::{Answer, EDT, Snapshot, TestRepo, run, same, walk};

/// The longest that any one call may take.
const LIMIT: Duration = Duration::from_secs(60);

/// What is to become of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Want {
    /// Every way in is refused with this code.
    Code(&'static str),
    /// It is an ordinary name, and lands as what it is.
    Lands,
}

use Want::{Code, Lands};

const OUTSIDE: Want = Code("PATH_OUTSIDE_REPO");
const GIT_DIR: Want = Code("PATH_IN_GIT_DIR");
const INVALID: Want = Code("PATH_INVALID");

/// Code points that HFS+ ignores in names: Git's list.
const IGNORED_BY_HFS: [char; 16] = [
    '\u{200c}', '\u{200d}', '\u{200e}', '\u{200f}', '\u{202a}', '\u{202b}', '\u{202c}', '\u{202d}',
    '\u{202e}', '\u{206a}', '\u{206b}', '\u{206c}', '\u{206d}', '\u{206e}', '\u{206f}', '\u{feff}',
];

/// The table.
#[expect(clippy::too_many_lines, reason = "data")]
fn rows() -> Vec<(Vec<u8>, Want)> {
    let mut rows: Vec<(Vec<u8>, Want)> = Vec::new();
    let mut put = |want: Want, paths: &[&str]| {
        rows.extend(paths.iter().map(|path| (path.as_bytes().to_vec(), want)));
    };
    put(
        OUTSIDE,
        &[
            "..",
            "../",
            "../x",
            "../outside/secret",
            "../outside/new",
            "../home/x",
            "../../x",
            "a/..",
            "a/../",
            "a/../..",
            "a/../b",
            "a/../../outside/secret",
            "a/b/../../../x",
            "./../x",
            "dir/../../outside/secret",
            "..\\",
            "..\\x",
            "..\\..\\x",
            "a\\..\\..\\x",
            "a/..\\..\\x",
            "../.git/config",
            "../repo/a.txt",
            "../repo/.git/config",
            "dir/../a.txt",
            "dir/..//x",
            "//x",
            "/",
            "/x",
            "/etc/passwd",
            "/proc/self/cwd/x",
            "/proc/self/root/etc/passwd",
            "/dev/null",
            "/tmp/x",
            "///x",
            "C:",
            "C:x",
            "C:\\x",
            "c:/x",
            "Z:\\Windows\\System32",
            "C:..\\x",
            "a:b",
            "\\\\server\\share\\x",
            "\\\\?\\C:\\x",
            "\\\\.\\PhysicalDrive0",
            "\\\\?\\UNC\\server\\x",
            "\\\\x",
        ],
    );
    put(
        INVALID,
        &[
            "",
            ".",
            "./",
            "a/.",
            "a/./b",
            "a:",
            "a//b",
            "a/",
            "dir/",
            "dir//c.txt",
            "a.txt/",
            "a.txt/.",
            "\\x",
            "\\",
            "a\\b",
            "dir\\c.txt",
            "file:///etc/passwd",
            "file:x",
            "https://example.com/x",
            "ab:c",
            "a.txt::$DATA",
            "a.txt:stream",
            "dir/c.txt:x",
            ":(top)x",
            ":/x",
            ":!x",
            "ab:",
            "ssh://host/x",
            "...",
            "....",
            "a.",
            "a..",
            "a ",
            "a. ",
            "a .",
            " ",
            "  ",
            "dir./c.txt",
            "dir /c.txt",
            "x/...",
            ".../x",
            ".. /x",
            ".. ",
            "..  /..  /x",
            "a/.. /b",
            "con",
            "CON",
            "Con.txt",
            "con .txt",
            "nul",
            "NUL",
            "nul.txt",
            "a/NUL/b",
            "aux",
            "aux.c",
            "PRN",
            "prn.tar.gz",
            "com1",
            "COM9.x",
            "lpt1",
            "LPT9",
            "lpt0",
            "CONIN$",
            "conout$",
            "com\u{b9}",
            "COM\u{b2}.txt",
            "lpt\u{b3}",
            "LPT\u{b9} .x",
            ".gitmodules ",
            ".gitmodules.",
            ".GITMODULES",
            ".GitModules",
            ".git\u{200c}modules",
            ".gitmodules\u{feff}",
            "gitmod~1",
            "GITMOD~4",
            "GI7EBA~1",
            "gi7eba~9",
            "sub/GI7EBA~1",
            ".gitmodules::$DATA",
            "a\u{202e}txt.exe",
            "\u{202a}x",
            "x\u{202b}",
            "a\u{202c}b",
            "a\u{202d}b",
            "a\u{2066}b",
            "a\u{2067}b",
            "a\u{2068}b",
            "a\u{2069}b",
            "a\u{2028}b",
            "a\u{2029}b",
            "dir/a\u{202e}b/c",
        ],
    );
    for byte in (0..0x20_u8).chain([0x7f]) {
        put(INVALID, &[&format!("a{}b", char::from(byte))]);
    }
    for latin in '\u{80}'..='\u{9f}' {
        put(INVALID, &[&format!("dir/{latin}x")]);
    }
    let mut spelt: Vec<String> = [
        ".git",
        ".GIT",
        ".Git",
        ".giT",
        "git~1",
        "GIT~1",
        "Git~1",
        ".git ",
        ".git.",
        ".git..",
        ".git . .",
        "git~1 ",
        "git~1.",
        ".git::$INDEX_ALLOCATION",
        ".git:x",
        ".git::$DATA",
        ".GIT::$index_allocation",
        "git~1:x",
        ".git. :x",
    ]
    .map(str::to_owned)
    .into();
    for ignored in IGNORED_BY_HFS {
        spelt.push(format!(".g{ignored}it"));
        spelt.push(format!("{ignored}.GIT{ignored}"));
    }
    for name in &spelt {
        // Those that turn the direction of text are refused as such, before anything else.
        let want = if name.chars().any(|c| ('\u{202a}'..='\u{202e}').contains(&c)) {
            INVALID
        } else {
            GIT_DIR
        };
        let forms = [
            name.clone(),
            format!("{name}/config"),
            format!("{name}/hooks/pre-commit"),
            format!("dir/{name}/HEAD"),
        ];
        put(want, &forms.each_ref().map(String::as_str));
    }
    put(
        GIT_DIR,
        &[
            ".git/refs/heads/main",
            ".git/edt/main/journal",
            ".git/index",
            ".git/objects/info/alternates",
        ],
    );
    put(OUTSIDE, &[".git/../a.txt"]);
    let long = "n".repeat(256);
    put(
        INVALID,
        &[
            &long,
            &format!("{long}/x"),
            &format!("dir/{long}"),
            &"d/".repeat(2100),
            &format!("{}x", "dd/".repeat(1400)),
        ],
    );
    put(
        Lands,
        &[
            "...x",
            "..x",
            "x..y",
            "a..b/c",
            "~",
            "~/x",
            "~root/x",
            "$HOME/x",
            "$(touch x)",
            "`x`",
            "a b",
            " a",
            "-rf",
            "--help",
            "-",
            "*.c",
            "?",
            "[a]",
            "a;b",
            "a&b",
            "a|b",
            "a>b",
            "a'b",
            "a\"b",
            "#x",
            "!x",
            "%2e%2e/x",
            "%2e%2e%2fx",
            "\u{ff0e}\u{ff0e}/x",
            "\u{2024}\u{2024}/x",
            "\u{fc}",
            "u\u{308}",
            "\u{df}/\u{1f600}",
            "\u{200b}x",
            "git",
            "git/config",
            "a.git/b",
            ".gitx",
            ".gi",
            "git~2",
            "git~1x",
            ".github/x",
            ".gitmodules2",
            "gitmodules",
            "gi7eba",
            "console",
            "com10",
            "com",
            "nullo",
            "lpt",
            "CONfig",
            "a\u{e9}.txt",
            "refs/heads/x",
            "HEAD",
            "hooks/pre-commit",
            "edt/x",
            "proc/self/x",
            "dev/null",
            "etc/passwd",
            "..gitx",
            "x.git",
            "@",
            "@{0}",
            "HEAD~1",
            "^x",
            "a,b=c",
            "{a,b}",
            "\u{5d0}\u{200f}",
            "\u{627}\u{644}",
        ],
    );
    for raw in [
        b"\xff.txt".as_slice(),
        b"caf\xe9",
        b"\xc0\xae\xc0\xae/x",
        b"\xed\xa0\x80",
        b"a/\xfe\xff",
        b"\xe0\x80\xae\xe0\x80\xae/y",
    ] {
        rows.push((raw.to_vec(), Lands));
    }
    rows
}

/// A repository with a neighbour, a home and files that must stay as they are.
pub(crate) fn place() -> TestRepo {
    let workspace =
        TestRepo::with(&[("a.txt", b"one\n"), ("dir/c.txt", b"c\n"), ("sub.txt", b"s\n")]);
    let around = workspace.root.parent().unwrap().to_owned();
    std::fs::create_dir_all(around.join("outside/in")).unwrap();
    std::fs::write(around.join("outside/secret"), "secret\n").unwrap();
    std::fs::write(around.join("outside/in/deep"), "deep\n").unwrap();
    std::fs::write(workspace.home.join("x.txt"), "home\n").unwrap();
    std::fs::write(workspace.root.join(".git/hooks/kept"), "a hook\n").unwrap();
    workspace
}

/// Everything that no hostile path may change: all around the worktree, and the Git directory
/// without edt's own files.
pub(crate) fn sentinel(workspace: &TestRepo) -> Snapshot {
    let mut all = Snapshot::new();
    let around = workspace.root.parent().unwrap();
    for name in ["home", "outside"] {
        walk(&around.join(name), &format!("{name}/"), &mut all);
    }
    let mut names: Vec<OsString> =
        std::fs::read_dir(around).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    all.insert("around".to_owned(), format!("{names:?}").into_bytes());
    let mut git = Snapshot::new();
    walk(&workspace.root.join(".git"), "git/", &mut git);
    all.extend(git.into_iter().filter(|(path, _)| !path.starts_with("git/edt")));
    all
}

/// The worktree, too.
pub(crate) fn everything(workspace: &TestRepo) -> Snapshot {
    let mut all = sentinel(workspace);
    walk(&workspace.root, "", &mut all);
    all
}

/// edt with arguments of any bytes, within the time limit.
#[track_caller]
pub(crate) fn edt(workspace: &TestRepo, wrapper: &[&str], stdin: &[u8], args: &[&OsStr]) -> Answer {
    let mut command = match wrapper.split_first() {
        Some((program, rest)) => {
            let mut command = workspace.command(program);
            command.args(rest).arg(EDT);
            command
        }
        None => workspace.command(EDT),
    };
    command.arg("--json").args(args);
    let shown: Vec<String> = args.iter().map(|arg| arg.display().to_string()).collect();
    let started = Instant::now();
    let answer = run(command, stdin, &shown.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(started.elapsed() < LIMIT, "{shown:?} took {:?}", started.elapsed());
    answer
}

fn os(bytes: &[u8]) -> &OsStr {
    OsStr::from_bytes(bytes)
}

/// Every call for `path`, each with what it is.
fn ways(path: &[u8]) -> Vec<(&'static str, Vec<u8>, Vec<OsString>)> {
    let own = |args: &[&OsStr]| args.iter().map(|arg| (*arg).to_owned()).collect::<Vec<OsString>>();
    let plain = |args: &[&str]| args.iter().map(OsString::from).collect::<Vec<OsString>>();
    let mut all: Vec<(&'static str, Vec<u8>, Vec<OsString>)> = Vec::new();
    if !path.contains(&0) {
        let apply = |rest: &[&str]| {
            let mut args = plain(&["apply"]);
            args.extend(plain(rest));
            args.extend(own(&[OsStr::new("--"), os(path)]));
            args
        };
        all.push(("create", Vec::new(), apply(&["--mode", "create", "--content", "evil\n"])));
        all.push(("read", Vec::new(), own(&[OsStr::new("read"), OsStr::new("--"), os(path)])));
        let mut rename = plain(&["apply", "a.txt", "--mode", "rename"]);
        rename.push([b"--to=", path].concat().as_slice().to_os());
        all.push(("rename to", Vec::new(), rename));
    }
    if let Ok(path) = std::str::from_utf8(path) {
        // Each edit is refused for its path, even if it has other errors; together they take one
        // process.
        let edits = json!({"edits": [
            {"path": path, "mode": "overwrite", "content": "evil\n"},
            {"path": path, "mode": "append", "content": "evil\n"},
            {"path": path, "mode": "edit", "old_text": "secret", "content": "evil\n"},
            {"path": path, "mode": "insert", "start_line": 1, "content": "evil\n"},
            {"path": path, "mode": "delete"},
            {"path": path, "mode": "rename", "to": "stolen.txt"},
            {"path": "a.txt", "mode": "rename", "to": path},
            {"path": path, "mode": "create", "content": "evil\n"},
        ]});
        all.push(("request", edits.to_string().into_bytes(), plain(&["apply", "--request", "-"])));
    }
    all
}

/// Whether the command line reads it as another path in the worktree.
fn is_read_as_another(path: &[u8]) -> bool {
    // A link may lead into the worktree.
    if path.starts_with(b":/") || path.starts_with(b"/proc/self/cwd/") {
        return true;
    }
    let (mut depth, mut differs) = (0_usize, false);
    for name in path.split(|byte| *byte == b'/') {
        match name {
            b"" | b"." => differs = true,
            b".." => match depth.checked_sub(1) {
                Some(above) => (depth, differs) = (above, true),
                None => return false,
            },
            _ => depth += 1,
        }
    }
    differs && !path.starts_with(b"/")
}

/// The same path in patches: the form may read the name otherwise, or not at all.
fn patches(path: &[u8]) -> [(&'static str, Vec<u8>); 5] {
    let with = |parts: &[&[u8]]| parts.concat();
    [
        ("diff, new", with(&[b"--- /dev/null\n+++ b/", path, b"\n@@ -0,0 +1 @@\n+evil\n"])),
        (
            "diff, old",
            with(&[b"--- a/", path, b"\n+++ b/", path, b"\n@@ -1 +1 @@\n-secret\n+evil\n"]),
        ),
        (
            "rename",
            with(&[
                b"diff --git a/a.txt b/",
                path,
                b"\nsimilarity index 100%\nrename from a.txt\nrename to ",
                path,
                b"\n",
            ]),
        ),
        ("add", with(&[b"*** Begin Patch\n*** Add File: ", path, b"\n+evil\n*** End Patch\n"])),
        ("block", with(&[path, b"\n<<<<<<< SEARCH\n=======\nevil\n>>>>>>> REPLACE\n"])),
    ]
}

trait ToOs {
    fn to_os(&self) -> OsString;
}

impl ToOs for [u8] {
    fn to_os(&self) -> OsString {
        OsStr::from_bytes(self).to_owned()
    }
}

/// Whether a path that a patch would write is an ordinary one.
fn tame(path: &str) -> bool {
    let plain = |name: &str| {
        !name.is_empty() && name != "." && name != ".." && !name.to_lowercase().starts_with(".git")
    };
    !path.starts_with('/')
        && path.split('/').all(|name| {
            plain(name)
                || name == ".github"
                || name.starts_with(".gitx")
                || name.starts_with(".gitmodules")
        })
}

#[test]
fn no_hostile_path_leads_out() {
    let workspace = place();
    let before = everything(&workspace);
    let mut faults = Vec::new();
    let rows: Vec<_> = rows().into_iter().filter(|(_, want)| *want != Lands).collect();
    for (path, want) in &edt_testkit::share(rows, 40) {
        let Code(code) = *want else { continue };
        let shown = String::from_utf8_lossy(&path[..path.len().min(80)]).into_owned();
        for (way, stdin, args) in ways(path) {
            // On the command line it is another path, as in Git's.
            if way != "request" && is_read_as_another(path) {
                continue;
            }
            let args: Vec<&OsStr> = args.iter().map(OsString::as_os_str).collect();
            let answer = edt(&workspace, &[], &stdin, &args);
            let codes = answer.codes();
            // A file of that name could be read; a drive without a separator is a name.
            let is_name = code == "PATH_INVALID" || path.get(1) == Some(&b':');
            let is_refused = codes == ["FILE_NOT_FOUND"] && way == "read"
                || codes.iter().all(|one| *one == "PATH_INVALID");
            if is_name && is_refused && answer.exit == 1 && !codes.is_empty() {
                continue;
            }
            if answer.exit != 1 || codes.is_empty() || codes.iter().any(|one| *one != code) {
                faults.push(format!("{shown:?} {way}: {codes:?}, not {code}"));
            }
        }
        let patches = patches(path);
        // One of the forms for each row, all of them over the table.
        let (way, patch) =
            &patches[(path.len() + usize::from(path.last().copied().unwrap_or(0))) % patches.len()];
        let answer = edt(&workspace, &[], patch, &["check", "--patch", "-"].map(OsStr::new));
        match answer.json["status"].as_str() {
            Some("would_apply" | "unchanged") => {
                for file in answer.json["files"].as_array().unwrap() {
                    assert!(
                        tame(file["path"].as_str().unwrap()),
                        "{shown:?} {way}: {:#}",
                        answer.json
                    );
                }
            }
            _ => assert!(matches!(answer.exit, 1 | 2 | 4), "{shown:?} {way}: {:#}", answer.json),
        }
        same(&before, &everything(&workspace));
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn the_table_has_three_hundred_rows_and_more() {
    let rows = rows();
    let distinct: std::collections::BTreeSet<&Vec<u8>> =
        rows.iter().map(|(path, _)| path).collect();
    assert_eq!(distinct.len(), rows.len(), "a row occurs twice");
    let refused = rows.iter().filter(|(_, want)| *want != Lands).count();
    assert!(refused >= 300, "{refused} of {} are refused", rows.len());
}

#[test]
fn an_unusual_name_lands_byte_for_byte() {
    let workspace = place();
    // Hidden names wait for the user.
    workspace.unprotect("**");
    let around = sentinel(&workspace);
    let paths: Vec<Vec<u8>> =
        rows().into_iter().filter(|(_, want)| *want == Lands).map(|(path, _)| path).collect();
    for path in &paths {
        let create = ["apply", "--mode", "create", "--content", "odd\n", "--"].map(OsStr::new);
        let answer = edt(&workspace, &[], b"", &[&create[..], &[os(path)]].concat());
        assert_eq!(answer.exit, 0, "{:?}: {:#}", os(path), answer.json);
        let read = edt(&workspace, &[], b"", &[OsStr::new("read"), OsStr::new("--"), os(path)]);
        assert_eq!(read.json["text"], json!("odd\n"), "{:#}", read.json);
        assert_eq!(std::fs::read(workspace.root.join(os(path))).unwrap(), b"odd\n");
        assert!(listed(&workspace).contains(path), "{:?} is not what Git lists", os(path));
        let delete = ["apply", "--mode", "delete", "--"].map(OsStr::new);
        let answer = edt(&workspace, &[], b"", &[&delete[..], &[os(path)]].concat());
        assert_eq!(answer.exit, 0, "{:?}: {:#}", os(path), answer.json);
    }
    workspace.is_clean();
    let after: Snapshot =
        sentinel(&workspace).into_iter().filter(|(path, _)| !path.starts_with("git/")).collect();
    same(&around.into_iter().filter(|(path, _)| !path.starts_with("git/")).collect(), &after);
    assert_eq!(listed(&workspace), [b"a.txt".to_vec(), b"dir/c.txt".to_vec(), b"sub.txt".to_vec()]);
}

/// What `git ls-files -z` lists.
fn listed(workspace: &TestRepo) -> Vec<Vec<u8>> {
    let out = workspace.try_git(&["ls-files", "-z"]).stdout;
    out.split(|&byte| byte == 0).filter(|name| !name.is_empty()).map(<[u8]>::to_vec).collect()
}

#[test]
fn a_git_directory_under_another_name_is_protected() {
    let workspace = TestRepo::with(&[("a.txt", b"one\n")]);
    workspace.git(&["init", "--quiet", "--separate-git-dir=meta"]);
    let config = workspace.read("meta/config");
    for path in ["meta/config", "meta/hooks/pre-commit"] {
        let answer = workspace.edt(&["apply", path, "--mode", "create", "--content", "x\n"]);
        assert_eq!((answer.codes(), answer.exit), (vec!["PATH_IN_GIT_DIR"], 1));
    }
    assert_eq!(
        (workspace.read("meta/config"), workspace.exists("meta/hooks/pre-commit")),
        (config, false)
    );
}
