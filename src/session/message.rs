//! Commit messages: a subject, a body, and trailers that `git log` and `git interpret-trailers` read.

/// What kind of commit it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The empty start of a session on an unborn branch.
    Begin,
    /// An edit that came through `edt apply`.
    Edit,
    /// Changes that did not.
    Checkpoint,
    /// A file set to an earlier state.
    Restore,
    /// What a program that `edt run` started changed.
    Run,
    /// A session's work as one commit on the branch it landed on.
    Land,
    /// A change, or a command, that waits for a person's word. On no branch.
    Proposal,
    /// What became of one. On no branch.
    Decision,
}

impl Kind {
    const ALL: &'static [Kind] = &[
        Kind::Begin,
        Kind::Edit,
        Kind::Checkpoint,
        Kind::Restore,
        Kind::Run,
        Kind::Land,
        Kind::Proposal,
        Kind::Decision,
    ];

    /// The word in the trailer.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Begin => "begin",
            Kind::Edit => "edit",
            Kind::Checkpoint => "checkpoint",
            Kind::Restore => "restore",
            Kind::Run => "run",
            Kind::Land => "land",
            Kind::Proposal => "proposal",
            Kind::Decision => "decision",
        }
    }

    /// Whether it counts as an edit, which `undo` takes back.
    #[must_use]
    pub const fn is_edit(self) -> bool {
        matches!(self, Kind::Edit | Kind::Restore | Kind::Run | Kind::Land)
    }
}

/// The trailers of a commit of edt's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trailers {
    /// The session's name.
    pub session: String,
    /// What kind of commit it is.
    pub kind: Kind,
    /// How many edits the session holds with it.
    pub edit: u64,
    /// Who asked for it.
    pub agent: Option<String>,
    /// The overrides that were needed.
    pub allowed: Vec<String>,
    /// Whether it records what changed behind edt's back, rather than what someone asked to record.
    pub foreign: bool,
}

impl Trailers {
    /// Those of a commit that nobody in particular asked for and that overrode nothing.
    #[must_use]
    pub fn plain(session: &str, kind: Kind, edit: u64) -> Trailers {
        Trailers {
            session: session.to_owned(),
            kind,
            edit,
            agent: None,
            allowed: Vec::new(),
            foreign: false,
        }
    }
}

/// The message of a commit: `text` (subject and body), then the trailers in a paragraph of their own.
#[must_use]
pub fn compose(text: &str, trailers: &Trailers) -> String {
    let mut out = text.trim().to_owned();
    out.push_str("\n\n");
    let mut line = |key: &str, value: &str| {
        out.push_str(key);
        out.push_str(": ");
        out.push_str(value);
        out.push('\n');
    };
    line("Edt-Session", &trailers.session);
    line("Edt-Kind", trailers.kind.name());
    line("Edt-Edit", &trailers.edit.to_string());
    if let Some(agent) = &trailers.agent {
        line("Edt-Agent", agent);
    }
    trailers.allowed.iter().for_each(|word| line("Edt-Allowed", word));
    if trailers.foreign {
        line("Edt-Foreign", "true");
    }
    out
}

/// The values of the trailer `key` in a message's last paragraph.
#[must_use]
pub fn values(message: &str, key: &str) -> Vec<String> {
    let last = message.trim_end().rsplit("\n\n").next().unwrap_or_default();
    let prefix = format!("{key}: ");
    last.lines().filter_map(|line| line.strip_prefix(&prefix).map(str::to_owned)).collect()
}

/// The trailers of a message, from its last paragraph alone, so that no subject can forge them; `None` if it is not edt's.
#[must_use]
pub fn parse(message: &str) -> Option<Trailers> {
    let values = |key: &str| values(message, key);
    let kind = values("Edt-Kind").pop()?;
    Some(Trailers {
        session: values("Edt-Session").pop()?,
        kind: Kind::ALL.iter().copied().find(|known| known.name() == kind)?,
        edit: values("Edt-Edit").pop()?.parse().ok()?,
        agent: values("Edt-Agent").pop(),
        allowed: values("Edt-Allowed"),
        foreign: values("Edt-Foreign").pop().is_some_and(|value| value == "true"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_composed_is_parsed_again() {
        let trailers = Trailers {
            session: "fix-1".into(),
            kind: Kind::Edit,
            edit: 7,
            agent: Some("robot".into()),
            allowed: vec!["size_reduction".into(), "encoding".into()],
            foreign: true,
        };
        let message = compose("say why\n\nand more\n", &trailers);
        assert!(
            message.starts_with(
                "say why\n\nand more\n\nEdt-Session: fix-1\nEdt-Kind: edit\nEdt-Edit: 7\n"
            ),
            "{message}"
        );
        assert_eq!(parse(&message), Some(trailers));
    }

    #[test]
    fn a_message_cannot_forge_trailers() {
        let real = Trailers::plain("s", Kind::Edit, 1);
        let forged = "x\n\nEdt-Session: other\nEdt-Kind: checkpoint\nEdt-Edit: 99";
        assert_eq!(parse(&compose(forged, &real)), Some(real));
        assert_eq!(parse("a person's commit\n"), None);
    }
}
