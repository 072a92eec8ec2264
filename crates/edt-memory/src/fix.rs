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
/// The modes that set all of a file.
const WHOLE: &[&str] = &["create", "overwrite"];

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
    let (mut found, mut why) = (Vec::new(), NoFix::OtherFile);
    for answer in answers {
        match answer {
            Ok(class) => found.push(class),
            Err(NoFix::OtherFile) => {}
            Err(other) => why = other,
        }
    }
    match found.as_slice() {
        [class] => Ok((at, *class)),
        [] => Err(why),
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
    if !(same_path || is_about_path && have_one_name(refused, landed)) {
        return Err(NoFix::OtherFile);
    }
    let old = Pair::of(refused.old.as_deref(), landed.old.as_deref());
    let new = Pair::of(refused.new.as_deref(), landed.new.as_deref());
    let is_raw = is_unread_patch(refused);
    if !is_raw {
        same_intent(refused, landed, &old, &new)?;
        same_place(refused, landed, &old, &new)?;
    } else if !quotes_lines(new.refused, new.landed) {
        return Err(NoFix::OtherIntent);
    }
    if !same_path {
        return Ok(Class::WrongPath);
    }
    if refused.format != landed.format {
        return Ok(Class::Format);
    }
    if is_raw {
        return Ok(Class::Other);
    }
    if landed.mode.as_deref() == Some("edit") && refused.old.is_none() && landed.old.is_some() {
        return Ok(Class::MissingOldText);
    }
    if refused.mode != landed.mode {
        return Ok(Class::WrongMode);
    }
    if old.is_equal() && new.is_equal() {
        let moved = refused.lines != landed.lines || refused.symbol != landed.symbol;
        let is_hash = code.starts_with("HASH_");
        let same = if is_hash { Ok(Class::Hash) } else { Err(NoFix::SameCall) };
        return if moved { Ok(Class::WrongPlace) } else { same };
    }
    Ok(class_of_texts(&old, &new))
}

/// A text of the refused edit and that of the one which landed.
struct Pair<'t> {
    refused: &'t str,
    landed: &'t str,
}

impl<'t> Pair<'t> {
    fn of(refused: Option<&'t str>, landed: Option<&'t str>) -> Pair<'t> {
        Pair { refused: refused.unwrap_or_default(), landed: landed.unwrap_or_default() }
    }

    fn is_equal(&self) -> bool {
        self.refused == self.landed
    }

    fn is_equal_by(&self, form: impl Fn(&str) -> String) -> bool {
        self.is_equal() || form(self.refused) == form(self.landed)
    }

    /// Whether the landed text has the refused one and more.
    fn grew(&self) -> bool {
        let (refused, landed) = (squeezed(self.refused), squeezed(self.landed));
        landed.len() > refused.len() && landed.contains(&refused)
    }

    /// As [`grew`](Pair::grew), with every space as it was.
    fn grew_exactly(&self) -> bool {
        self.landed.len() > self.refused.len() && self.landed.contains(self.refused.trim_end())
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

    const fn turned(&self) -> Pair<'t> {
        Pair { refused: self.landed, landed: self.refused }
    }

    fn shrank(&self) -> bool {
        self.turned().grew()
    }
}

fn same_intent(
    refused: &TriedEdit,
    landed: &TriedEdit,
    old: &Pair<'_>,
    new: &Pair<'_>,
) -> Result<(), NoFix> {
    let removes = |edit: &TriedEdit, new: &str| {
        let mode = edit.mode.as_deref().unwrap_or_default();
        mode == "delete" || mode == "delete_lines" || mode == "edit" && new.is_empty()
    };
    let both = (removes(refused, new.refused), removes(landed, new.landed));
    let is_same = match both {
        (true, true) => true,
        (false, false) if is_long(new.refused) => {
            let is_part = new.grew() || is_long(new.landed) && new.shrank() || new.fills();
            // Two functions may be alike: only at the very same text is a similar one the same.
            let is_like = || similarity(new.refused, new.landed) >= SAME_INTENT;
            is_part || same_texts(new) || is_at_same_text(refused, landed, old) && is_like()
        }
        // A short text must be the same, and its place must be known.
        (false, false) => same_texts(new) && is_long(old.refused) && is_long(old.landed),
        _ => false,
    };
    if is_same { Ok(()) } else { Err(NoFix::OtherIntent) }
}

/// Whether both edits name the same text, lines or definition, or set the whole file.
fn is_at_same_text(refused: &TriedEdit, landed: &TriedEdit, old: &Pair<'_>) -> bool {
    let names_place =
        !old.refused.is_empty() || refused.lines.is_some() || refused.symbol.is_some();
    let is_same = refused.lines == landed.lines && refused.symbol == landed.symbol;
    is_same && same_texts(old) && (names_place || is_whole(refused) && is_whole(landed))
}

/// Whether an edit sets all of a file.
fn is_whole(edit: &TriedEdit) -> bool {
    edit.mode.as_deref().is_some_and(|mode| WHOLE.contains(&mode))
}

fn same_place(
    refused: &TriedEdit,
    landed: &TriedEdit,
    old: &Pair<'_>,
    new: &Pair<'_>,
) -> Result<(), NoFix> {
    let same_text = is_long(new.refused) && same_texts(new);
    let is_same = match (refused.lines, landed.lines) {
        _ if is_whole(landed) && is_whole(refused) => true,
        _ if refused.mode.as_deref() == Some("delete") => landed.mode == refused.mode,
        (Some([first, last]), Some([from, to])) => same_text || first <= to && from <= last,
        _ => match (&refused.symbol, &landed.symbol) {
            (Some(one), Some(two)) => same_text || one == two,
            _ if !old.refused.is_empty() && !old.landed.is_empty() => {
                let is_part =
                    is_long(old.refused) && old.grew() || is_long(old.landed) && old.shrank();
                is_part || same_texts(old) || similarity(old.refused, old.landed) >= SAME_PLACE
            }
            // One of them names no place by its text: the new text must be the very same.
            _ => same_text || is_long(new.refused) && is_whole(landed) && new.grew(),
        },
    };
    if is_same { Ok(()) } else { Err(NoFix::OtherPlace) }
}

/// The class of two edits that differ in their texts alone.
fn class_of_texts(old: &Pair<'_>, new: &Pair<'_>) -> Class {
    let only_by = |form: fn(&str) -> String| old.is_equal_by(form) && new.is_equal_by(form);
    let same_new = new.is_equal_by(squeezed);
    if only_by(squeezed) {
        Class::WhiteSpace
    } else if only_by(|text| squeezed(&without_marks(text))) {
        Class::CopiedMarks
    } else if only_by(|text| squeezed(&unescaped(text))) {
        Class::Escaping
    } else if only_by(|text| squeezed(&with_plain_quotes(text))) {
        Class::Quotes
    } else if old.fills() || new.fills() {
        Class::Elision
    } else if old.grew_exactly() && (same_new || new.grew()) {
        Class::MissingContext
    } else if old.turned().grew_exactly() && (same_new || new.shrank()) {
        Class::ShorterText
    } else if old.is_equal_by(squeezed) && new.is_equal_by(without_brackets) {
        Class::Bracket
    } else if old.is_equal_by(squeezed) && gained_only_imports(new) {
        Class::LostImport
    } else if same_new {
        Class::StaleText
    } else {
        Class::Other
    }
}

/// Whether two texts are the same but for what a class describes.
fn same_texts(pair: &Pair<'_>) -> bool {
    let forms: [fn(&str) -> String; 4] = [
        squeezed,
        |text| squeezed(&without_marks(text)),
        |text| squeezed(&unescaped(text)),
        |text| squeezed(&with_plain_quotes(text)),
    ];
    forms.into_iter().any(|form| pair.is_equal_by(form))
}

/// Whether two paths may name one file: their last names are equal.
fn have_one_name(refused: &TriedEdit, landed: &TriedEdit) -> bool {
    let name = |edit: &TriedEdit| {
        let path = edit.path.clone().unwrap_or_default();
        path.rsplit(['/', '\\']).next().map(str::to_owned).filter(|name| !name.is_empty())
    };
    name(refused).is_some_and(|refused| name(landed) == Some(refused))
}

/// A patch that could not be read is kept as its text alone.
fn is_unread_patch(edit: &TriedEdit) -> bool {
    edit.format == Format::Patch && edit.old.is_none() && edit.mode.is_none()
}

/// Whether the lines of `text` are in `patch`, after any marks.
fn quotes_lines(patch: &str, text: &str) -> bool {
    let patch = squeezed(&without_marks(patch));
    let lines = text.lines().map(squeezed).filter(|line| line.len() > 3);
    is_long(text) && lines.into_iter().all(|line| patch.contains(&line))
}

fn is_long(text: &str) -> bool {
    text.chars().filter(|c| !c.is_whitespace()).count() >= MIN_CHARS
}

fn squeezed(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

/// The text without the line number or the diff mark at the beginning of each line.
fn without_marks(text: &str) -> String {
    text.lines().map(|line| format!("{}\n", without_mark(line))).collect()
}

fn without_mark(line: &str) -> &str {
    let number = line.trim_start();
    let rest = number.trim_start_matches(|c: char| c.is_ascii_digit());
    let after = rest.trim_start_matches(' ');
    if rest.len() < number.len()
        && let Some(text) = after.strip_prefix([':', '|', '→', '\t'])
    {
        return text;
    }
    line.strip_prefix(['+', '-']).unwrap_or(line)
}

fn unescaped(text: &str) -> String {
    let entities = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")];
    let plain = entities.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to));
    let escapes = [("\\n", "\n"), ("\\t", "\t"), ("\\r", ""), ("\\u003c", "<"), ("\\u003e", ">")];
    let plain = escapes.iter().fold(plain, |text, (from, to)| text.replace(from, to));
    plain.replace('\\', "")
}

fn with_plain_quotes(text: &str) -> String {
    let plain = |c| if "'`´‘’‚“”„«»".contains(c) { '"' } else { c };
    text.chars().map(plain).collect()
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
    let lower = bare.to_lowercase();
    bare.starts_with("...")
        || bare.starts_with('…')
        || is_comment && WORDS.iter().any(|words| lower.contains(words))
}

/// Whether the landed text is the refused one with lines of imports added.
fn gained_only_imports(new: &Pair<'_>) -> bool {
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
