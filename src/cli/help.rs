//! `edt help`: the first page has the commands of every day in groups; `edt help GROUP` and
//! `edt help all` have the others.

use std::fmt::Write as _;

use clap::Command;

/// Commands that belong together.
struct Group {
    /// The name that `edt help` takes.
    name: &'static str,
    /// Its title on the first page; `None` if the page only names it.
    title: Option<&'static str>,
    /// Its commands on the first page, each with a summary.
    first: &'static [(&'static str, &'static str)],
    /// Its other commands.
    more: &'static [&'static str],
}

/// Every command is in one group. The first page has at most 18 of them.
const GROUPS: &[Group] = &[
    Group {
        name: "everyday",
        title: Some("Everyday"),
        first: &[
            ("apply", "make edits as one transaction and one commit"),
            ("read", "print a file with line numbers and its blob id"),
            ("run", "run a program; its changes become one commit"),
            ("status", "show the session and the user's uncommitted changes"),
            ("diff", "show what the session or an edit changed"),
            ("undo", "undo edits"),
            ("redo", "redo them"),
        ],
        more: &["search", "ls", "outline", "check", "restore", "revert"],
    },
    Group {
        name: "review",
        title: Some("Review and land"),
        first: &[
            ("review", "see the session on a page, undo or land any part of it"),
            ("log", "list the edits of the session"),
            ("show", "show one edit with its diff"),
            ("blame", "show who wrote each line of a file"),
            ("land", "squash the session into one commit on the branch it began from"),
            ("abandon", "leave the session; its work is kept"),
        ],
        more: &["comment", "attribution", "stats"],
    },
    Group {
        name: "session",
        title: Some("Sessions"),
        first: &[
            ("begin", "start a session: a shadow branch at HEAD"),
            ("switch", "go to another session, or leave this one open"),
        ],
        more: &["checkpoint", "gc"],
    },
    Group {
        name: "set-up",
        title: Some("Set up"),
        first: &[
            ("setup", "connect an agent"),
            ("hooks", "install Git hooks that block destructive commits"),
            ("doctor", "test whether everything works"),
        ],
        more: &["demo", "guide", "telemetry", "completions", "man", "forget"],
    },
    Group {
        name: "team",
        title: None,
        first: &[],
        more: &["guards", "policy", "trust", "propose", "proposals", "approve", "reject", "memory"],
    },
    Group {
        name: "plumbing",
        title: None,
        first: &[],
        more: &["mcp", "acp", "hook", "agent-hook", "agent-shell", "explain", "schema"],
    },
];

/// The topic for all commands.
const ALL: &str = "all";

impl Group {
    fn has(&self, name: &str) -> bool {
        self.first.iter().any(|(first, _)| *first == name) || self.more.contains(&name)
    }
}

/// The text of `edt help TOPIC`, with the styles of a terminal; `None` if `topic` is neither a
/// group nor `all`.
pub(super) fn topic(edt: Command, topic: &str) -> Option<String> {
    let group = GROUPS.iter().find(|group| group.name == topic);
    if group.is_none() && topic != ALL {
        return None;
    }
    let is_other = |name: &str| group.is_some_and(|group| !group.has(name));
    let names: Vec<String> =
        edt.get_subcommands().map(|command| command.get_name().to_owned()).collect();
    let mut edt = edt.disable_help_subcommand(true).help_template("Commands:\n{subcommands}\n");
    for name in names.iter().filter(|name| is_other(name)) {
        edt = edt.mut_subcommand(name, |command| command.hide(true));
    }
    // The descriptions of commands are built with their arguments.
    edt.build();
    let more = "\n`edt COMMAND --help` has the arguments and an example of each.\n";
    Some(format!("{}{more}", edt.render_long_help().ansi()))
}

/// `edt` with the first page as its help.
pub(super) fn with_first_page(edt: Command) -> Command {
    let page = first_page(&edt);
    edt.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{page}\nOptions:\n{{options}}{{after-help}}"
    ))
}

fn first_page(edt: &Command) -> String {
    let mut page = String::new();
    for group in GROUPS {
        let Some(title) = group.title else { continue };
        let _ = writeln!(page, "{title} (`edt help {}`):", group.name);
        let is_there = |name: &str| edt.find_subcommand(name).is_some();
        for (name, about) in group.first.iter().filter(|(name, _)| is_there(name)) {
            let _ = writeln!(page, "  {name:<8}  {about}");
        }
        page.push('\n');
    }
    page.push_str(
        "More commands: `edt help team`, `edt help plumbing`, `edt help all`. Arguments and \
         examples of one: `edt help COMMAND`.\n",
    );
    page
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn every_command_is_in_one_group_and_every_name_is_a_command() {
        let edt = crate::cli::Cli::command();
        for command in edt.get_subcommands() {
            let groups = GROUPS.iter().filter(|group| group.has(command.get_name()));
            assert_eq!(groups.count(), 1, "{}", command.get_name());
        }
        let first = GROUPS.iter().flat_map(|group| group.first.iter().map(|(name, _)| *name));
        let names: Vec<&str> =
            first.clone().chain(GROUPS.iter().flat_map(|group| group.more).copied()).collect();
        let is_optional = |name: &str| matches!(name, "mcp" | "acp" | "review");
        for name in names {
            assert!(edt.find_subcommand(name).is_some() || is_optional(name), "{name}");
        }
        assert!(first.count() <= 18);
    }

    #[test]
    fn the_first_page_has_no_sign_of_a_template() {
        let page = first_page(&crate::cli::Cli::command());
        assert!(!page.contains(['{', '}']), "{page}");
        assert!(page.contains("\n  undo      undo edits\n"), "{page}");
    }

    #[test]
    fn a_group_has_its_commands_alone() {
        let text = topic(crate::cli::Cli::command(), "team").unwrap();
        assert!(text.contains("approve") && !text.contains("undo edits"), "{text}");
        assert!(topic(crate::cli::Cli::command(), "apply").is_none());
        let all = topic(crate::cli::Cli::command(), ALL).unwrap();
        assert!(all.contains("approve") && all.contains("Start a session"), "{all}");
    }
}
