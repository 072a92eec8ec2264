//! Commit messages: a subject, a body, and trailers that `git log` and `git interpret-trailers`
//! read.

use super::trailer_block;

/// The kind of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The empty first commit of a session on an unborn branch.
    Begin,
    /// An edit through `edt apply` or an agent's own tool.
    Edit,
    /// The user's uncommitted changes, committed on request.
    Checkpoint,
    /// The user's version of files that a command overwrites, or that a proposal is for. On no branch.
    Saved,
    /// An edit of files with merge conflicts, which stays uncommitted. On no branch.
    Resolution,
    /// A file set to an earlier state.
    Restore,
    /// The changes of a program that `edt run` started.
    Run,
    /// A session's work as one commit on the branch it landed on.
    Land,
    /// The reversal of a landing, on the branch that it landed on.
    Unland,
    /// A change or a command that waits for user approval. On no branch.
    Proposal,
    /// A decision on a proposal. On no branch.
    Decision,
    /// An entry of a session's record. On no branch.
    Record,
}

impl Kind {
    const ALL: &'static [Kind] = &[
        Kind::Begin,
        Kind::Edit,
        Kind::Checkpoint,
        Kind::Saved,
        Kind::Resolution,
        Kind::Restore,
        Kind::Run,
        Kind::Land,
        Kind::Unland,
        Kind::Proposal,
        Kind::Decision,
        Kind::Record,
    ];

    /// The value of the trailer.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Begin => "begin",
            Kind::Edit => "edit",
            Kind::Checkpoint => "checkpoint",
            Kind::Saved => "saved",
            Kind::Resolution => "resolution",
            Kind::Restore => "restore",
            Kind::Run => "run",
            Kind::Land => "land",
            Kind::Unland => "unland",
            Kind::Proposal => "proposal",
            Kind::Decision => "decision",
            Kind::Record => "record",
        }
    }

    /// Whether it counts as an edit, which `undo` undoes.
    #[must_use]
    pub const fn is_edit(self) -> bool {
        matches!(self, Kind::Edit | Kind::Restore | Kind::Run | Kind::Land)
    }
}

/// The trailer that names a mode of the request's edits.
pub(crate) const MODE: &str = "Edt-Mode";

/// The trailers of a commit made by edt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trailers {
    /// The session's name.
    pub session: String,
    /// The kind of the commit.
    pub kind: Kind,
    /// How many edits the session has, including this commit.
    pub edit: u64,
    /// The agent that asked for it, by the name that it chose.
    pub agent: Option<String>,
    /// Who called, if that is another name than the agent's.
    pub caller: Option<String>,
    /// The model that the agent's program named.
    pub model: Option<String>,
    /// The turn of the session: one prompt of the user and all that the agent did for it.
    pub turn: Option<u64>,
    /// The name that the agent's program gives its conversation.
    pub conversation: Option<String>,
    /// The overrides that were needed.
    pub allowed: Vec<String>,
    /// The modes of the request's edits. Read only: [`MODE`] is written as a further trailer.
    pub modes: Vec<String>,
    /// The name of the commit's private record, if it has one. A rebase, an amend and a
    /// cherry-pick keep it.
    pub private: Option<String>,
}

impl Trailers {
    /// Trailers without an agent and without overrides.
    #[must_use]
    pub fn plain(session: &str, kind: Kind, edit: u64) -> Trailers {
        Trailers {
            session: session.to_owned(),
            kind,
            edit,
            agent: None,
            caller: None,
            model: None,
            turn: None,
            conversation: None,
            allowed: Vec::new(),
            modes: Vec::new(),
            private: None,
        }
    }

    /// Who made the edit: a chosen name says nothing about it.
    #[must_use]
    pub fn maker(&self) -> Option<&str> {
        self.caller.as_deref().or(self.agent.as_deref())
    }
}

/// Joins `text` (subject and body) and the trailers. They follow the trailers of the text, as
/// `git interpret-trailers` places them, or become a paragraph of their own.
#[must_use]
pub fn compose(text: &str, trailers: &Trailers) -> String {
    let mut out = String::new();
    let mut line = |key: &str, value: &str| {
        out.push_str(key);
        out.push_str(": ");
        out.push_str(value);
        out.push('\n');
    };
    line("Edt-Session", &trailers.session);
    line("Edt-Kind", trailers.kind.name());
    line("Edt-Edit", &trailers.edit.to_string());
    trailers.agent.iter().for_each(|agent| line("Edt-Agent", agent));
    trailers.caller.iter().for_each(|caller| line("Edt-Caller", caller));
    trailers.model.iter().for_each(|model| line("Edt-Model", model));
    trailers.turn.iter().for_each(|turn| line("Edt-Turn", &turn.to_string()));
    trailers.conversation.iter().for_each(|name| line("Edt-Conversation", name));
    trailers.allowed.iter().for_each(|word| line("Edt-Allowed", word));
    trailers.private.iter().for_each(|name| line("Edt-Private", name));
    // Nobody but edt reads those, and it takes all of the text back.
    if matches!(trailers.kind, Kind::Proposal | Kind::Decision) {
        return format!("{}\n\n{out}", text.trim());
    }
    add_trailers(text, &out)
}

/// Adds lines with trailers to a message without edt's own.
#[must_use]
pub fn add_trailers(text: &str, lines: &str) -> String {
    let text = text.trim();
    let end = if trailer_block::of(text).is_some() { "\n" } else { "\n\n" };
    format!("{text}{end}{lines}")
}

/// Adds a paragraph to the body of a message, before the text's trailers.
#[must_use]
pub fn add_paragraph(text: &str, paragraph: &str) -> String {
    match trailer_block::of(text.trim()) {
        Some((body, block)) => format!("{body}\n\n{paragraph}\n\n{block}"),
        None => format!("{}\n\n{paragraph}", text.trim()),
    }
}

/// The values of the trailer `key` in a message's last paragraph.
#[must_use]
pub fn values(message: &str, key: &str) -> Vec<String> {
    let last = message.trim_end().rsplit("\n\n").next().unwrap_or_default();
    let prefix = format!("{key}: ");
    last.lines().filter_map(|line| line.strip_prefix(&prefix).map(str::to_owned)).collect()
}

/// The numbers of the edits that a message names anywhere: Git joins the messages of what it
/// squashes.
#[must_use]
pub fn numbers(message: &str) -> Vec<u64> {
    let value = |line: &str| number(line.strip_prefix("Edt-Edit: ")?.trim());
    message.lines().filter_map(value).collect()
}

/// A message with edt's trailers without them.
#[must_use]
pub fn text(message: &str) -> String {
    let Some((body, last)) = message.trim_end().rsplit_once("\n\n") else {
        return message.to_owned();
    };
    let others: Vec<&str> = last.lines().filter(|line| !trailer_block::is_edts(line)).collect();
    if others.is_empty() { body.to_owned() } else { format!("{body}\n\n{}", others.join("\n")) }
}

/// A number that edt may have given. Far larger ones are forged, and nothing can follow the largest.
#[must_use]
pub(crate) fn number(text: &str) -> Option<u64> {
    text.parse::<u32>().ok().map(u64::from)
}

/// Parses the trailers of a message; `None` if edt did not write them. Reads the last paragraph
/// only, so that a subject cannot forge them.
#[must_use]
pub fn parse(message: &str) -> Option<Trailers> {
    let values = |key: &str| values(message, key);
    let kind = values("Edt-Kind").pop()?;
    Some(Trailers {
        session: values("Edt-Session").pop()?,
        kind: Kind::ALL.iter().copied().find(|known| known.name() == kind)?,
        edit: number(&values("Edt-Edit").pop()?)?,
        agent: values("Edt-Agent").pop(),
        caller: values("Edt-Caller").pop(),
        model: values("Edt-Model").pop(),
        turn: values("Edt-Turn").pop().and_then(|turn| number(&turn)),
        conversation: values("Edt-Conversation").pop(),
        allowed: values("Edt-Allowed"),
        modes: values(MODE),
        private: values("Edt-Private").pop(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_composed_message_parses_to_the_same_trailers() {
        let trailers = Trailers {
            session: "fix-1".into(),
            kind: Kind::Edit,
            edit: 7,
            agent: Some("reviewer".into()),
            caller: Some("robot".into()),
            model: Some("m-5".into()),
            turn: Some(3),
            conversation: Some("0194-ab".into()),
            allowed: vec!["size_reduction".into(), "encoding".into()],
            modes: Vec::new(),
            private: Some("0123456789abcdef".into()),
        };
        let message = compose("say why\n\nand more\n", &trailers);
        assert!(
            message.starts_with(
                "say why\n\nand more\n\nEdt-Session: fix-1\nEdt-Kind: edit\nEdt-Edit: 7\n"
            ),
            "{message}"
        );
        assert_eq!(parse(&message), Some(trailers));
        let asked = "Edt-Agent: reviewer\nEdt-Caller: robot\nEdt-Model: m-5\nEdt-Turn: 3\n\
                     Edt-Conversation: 0194-ab\n";
        assert!(message.contains(asked), "{message}");
    }

    #[test]
    fn a_turn_that_is_no_number_is_left_out() {
        for turn in ["two", "18446744073709551615"] {
            let start = "x\n\nEdt-Session: s\nEdt-Kind: edit\nEdt-Edit: 1\n";
            let message = format!("{start}Edt-Turn: {turn}\n");
            assert_eq!(parse(&message), Some(Trailers::plain("s", Kind::Edit, 1)));
        }
    }

    #[test]
    fn a_message_cannot_forge_trailers() {
        let real = Trailers::plain("s", Kind::Edit, 1);
        let forged = "x\n\nEdt-Session: other\nEdt-Kind: checkpoint\nEdt-Edit: 99";
        assert_eq!(parse(&compose(forged, &real)), Some(real));
        assert_eq!(parse("a user's commit\n"), None);
    }

    #[test]
    fn the_trailers_of_the_text_stay_trailers() {
        let text = "why\n\nbody\n\nSigned-off-by: A <a@b>\nChange-Id: I1";
        let message = compose(text, &Trailers::plain("s", Kind::Land, 1));
        let own = "Edt-Session: s\nEdt-Kind: land\nEdt-Edit: 1\n";
        assert_eq!(message, format!("{text}\n{own}"));
        assert_eq!(self::text(&message), text);
        assert_eq!(values(&message, "Change-Id"), ["I1"]);
    }

    #[test]
    fn a_paragraph_is_added_before_the_trailers_of_the_text() {
        assert_eq!(add_paragraph("why\n\nFixes: #1", "more"), "why\n\nmore\n\nFixes: #1");
        assert_eq!(add_paragraph("why\n", "more"), "why\n\nmore");
    }

    #[test]
    fn optional_trailers_are_left_out() {
        assert_eq!(
            compose("  subject \n", &Trailers::plain("s", Kind::Land, 0)),
            "subject\n\nEdt-Session: s\nEdt-Kind: land\nEdt-Edit: 0\n"
        );
    }

    #[test]
    fn every_override_has_a_trailer_of_its_own() {
        let allowed = vec!["encoding".to_owned(), "syntax_error".to_owned()];
        let message = compose("x", &Trailers { allowed, ..Trailers::plain("s", Kind::Edit, 1) });
        assert_eq!(values(&message, "Edt-Allowed"), ["encoding", "syntax_error"]);
    }

    #[test]
    fn a_commit_of_an_unknown_kind_is_a_users() {
        assert_eq!(parse("x\n\nEdt-Session: s\nEdt-Kind: poem\nEdt-Edit: 1\n"), None);
    }

    #[test]
    fn a_commit_without_a_number_is_a_users() {
        for number in ["many", "18446744073709551615"] {
            let message = format!("x\n\nEdt-Session: s\nEdt-Kind: edit\nEdt-Edit: {number}\n");
            assert_eq!((parse(&message), numbers(&message)), (None, Vec::new()));
        }
    }

    #[test]
    fn trailers_above_the_last_paragraph_are_text() {
        let message = "x\n\nEdt-Session: s\nEdt-Kind: edit\nEdt-Edit: 1\n\nmore text\n";
        assert_eq!((parse(message), values(message, "Edt-Session")), (None, Vec::new()));
    }

    #[test]
    fn only_edits_restores_runs_and_landings_are_undone() {
        let edits = Kind::ALL.iter().filter(|kind| kind.is_edit()).map(|kind| kind.name());
        assert_eq!(edits.collect::<Vec<_>>(), ["edit", "restore", "run", "land"]);
    }
}
