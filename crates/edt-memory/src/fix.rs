//! What counts as a fix of a refused edit, and of which class it is. Pure functions on two edits.

use crate::class::Class;
use edt_edit::alike::similarity;
use edt_journal::refusals::{Format, TriedEdit};
use edt_types::Code;

/// How similar the new texts are at least if both edits have the same intent.
const SAME_INTENT: f64 = 0.7;
/// How similar the texts to replace are at least if both edits have the same place.
const SAME_PLACE: f64 = 0.5;
/// Texts with fewer characters other than white space say nothing about the intent.
const MIN_CHARS: usize = 8;

/// Why an edit is no fix of a refused one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoFix {
    /// A text is not known completely.
    Unknown,
    OtherFile,
    OtherPlace,
    OtherIntent,
    /// It is the same call: something else changed.
    SameCall,
    /// Several edits, or none, may be the one that was refused.
    Unclear,
}

/// How the one edit among `landed` that does what the refused one among `refused` tried differs
/// from it. Edits that landed as they were refused were not the reason.
///
/// # Errors
/// Why nothing can be learned.
pub fn class_of_calls(
    code: &str,
    refused: &[TriedEdit],
    landed: &[TriedEdit],
) -> Result<(usize, Class), NoFix> {
    let changed =
        |(_, edit): &(usize, &TriedEdit)| code.starts_with("HASH_") || !landed.contains(edit);
    let mut left = refused.iter().enumerate().filter(changed);
    let (Some((at, edit)), None) = (left.next(), left.next()) else {
        let is_same = !refused.is_empty() && refused.iter().all(|edit| landed.contains(edit));
        return Err(if is_same { NoFix::SameCall } else { NoFix::Unclear });
    };
    let answers = landed.iter().map(|other| class_of(code, edit, other));
    let about = answers.filter(|answer| *answer != Err(NoFix::OtherFile));
    let (fixes, others): (Vec<_>, Vec<_>) = about.partition(Result::is_ok);
    match fixes.as_slice() {
        [fix] => fix.map(|class| (at, class)),
        [] => others.last().map_or(Err(NoFix::OtherFile), |why| why.map(|class| (at, class))),
        _ => Err(NoFix::Unclear),
    }
}

/// How `landed` differs from `refused`, if it does what that tried at the same place.
///
/// # Errors
/// Why it does not.
pub fn class_of(code: &str, refused: &TriedEdit, landed: &TriedEdit) -> Result<Class, NoFix> {
    if !refused.texts.is_whole() || !landed.texts.is_whole() {
        return Err(NoFix::Unknown);
    }
    let same_path = refused.path == landed.path;
    let is_about_path = code.starts_with("PATH_") || code == Code::FileNotFound.name();
    if !(same_path || is_about_path && name_of(refused) == name_of(landed)) {
        return Err(NoFix::OtherFile);
    }
    let pair = |one: &'_ Option<String>, two: &'_ Option<String>| Pair {
        refused: one.clone().unwrap_or_default(),
        landed: two.clone().unwrap_or_default(),
    };
    let (old, new) = (pair(&refused.old, &landed.old), pair(&refused.new, &landed.new));
    let both = Both { refused, landed, old, new };
    // A patch that could not be read is kept as its text alone.
    let is_raw = refused.format == Format::Patch && refused.old.is_none() && refused.mode.is_none();
    if is_raw && !quotes_lines(&both.new) || !is_raw && !both.same_intent() {
        return Err(NoFix::OtherIntent);
    }
    if !is_raw && !both.same_place() {
        return Err(NoFix::OtherPlace);
    }
    let is_edit = landed.mode.as_deref() == Some("edit");
    let moved = refused.lines != landed.lines || refused.symbol != landed.symbol;
    let is_equal = both.old.is_equal() && both.new.is_equal();
    let rules = [
        (!same_path, Class::WrongPath),
        (refused.format != landed.format, Class::Format),
        (is_raw, Class::Other),
        (is_edit && refused.old.is_none() && landed.old.is_some(), Class::MissingOldText),
        (refused.mode != landed.mode, Class::WrongMode),
        (is_equal && moved, Class::WrongPlace),
        (is_equal && code.starts_with("HASH_"), Class::Hash),
    ];
    // The refused text was there all the time: something else changed.
    let was_there = refused.old.is_some()
        && code == Code::OldTextNotFound.name()
        && has_more(&both.old.landed, &both.old.refused);
    match rules.into_iter().find(|(holds, _)| *holds) {
        _ if was_there => Err(NoFix::SameCall),
        Some((_, class)) => Ok(class),
        None if is_equal => Err(NoFix::SameCall),
        None => Ok(class_of_texts(&both.old, &both.new)),
    }
}

/// A text of the refused edit and that of the one which landed.
struct Pair {
    refused: String,
    landed: String,
}

impl Pair {
    fn is_equal(&self) -> bool {
        self.refused == self.landed
    }

    fn is_equal_by(&self, form: Form) -> bool {
        form(&self.refused) == form(&self.landed)
    }

    /// Whether the texts are the same but for what a class describes.
    fn is_same(&self) -> bool {
        FORMS.iter().any(|(_, form)| self.is_equal_by(*form))
    }

    /// Whether the landed text has the refused one and more, apart from white space.
    fn grew(&self) -> bool {
        has_more(&squeezed(&self.landed), &squeezed(&self.refused))
    }

    fn shrank(&self) -> bool {
        has_more(&squeezed(&self.refused), &squeezed(&self.landed))
    }

    /// Whether the landed text has all lines of the refused one, and others in place of lines that
    /// stand for omitted code.
    fn fills(&self) -> bool {
        let mut landed = self.landed.lines().map(squeezed);
        let sent = self.refused.lines().filter(|line| !is_placeholder(line)).map(squeezed);
        self.refused.lines().any(is_placeholder)
            && !self.landed.lines().any(is_placeholder)
            && sent.into_iter().all(|line| landed.any(|other| other == line))
    }
}

fn has_more(long: &str, short: &str) -> bool {
    long.len() > short.len() && long.contains(short)
}

/// Two edits with their texts.
struct Both<'e> {
    refused: &'e TriedEdit,
    landed: &'e TriedEdit,
    old: Pair,
    new: Pair,
}

impl Both<'_> {
    fn same_intent(&self) -> bool {
        let (old, new) = (&self.old, &self.new);
        match (removes(self.refused), removes(self.landed)) {
            (true, true) => true,
            (false, false) if is_long(&new.refused) => {
                let is_part = new.grew() || is_long(&new.landed) && new.shrank() || new.fills();
                // Two functions may be alike: a similar text needs the very same place.
                let is_like = || similarity(&new.refused, &new.landed) >= SAME_INTENT;
                is_part || new.is_same() || self.is_at_same_text() && is_like()
            }
            // A short text must be the same, and its place must be known.
            (false, false) => new.is_same() && is_long(&old.refused) && is_long(&old.landed),
            _ => false,
        }
    }

    /// Whether both edits name the same text, lines or definition, or set the whole file.
    fn is_at_same_text(&self) -> bool {
        let (one, two) = (self.refused, self.landed);
        let names_place =
            !self.old.refused.is_empty() || one.lines.is_some() || one.symbol.is_some();
        let is_same = one.lines == two.lines && one.symbol == two.symbol && self.old.is_same();
        is_same && (names_place || is_whole(one) && is_whole(two))
    }

    fn same_place(&self) -> bool {
        let Both { refused, landed, old, new } = self;
        let same_text = is_long(&new.refused) && new.is_same();
        match (refused.lines, landed.lines, &refused.symbol, &landed.symbol) {
            _ if is_whole(landed) && is_whole(refused) => true,
            _ if is_mode(refused, &["delete"]) => landed.mode == refused.mode,
            (Some([first, last]), Some([from, to]), ..) => same_text || first <= to && from <= last,
            (.., Some(one), Some(two)) => same_text || one == two,
            _ if !old.refused.is_empty() && !old.landed.is_empty() => {
                let grew = is_long(&old.refused) && old.grew();
                let is_part = grew || is_long(&old.landed) && old.shrank();
                is_part || old.is_same() || similarity(&old.refused, &old.landed) >= SAME_PLACE
            }
            // One of them names no place by its text: the new text must be the very same.
            _ => same_text || is_long(&new.refused) && is_whole(landed) && new.grew(),
        }
    }
}

fn is_mode(edit: &TriedEdit, modes: &[&str]) -> bool {
    edit.mode.as_deref().is_some_and(|mode| modes.contains(&mode))
}

/// Whether an edit sets all of a file.
fn is_whole(edit: &TriedEdit) -> bool {
    is_mode(edit, &["create", "overwrite"])
}

fn removes(edit: &TriedEdit) -> bool {
    let is_empty = edit.new.as_deref().unwrap_or_default().is_empty();
    is_mode(edit, &["delete", "delete_lines"]) || is_mode(edit, &["edit"]) && is_empty
}

/// The last name of the path.
fn name_of(edit: &TriedEdit) -> Option<&str> {
    edit.path.as_deref()?.rsplit(['/', '\\']).next()
}

/// A text without what does not matter.
type Form = fn(&str) -> String;

/// The classes of two texts that are equal in a form.
const FORMS: &[(Class, Form)] = &[
    (Class::WhiteSpace, squeezed),
    (Class::CopiedMarks, without_marks),
    (Class::Escaping, unescaped),
    (Class::Quotes, with_plain_quotes),
];

/// The class of two edits that differ in their texts alone.
fn class_of_texts(old: &Pair, new: &Pair) -> Class {
    let only_by = |form: Form| old.is_equal_by(form) && new.is_equal_by(form);
    if let Some((class, _)) = FORMS.iter().find(|(_, form)| only_by(*form)) {
        return *class;
    }
    let (same_old, same_new) = (old.is_equal_by(squeezed), new.is_equal_by(squeezed));
    let (longer, shorter) =
        (has_more(&old.landed, &old.refused), has_more(&old.refused, &old.landed));
    let rules = [
        (old.fills() || new.fills(), Class::Elision),
        (longer && (same_new || new.grew()), Class::MissingContext),
        (shorter && (same_new || new.shrank()), Class::ShorterText),
        (same_old && new.is_equal_by(without_brackets), Class::Bracket),
        (same_old && gained_only_imports(new), Class::LostImport),
        (same_new, Class::StaleText),
    ];
    rules.into_iter().find(|(holds, _)| *holds).map_or(Class::Other, |(_, class)| class)
}

/// Whether the lines of the text that landed are in a patch, after any marks.
fn quotes_lines(new: &Pair) -> bool {
    let patch = without_marks(&new.refused);
    let mut lines = new.landed.lines().map(squeezed).filter(|line| line.len() > 3);
    is_long(&new.landed) && lines.all(|line| patch.contains(&line))
}

fn is_long(text: &str) -> bool {
    text.chars().filter(|c| !c.is_whitespace()).count() >= MIN_CHARS
}

fn squeezed(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

/// The text without the line number or the diff mark at the beginning of each line.
fn without_marks(text: &str) -> String {
    let bare = |line: &'_ str| {
        let rest = line.trim_start().trim_start_matches(|c: char| c.is_ascii_digit());
        let is_numbered = rest.len() < line.trim_start().len();
        let text = rest.trim_start_matches(' ').strip_prefix([':', '|', '→', '\t']);
        let text = text.filter(|_| is_numbered).or_else(|| line.strip_prefix(['+', '-']));
        squeezed(text.unwrap_or(line))
    };
    text.lines().map(bare).collect()
}

fn unescaped(text: &str) -> String {
    const PLAIN: &[(&str, &str)] = &[
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&amp;", "&"),
        ("\\n", ""),
        ("\\t", ""),
        ("\\r", ""),
        ("\\u003c", "<"),
        ("\\u003e", ">"),
        ("\\", ""),
    ];
    PLAIN.iter().fold(squeezed(text), |text, (from, to)| text.replace(from, to))
}

fn with_plain_quotes(text: &str) -> String {
    squeezed(text).replace(['\'', '`', '´', '‘', '’', '‚', '“', '”', '„', '«', '»'], "\"")
}

fn without_brackets(text: &str) -> String {
    squeezed(text).replace(['(', ')', '[', ']', '{', '}', ';', ','], "")
}

/// Whether a line stands for code that was left out.
fn is_placeholder(line: &str) -> bool {
    const WORDS: &[&str] =
        &["existing code", "rest of", "unchanged", "remains the same", "omitted"];
    let bare = line.trim().trim_start_matches(['/', '#', '*', '-', ';', '<', '!', '%', ' ']);
    let is_comment = bare.len() < line.trim().len();
    let has_words = || WORDS.iter().any(|words| bare.to_lowercase().contains(words));
    bare.starts_with("...") || bare.starts_with('…') || is_comment && has_words()
}

/// Whether the landed text is the refused one with lines of imports added.
fn gained_only_imports(new: &Pair) -> bool {
    const STARTS: &[&str] = &["import ", "from ", "use ", "#include", "require", "using "];
    let mut refused = new.refused.lines().map(squeezed).filter(|line| !line.is_empty()).peekable();
    let mut gained = 0;
    for line in new.landed.lines().filter(|line| !line.trim().is_empty()) {
        if refused.peek() == Some(&squeezed(line)) {
            refused.next();
        } else if STARTS.iter().any(|start| line.trim_start().starts_with(start)) {
            gained += 1;
        } else {
            return false;
        }
    }
    gained > 0 && refused.next().is_none()
}

#[cfg(test)]
mod tests;
