//! Why edt starts a process, who may cause it, and what confines it.
//!
//! A test compares [`STARTS`] with the source, and another one traces what calls of an agent start.

/// A function that starts processes.
#[derive(Debug, Clone, Copy)]
pub struct Start {
    /// The source file, from the root of the workspace.
    pub file: &'static str,
    /// The line that starts a process, or a unique part of it.
    pub line: &'static str,
    pub purposes: &'static [Purpose],
}

/// Why a process is started.
#[derive(Debug, Clone, Copy)]
pub struct Purpose {
    pub what: &'static str,
    /// Whether a call of an agent may cause it.
    pub by_agent: bool,
    pub confined: &'static str,
}

const fn by_agent(what: &'static str, confined: &'static str) -> Purpose {
    Purpose { what, by_agent: true, confined }
}

const fn by_user(what: &'static str, confined: &'static str) -> Purpose {
    Purpose { what, by_agent: false, confined }
}

const SANDBOX: &str = "the sandbox, at the level of `[run] sandbox`";
const TRUST: &str = "nothing; files of the repository run only after `edt trust`";

/// Every place in edt's source that starts a process.
pub const STARTS: &[Start] = &[
    Start {
        file: "crates/edt-io/src/spawn.rs",
        line: "Command::new(program)",
        purposes: &[
            by_agent("edt's own calls of Git", "settings that disable hooks, fsmonitor, signing"),
            by_agent("Git's signing of a landing", TRUST),
            by_user("Git's commit hooks at a landing", TRUST),
            by_agent("`edt doctor`, `edt hooks status`: Git's hooks", "only hooks that edt wrote"),
            by_agent(
                "`edt demo`: edt itself",
                "a scratch repository, without Git's local variables",
            ),
            by_agent("`ps` names what started edt, on other systems than Linux", "no variable"),
            by_user("`edt approve`: `ssh-keygen` signs an approval", "nothing; it needs the key"),
            by_agent("`ssh-keygen` checks the signature of an approval", "an empty environment"),
            by_user("`edt acp`: the agent that an editor starts", "nothing; the editor named it"),
            by_user("the user's pager at their terminal", "nothing; Git's variables name it"),
            by_user("`edt review --tui`: the user's editor", "nothing; Git's variables name it"),
            by_user("`edt review --open`: the user's browser", "nothing; `BROWSER` may name it"),
        ],
    },
    Start {
        file: "crates/edt-io/src/spawn.rs",
        line: "command.exec()",
        purposes: &[by_user(
            "`edt acp`: the agent that an editor starts",
            "nothing; the editor named it",
        )],
    },
    Start {
        file: "crates/edt-io/src/bounded.rs",
        line: "Command::new(job.program)",
        purposes: &[
            by_agent("validators of the user's own edt.toml", "a time limit; the user named them"),
            by_user("validators of the repository", TRUST),
        ],
    },
    Start {
        file: "crates/edt-io/src/bounded.rs",
        line: "Command::new(\"/bin/sh\")",
        purposes: &[
            by_agent("filters of the user's own Git configuration", "the user named them"),
            by_agent("git-lfs, git-crypt and git-annex as filters of the repository", TRUST),
            by_user("other filters of the repository", TRUST),
        ],
    },
    Start {
        file: "crates/edt-io/src/background.rs",
        line: "Command::new(edt)",
        purposes: &[by_agent("edt itself, which packs loose objects", "it calls Git alone")],
    },
    Start {
        file: "crates/edt-run/src/sandbox/start.rs",
        line: "Command::new(&plan.edt)",
        purposes: &[by_agent("the supervisor of a sandbox: edt itself", "it starts the program")],
    },
    Start {
        file: "crates/edt-run/src/sandbox/supervise.rs",
        line: "Command::new(orders.program.path())",
        purposes: &[
            by_agent("`edt run`", SANDBOX),
            by_agent("Git's commit hooks at a landing", SANDBOX),
            by_agent("trusted validators of the repository", SANDBOX),
            by_agent("other trusted filters of the repository", SANDBOX),
            by_user(
                "`edt-bench run`: the program after `--agent`",
                "nothing; it is ended with edt",
            ),
            by_user("`edt-bench run`: judges of a suite", "the sandbox, at the level standard"),
        ],
    },
    Start {
        file: "crates/edt-run/src/sandbox/namespaces.rs",
        line: "Command::new(\"/proc/self/exe\")",
        purposes: &[by_agent("the supervisor in its namespaces: edt itself", SANDBOX)],
    },
    Start {
        file: "crates/edt-run/src/sandbox/bubblewrap.rs",
        line: "Command::new(bwrap)",
        purposes: &[by_agent("bubblewrap, which starts the supervisor", SANDBOX)],
    },
];
