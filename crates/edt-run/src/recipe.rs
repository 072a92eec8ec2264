//! What a command would execute, as far as files of the worktree say it: scripts, recipes of Make
//! and just, scripts of `package.json`. Nothing is run to find out, so recipes are not expanded.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use edt_command::CommandEvaluation;
use edt_io::fs;
use serde_json::Value;

/// The largest file that is looked at, in bytes.
const MOST_BYTES: u64 = 1 << 20;
/// How much of one text is shown, in characters.
const SHOWN: usize = 4_000;

const INTERPRETERS: [&str; 12] = [
    "bash", "dash", "deno", "fish", "ksh", "node", "perl", "php", "python", "python3", "ruby", "sh",
];

/// What a command would execute, as far as that is known.
#[derive(Debug, Default)]
pub(super) struct Recipe {
    /// The texts, each below its name.
    pub(super) shown: String,
    /// The files of the worktree that were read for that.
    pub(super) files: Vec<PathBuf>,
}

/// What the command and each command inside of it would execute.
pub(super) fn executed(evaluation: &CommandEvaluation, root: &Path, dir: &Path) -> Recipe {
    let read = RefCell::default();
    let shown = texts(evaluation, root, dir, &read);
    Recipe { shown, files: read.into_inner() }
}

fn texts(
    evaluation: &CommandEvaluation,
    root: &Path,
    dir: &Path,
    read: &RefCell<Vec<PathBuf>>,
) -> String {
    let mut shown: Vec<String> = Vec::new();
    let name_of = |program: &str| program.rsplit('/').next().unwrap_or(program).to_owned();
    let moves = |argv: &[String]| {
        argv.first().is_some_and(|program| match name_of(program).as_str() {
            "cd" | "pushd" | "popd" | "chroot" => true,
            "env" => argv.iter().any(|arg| arg.starts_with("-C") || arg.starts_with("--chdir")),
            _ => false,
        })
    };
    if evaluation.steps.iter().any(|step| moves(&step.argv)) {
        return "It changes its directory, so recipes and scripts are not shown.".to_owned();
    }
    for step in &evaluation.steps {
        let Some((program, args)) = step.argv.split_first() else { continue };
        let name = &*name_of(program);
        let files = Files { root, dir: dir.to_owned(), read };
        let texts = match name {
            "make" | "gmake" => files.make(args),
            "just" => files.just(args),
            "npm" | "pnpm" | "yarn" | "bun" => files.package_scripts(args),
            _ => {
                // Each file that an interpreter gets may be executed: `node -r a.js b.js`.
                let scripts = args.iter().filter(|_| INTERPRETERS.contains(&name));
                let program = std::iter::once(program).filter(|program| program.contains('/'));
                program.chain(scripts).filter_map(|file| files.text(file)).collect()
            }
        };
        for (name, text) in texts {
            let one = format!("{name}:\n{}", indented(&text));
            if !shown.contains(&one) {
                shown.push(one);
            }
        }
    }
    shown.join("\n\n")
}

/// The text with four spaces before each line, so that no line reads as a trailer of the message.
fn indented(text: &str) -> String {
    let cut: String = text.chars().take(SHOWN).collect();
    let rest = text.chars().count().saturating_sub(SHOWN);
    let mut lines: Vec<String> =
        cut.trim_end().lines().map(|line| format!("    {line}").trim_end().to_owned()).collect();
    if rest > 0 {
        lines.push(format!("    … ({rest} more characters)"));
    }
    lines.join("\n")
}

/// The files of the worktree as seen from a directory.
struct Files<'r> {
    root: &'r Path,
    dir: PathBuf,
    /// Which were read.
    read: &'r RefCell<Vec<PathBuf>>,
}

type Texts = Vec<(String, String)>;

impl Files<'_> {
    /// The text of a file in the worktree, with its path from the root.
    fn text(&self, name: &str) -> Option<(String, String)> {
        let real = fs::real_path(&self.dir.join(name));
        let below = real.strip_prefix(self.root).ok()?.to_string_lossy().into_owned();
        let bytes = fs::read_small(&real, MOST_BYTES)?;
        self.read.borrow_mut().push(real);
        let text = String::from_utf8(bytes).ok()?;
        let plain = |c: char| if c.is_control() && c != '\n' && c != '\t' { '\u{fffd}' } else { c };
        Some((below, text.chars().map(plain).collect()))
    }

    fn first(&self, names: &[&str]) -> Option<(String, String)> {
        names.iter().find_map(|name| self.text(name))
    }

    fn make(mut self, args: &[String]) -> Texts {
        let mut file = None;
        let mut targets = Vec::new();
        let mut words = args.iter().map(String::as_str);
        while let Some(word) = words.next() {
            let value = |short: &str, long: &str| {
                let long = word.strip_prefix(long).and_then(|rest| rest.strip_prefix('='));
                long.or_else(|| word.strip_prefix(short).filter(|rest| !rest.is_empty()))
            };
            if matches!(word, "-C" | "--directory") {
                self.dir.push(words.next().unwrap_or_default());
            } else if file.is_some() && (word.starts_with("-f") || word.starts_with("--file")) {
                return not_shown(word);
            } else if matches!(word, "-f" | "--file" | "--makefile") {
                file = words.next();
            } else if let Some(directory) = value("-C", "--directory") {
                self.dir.push(directory);
            } else if let Some(named) = value("-f", "--file") {
                file = Some(named);
            } else if is_unknown_flag(word) {
                return not_shown(word);
            } else if !word.starts_with('-') && !word.contains('=') {
                targets.push(word);
            }
        }
        let found = match file {
            Some(file) => self.text(file),
            None => self.first(&["GNUmakefile", "makefile", "Makefile"]),
        };
        let is_rule = |line: &str| {
            let (names, rest) = line.split_once(':')?;
            let is_rule = !line.starts_with(['\t', ' ', '#', '.']) && !rest.starts_with('=');
            is_rule.then(|| names.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
        };
        found.map_or_else(Vec::new, |(path, text)| recipes(&path, &text, &targets, is_rule))
    }

    fn just(self, args: &[String]) -> Texts {
        if let Some(flag) = args.iter().find(|arg| arg.starts_with('-')) {
            return not_shown(flag);
        }
        let named: Vec<&str> = args.iter().map(String::as_str).take(1).collect();
        let is_recipe = |line: &str| {
            let (names, rest) = line.split_once(':')?;
            let is_recipe = !line.starts_with(['\t', ' ', '#']) && !rest.starts_with('=');
            let name = names.split_whitespace().next()?.trim_start_matches('@');
            is_recipe.then(|| vec![name.to_owned()])
        };
        let found = self.first(&["justfile", "Justfile", ".justfile"]);
        found.map_or_else(Vec::new, |(path, text)| recipes(&path, &text, &named, is_recipe))
    }

    fn package_scripts(self, args: &[String]) -> Texts {
        let harmless = ["--silent", "-s", "--no-audit", "--no-fund", "--save-dev", "-D"];
        let own = args.iter().map(String::as_str).take_while(|arg| *arg != "--");
        let is_unknown = |arg: &&str| arg.starts_with('-') && !harmless.contains(arg);
        if let Some(flag) = own.clone().find(is_unknown) {
            return not_shown(flag);
        }
        let mut words = own.filter(|arg| !arg.starts_with('-'));
        let names: Vec<String> = match words.next() {
            Some("run" | "run-script") => words.next().into_iter().map(str::to_owned).collect(),
            None | Some("install" | "i" | "ci" | "add") => {
                ["preinstall", "install", "postinstall", "prepare"].map(str::to_owned).into()
            }
            Some(name) => vec![name.to_owned()],
        };
        let Some((path, text)) = self.text("package.json") else { return Vec::new() };
        let package: Value = serde_json::from_str(&text).unwrap_or_default();
        let around = |name: String| [format!("pre{name}"), name.clone(), format!("post{name}")];
        let script = |name: String| {
            let text = package["scripts"].get(&name)?.as_str()?.to_owned();
            Some((format!("{name} in {path}"), text))
        };
        names.into_iter().flat_map(around).filter_map(script).collect()
    }
}

/// What is shown if a flag may lead to other files.
fn not_shown(flag: &str) -> Texts {
    vec![("The recipe".to_owned(), format!("not shown, because of {flag}"))]
}

/// Whether a flag of Make may give it other rules or directories than its files.
fn is_unknown_flag(word: &str) -> bool {
    let harmless =
        ["--silent", "--keep-going", "--always-make", "--no-print-directory", "--dry-run"];
    let is_short = word.strip_prefix('-').is_some_and(|letters| {
        letters.bytes().all(|byte| b"jklsBinqrRtw".contains(&byte) || byte.is_ascii_digit())
    });
    word.starts_with('-') && !is_short && !word.starts_with("--jobs") && !harmless.contains(&word)
}

/// The recipes of the targets, or of the first target if none is named: the lines that `names` takes
/// for a rule of the target, and the indented lines after each.
fn recipes(
    path: &str,
    text: &str,
    targets: &[&str],
    names: impl Fn(&str) -> Option<Vec<String>>,
) -> Texts {
    let first = text.lines().find_map(|line| names(line)?.into_iter().next());
    let wanted: Vec<&str> = match targets {
        [] => first.as_deref().into_iter().collect(),
        targets => targets.to_vec(),
    };
    let recipe = |target: &str| {
        let mut lines = Vec::new();
        let mut inside = false;
        for line in text.lines() {
            inside = match names(line) {
                Some(names) => names.iter().any(|name| name == target),
                None => inside && (line.starts_with(['\t', ' ']) || line.is_empty()),
            };
            if inside {
                lines.push(line);
            }
        }
        (!lines.is_empty()).then(|| (format!("{target} in {path}"), lines.join("\n")))
    };
    wanted.into_iter().filter_map(recipe).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(named: &[(&str, &str)]) -> (tempfile::TempDir, PathBuf) {
        let scratch = tempfile::tempdir().unwrap();
        for (name, text) in named {
            let path = scratch.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let root = scratch.path().canonicalize().unwrap();
        (scratch, root)
    }

    fn shown(files: &[(&str, &str)], argv: &[&str]) -> String {
        let (_scratch, root) = self::files(files);
        let query = edt_command::CommandQuery {
            program: argv[0].as_ref(),
            args: &argv[1..].iter().map(Into::into).collect::<Vec<_>>(),
            dir: &root,
            root: &root,
            env: &[],
            level: edt_types::Level::Standard,
        };
        let host = edt_command::LocalHost;
        let policy = edt_guard::policy::Policy::of(None, None).unwrap();
        executed(&policy.commands.evaluate(&query, &host), &root, &root).shown
    }

    const MAKEFILE: &str = "X := 1\n.PHONY: all\nall: build\n\tcc -o x x.c\n\ndeploy test: all\n\
                            \trm -rf $(DIR)\n\n\tscp x host:\nother:\n\ttrue\n";

    #[test]
    fn the_recipe_of_a_target_is_shown() {
        let makefile = [("Makefile", MAKEFILE), ("sub/m.mk", "go:\n\tgo build\n")];
        assert_eq!(
            shown(&makefile, &["make", "-j4", "deploy", "V=1"]),
            "deploy in Makefile:\n    deploy test: all\n    \trm -rf $(DIR)\n\n    \tscp x host:"
        );
        assert_eq!(
            shown(&makefile, &["make"]),
            "all in Makefile:\n    all: build\n    \tcc -o x x.c"
        );
        assert_eq!(
            shown(&makefile, &["make", "-C", "sub", "-fm.mk"]),
            "go in sub/m.mk:\n    go:\n    \tgo build"
        );
        for unknown in ["--eval=deploy:;evil", "-Isub", "-E"] {
            let shown = shown(&makefile, &["make", unknown, "deploy"]);
            assert_eq!(shown, format!("The recipe:\n    not shown, because of {unknown}"));
        }
        let moved = shown(&makefile, &["sh", "-c", "cd sub && make other"]);
        assert_eq!(moved, "It changes its directory, so recipes and scripts are not shown.");
        let inside = shown(&makefile, &["sh", "-c", "make other && true"]);
        assert_eq!(inside, "other in Makefile:\n    other:\n    \ttrue");
    }

    #[test]
    fn scripts_of_a_package_are_shown() {
        let package = [(
            "package.json",
            r#"{"scripts": {"predeploy": "a", "deploy": "b --c", "postinstall": "node p.js"}}"#,
        )];
        assert_eq!(
            shown(&package, &["npm", "run", "deploy"]),
            "predeploy in package.json:\n    a\n\ndeploy in package.json:\n    b --c"
        );
        assert_eq!(shown(&package, &["npm", "ci"]), "postinstall in package.json:\n    node p.js");
    }

    #[test]
    fn recipes_of_just_and_scripts_are_shown() {
        let files = [
            ("justfile", "x := '1'\n@deploy to:\n  scp {{to}}\nother:\n  true\n"),
            ("tools/run.sh", "#!/bin/sh\necho hi\u{1b}[2J\n"),
        ];
        assert_eq!(
            shown(&files, &["just", "deploy", "host"]),
            "deploy in justfile:\n    @deploy to:\n      scp {{to}}"
        );
        let script = "tools/run.sh:\n    #!/bin/sh\n    echo hi\u{fffd}[2J";
        assert_eq!(shown(&files, &["sh", "tools/run.sh", "x"]), script);
        assert_eq!(shown(&files, &["./tools/run.sh"]), script);
        let both = shown(&files, &["node", "-r", "./tools/run.sh", "justfile"]);
        assert!(both.contains("tools/run.sh:") && both.contains("justfile:"), "{both}");
    }

    #[test]
    fn a_long_text_is_cut_visibly() {
        let text = "a".repeat(SHOWN + 7);
        let shown = indented(&text);
        assert!(shown.ends_with("\n    … (7 more characters)"), "{shown}");
        assert_eq!(indented("Edt-Decision: approved x\n"), "    Edt-Decision: approved x");
    }

    #[test]
    fn files_outside_the_worktree_are_not_read() {
        let (_scratch, root) = files(&[("a", "x")]);
        let read = RefCell::default();
        let files = Files { root: &root, dir: root.clone(), read: &read };
        assert!(files.text("a").is_some());
        assert_eq!(files.text("../etc/passwd"), None);
        assert_eq!(files.text("/etc/passwd"), None);
    }
}
