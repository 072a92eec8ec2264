//! Programs that remove and write files: where the files are decides.

use std::path::{Path, PathBuf};

use super::judge::{Call, Judge, Way, Word};
use super::{Decision, found, sed};

/// Where a file is that a command would change; later is worse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Where {
    /// Nowhere: `/dev/null`, standard output.
    Nowhere,
    /// In the worktree.
    Inside,
    /// The worktree itself, or all that is in it.
    Root,
    /// Somewhere else.
    Outside,
    /// A Git folder, or in one.
    Git,
    /// The root of the file system, a folder of the system, a home, a folder that holds the worktree.
    Vital,
}

const REMOVE: [&str; 4] = ["rm", "rmdir", "unlink", "grm"];
const COPY: [&str; 6] = ["cp", "ln", "install", "link", "gcp", "ditto"];
const WRITE: [&str; 25] = [
    "tee",
    "touch",
    "mkdir",
    "truncate",
    "mkfifo",
    "mktemp",
    "split",
    "csplit",
    "uniq",
    "gzip",
    "gunzip",
    "bzip2",
    "bunzip2",
    "xz",
    "unxz",
    "zstd",
    "unzstd",
    "lz4",
    "dos2unix",
    "unix2dos",
    "zip",
    "unzip",
    "patch",
    "shuf",
    "gtruncate",
];
const MODES: [&str; 6] = ["chmod", "chown", "chgrp", "setfacl", "chattr", "chcon"];

/// Folders of the system, none of which a command of an agent removes.
const SYSTEM: [&str; 12] =
    ["/usr", "/etc", "/bin", "/sbin", "/lib", "/lib64", "/boot", "/dev", "/proc", "/sys", "/var", "/opt"];

/// What becomes of the files that a command names.
pub(super) fn judge(judge: &mut Judge<'_>, call: &Call<'_>) -> Vec<Word> {
    let (invocation, way) = (call.invocation, call.way);
    let args = invocation.args.as_slice();
    let operands = operands(args);
    if invocation.is(&["sed", "gsed"]) {
        return judge.sed(args, way);
    }
    if invocation.is(&["awk", "gawk", "mawk", "nawk", "original-awk"]) {
        return awk(args);
    }
    if invocation.is(&REMOVE) {
        let mut words = judge.removal(&operands, way);
        if args.iter().any(|arg| arg.starts_with("--no-p") || arg == "--no") {
            words.push(Word::new(
                Decision::Deny,
                "remove-vital",
                "--no-preserve-root is there to remove everything. Name the files that are meant.",
            ));
        }
        return words;
    }
    let into = args
        .iter()
        .any(|arg| arg.starts_with("--t") || arg.starts_with('-') && !arg.starts_with("--") && arg.contains('t'));
    let valued = args.iter().filter_map(|arg| match arg.strip_prefix("--") {
        Some(long) => Some(long.split_once('=')?.1.to_owned()),
        None => Some(arg.strip_prefix('-')?.split_once('t')?.1.to_owned()).filter(|value| !value.is_empty()),
    });
    if invocation.is(&["mv", "gmv"]) || invocation.is(&COPY) {
        let targets: Vec<String> = if into { operands.clone() } else { operands.last().cloned().into_iter().collect() };
        let targets: Vec<String> = targets.into_iter().chain(valued).collect();
        let mut words = judge.writing(&targets, way);
        if invocation.is(&["mv", "gmv"]) {
            let sources = operands.len().saturating_sub(usize::from(!into));
            words.extend(judge.removal(&operands[..sources], way));
        }
        return words;
    }
    if invocation.is(&WRITE) {
        return judge.writing(&operands, way);
    }
    if invocation.is(&MODES) {
        let deep = args
            .iter()
            .any(|arg| arg.starts_with("--r") || arg.starts_with('-') && !arg.starts_with("--") && arg.contains('R'));
        let mut words = judge.writing(&operands, way);
        let worst = operands.iter().map(|file| judge.place(file, way)).max();
        if deep && worst >= Some(Where::Root) && worst != Some(Where::Outside) {
            let (decision, what) = if worst == Some(Where::Root) {
                (Decision::Ask, "the Git folder, too")
            } else {
                (Decision::Deny, "what is not the worktree's")
            };
            words.push(Word::new(
                decision,
                "modes-vital",
                format!("It would change {what}. Name the files of the worktree that are meant."),
            ));
        }
        return words;
    }
    Vec::new()
}

fn awk(args: &[String]) -> Vec<Word> {
    let mut at = 0;
    while let Some(arg) = args.get(at).filter(|arg| arg.starts_with('-') && arg.len() > 1) {
        match arg.as_str() {
            "-F" | "-v" => at += 2,
            "--" => {
                at += 1;
                break;
            }
            arg if arg.starts_with("-F") || arg.starts_with("-v") => at += 1,
            _ => return vec![Word::ask("awk", format!("{arg} is an option of awk that edt does not read."))],
        }
    }
    match args.get(at) {
        Some(program) if sed::awk_is_plain(program) => vec![Word::new(Decision::Allow, "awk", "It reads files.")],
        _ => vec![Word::ask(
            "awk",
            "The program may run others or write files. Write it to a file as a script that a person can read.",
        )],
    }
}

/// The arguments that are no options.
fn operands(args: &[String]) -> Vec<String> {
    let (mut out, mut options) = (Vec::new(), true);
    for arg in args {
        if options && arg == "--" {
            options = false;
        } else if !options || !arg.starts_with('-') || arg == "-" {
            out.push(arg.clone());
        }
    }
    out
}

impl Judge<'_> {
    /// The file that a redirection writes.
    pub(super) fn writes(&mut self, file: &str, way: &Way) {
        for word in self.writing(&[file.to_owned()], way) {
            if word.decision > Decision::Allow {
                self.note(way, &[format!("> {file}")], word);
            }
        }
    }

    /// Whether `real`, a path without links, is in the worktree and in no Git folder.
    pub(super) fn is_inside(&self, real: &Path) -> bool {
        real.strip_prefix(self.asked.root).is_ok_and(|below| !in_git(below))
    }

    /// `text` as a path, seen from `dir`.
    pub(super) fn placed_at(&self, text: &str, dir: &Path) -> PathBuf {
        let home = self.programs.home();
        let below = ["~", "$HOME", "${HOME}"].iter().find_map(|home| text.strip_prefix(home));
        if let (Some(rest), Some(home)) = (below.filter(|rest| rest.is_empty() || rest.starts_with('/')), home) {
            return home.join(rest.trim_start_matches('/'));
        }
        let here = ["$PWD", "${PWD}"].iter().find_map(|here| text.strip_prefix(here));
        dir.join(here.map_or(text, |rest| rest.trim_start_matches('/')))
    }

    fn place(&self, text: &str, way: &Way) -> Where {
        if matches!(text, "/dev/null" | "/dev/stdout" | "/dev/stderr" | "/dev/tty" | "-") {
            return Where::Nowhere;
        }
        way.dirs.iter().map(|dir| self.place_from(text, dir)).max().unwrap_or(Where::Outside)
    }

    fn place_from(&self, text: &str, dir: &Path) -> Where {
        let mut path = self.placed_at(text, dir);
        // `x/*` is all that is in x.
        while path.file_name().is_some_and(|name| is_everything(&name.to_string_lossy())) {
            path.pop();
        }
        let plain = found::plain(&path);
        let through = path.parent().and_then(|parent| self.programs.real(parent)).zip(plain.file_name());
        let through = through.map(|(parent, name)| parent.join(name));
        let all = [Some(plain), through, self.programs.real(&path)];
        all.into_iter().flatten().map(|path| self.place_of(&path)).max().unwrap_or(Where::Outside)
    }

    fn place_of(&self, path: &Path) -> Where {
        let root = self.asked.root;
        if in_git(path.strip_prefix(root).unwrap_or(path)) {
            return Where::Git;
        }
        if path == root {
            return Where::Root;
        }
        if path.starts_with(root) {
            return Where::Inside;
        }
        let home = self.programs.home().is_some_and(|home| home.starts_with(path));
        let deep = path.components().count();
        let system = SYSTEM.iter().any(|system| path.starts_with(system)) && deep <= 3 && !path.starts_with("/dev");
        let vital = root.starts_with(path) || home || deep <= 2 || system;
        if vital { Where::Vital } else { Where::Outside }
    }

    /// What becomes of removing files.
    fn removal(&self, files: &[String], way: &Way) -> Vec<Word> {
        let mut words: Vec<Word> = files.iter().map(|file| removed(file, self.place(file, way))).collect();
        if way.open {
            words.push(Word::ask("remove", "It would remove files that cannot be seen. Name them."));
        }
        words
    }

    /// What `find -delete` removes.
    pub(super) fn deletion(&self, starts: &[String], narrowed: bool, way: &Way) -> Vec<Word> {
        let word = |start: &String| match self.place(start, way) {
            Where::Root if narrowed => removed(start, Where::Inside),
            place => removed(start, place),
        };
        starts.iter().map(word).collect()
    }

    /// What becomes of writing files.
    pub(super) fn writing(&self, files: &[String], way: &Way) -> Vec<Word> {
        let mut words: Vec<Word> = files.iter().map(|file| written(file, self.place(file, way))).collect();
        if way.open {
            words.push(Word::ask("write-outside", "It would write files that cannot be seen. Name them."));
        }
        words
    }

    fn sed(&self, args: &[String], way: &Way) -> Vec<Word> {
        let doubt = |why: String| vec![Word::ask("sed", why)];
        let (mut scripts, mut files, mut in_place, mut at) = (Vec::new(), Vec::new(), false, 0);
        while let Some(arg) = args.get(at) {
            at += 1;
            let text = arg.as_str();
            if let Some(script) = text.strip_prefix("--expression=") {
                scripts.push(script.to_owned());
            } else if matches!(
                text,
                "--quiet"
                    | "--silent"
                    | "--regexp-extended"
                    | "--separate"
                    | "--posix"
                    | "--null-data"
                    | "--version"
                    | "--help"
            ) {
            } else if text == "--in-place" || text.starts_with("--in-place=") {
                in_place = true;
            } else if let Some(letters) = text.strip_prefix('-').filter(|letters| !letters.is_empty()) {
                for (from, letter) in letters.char_indices() {
                    match letter {
                        'n' | 'E' | 'r' | 's' | 'z' | 'u' => continue,
                        'i' => in_place = true,
                        'e' => {
                            let rest = &letters[from + 1..];
                            at += usize::from(rest.is_empty());
                            let next = args.get(at - 1).cloned().unwrap_or_default();
                            scripts.push(if rest.is_empty() { next } else { rest.to_owned() });
                        }
                        _ => return doubt(format!("{text} is an option of sed that edt does not read.")),
                    }
                    break;
                }
            } else {
                files.push(arg.clone());
            }
        }
        if scripts.is_empty() && !files.is_empty() {
            scripts.push(files.remove(0));
        }
        if let Some(odd) = scripts.iter().find(|script| !sed::sed_is_plain(script)) {
            return doubt(format!(
                "The script {odd:?} may run programs or write files. Use `edt apply` to change a file."
            ));
        }
        if way.open {
            return doubt("It gets arguments that cannot be seen; with -i, sed writes files.".to_owned());
        }
        let mut words = vec![Word::new(Decision::Allow, "sed", "It prints and replaces.")];
        if in_place {
            words.extend(self.writing(&files, way));
        }
        words
    }
}

fn in_git(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str().eq_ignore_ascii_case(".git"))
}

/// Whether a pattern stands for all that is in a folder.
fn is_everything(name: &str) -> bool {
    name.contains(['*', '?']) && name.chars().all(|c| "*?.[]!^".contains(c))
}

fn removed(file: &str, place: Where) -> Word {
    let deny = |what: &str| {
        let reason =
            format!("{file} is {what}. Name the files of the worktree that are meant; `edt undo` gives those back.");
        Word::new(Decision::Deny, "remove-vital", reason)
    };
    match place {
        Where::Nowhere | Where::Inside => {
            Word::new(Decision::Allow, "remove", "What it removes is recorded first; `edt undo` gives it back.")
        }
        Where::Outside => {
            Word::ask("remove", format!("{file} is outside of the worktree, where `edt undo` does not reach."))
        }
        Where::Root => deny("the whole worktree"),
        Where::Git => deny("a Git folder, or in one"),
        Where::Vital => deny("a folder of the system, a home, or a folder that holds the worktree"),
    }
}

fn written(file: &str, place: Where) -> Word {
    match place {
        Where::Nowhere | Where::Inside | Where::Root => {
            Word::new(Decision::Allow, "write", "What it writes is in the worktree and is recorded.")
        }
        Where::Outside | Where::Vital => {
            Word::ask("write-outside", format!("{file} is outside of the worktree. Write into the worktree."))
        }
        Where::Git => {
            Word::new(Decision::Deny, "write-git", format!("{file} is in a Git folder, which only Git and edt write."))
        }
    }
}
