//! The command policy: a table of commands with what becomes of each, and attempts to get forbidden
//! ones past it. None is ever run.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use edt_command::{CommandEvaluation, CommandQuery, Decision, Host, LocalHost};
use edt_guard::policy::Policy;
use edt_types::Level;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::test_repo::TestRepo;

const TABLE: &str = include_str!("../../fixtures/commands/table.tsv");

/// One row of the table.
struct Row {
    want: String,
    argv: Vec<String>,
    bypass: bool,
}

/// A worktree with the programs and links that the table names, and a `PATH` of empty programs.
struct Place {
    workspace: TestRepo,
    bin: PathBuf,
}

impl Place {
    fn new() -> Place {
        let workspace = TestRepo::with(&[
            ("src/a.c", b"int a;\n"),
            ("README.md", b"x\n"),
            ("tools/check.py", b"\n"),
            ("tools/x.js", b"\n"),
        ]);
        let bin = workspace.home.parent().unwrap().join("bin");
        let programs: BTreeSet<String> = rows()
            .into_iter()
            .map(|row| row.argv[0].clone())
            .filter(|name| !name.contains(['/', '{']))
            .collect();
        let more = ["git", "rm", "busybox", "python3.11", "bash", "sh"].map(str::to_owned);
        for name in programs
            .into_iter()
            .chain(more)
            .filter(|name| name != "nosuchprogram" && !name.is_empty())
        {
            program(&bin.join(name));
        }
        for name in [
            "demo/calculate",
            "gradlew",
            "target/debug/app",
            "scripts/run.sh",
            "node_modules/eslint/bin/eslint.js",
            ".git/hooks/pre-commit",
            "evil.git/HEAD",
            "evil.git/config",
            ".venv/bin/activate",
            "artisan",
        ] {
            program(&workspace.root.join(name));
        }
        program(&workspace.home.join("ls"));
        let outside = workspace.home.parent().unwrap().join("outside");
        program(&outside.join("ls"));
        std::fs::create_dir_all(workspace.root.join(".venv/bin")).unwrap();
        std::fs::create_dir_all(workspace.root.join("node_modules/.bin")).unwrap();
        for (link, to) in [
            ("x", bin.join("git")),
            ("ls", bin.join("git")),
            ("lnk", bin.join("rm")),
            ("bb", bin.join("busybox")),
            (".venv/bin/python", bin.join("python3.11")),
            ("node_modules/.bin/eslint", PathBuf::from("../eslint/bin/eslint.js")),
            ("out", outside),
            ("home", workspace.home.clone()),
            ("gitlink", PathBuf::from(".git")),
            ("rootlink", PathBuf::from("/")),
        ] {
            symlink(to, workspace.root.join(link)).unwrap();
        }
        Place { workspace, bin }
    }

    /// The rows, places filled in.
    fn rows(&self) -> Vec<Row> {
        let fill = |arg: &String| {
            let at = |path: &Path| path.to_str().unwrap().to_owned();
            arg.replace("{root}", &at(&self.workspace.root))
                .replace("{home}", &at(&self.workspace.home))
                .replace("{bin}", &at(&self.bin))
        };
        rows()
            .into_iter()
            .map(|row| Row { argv: row.argv.iter().map(fill).collect(), ..row })
            .collect()
    }

    /// The decisions of `edt policy check --lines`.
    fn checked(&self, commands: &[Vec<String>], flags: &[&str]) -> (i32, Vec<Value>) {
        let lines: String = commands.iter().map(|argv| format!("{}\n", json!(argv))).collect();
        let mut command = self.workspace.command(crate::test_repo::EDT);
        command.args(["policy", "check", "--lines"]).args(flags).env("PATH", &self.bin);
        command.arg("--json");
        let answer = crate::test_repo::run(command, lines.as_bytes(), flags);
        (answer.exit, answer.json["judgements"].as_array().unwrap().clone())
    }

    fn judge(&self, policy: &Policy, argv: &[String]) -> CommandEvaluation {
        let args: Vec<OsString> = argv[1..].iter().map(OsString::from).collect();
        let root = self.workspace.root.canonicalize().unwrap();
        let asked = CommandQuery {
            program: argv[0].as_ref(),
            args: &args,
            dir: &root,
            root: &root,
            env: &[],
            level: Level::Standard,
        };
        policy.commands.evaluate(&asked, self)
    }
}

impl Host for Place {
    fn path_directories(&self) -> Vec<PathBuf> {
        vec![self.bin.clone()]
    }

    fn is_executable(&self, path: &Path) -> bool {
        path.is_file()
    }

    fn real_path(&self, path: &Path) -> Option<PathBuf> {
        path.canonicalize().ok()
    }

    fn directory_entries(&self, directory: &Path) -> Vec<String> {
        LocalHost.directory_entries(directory)
    }

    fn home_directory(&self) -> Option<PathBuf> {
        Some(self.workspace.home.clone())
    }
}

fn program(path: &Path) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, "").unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

fn rows() -> Vec<Row> {
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('\t').collect();
        let argv = match cells[1].strip_prefix("[\"") {
            Some(_) => {
                serde_json::from_str(cells[1]).unwrap_or_else(|error| panic!("{line}: {error}"))
            }
            None => words(cells[1]),
        };
        Row { want: cells[0].to_owned(), argv, bypass: cells.get(2) == Some(&"bypass") }
    };
    TABLE.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).map(row).collect()
}

fn words(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

#[test]
fn every_command_of_the_table_gets_its_decision() {
    let place = Place::new();
    let rows = place.rows();
    let bypasses = rows.iter().filter(|row| row.bypass).count();
    assert!(rows.len() >= 250 && bypasses >= 80, "{} rows, {bypasses} attempts", rows.len());
    let commands: Vec<Vec<String>> = rows.iter().map(|row| row.argv.clone()).collect();
    let (exit, judged) = place.checked(&commands, &[]);
    assert_eq!((exit, judged.len()), (1, rows.len()));
    let wrong: Vec<String> = rows
        .iter()
        .zip(&judged)
        .filter(|(row, judged)| judged["decision"] != row.want.as_str())
        .map(|(row, judged)| {
            format!(
                "want {} have {} for {:?}: {} {}",
                row.want, judged["decision"], row.argv, judged["rule"], judged["reason"]
            )
        })
        .collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

#[test]
fn every_example_of_a_built_in_rule_gets_the_rules_decision() {
    let place = Place::new();
    let policy = Policy::of(None, None).unwrap();
    let examples = policy.commands.rules().into_iter().flat_map(|(_, rule)| {
        rule.matching
            .iter()
            .map(|argv| (rule.name.as_str(), rule.decision, argv.clone()))
            .collect::<Vec<_>>()
    });
    let wrong: Vec<String> = examples
        .filter_map(|(name, decision, argv)| {
            let judged = place.judge(&policy, &argv);
            let right = if decision == Decision::Allow {
                judged.decision == decision
            } else {
                judged.decision >= decision
            };
            (!right)
                .then(|| format!("{name}: {argv:?} is {:?} by {}", judged.decision, judged.rule))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn one_command_answers_by_its_exit_status() {
    let place = Place::new();
    for (argv, exit, says) in [
        (&["git", "status"][..], 0, "git-reads"),
        (&["git", "commit", "-m", "x"], 4, "edt apply"),
        (&["git", "-C", ".", "push", "-f"], 1, "git-push-force"),
    ] {
        let mut command = place.workspace.command(crate::test_repo::EDT);
        let done = command
            .args(["policy", "check", "--"])
            .args(argv)
            .env("PATH", &place.bin)
            .output()
            .unwrap();
        let said = String::from_utf8(done.stdout).unwrap();
        assert_eq!(done.status.code(), Some(exit), "{said}");
        assert!(said.contains(says), "{said}");
    }
}

/// Ways to write the same command that change nothing of what it does.
fn disguised(argv: Vec<String>, how: (usize, usize)) -> Vec<String> {
    let before = |words: &[&str]| {
        words.iter().map(ToString::to_string).chain(argv.iter().cloned()).collect::<Vec<_>>()
    };
    let quoted =
        |quote: &dyn Fn(&String) -> String| argv.iter().map(quote).collect::<Vec<_>>().join(" ");
    let single = |arg: &String| format!("'{}'", arg.replace('\'', "'\\''"));
    let split = |arg: &String| {
        arg.chars()
            .map(|c| if c == '\'' { "\\'".to_owned() } else { format!("'{c}'") })
            .collect::<String>()
    };
    let escaped = |arg: &String| {
        arg.chars()
            .map(|c| if c.is_alphanumeric() { c.to_string() } else { format!("\\{c}") })
            .collect::<String>()
    };
    let shells = ["sh", "bash", "dash", "zsh", "/bin/sh", "busybox"];
    let shell = |flags: &[&str], script: String| {
        let name = shells[how.1 % shells.len()];
        let name = if name == "busybox" { vec!["busybox", "sh"] } else { vec![name] };
        name.iter().chain(flags).map(ToString::to_string).chain([script]).collect::<Vec<_>>()
    };
    match how.0 {
        0 => before(&["env"]),
        1 => before(&["env", "-i", "-u", "C", "A=b"]),
        2 => before(&["nice", "-n", "3"]),
        3 => before(&["timeout", "--signal=KILL", "-k", "3", "9"]),
        4 => before(&["nohup"]),
        5 => before(&["setsid", "-w"]),
        6 => before(&["stdbuf", "-oL", "-e0"]),
        7 => before(&["ionice", "-c3"]),
        8 => before(&["busybox"]),
        9 => before(&["xargs", "-r0"]),
        10 => before(&["xargs", "-I", "{}"]),
        11 => before(&["time", "-p"]),
        12 => before(&["sudo", "-n"]),
        13 => shell(&["-c"], quoted(&single)),
        14 => shell(&["-lc"], quoted(&split)),
        15 => shell(&["-e", "-c", "--"], format!("true && {}; false", quoted(&single))),
        16 => shell(&["-c"], format!("if :; then {}; fi", quoted(&single))),
        17 => shell(&["-c"], format!("echo \"$({})\"", quoted(&single))),
        18 => shell(&["-c"], format!("A=1 {} > x 2>&1 | cat", quoted(&escaped))),
        19 => shell(&["-c"], format!("( cd src; {} )", quoted(&single))),
        20 => shell(&["-c"], format!("eval {}", quoted(&single))),
        21 => before(&["find", "src", "-exec"]).into_iter().chain([";".to_owned()]).collect(),
        22 => vec!["env".to_owned(), "-S".to_owned(), quoted(&single)],
        23 => before(&["edt", "run", "--"]),
        24 => before(&["command"]),
        25 => before(&["chrt", "-b", "0"]),
        26 => before(&["poetry", "run"]),
        27 => before(&["fd", "-x"]),
        28 => shell(&["-o", "pipefail", "-c"], format!("! {} &", quoted(&single))),
        29 => before(&["edt", "-C", ".", "run", "--"]),
        30 => before(&["ccache"]),
        31 => before(&["uv", "run", "--"]),
        _ => argv,
    }
}

/// The ways of [`disguised`] that call edt.
const RUNS_BY_EDT: [usize; 2] = [23, 29];

/// How many ways [`disguised`] knows.
const WAYS: usize = 32;

/// Git's options before the subcommand, and a place for options among the operands.
fn decided_otherwise(mut argv: Vec<String>, how: usize) -> Vec<String> {
    if argv[0] == "git" {
        let options: &[&str] = match how % 9 {
            0 => &["-C", "."],
            1 => &["-c", "a.b=c"],
            2 => &["--no-pager"],
            3 => &["--git-dir", ".git"],
            4 => &["--work-tree=."],
            5 => &["-C", "src", "-c", "color.ui=never", "-P"],
            6 => &["--namespace", "status"],
            7 => &["-c", "status"],
            _ => &[],
        };
        argv.splice(1..1, options.iter().map(ToString::to_string));
    }
    let cut_short = |arg: &mut String| {
        let long = arg.starts_with("--") && arg.len() > 6 && !arg.contains('=');
        if long {
            arg.truncate(arg.len() - 1);
        }
    };
    if how.is_multiple_of(2) && ["git", "rm", "chmod", "chown"].contains(&argv[0].as_str()) {
        argv.iter_mut().skip(2).for_each(cut_short);
    }
    argv
}

proptest! {
    #![proptest_config(ProptestConfig { cases: std::env::var("PROPTEST_CASES").map_or(400, |cases| cases.parse().unwrap()), failure_persistence: None, ..ProptestConfig::default() })]

    // The user allows everything without a rule, so that only rules decide.
    #[test]
    fn a_denied_command_stays_denied_in_every_disguise(
        which in any::<prop::sample::Index>(), printed in 0..18_usize, ways in prop::collection::vec((0..WAYS, 0..6_usize), 0..4)
    ) {
        static PLACE: std::sync::OnceLock<(Place, Vec<Vec<String>>, Policy)> = std::sync::OnceLock::new();
        let (place, denied, policy) = PLACE.get_or_init(|| {
            let place = Place::new();
            let denied = place.rows().into_iter().filter(|row| row.want == "deny").map(|row| row.argv).collect();
            (place, denied, Policy::of(Some("[run]\nunknown = \"allow\"\n"), None).unwrap())
        });
        let argv = decided_otherwise(which.get(denied).clone(), printed);
        let (mut argv, mut asks) = (argv, false);
        for way in ways {
            if RUNS_BY_EDT.contains(&way.0) {
                // What is no plain denial there is judged, and asked, by that call itself.
                let inner = place.judge(policy, &argv);
                prop_assert!(inner.decision > Decision::Allow || asks, "{argv:?}: {:#?}", inner.steps);
                asks |= inner.decision == Decision::Ask;
            }
            argv = disguised(argv, way);
        }
        let judgement = place.judge(policy, &argv);
        let by_edt = asks && judgement.steps.iter().any(|step| step.rule == "edt");
        prop_assert!(judgement.decision > Decision::Allow || by_edt, "{argv:?}: {:#?}", judgement.steps);
    }
}

/// A rule over `db` with `decision`.
fn rule(name: &str, argv: &str, decision: &str, example: &str) -> String {
    format!(
        "[[command]]\nname = {name:?}\nargv = {argv}\ndecision = {decision:?}\nreason = \"because of {name}\"\nmatch = [{example:?}]\n"
    )
}

/// What becomes of a command under both files, and the rule that decided.
fn under(user: &str, repository: &str, command: &str) -> (Decision, String) {
    let place = Place::new();
    let policy = Policy::of(Some(user), Some(repository)).unwrap();
    let judgement = place.judge(&policy, &words(command));
    (judgement.decision, judgement.rule)
}

#[test]
fn the_user_may_loosen_a_built_in_rule_and_the_repository_only_tighten_it() {
    let allow = rule("pushing", "[\"git\", \"push\"]", "allow", "git push");
    let deny = rule("no-status", "[\"git\", \"status\"]", "deny", "git status");
    let is = |decision, rule: &str| (decision, rule.to_owned());
    assert_eq!(under(&allow, "", "git push -f"), is(Decision::Allow, "pushing"));
    assert_eq!(under("", &allow, "git push -f"), is(Decision::Deny, "git-push-force"));
    assert_eq!(under("", &allow, "git push"), is(Decision::Ask, "git-push"));
    assert_eq!(under("", &deny, "git status"), is(Decision::Deny, "no-status"));
    assert_eq!(
        under(&allow, &rule("no", "[\"git\", \"push\"]", "deny", "git push"), "git push"),
        is(Decision::Deny, "no")
    );
    assert_eq!(
        under("[run]\nunknown = \"deny\"\n", "", "nosuchprogram"),
        is(Decision::Deny, "unknown")
    );
    assert_eq!(
        under("", "[run]\nunknown = \"allow\"\n", "nosuchprogram"),
        is(Decision::Ask, "unknown")
    );
    let scripts = rule("deploys", "[\"./scripts/*.sh\"]", "deny", "./scripts/x.sh");
    assert_eq!(
        under("", &scripts, "./scripts/run.sh"),
        is(Decision::Deny, "deploys"),
        "a program by its path"
    );
    assert_eq!(under("", &scripts, "scripts/../scripts/run.sh"), is(Decision::Deny, "deploys"));
}

#[test]
fn rules_of_the_repository_need_trust_and_apply_only_without_another_rule() {
    let text = [
        rule("own-tool", "[\"frobnicate\"]", "allow", "frobnicate x"),
        rule("own-push", "[\"git\", \"push\"]", "allow", "git push"),
    ]
    .concat();
    let workspace = TestRepo::with(&[("edt.toml", text.as_bytes())]);
    let judged = |argv: &[&str]| {
        let mut command = workspace.command(crate::test_repo::EDT);
        command.args(["policy", "check", "--json", "--"]).args(argv);
        let answer = crate::test_repo::run(command, b"", argv);
        (answer.exit, answer.json["judgements"][0]["reason"].as_str().unwrap().to_owned())
    };
    let (exit, reason) = judged(&["frobnicate", "1"]);
    assert!(exit == 4 && reason.contains("edt trust"), "{exit} {reason}");
    let (_, screen) = workspace.at_terminal("trust", "yes\n");
    assert!(screen.contains("own-tool") && screen.contains("because of own-push"), "{screen}");
    assert_eq!(judged(&["frobnicate", "1"]), (0, "because of own-tool".to_owned()));
    assert_eq!(judged(&["git", "push"]).0, 4, "a built-in rule speaks");
}

#[test]
fn a_rule_whose_examples_fail_is_refused() {
    let good = rule("db", "[\"make\", [\"db-reset\", \"db-drop\"]]", "deny", "make -j4 db-reset");
    assert!(Policy::of(None, Some(&good)).is_ok());
    for (wrong, says) in [
        (good.replace("make -j4 db-reset", "make db-local"), "does not match \"make db-local\""),
        ([&good, "not_match = [\"make db-drop\"]\n"].concat(), "it matches \"make db-drop\""),
        (good.replace("because of db", " "), "reason is empty"),
        (good.replace("match = [\"make -j4 db-reset\"]", "match = []"), "match is empty"),
        ([&good, "only = []\n"].concat(), "`only` is for rules that allow"),
        ([&good, "with = []\n"].concat(), "with is empty"),
        ([good.as_str(), &good].concat(), "another rule has this name"),
        (good.replace("[\"make\", ", "[[], "), "argv is empty"),
        (good.replace("\"deny\"", "\"forbid\""), "forbid"),
        (good.replace("decision", "decide"), "decide"),
        (good.replace("\"db\"", "\"d b\""), "letters"),
        ("[run]\nwritable = [\"/\"]\n".to_owned(), "may not extend"),
        ("[run]\nsandbox = \"none\"\n".to_owned(), "none"),
    ] {
        let error = Policy::of(None, Some(&wrong)).unwrap_err().to_string();
        assert!(
            error.starts_with("BAD_REQUEST: Could not read edt.toml in the session's base commit")
                && error.contains(says),
            "{says}: {error}"
        );
    }
}

#[test]
fn code_of_the_worktree_needs_the_sandbox() {
    let place = Place::new();
    for command in ["./demo/calculate 1", "bash scripts/run.sh", "python tools/check.py"] {
        let (exit, judged) = place.checked(&[words(command)], &["--sandbox", "permissive"]);
        assert_eq!(
            (exit, judged[0]["decision"].as_str()),
            (4, Some("ask")),
            "{command}: {judged:#?}"
        );
        assert_eq!(place.checked(&[words(command)], &["--sandbox", "strict"]).0, 0, "{command}");
    }
    let (exit, judged) = place.checked(&[words("git status")], &["--sandbox", "permissive"]);
    assert_eq!((exit, judged[0]["rule"].as_str()), (4, Some("sandbox")));
    for (flags, rule) in [
        (["--env", "LD_PRELOAD=x"], "environment"),
        (["--cwd", "/"], "outside"),
        (["--cwd", ".git"], "outside"),
    ] {
        let (exit, judged) = place.checked(&[words("git status")], &flags);
        assert_eq!((exit, judged[0]["rule"].as_str()), (4, Some(rule)), "{flags:?}");
    }
    assert_eq!(place.checked(&[words("git status")], &["--env", "EDT_PROBE=1"]).0, 1);
    assert_eq!(place.checked(&[words("git status")], &["--env", "CI=1"]).0, 0);
}

#[test]
fn policy_check_works_without_a_repository() {
    let workspace = TestRepo::with(&[]);
    let outside = workspace.at(&workspace.home);
    let printed = outside.edt(&["policy", "explain", "git-push-force"]).json["rules"][0].clone();
    assert_eq!(
        (&printed["origin"], &printed["decision"]),
        (&json!("built_in"), &json!("deny")),
        "{printed:#}"
    );
    assert!(outside.edt(&["policy", "explain"]).json["rules"].as_array().unwrap().len() > 60);
    let unknown = outside.edt(&["policy", "explain", "git-push-farce"]);
    assert!(
        unknown.exit == 2 && unknown.message().contains("Did you mean git-push-force?"),
        "{:#}",
        unknown.json
    );
    let mut command = outside.command(crate::test_repo::EDT);
    command.args([
        "policy",
        "check",
        "--json",
        "--",
        "env",
        "CI=1",
        "sh",
        "-c",
        "ls && git push -f",
    ]);
    let answer = crate::test_repo::run(command, b"", &[]);
    let steps = answer.json["judgements"][0]["steps"].as_array().unwrap();
    let read: Vec<(&str, &str)> = steps
        .iter()
        .map(|step| (step["by"].as_str().unwrap(), step["decision"].as_str().unwrap()))
        .collect();
    assert_eq!(read, [("given", "allow"), ("env", "allow"), ("sh -c", "allow"), ("sh -c", "deny")]);
}
