//! A machine without a file system, for the tests of this crate.

use std::cell::RefCell;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use edt_types::Level;

use super::resolve::normalized;
use super::{CommandEvaluation, CommandPolicy, CommandQuery, Decision, Host, Restorable, Rule};

const ROOT: &str = "/home/user/tree";

/// A worktree at `/home/user/tree`, and every program but `missing` in `/usr/bin`.
pub(crate) struct Machine {
    pub(crate) policy: CommandPolicy,
    pub(crate) level: Level,
    pub(crate) dir: PathBuf,
    pub(crate) files: Vec<PathBuf>,
    pub(crate) links: Vec<(PathBuf, PathBuf)>,
    pub(crate) uncopied: Vec<PathBuf>,
    pub(crate) build_output: Vec<PathBuf>,
    /// The paths that the commands named.
    pub(crate) named: RefCell<Vec<PathBuf>>,
}

impl Machine {
    /// With further executable files of the worktree.
    pub(crate) fn with(files: &[&str]) -> Machine {
        let own =
            ["README.md", "build.sh", "src/a.c", "tools/check.py", ".git/HEAD", ".git/config"];
        let in_root = |file: &&str| Path::new(ROOT).join(file);
        Machine {
            policy: CommandPolicy::default(),
            level: Level::Standard,
            dir: ROOT.into(),
            files: own.iter().chain(files).map(in_root).collect(),
            links: Vec::new(),
            uncopied: Vec::new(),
            build_output: Vec::new(),
            named: RefCell::default(),
        }
    }

    /// With a file of the worktree that `edt run` does not copy.
    pub(crate) fn uncopied(mut self, name: &str) -> Machine {
        self.uncopied.push(Path::new(ROOT).join(name));
        self
    }

    /// With a directory of build output, which `edt run` does not copy.
    pub(crate) fn build_output(mut self, name: &str) -> Machine {
        self.build_output.push(Path::new(ROOT).join(name));
        self
    }

    pub(crate) fn program(mut self, path: &str) -> Machine {
        self.files.push(path.into());
        self
    }

    /// With a symbolic link; relative names are of the worktree.
    pub(crate) fn link(mut self, name: &str, target: &str) -> Machine {
        self.links.push((Path::new(ROOT).join(name), target.into()));
        self
    }

    pub(crate) fn evaluate(&self, argv: &[&str], env: &[(&str, &str)]) -> CommandEvaluation {
        let args: Vec<OsString> = argv[1..].iter().map(OsString::from).collect();
        let env: Vec<(OsString, OsString)> =
            env.iter().map(|(name, value)| (name.into(), value.into())).collect();
        let query = CommandQuery {
            program: argv[0].as_ref(),
            args: &args,
            dir: &self.dir,
            root: Path::new(ROOT),
            env: &env,
            level: self.level,
        };
        self.policy.evaluate(&query, self)
    }

    /// Every step as `BY: ARGV = DECISION by RULE`.
    pub(crate) fn steps(&self, argv: &[&str]) -> Vec<String> {
        self.steps_with(argv, &[])
    }

    pub(crate) fn steps_with(&self, argv: &[&str], env: &[(&str, &str)]) -> Vec<String> {
        let steps = self.evaluate(argv, env).steps.into_iter();
        steps
            .map(|step| {
                let argv = step.argv.join(" ");
                format!("{}: {argv} = {} by {}", step.by, step.decision.name(), step.rule)
            })
            .collect()
    }

    /// The result as `DECISION by RULE: REASON`.
    pub(crate) fn verdict(&self, argv: &[&str]) -> String {
        let found = self.evaluate(argv, &[]);
        format!("{} by {}: {}", found.decision.name(), found.rule, found.reason)
    }
}

impl Host for Machine {
    fn path_directories(&self) -> Vec<PathBuf> {
        vec!["/usr/bin".into()]
    }

    fn is_executable(&self, path: &Path) -> bool {
        self.real_path(path).is_some_and(|real| {
            real.parent() == Some(Path::new("/usr/bin")) || self.files.contains(&real)
        })
    }

    fn real_path(&self, path: &Path) -> Option<PathBuf> {
        let path = normalized(path);
        for (link, target) in &self.links {
            if let Ok(below) = path.strip_prefix(link) {
                let real = target.join(below);
                return Some(if below.as_os_str().is_empty() { target.clone() } else { real });
            }
        }
        let program = path.parent() == Some(Path::new("/usr/bin")) && !path.ends_with("missing");
        let exists = self.files.iter().any(|file| file.starts_with(&path));
        (program || exists || Path::new("/usr/bin").starts_with(&path)).then_some(path)
    }

    fn directory_entries(&self, directory: &Path) -> Vec<String> {
        let directory = normalized(directory);
        let below = self.files.iter().filter_map(|file| file.strip_prefix(&directory).ok());
        let mut names: Vec<String> = below
            .filter_map(|file| Some(file.components().next()?.as_os_str().to_str()?.to_owned()))
            .collect();
        names.sort();
        names.dedup();
        names
    }

    fn home_directory(&self) -> Option<PathBuf> {
        Some("/home/user".into())
    }

    fn is_named(&self, path: &Path) {
        self.named.borrow_mut().push(path.to_owned());
    }

    fn restorable(&self, path: &Path) -> Restorable {
        let is_in = |all: &[PathBuf]| all.iter().any(|one| one == path);
        if is_in(&self.uncopied) {
            Restorable::NotAll
        } else if is_in(&self.build_output) {
            Restorable::NotBuildOutput
        } else {
            Restorable::All
        }
    }
}

pub(crate) fn argv(text: &str) -> Vec<&str> {
    text.split(' ').collect()
}

pub(crate) fn steps(argv: &[&str]) -> Vec<String> {
    Machine::with(&[]).steps(argv)
}

pub(crate) fn verdict(argv: &[&str]) -> String {
    Machine::with(&[]).verdict(argv)
}

/// A rule over commands that begin with `words`.
pub(crate) fn rule(name: &str, words: &[&str], decision: Decision) -> Rule {
    Rule {
        name: name.to_owned(),
        argv: words.iter().map(|word| vec![(*word).to_owned()]).collect(),
        with: None,
        only: None,
        without: Vec::new(),
        values: Vec::new(),
        decision,
        reason: format!("because of {name}"),
        matching: vec![words.iter().map(ToString::to_string).collect()],
        not_matching: Vec::new(),
    }
}
