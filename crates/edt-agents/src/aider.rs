//! aider has no hooks. It commits what it edited; one setting makes it run Git's hooks, which judge
//! the commits.

use std::path::PathBuf;

use super::Agent;
use super::guide::Fences;
use super::setup::{Fence, Form, ManagedFile, Purpose, SetupTarget, Wiring};

/// aider.
pub const AIDER: Agent = Agent {
    name: "aider",
    title: "aider",
    protocol: None,
    wiring: Wiring {
        files,
        notes,
        program: Some("aider"),
        settings,
        can_disable_own_tools: false,
        plugin: None,
    },
};

fn files(target: &SetupTarget) -> Vec<ManagedFile> {
    let fence = Fence {
        fences: Fences { begin: "# BEGIN edt", end: "# END edt" },
        lines: "git-commit-verify: true".to_owned(),
        keys: &["git-commit-verify"],
    };
    vec![ManagedFile {
        file: settings(target),
        purpose: Purpose::Settings,
        form: Form::Fence(fence),
    }]
}

fn notes(_: &SetupTarget) -> Vec<String> {
    vec![
        "aider has no hooks: it edits, then commits, and by default passes --no-verify. With this \
         setting Git's hooks judge its commits: `edt hooks install` installs them."
            .into(),
    ]
}

fn settings(target: &SetupTarget) -> PathBuf {
    target.path(".aider.conf.yml")
}
