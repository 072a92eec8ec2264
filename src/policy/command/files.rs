//! Programs that remove and write files: where the files are decides.

use super::fit::Invocation;
use super::judge::{Call, Judge, Way, Word};
use super::places::Where;
use super::{Decision, sed};

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
/// Options of `cp` and its like that take the next argument, which is no file.
const VALUED: [&str; 8] = ["-S", "--suffix", "-m", "--mode", "-o", "--owner", "-g", "--group"];
const MODES: [&str; 6] = ["chmod", "chown", "chgrp", "setfacl", "chattr", "chcon"];

/// What becomes of the files that a command names.
pub(super) fn judge(judge: &mut Judge<'_>, call: &Call<'_>) -> Vec<Word> {
    let (invocation, way) = (call.invocation, call.way);
    let args = invocation.args.as_slice();
    let operands = operands(args);
    if invocation.is(&["sed", "gsed"]) {
        return judge.sed(args, way);
    }
    if invocation.is(&["awk", "gawk", "mawk", "nawk", "original-awk"]) {
        return judge.awk(args, way);
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
    if invocation.is(&["mv", "gmv"]) || invocation.is(&COPY) {
        return judge.copies(invocation, way);
    }
    if invocation.is(&["sort"])
        && super::fit::carries(&["-o".to_owned(), "--output".to_owned()], &[], args)
    {
        return judge.changing(&operands, way);
    }
    if invocation.is(&WRITE) {
        return judge.changing(&operands, way);
    }
    if invocation.is(&MODES) {
        let deep = args.iter().any(|arg| {
            arg.starts_with("--r")
                || arg.starts_with('-') && !arg.starts_with("--") && arg.contains('R')
        });
        let mut words = judge.changing(&operands, way);
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

    /// What becomes of removing files.
    pub(super) fn removal(&self, files: &[String], way: &Way) -> Vec<Word> {
        let mut words: Vec<Word> =
            files.iter().map(|file| removed(file, self.place(file, way))).collect();
        if way.open {
            words
                .push(Word::ask("remove", "It would remove files that cannot be seen. Name them."));
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

    /// What becomes of writing files, or into folders.
    pub(super) fn writing(&self, files: &[String], way: &Way) -> Vec<Word> {
        let mut words: Vec<Word> =
            files.iter().map(|file| written(file, self.place(file, way))).collect();
        if way.open {
            words.push(Word::ask(
                "write-outside",
                "It would write files that cannot be seen. Name them.",
            ));
        }
        words
    }

    /// What becomes of changing files where they are: the worktree as one is more than its files.
    fn changing(&self, files: &[String], way: &Way) -> Vec<Word> {
        let mut words = self.writing(files, way);
        if files.iter().any(|file| self.place(file, way) == Where::Root) {
            let reason =
                "It would change what is in the Git folder, too. Name the files that are meant.";
            words.push(Word::ask("write-root", reason));
        }
        words
    }

    /// `cp`, `mv`, `ln`, `install`: the target may stand before options, in an option, or be what seems to be a value of one.
    fn copies(&self, invocation: &Invocation, way: &Way) -> Vec<Word> {
        let args = invocation.args.as_slice();
        let short = |arg: &String, letter: char| {
            arg.starts_with('-') && !arg.starts_with("--") && arg.contains(letter)
        };
        let has =
            |letter, long: &str| args.iter().any(|arg| short(arg, letter) || arg.starts_with(long));
        let with_values = operands(args);
        let without: Vec<String> = (0..args.len())
            .filter(|at| *at == 0 || !VALUED.contains(&args[at - 1].as_str()))
            .map(|at| args[at].clone())
            .collect();
        let without = operands(&without);
        let valued = args.iter().filter_map(|arg| match arg.strip_prefix("--") {
            Some(long) => Some(long.split_once('=')?.1.to_owned()),
            None => Some(arg.strip_prefix('-')?.split_once('t')?.1.to_owned())
                .filter(|value| !value.is_empty()),
        });
        let into = has('t', "--t");
        let folders = invocation.is(&["install"]) && has('d', "--d");
        let links =
            invocation.is(&["ln", "link"]) || invocation.is(&["cp", "gcp"]) && has('l', "--l");
        let last = [with_values.last(), without.last()].into_iter().flatten().cloned().collect();
        let targets: Vec<String> =
            if into || folders || links && !has('s', "--s") { with_values.clone() } else { last };
        let mut words = self.writing(&targets.into_iter().chain(valued).collect::<Vec<_>>(), way);
        if invocation.is(&["mv", "gmv"]) {
            let sources = with_values.len().saturating_sub(usize::from(!into));
            words.extend(self.removal(&with_values[..sources], way));
        }
        words
    }

    fn awk(&self, args: &[String], way: &Way) -> Vec<Word> {
        let mut at = 0;
        while let Some(arg) = args.get(at).filter(|arg| arg.starts_with('-') && arg.len() > 1) {
            match arg.as_str() {
                "-F" | "-v" => at += 2,
                "--" => {
                    at += 1;
                    break;
                }
                arg if arg.starts_with("-F") || arg.starts_with("-v") => at += 1,
                _ => {
                    return vec![Word::ask(
                        "awk",
                        format!("{arg} is an option of awk that edt does not read."),
                    )];
                }
            }
        }
        let Some(program) = args.get(at) else {
            return vec![Word::ask("awk", "It is given no program.")];
        };
        if sed::awk_is_plain(program) {
            return vec![Word::new(Decision::Allow, "awk", "It reads files.")];
        }
        let mut words = vec![Word::ask(
            "awk",
            "The program may run others or write files. Write it to a file as a script that a person can read.",
        )];
        // Any text of it may be the file that is written.
        let texts: Vec<String> = program.split('"').skip(1).map(str::to_owned).collect();
        words.extend(self.writing(&texts, way).into_iter().filter(|word| word.rule == "write-git"));
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
            } else if let Some(letters) =
                text.strip_prefix('-').filter(|letters| !letters.is_empty())
            {
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
                        _ => {
                            return doubt(format!(
                                "{text} is an option of sed that edt does not read."
                            ));
                        }
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
            return doubt(
                "It gets arguments that cannot be seen; with -i, sed writes files.".to_owned(),
            );
        }
        let mut words = vec![Word::new(Decision::Allow, "sed", "It prints and replaces.")];
        if in_place {
            words.extend(self.changing(&files, way));
        }
        words
    }
}

fn removed(file: &str, place: Where) -> Word {
    let deny = |what: &str| {
        let reason = format!(
            "{file} is {what}. Name the files of the worktree that are meant; `edt undo` gives those back."
        );
        Word::new(Decision::Deny, "remove-vital", reason)
    };
    match place {
        Where::Nowhere | Where::Inside => Word::new(
            Decision::Allow,
            "remove",
            "What it removes is recorded first; `edt undo` gives it back.",
        ),
        Where::Outside => Word::ask(
            "remove",
            format!("{file} is outside of the worktree, where `edt undo` does not reach."),
        ),
        Where::Root => deny("the whole worktree"),
        Where::Git => deny("a Git folder, or in one"),
        Where::Vital | Where::System | Where::Device => {
            deny("a folder of the system, a home, or a folder that holds the worktree")
        }
    }
}

fn written(file: &str, place: Where) -> Word {
    let deny = |what: &str| {
        let reason = format!("{file} is {what}. Write into the worktree.");
        Word::new(Decision::Deny, "write-vital", reason)
    };
    match place {
        Where::Nowhere | Where::Inside | Where::Root => Word::new(
            Decision::Allow,
            "write",
            "What it writes is in the worktree and is recorded.",
        ),
        Where::Outside | Where::Vital => Word::ask(
            "write-outside",
            format!(
                "{file} is outside of the worktree. Write into the worktree, best where Git ignores files."
            ),
        ),
        Where::Git => Word::new(
            Decision::Deny,
            "write-git",
            format!("{file} is in a Git folder, which only Git and edt write."),
        ),
        Where::System => deny("the system's"),
        Where::Device => deny("a device"),
    }
}
