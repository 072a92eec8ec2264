use std::collections::BTreeSet;

use super::*;

/// Names of tools' files, each with the judgement and the reason for it.
const NAMES: &str = include_str!("names.txt");

fn path(path: &str) -> RepoPath {
    RepoPath::parse(path.as_bytes()).unwrap()
}

fn program(name: &str) -> Option<&'static str> {
    judge(&path(name)).reason()?.executor.map(|executor| executor.program)
}

#[test]
fn every_known_name_is_judged_as_the_fixture_says() {
    let mut wrong = Vec::new();
    for line in NAMES.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let mut cells = line.split('\t');
        let (Some(wanted), Some(name), Some(_why)) = (cells.next(), cells.next(), cells.next())
        else {
            panic!("{line}")
        };
        let judged = match judge(&path(name)) {
            NameJudgement::Free => "free",
            NameJudgement::Asks(AskReason { executor: Some(_), .. }) => "program",
            NameJudgement::Asks(_) => "hidden",
        };
        if judged != wanted {
            wrong.push(format!("{name}: {judged}, not {wanted}"));
        }
    }
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn a_name_asks_in_any_directory_and_spelling() {
    for name in [
        "app/.vscode/tasks.json",
        "sub/.claude/hooks/stop.sh",
        "home/.bashrc",
        ".VSCode/Tasks.json",
        "JENKINSFILE",
        ".\u{17f}sh/config",
        "lefthook.JSONC",
        "edt.toml",
        "Edt.Toml",
        "a/x.Code-Workspace",
        "yarn/.yarn/releases/yarn.cjs",
    ] {
        assert!(program(name).is_some(), "{name}");
    }
    for name in [".unknown", "a/.unknown/b", "a/.UNKNOWN", "\u{2024}unknown", ".github/x.json"] {
        let hidden = AskReason { from: name.find(['.', '\u{2024}']).unwrap(), executor: None };
        assert_eq!(judge(&path(name)), NameJudgement::Asks(hidden), "{name}");
    }
}

#[test]
fn ordinary_files_are_free() {
    for name in [
        "src/main.rs",
        ".vscode/extensions.json",
        ".gitattributes",
        "claude/settings.json",
        "x.claude/settings.json",
        "sub/edt.toml",
        "bashrc",
        "docs/github-workflows/a",
        "a/.gitignore",
        ".github/ISSUE_TEMPLATE/bug.yml",
        ".github/CONTRIBUTING.md",
        ".changeset/brave-cats.md",
        ".EditorConfig",
        "crush/lefthook.txt",
        "a.code-workspace/b",
    ] {
        assert_eq!(judge(&path(name)), NameJudgement::Free, "{name}");
    }
    // Markdown is free in the directory itself, not in those below.
    for name in
        [".github/skills/x/SKILL.md", ".github/chatmodes/x.chatmode.md", ".changeset/x/y.md"]
    {
        assert_ne!(judge(&path(name)), NameJudgement::Free, "{name}");
    }
    // A kept name makes no other one free.
    assert_ne!(judge(&path(".unknown/.gitignore")), NameJudgement::Free);
    assert_ne!(judge(&path(".gitignore/x")), NameJudgement::Free);
}

#[test]
fn a_link_leads_to_what_is_below_its_name() {
    let leads = |name: &str| leads_to(&path(name));
    assert_eq!(
        (leads(".vscode"), leads("a/.config"), leads("x/.idea")),
        (Some(0), Some(2), Some(2))
    );
    assert_eq!((leads(".unknown"), leads(".gitignore"), leads("current")), (Some(0), None, None));
    assert_eq!(executor_through(&path(".vscode")).unwrap().1.program, "Visual Studio Code");
    assert!(asks_as_link(b".unknown") && !asks_as_link(b".gitignore") && !asks_as_link(b"current"));
}

#[test]
fn instructions_are_known_by_name() {
    let is = |name: &str| is_instructions(&path(name));
    assert!(is("AGENTS.md") && is("sub/CLAUDE.md") && is(".github/copilot-instructions.md"));
    for name in [
        ".github/instructions/a.instructions.md",
        ".github/prompts/a.prompt.md",
        ".clinerules/a.md",
    ] {
        assert!(is(name) && judge(&path(name)) == NameJudgement::Free, "{name}");
    }
    assert!(!is("docs/agents.mdx") && !is("MYAGENTS.md"));
}

#[test]
fn every_program_is_listed_once_and_says_where_it_is_documented() {
    let names = |one: &Executor| one.program.trim_start_matches("the ").to_lowercase();
    let unique: BTreeSet<String> = programs().iter().map(names).collect();
    assert_eq!(unique.len(), programs().len());
    for one in programs() {
        assert!(one.source.starts_with("https://") || one.source == "policy.md", "{one:?}");
        assert_eq!(one.names, one.names.to_lowercase(), "{}", one.program);
    }
}

#[test]
fn lines_that_name_programs_are_found_by_the_name_of_their_file() {
    let lines = |name: &str, text: &'static str| lines_that_ask(&path(name), text.as_bytes()).len();
    assert_eq!(lines("a/.gitattributes", "* filter=x\n*.txt eol=lf\n"), 1);
    assert_eq!((lines("a.txt", "* filter=x\n"), lines(".gitignore", "plugins\n")), (0, 0));
}
