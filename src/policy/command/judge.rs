//! The judgement of a program: every command in it is a step, and the strictest step decides.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::fit::{Fit, Invocation};
use super::found::{self, Found, Place};
use super::{Asked, Commands, Decision, Judgement, Origin, Programs, Rule, Step, Trusted};
use super::{builtin, files, find, git, interpreter, reach, script, wrapper};
use crate::base::Level;

/// One family of programs whose arguments say more than rules can: what it finds itself, while it has commands inside judged.
type Family = fn(&mut Judge<'_>, &Call<'_>) -> Vec<Word>;

/// All families.
const FAMILIES: &[Family] =
    &[wrapper::judge, script::judge, interpreter::judge, files::judge, find::judge, git::judge];

/// How deep commands may stand in one another.
const DEEPEST: usize = 12;

/// The judgement that is being made.
pub(super) struct Judge<'a> {
    commands: &'a Commands,
    pub(super) asked: &'a Asked<'a>,
    pub(super) programs: &'a dyn Programs,
    steps: Vec<Step>,
    depth: usize,
    /// Whether it looks for nothing but what is denied.
    searching: bool,
}

/// One command, where it stands.
pub(super) struct Call<'a> {
    pub(super) invocation: &'a Invocation,
    pub(super) way: &'a Way,
}

/// How a command was come by.
#[derive(Debug, Clone)]
pub(super) struct Way {
    /// What runs it.
    pub(super) by: String,
    /// The folders that it may run in.
    pub(super) dirs: Vec<PathBuf>,
    /// Whether it gets further arguments that cannot be seen.
    pub(super) open: bool,
}

/// What a rule or a family says.
#[derive(Debug, Clone)]
pub(super) struct Word {
    pub(super) decision: Decision,
    pub(super) rule: String,
    pub(super) reason: String,
    pub(super) origin: Origin,
}

impl Word {
    pub(super) fn new(decision: Decision, rule: &str, reason: impl Into<String>) -> Word {
        Word { decision, rule: rule.to_owned(), reason: reason.into(), origin: Origin::BuiltIn }
    }

    pub(super) fn ask(rule: &str, reason: impl Into<String>) -> Word {
        Word::new(Decision::Ask, rule, reason)
    }
}

/// What becomes of a program.
pub(super) fn judge(commands: &Commands, asked: &Asked<'_>, programs: &dyn Programs) -> Judgement {
    let mut judge =
        Judge { commands, asked, programs, steps: Vec::new(), depth: 0, searching: false };
    let text = |text: &OsString| text.to_string_lossy().into_owned();
    let argv: Vec<String> = std::iter::once(asked.program.to_string_lossy().into_owned())
        .chain(asked.args.iter().map(text))
        .collect();
    let way = Way { by: "given".to_owned(), dirs: vec![asked.dir.to_owned()], open: false };
    let found = judge.program(asked.program, &argv, &way);
    let env: Vec<(String, String)> =
        asked.env.iter().map(|(name, value)| (text(name), text(value))).collect();
    judge.environment("environment", &env);
    judge.surroundings();
    let strictest = judge.steps.iter().map(|step| step.decision).max().unwrap_or(Decision::Ask);
    let first = judge.steps.iter().find(|step| step.decision == strictest).cloned();
    let (reason, rule, origin) =
        first.map_or_else(Default::default, |step| (step.reason, step.rule, Some(step.origin)));
    let hint = match strictest {
        Decision::Allow => "",
        Decision::Ask => {
            "Ask a person to run it, or to allow it by a [[command]] rule in their own edt.toml."
        }
        Decision::Deny => {
            "Do what the reason says; edt runs this for nobody but a person whose own edt.toml allows it."
        }
    };
    Judgement {
        decision: strictest,
        program: found.path,
        real: found.real,
        steps: judge.steps,
        reason,
        rule,
        origin: origin.unwrap_or(Origin::BuiltIn),
        hint,
    }
}

impl Judge<'_> {
    /// Judges a command inside another.
    pub(super) fn command(&mut self, argv: &[String], way: &Way) {
        let Some(program) = argv.first().filter(|program| !program.is_empty()) else {
            return self.note(
                way,
                argv,
                Word::ask("no-program", "No program is named where one must be."),
            );
        };
        if self.depth >= DEEPEST {
            return self.note(
                way,
                argv,
                Word::ask("too-deep", format!("Commands stand in one another {DEEPEST} deep.")),
            );
        }
        self.depth += 1;
        self.program(OsStr::new(program), argv, way);
        self.depth -= 1;
    }

    /// Where what runs cannot be seen, any argument may begin it: what is denied then stays.
    pub(super) fn denials(&mut self, args: &[String], way: &Way) {
        if std::mem::replace(&mut self.searching, true) {
            return;
        }
        let before = self.steps.len();
        for (at, arg) in args.iter().enumerate() {
            if arg.contains(char::is_whitespace) {
                let text = arg
                    .split_once('=')
                    .filter(|_| arg.starts_with('-'))
                    .map_or(arg.as_str(), |(_, text)| text);
                self.script(text, "text", way);
            } else if !arg.starts_with('-') {
                self.command(&args[at..], way);
            }
        }
        let found = self.steps.split_off(before);
        self.steps.extend(found.into_iter().filter(|step| step.decision == Decision::Deny));
        self.searching = false;
    }

    /// Notes a word about something that is no command of its own.
    pub(super) fn note(&mut self, way: &Way, argv: &[String], word: Word) {
        let Word { decision, rule, reason, origin } = word;
        self.steps.push(Step {
            by: way.by.clone(),
            argv: argv.to_vec(),
            decision,
            rule,
            origin,
            reason,
        });
    }

    /// Judges variables that a command is given.
    pub(super) fn environment(&mut self, by: &str, variables: &[(String, String)]) {
        for (name, value) in variables {
            if let Some((decision, reason)) = self.variable(name, value) {
                let way = Way { by: by.to_owned(), dirs: Vec::new(), open: false };
                self.note(
                    &way,
                    &[format!("{name}={value}")],
                    Word::new(decision, "environment", reason),
                );
            }
        }
    }

    /// Whether code of the worktree may run as it is asked.
    pub(super) fn held(&self, rule: &str, what: &str) -> Word {
        if self.asked.level >= Level::Standard {
            return Word::new(
                Decision::Allow,
                rule,
                format!("{what} is code of the worktree; the sandbox holds it."),
            );
        }
        // Only a person's own file brings the floor below standard: that is their word.
        if self.commands.run.least < Level::Standard {
            return Word::new(
                Decision::Allow,
                rule,
                format!("{what} is code of the worktree; [run] sandbox lets it run."),
            );
        }
        Word::ask(
            rule,
            format!(
                "{what} is code of the worktree, and below the sandbox level standard nothing holds it. Leave --sandbox out."
            ),
        )
    }

    fn program(&mut self, program: &OsStr, argv: &[String], way: &Way) -> Found {
        let dir = way.dirs.last().map_or(self.asked.root, PathBuf::as_path).to_owned();
        let found = found::find(program, &dir, self.asked.root, self.programs);
        let at = self.steps.len();
        let mut strictest: Option<Word> = None;
        for names in &found.names {
            let invocation = invocation(names, argv, way.open);
            let call = Call { invocation: &invocation, way };
            if let Some(word) = self.layered(&call)
                && strictest.as_ref().is_none_or(|before| before.decision < word.decision)
            {
                strictest = Some(word);
            }
        }
        let word = self.placed(strictest, &found, argv);
        let Word { decision, rule, reason, origin } = word;
        let step = Step { by: way.by.clone(), argv: argv.to_vec(), decision, rule, origin, reason };
        self.steps.insert(at, step);
        found
    }

    /// The word of the rules, measured by where the program is.
    fn placed(&self, word: Option<Word>, found: &Found, argv: &[String]) -> Word {
        let program = argv.first().map(String::as_str).unwrap_or_default();
        let unknown = || {
            let head = argv.iter().take(3).map(String::as_str).collect::<Vec<_>>().join(" ");
            let reason = format!("No rule speaks of `{head}`.");
            Word::new(self.commands.run.unknown, "unknown", reason)
        };
        let own = |word: &Word| word.origin == Origin::Yours;
        let allows = |word: &Word| word.decision == Decision::Allow;
        if program.is_empty() {
            return Word::ask("no-program", "No program is named where one must be.");
        }
        match (word, found.place) {
            (Some(word), _) if own(&word) || !allows(&word) => word,
            (_, Place::Worktree) => self.held("worktree-program", program),
            (word, Place::Path) => word.unwrap_or_else(unknown),
            (word, Place::Missing) if !program.contains('/') => word.unwrap_or_else(unknown),
            (_, Place::Missing) => {
                Word::ask("no-such-program", format!("There is no program at {program}."))
            }
            (_, Place::Elsewhere) => Word::ask(
                "strange-place",
                format!(
                    "{program} is neither in a folder of PATH nor in the worktree, so its name says nothing."
                ),
            ),
        }
    }

    /// The word of all layers on one command.
    fn layered(&mut self, call: &Call<'_>) -> Option<Word> {
        let mut built_in: Vec<Word> =
            FAMILIES.iter().flat_map(|family| family(self, call)).collect();
        let invocation = call.invocation;
        let person = strictest(&self.commands.yours, Origin::Yours, invocation);
        let word = person.or_else(|| {
            built_in.extend(strictest(builtin::rules(), Origin::BuiltIn, invocation));
            let reached = if built_in.iter().all(|word| word.decision < Decision::Deny) {
                let mut said = built_in.clone();
                said.extend(allowing(invocation));
                reach::judge(self, call, &said)
            } else {
                Vec::new()
            };
            built_in.extend(reached);
            first_strictest(built_in)
        });
        let repository = strictest(&self.commands.repository, Origin::Repository, invocation);
        match (word, repository) {
            (None, Some(repo)) if repo.decision == Decision::Allow => match self.commands.trusted {
                Trusted::Yes => Some(repo),
                Trusted::No => Some(Word {
                    decision: self.commands.run.unknown.max(Decision::Ask),
                    reason: format!(
                        "Only rule {} of the repository allows it, and no person ran `edt trust` for that file.",
                        repo.rule
                    ),
                    ..repo
                }),
            },
            (None, Some(repo)) => Some(repo),
            (Some(word), Some(repo)) if repo.decision > word.decision => Some(repo),
            (word, _) => word,
        }
    }

    /// Judges where and how all of it is to run.
    fn surroundings(&mut self) {
        let way = Way { by: "call".to_owned(), dirs: Vec::new(), open: false };
        let (level, least) = (self.asked.level, self.commands.run.least);
        if level < least {
            let reason = format!(
                "It asks for the sandbox level {level}; policy wants {least} at least. Leave --sandbox out."
            );
            self.note(
                &way,
                &["--sandbox".to_owned(), level.to_string()],
                Word::ask("sandbox", reason),
            );
        }
        let dir =
            self.programs.real(self.asked.dir).unwrap_or_else(|| found::plain(self.asked.dir));
        if !inside(&dir, self.asked.root) {
            let argv = ["--cwd".to_owned(), dir.display().to_string()];
            self.note(
                &way,
                &argv,
                Word::ask(
                    "outside",
                    "It would run outside of the worktree. Choose a folder of it.",
                ),
            );
        }
    }
}

/// Whether `path` is the worktree or in it, and in no Git folder.
fn inside(path: &Path, root: &Path) -> bool {
    path.strip_prefix(root).is_ok_and(|below| {
        !below.components().any(|part| part.as_os_str().eq_ignore_ascii_case(".git"))
    })
}

/// The arguments as the program reads them: `git-push` is `git push`, `tar xf` is `tar -xf`.
fn invocation(names: &[String], argv: &[String], open: bool) -> Invocation {
    let args = argv.get(1..).unwrap_or_default();
    if let Some(part) = names.iter().find_map(|name| name.strip_prefix("git-")) {
        let args = std::iter::once(part.to_owned()).chain(args.iter().cloned()).collect();
        return Invocation { names: vec!["git".to_owned()], args, open };
    }
    let mut args = args.to_vec();
    // The first word of `tar` is options, with or without a dash.
    if let Some(first) = args.first_mut().filter(|first| !first.starts_with('-'))
        && names.iter().any(|name| name == "tar")
    {
        first.insert(0, '-');
    }
    Invocation { names: names.to_vec(), args, open }
}

/// The strictest word of one layer's rules.
fn strictest(rules: &[Rule], origin: Origin, invocation: &Invocation) -> Option<Word> {
    let words = rules.iter().filter_map(|rule| {
        let word = |decision, reason| Word { decision, rule: rule.name.clone(), reason, origin };
        match rule.fits(invocation, builtin::known()) {
            Fit::No => None,
            Fit::Yes => Some(word(rule.decision, rule.reason.clone())),
            Fit::Could => Some(word(
                Decision::Ask,
                format!(
                    "It gets arguments that cannot be seen before it runs; with some of them: {}",
                    rule.reason
                ),
            )),
        }
    });
    first_strictest(words.collect())
}

/// The words of the built-in rules that allow it, whether or not a stricter one speaks, too.
fn allowing(invocation: &Invocation) -> impl Iterator<Item = Word> {
    let allows = |rule: &&Rule| {
        rule.decision == Decision::Allow && rule.fits(invocation, builtin::known()) == Fit::Yes
    };
    let word = |rule: &Rule| Word::new(Decision::Allow, &rule.name, rule.reason.clone());
    builtin::rules().iter().filter(allows).map(word)
}

fn first_strictest(words: Vec<Word>) -> Option<Word> {
    words.into_iter().reduce(|best, next| if next.decision > best.decision { next } else { best })
}
