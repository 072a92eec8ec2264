//! What a program that rules allow may reach: each argument that names a place is judged, whatever the option before it means.

use super::judge::{Call, Judge, Word};
use super::places::Where;
use super::{Decision, environment};

/// Rules over what only reads, and families that judge places by themselves.
const APART: [&str; 23] = [
    "read-files",
    "tell",
    "find",
    "wrapper",
    "shell",
    "sed",
    "awk",
    "edt",
    "interpreter",
    "git-reads",
    "git-lists",
    "git-lists-more",
    "git-lists-within",
    "git-config-reads",
    "git-config-get",
    "git-reflog",
    "git-option",
    "git-apply-tells",
    "remove",
    "worktree-program",
    "worktree-script",
    "packages-tell",
    "unset",
];
/// Programs whose places a family knows one by one.
const KNOWN: [&str; 11] =
    ["rm", "rmdir", "unlink", "cp", "mv", "ln", "link", "install", "chmod", "chown", "gcp"];
/// Options, by a part of their names, that leave out what they name.
const LEAVES_OUT: [&str; 4] = ["exclude", "ignore", "skip", "omit"];
/// What removes a folder that an option names, before it writes it.
const EMPTIES: [(&[&str], &[&str]); 5] = [
    (&["venv", "virtualenv"], &["--clear"]),
    (&["mdbook", "mkdocs"], &["-d", "--dest-dir", "--site-dir"]),
    (&["pytest", "py.test"], &["--basetemp"]),
    (&["jest"], &["--cachedirectory"]),
    (&["sphinx-build"], &["-M"]),
];

/// What is said of the places among the arguments.
pub(super) fn judge(judge: &mut Judge<'_>, call: &Call<'_>, words: &[Word]) -> Vec<Word> {
    let invocation = call.invocation;
    let apart = |word: &Word| APART.contains(&word.rule.as_str());
    let allowed = words.iter().any(|word| word.decision == Decision::Allow);
    if !allowed || words.iter().any(apart) || invocation.is(&KNOWN) {
        return emptied(judge, call);
    }
    let mut found = emptied(judge, call);
    found.extend(places(judge, call));
    found
}

/// What is said of every place among the arguments.
pub(super) fn places(judge: &Judge<'_>, call: &Call<'_>) -> Vec<Word> {
    let invocation = call.invocation;
    let mut found = Vec::new();
    let mut left_out = false;
    for arg in &invocation.args {
        let runs = invocation.is(&["cargo", "npm", "pnpm", "yarn"])
            && !invocation.args.iter().any(|arg| arg == "rustc");
        if arg == "--" && runs {
            // What follows is for code of the worktree.
            break;
        }
        let names = |arg: &str| {
            let name = arg.split('=').next().unwrap_or_default().to_lowercase();
            name.starts_with('-') && LEAVES_OUT.iter().any(|part| name.contains(part))
                || name == "-x" && invocation.is(&["zip"])
        };
        let leave = left_out || names(arg);
        left_out = names(arg) && !arg.contains('=')
            || left_out && invocation.is(&["zip"]) && !arg.starts_with('-');
        if leave {
            continue;
        }
        let headers = arg.starts_with("-I/usr/") || arg.starts_with("-L/usr/");
        found.extend(
            parts(arg)
                .into_iter()
                .filter_map(|part| reached(judge, part, call))
                .filter(|_| !headers),
        );
    }
    found
}

/// The folders that it empties first.
fn emptied(judge: &Judge<'_>, call: &Call<'_>) -> Vec<Word> {
    let Some((_, options)) = EMPTIES.iter().find(|(names, _)| call.invocation.is(names)) else {
        return Vec::new();
    };
    let args = &call.invocation.args;
    let mut places: Vec<String> = Vec::new();
    for (at, arg) in args.iter().enumerate() {
        let lower = arg.to_lowercase();
        let (name, value) = lower
            .split_once('=')
            .map_or((lower.as_str(), None), |(name, value)| (name, Some(value)));
        if name == "--clear" {
            places.extend(args.iter().filter(|arg| !arg.starts_with('-')).cloned());
        } else if options.contains(&name)
            || options.iter().any(|one| one.len() > 3 && one.starts_with(name) && name.len() > 4)
        {
            places.extend(value.map(str::to_owned).or_else(|| args.get(at + 1).cloned()));
        }
    }
    judge.removal(&places, call.way)
}

/// What in an argument may be a path: all of it, and what stands behind `=`, `,`, `:`, `@` or a short option.
fn parts(arg: &str) -> Vec<&str> {
    let mut parts: Vec<&str> = arg.split(['=', ',', ':', ' ']).collect();
    parts.push(arg);
    let more: Vec<&str> = parts.iter().filter_map(|part| behind(part)).collect();
    parts.extend(more);
    parts.retain(|part| !part.is_empty() && !part.starts_with('-'));
    parts.dedup();
    parts
}

fn behind(part: &str) -> Option<&str> {
    if part.starts_with('-') && !part.starts_with("--") {
        part.get(2..)
    } else {
        part.strip_prefix('@')
    }
}

fn reached(judge: &Judge<'_>, part: &str, call: &Call<'_>) -> Option<Word> {
    let elsewhere = || {
        let reason = format!(
            "{part} is outside of the worktree, and the program may write it or run what is there."
        );
        Some(Word::ask("elsewhere", reason))
    };
    match judge.place(part, call.way) {
        Where::Git => Some(Word::new(
            Decision::Deny,
            "write-git",
            format!("{part} is in a Git folder, which only Git and edt write. Leave it out."),
        )),
        Where::Device => Some(Word::new(
            Decision::Deny,
            "write-vital",
            format!("{part} is a device. A person works on those."),
        )),
        Where::Outside | Where::Vital | Where::System => elsewhere(),
        _ if part.starts_with("//") => elsewhere(),
        Where::Nowhere | Where::Inside | Where::Root => None,
    }
}

impl Judge<'_> {
    /// What becomes of setting a variable: some name folders that a program empties or fills.
    pub(super) fn variable(&self, name: &str, value: &str) -> Option<(Decision, String)> {
        let word = environment::judged(name, value);
        let way = super::judge::Way {
            by: String::new(),
            dirs: vec![self.asked.dir.to_owned()],
            open: false,
        };
        if name.starts_with("EDT_") || value.is_empty() {
            return word;
        }
        let folder = environment::FOLDERS.contains(&name);
        match self.place(value, &way) {
            Where::Git => Some((
                Decision::Deny,
                format!("{name} would lead into a Git folder. Leave it out."),
            )),
            Where::Inside if folder => None,
            Where::Root | Where::Vital | Where::System if folder => Some((
                Decision::Deny,
                format!("What {name} names is emptied, and it names {value}. Leave it out."),
            )),
            _ => word,
        }
    }
}
