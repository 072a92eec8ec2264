//! aider: it has no hooks. It commits what it edited, and can be told to let Git's hooks judge that.

use std::path::PathBuf;

use super::guide::Fences;
use super::setup::{Fence, Form, Part, Place, What, Wiring};
use super::{Agent, Protocol};

/// The agent.
#[derive(Debug)]
pub struct Aider;

impl Agent for Aider {
    fn name(&self) -> &'static str {
        "aider"
    }

    fn title(&self) -> &'static str {
        "aider"
    }

    fn protocol(&self) -> Option<&'static dyn Protocol> {
        None
    }

    fn wiring(&self) -> &'static dyn Wiring {
        &Aider
    }
}

impl Wiring for Aider {
    fn parts(&self, place: &Place) -> Vec<Part> {
        let fence = Fence {
            fences: Fences { begin: "# BEGIN edt", end: "# END edt" },
            lines: "git-commit-verify: true".to_owned(),
            keys: &["git-commit-verify"],
        };
        vec![Part {
            file: place.folder(".aider.conf.yml"),
            what: What::Settings,
            form: Form::Fence(fence),
        }]
    }

    fn notes(&self, _: &Place) -> Vec<String> {
        vec!["aider has no hooks: it edits, then commits, and by default passes --no-verify. With this setting Git's hooks judge its commits: `edt hooks install` puts them in place.".into()]
    }

    fn program(&self) -> &'static str {
        "aider"
    }

    fn home(&self, place: &Place) -> PathBuf {
        place.folder(".aider.conf.yml")
    }
}
