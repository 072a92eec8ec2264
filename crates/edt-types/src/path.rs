//! A path inside the worktree that is safe to use on every system.
//!
//! The rules are Git's own (`verify_path` in Git's `read-cache.c`) with HFS+ and NTFS protection
//! always on. These are refused as well: control characters (including those that reverse text on a
//! screen), `\`, `:`, device names, trailing dots and spaces, and disguises of `.gitmodules`. `..`
//! is never normalised. Symbolic links and nested repositories are checked where files are opened.

use std::fmt;

use gix_validate::path::component;

use super::{Code, Finding, Refusal};
use crate::text::Shown as _;

/// A path relative to the worktree's root, with `/` as the separator.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RepoPath(Vec<u8>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathProblem {
    Empty,
    /// Starts with a root, a drive or a server.
    Absolute,
    Parent,
    NotPlain,
    /// Some file system reads a component as `.git`.
    GitDir,
    /// Has a NUL or another control character, or one that changes the direction of text.
    Control,
    /// Some file system reads a component as `.gitmodules`, which it is not.
    Disguise,
    Separator,
    /// Has a device name, or a name that ends in a dot or a space.
    Reserved,
    /// Is longer than systems allow: 4096 bytes for the path, 255 for a component.
    TooLong,
}

/// Maximum length of a path in bytes, `PATH_MAX` of Linux.
const MAX_PATH: usize = 4096;
/// Maximum length of a component in bytes, `NAME_MAX` of Linux.
const MAX_NAME: usize = 255;

impl RepoPath {
    /// Parses a path that a caller sent.
    ///
    /// # Errors
    /// The first problem found; [`PathProblem::finding`] makes a refusal of it.
    pub fn parse(raw: &[u8]) -> Result<RepoPath, PathProblem> {
        if raw.is_empty() {
            return Err(PathProblem::Empty);
        }
        if has_display_controls(raw) {
            return Err(PathProblem::Control);
        }
        let drive = matches!(raw, [letter, b':', b'/' | b'\\', ..] if letter.is_ascii_alphabetic());
        if raw[0] == b'/' || raw.starts_with(b"\\\\") || drive {
            return Err(PathProblem::Absolute);
        }
        if raw.split(|b| matches!(b, b'/' | b'\\')).any(|name| name == b"..") {
            return Err(PathProblem::Parent);
        }
        if raw.len() >= MAX_PATH {
            return Err(PathProblem::TooLong);
        }
        raw.split(|&b| b == b'/').try_for_each(check_component)?;
        Ok(RepoPath(raw.to_vec()))
    }

    /// Why no file with this path should be made: some system cannot store its name. A file that
    /// exists may have it.
    #[must_use]
    pub fn unportable(&self) -> Option<PathProblem> {
        self.0.split(|&b| b == b'/').find_map(|name| {
            if name.iter().any(|b| matches!(b, b'\\' | b':')) {
                return Some(PathProblem::Separator);
            }
            let reserved = is_device(name) || name.ends_with(b".") || name.ends_with(b" ");
            reserved.then_some(PathProblem::Reserved)
        })
    }

    /// A path from a Git tree. It is not validated, so it may be unsafe to open: see
    /// [`RepoPath::checkout_problem`].
    #[must_use]
    pub fn from_tree(raw: &[u8]) -> RepoPath {
        RepoPath(raw.to_vec())
    }

    /// Why this path must not be opened: a tree may contain paths that Git would never check out.
    /// Names that are only unusual (`a:b`, `CON`) are allowed, because Git checks them out.
    #[must_use]
    pub fn checkout_problem(&self) -> Option<PathProblem> {
        if self.0.is_empty() {
            return Some(PathProblem::Empty);
        }
        if self.0.contains(&0) {
            return Some(PathProblem::Control);
        }
        if self.0[0] == b'/' {
            return Some(PathProblem::Absolute);
        }
        let component_problem = |name: &[u8]| match name {
            b".." => Some(PathProblem::Parent),
            b"" | b"." => Some(PathProblem::NotPlain),
            name => spells_git(name).then_some(PathProblem::GitDir),
        };
        self.0.split(|&b| b == b'/').find_map(component_problem)
    }

    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The exact path, for programs; bytes that are not UTF-8 are U+FFFD.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.0).into_owned()
    }

    /// The path as a shell argument: quoted if needed, and after `--` if a program would read it as
    /// an option.
    #[must_use]
    pub fn for_shell(&self) -> String {
        let quoted = self.quoted();
        if self.0.starts_with(b"-") { format!("-- {quoted}") } else { quoted }
    }

    /// The path as a shell argument that follows `--`.
    #[must_use]
    pub fn quoted(&self) -> String {
        super::text::shell_word(&self.0)
    }

    /// The directories above the file, outermost first, without the root: `a/b/c` gives `a`, `a/b`.
    pub fn parents(&self) -> impl Iterator<Item = &[u8]> {
        let slashes = self.0.iter().enumerate().filter(|(_, b)| **b == b'/');
        slashes.map(|(at, _)| &self.0[..at])
    }

    /// Whether the path is `above`, or in the directory `above`.
    #[must_use]
    pub fn is_at_or_below(&self, above: &RepoPath) -> bool {
        let rest = self.0.strip_prefix(above.0.as_slice());
        rest.is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
    }

    /// Whether the file is a `.gitattributes`, which decides how Git reads other files.
    #[must_use]
    pub fn is_attributes(&self) -> bool {
        self.split().1 == b".gitattributes"
    }

    /// Whether the file is a `.gitignore`, which has ignore rules.
    #[must_use]
    pub fn is_ignore_file(&self) -> bool {
        self.split().1 == b".gitignore"
    }

    /// The directory and the file name; the directory of a top-level file is empty.
    #[must_use]
    pub fn split(&self) -> (&[u8], &[u8]) {
        match self.0.iter().rposition(|&b| b == b'/') {
            Some(at) => (&self.0[..at], &self.0[at + 1..]),
            None => (&[], &self.0),
        }
    }
}

/// The path in a sentence: [`Shown::shown`]. [`RepoPath::text`] is the exact one.
impl TryFrom<&str> for RepoPath {
    type Error = Refusal;

    /// # Errors
    /// The finding of a [`PathProblem`].
    fn try_from(path: &str) -> Result<RepoPath, Refusal> {
        RepoPath::parse(path.as_bytes()).map_err(|problem| problem.finding(path.as_bytes()).into())
    }
}

impl fmt::Display for RepoPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.0).shown())
    }
}

impl fmt::Debug for RepoPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", String::from_utf8_lossy(&self.0))
    }
}

/// Whether a terminal or an editor would display another name: control characters of ASCII and
/// Latin-1, line and paragraph separators, and characters that change the direction of the text
/// after them.
fn has_display_controls(raw: &[u8]) -> bool {
    let controls = |c: char| {
        c.is_control()
            || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    raw.iter().any(u8::is_ascii_control)
        || (!raw.is_ascii() && raw.utf8_chunks().any(|chunk| chunk.valid().chars().any(controls)))
}

fn check_component(name: &[u8]) -> Result<(), PathProblem> {
    if name.is_empty() || name == b"." {
        return Err(PathProblem::NotPlain);
    }
    if name.len() > MAX_NAME {
        return Err(PathProblem::TooLong);
    }
    // A backslash separates names on some systems.
    if name.split(|&b| b == b'\\').any(spells_git) {
        return Err(PathProblem::GitDir);
    }
    if name != b".gitmodules" && spells_gitmodules(name) {
        return Err(PathProblem::Disguise);
    }
    Ok(())
}

const GIT_PROTECTIONS: component::Options =
    component::Options { protect_windows: false, protect_hfs: true, protect_ntfs: true };

/// Whether some file system reads `name` as `.git`.
#[must_use]
pub fn spells_git(name: &[u8]) -> bool {
    matches!(
        gix_validate::path::component(name.into(), None, GIT_PROTECTIONS),
        Err(component::Error::DotGitDir)
    )
}

/// Whether some file system reads `name` as `.gitmodules`.
fn spells_gitmodules(name: &[u8]) -> bool {
    let as_link = Some(component::Mode::Symlink);
    matches!(
        gix_validate::path::component(name.into(), as_link, GIT_PROTECTIONS),
        Err(component::Error::SymlinkedGitModules)
    )
}

/// Whether Windows reads `name` as a device. Windows counts the superscript digits of Latin-1 as
/// digits.
fn is_device(name: &[u8]) -> bool {
    let superscript = |digit: &str| {
        let port = name.get(..3).is_some_and(|port| {
            port.eq_ignore_ascii_case(b"COM") || port.eq_ignore_ascii_case(b"LPT")
        });
        let rest = name.get(3..).and_then(|rest| rest.strip_prefix(digit.as_bytes()));
        let rest = rest.map(|rest| rest.iter().find(|&&byte| byte != b' '));
        port && matches!(rest, Some(None | Some(b'.' | b':')))
    };
    gix_validate::path::component_is_windows_device(name.into())
        || ["\u{b9}", "\u{b2}", "\u{b3}"].into_iter().any(superscript)
}

impl PathProblem {
    #[must_use]
    pub const fn code(self) -> Code {
        match self {
            PathProblem::Absolute | PathProblem::Parent => Code::PathOutsideRepo,
            PathProblem::GitDir => Code::PathInGitDir,
            PathProblem::Empty
            | PathProblem::NotPlain
            | PathProblem::Control
            | PathProblem::Disguise
            | PathProblem::Separator
            | PathProblem::Reserved
            | PathProblem::TooLong => Code::PathInvalid,
        }
    }

    #[must_use]
    pub fn finding(self, raw: &[u8]) -> Finding {
        let shown = String::from_utf8_lossy(&raw[..raw.len().min(200)]).into_owned();
        let what = match self {
            PathProblem::Empty => "is empty",
            PathProblem::Absolute => "is absolute",
            PathProblem::Parent => "has a component `..`",
            PathProblem::NotPlain => "has a component `.`, or an empty one",
            PathProblem::GitDir => "is read as a Git directory",
            PathProblem::Control => {
                "has a control character, or one that changes the direction of text"
            }
            PathProblem::Disguise => "is read as `.gitmodules`",
            PathProblem::Separator => "has `\\` or `:`",
            PathProblem::Reserved => "has a device name, or a name that ends in a dot or a space",
            PathProblem::TooLong => "is too long (4095 bytes, 255 per name)",
        };
        let mut finding = Finding::new(
            self.code(),
            format!("The path {shown:?} {what}."),
            "Name the file relative to the worktree's root, with `/`: for example \"src/main.c\".",
        );
        finding.path = Some(shown);
        finding
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(raw: &[u8]) -> Option<PathProblem> {
        RepoPath::parse(raw).err()
    }

    #[test]
    fn ordinary_paths_are_accepted() {
        for raw in [
            "a",
            "src/main.c",
            ".gitignore",
            ".github/x.yml",
            "a b/c",
            "git",
            "ü/ß",
            "...x",
            "a.git/b",
            "what?.txt",
        ] {
            assert_eq!(problem(raw.as_bytes()), None, "{raw}");
        }
    }

    #[test]
    fn every_spelling_of_a_git_directory_is_refused() {
        for raw in [
            ".git",
            ".git/config",
            "a/.GIT/x",
            ".git ",
            ".git.",
            ".git::$INDEX_ALLOCATION",
            "GIT~1/x",
            ".g\u{200c}it/x",
            "a\\.git\\config",
        ] {
            assert_eq!(problem(raw.as_bytes()), Some(PathProblem::GitDir), "{raw}");
        }
    }

    #[test]
    fn paths_that_leave_the_worktree_are_outside() {
        for raw in [
            "..",
            "../x",
            "a/../../x",
            "a/..",
            "..\\x",
            "a\\..\\b",
            "/etc/passwd",
            "C:\\x",
            "\\\\server\\x",
        ] {
            assert_eq!(
                problem(raw.as_bytes()).map(PathProblem::code),
                Some(Code::PathOutsideRepo),
                "{raw}"
            );
        }
    }

    #[test]
    fn names_that_some_system_cannot_store_are_not_made() {
        for raw in ["ab:c", "a:b", "a\\b", "CON", "x/nul.txt", "x/aux.c", "a.", "a "] {
            let path = RepoPath::parse(raw.as_bytes()).unwrap();
            assert_eq!(path.unportable().map(PathProblem::code), Some(Code::PathInvalid), "{raw}");
        }
        assert_eq!(RepoPath::parse(b"src/main.c").unwrap().unportable(), None);
    }

    #[test]
    fn paths_that_no_file_can_have_are_invalid() {
        for raw in ["", "a//b", "a/", "./a", "a/./b", "a\0b", "a\nb", "a\x7f"] {
            assert_eq!(
                problem(raw.as_bytes()).map(PathProblem::code),
                Some(Code::PathInvalid),
                "{raw:?}"
            );
        }
        assert_eq!(problem(&[b'a'; 256]), Some(PathProblem::TooLong));
        assert_eq!(problem(&b"a/".repeat(2048)), Some(PathProblem::TooLong));
    }

    #[test]
    fn paths_of_a_tree_may_be_unsafe_to_open() {
        for (raw, problem) in [
            (b"".as_slice(), PathProblem::Empty),
            (b"..", PathProblem::Parent),
            (b"a/../b", PathProblem::Parent),
            (b"./a", PathProblem::NotPlain),
            (b"a//b", PathProblem::NotPlain),
            (b"/etc/passwd", PathProblem::Absolute),
            (b".git", PathProblem::GitDir),
            (b"a/.Git/hooks/x", PathProblem::GitDir),
            (b"git~1/hooks/x", PathProblem::GitDir),
            (b"a\0b", PathProblem::Control),
        ] {
            assert_eq!(RepoPath::from_tree(raw).checkout_problem(), Some(problem), "{raw:?}");
        }
        for raw in
            [b"a:b".as_slice(), b"CON", b"a\\b", b"a.", b"\x07", b".gitmodules", b"...", b"\xff"]
        {
            assert_eq!(RepoPath::from_tree(raw).checkout_problem(), None, "{raw:?}");
        }
    }

    #[test]
    fn a_path_is_quoted_for_a_shell_where_it_must_be() {
        for (raw, shown) in [
            (b"src/a-b_1.c".as_slice(), "src/a-b_1.c"),
            (b"a b/$x.c", "'a b/$x.c'"),
            (b"it's.c", r"'it'\''s.c'"),
            (b"~x", "'~x'"),
            ("\u{fc}.c".as_bytes(), "'\u{fc}.c'"),
            (b"-x.txt", "-- -x.txt"),
            (b"-x y", "-- '-x y'"),
            (b"\xff'\\a", r"$'\xff\'\\a'"),
        ] {
            assert_eq!(RepoPath::from_tree(raw).for_shell(), shown);
        }
    }

    #[test]
    fn parents_come_outermost_first() {
        let path = RepoPath::parse(b"a/b/c.txt").unwrap();
        assert_eq!(path.parents().collect::<Vec<_>>(), [b"a".as_slice(), b"a/b"]);
        assert_eq!(path.split(), (b"a/b".as_slice(), b"c.txt".as_slice()));
    }
}
