//! The length of a tool's answer. Commands that can go on later show less by themselves
//! ([`Context::answer_part`](super::context::Context::answer_part)); of other answers the longest
//! lines, texts and lists are cut here, visibly.

use serde_json::{Map, Value, json};

use super::context::{CapturedAnswer, ROOM};

/// The longest line of a text that is cut, in bytes.
const MAX_LINE: usize = 1000;
/// How much of a line is shown before and after what changed in it, in bytes.
const AROUND: usize = 200;
/// The longest text and the longest list that are tried first.
const MAX_TEXT: usize = 32 * 1024;
const MAX_ITEMS: usize = 2048;
/// How to see what is left out.
const REST: &str = "Ask for less: name one path, or give a smaller number. `edt run git diff FROM TO \
                    -- PATH` keeps its complete output, and `edt run --output N --bytes A:B` shows \
                    any part of it.";
/// How many cuts are listed.
const MAX_CUTS: usize = 20;

/// `answer` with at most [`ROOM`] bytes in each form.
pub(super) fn bounded(answer: CapturedAnswer) -> CapturedAnswer {
    let CapturedAnswer { json, text } = answer;
    CapturedAnswer { json: bounded_json(json), text: bounded_text(text) }
}

fn bounded_json(json: Value) -> Value {
    if json.to_string().len() <= ROOM {
        return json;
    }
    let mut limits = Limits { text: usize::MAX, items: usize::MAX };
    for level in 0..12 {
        let mut cuts = Vec::new();
        let mut cut = limits.cut(&json, "", &mut cuts);
        if let Value::Object(object) = &mut cut {
            mark(object, cuts);
        }
        if cut.to_string().len() <= ROOM {
            return cut;
        }
        limits = Limits { text: (MAX_TEXT >> level).max(64), items: (MAX_ITEMS >> level).max(1) };
    }
    // Objects with thousands of keys: their names are what the caller sent.
    let mut least = Map::new();
    least.extend(json.get("schema").map(|schema| ("schema".to_owned(), schema.clone())));
    mark(&mut least, vec![String::new()]);
    Value::Object(least)
}

/// Says that `answer` is cut at the places `cuts`.
fn mark(answer: &mut Map<String, Value>, mut cuts: Vec<String>) {
    cuts.truncate(MAX_CUTS);
    answer.insert("truncated".to_owned(), json!(true));
    answer.insert("cut".to_owned(), json!({"at": cuts, "rest": REST}));
}

/// The longest text, in bytes, and the longest list.
#[derive(Debug, Clone, Copy)]
struct Limits {
    text: usize,
    items: usize,
}

impl Limits {
    /// `value` within the limits. The JSON pointers of what was cut are added to `cuts`.
    fn cut(self, value: &Value, at: &str, cuts: &mut Vec<String>) -> Value {
        match value {
            Value::String(text) => {
                let cut = cut_text(text, self.text);
                if cut.is_some() {
                    cuts.push(at.to_owned());
                }
                cut.unwrap_or_else(|| text.clone()).into()
            }
            Value::Array(all) => {
                if all.len() > self.items {
                    cuts.push(at.to_owned());
                }
                let shown = all.iter().take(self.items).enumerate();
                shown.map(|(n, one)| self.cut(one, &format!("{at}/{n}"), cuts)).collect()
            }
            Value::Object(object) => {
                let mut shown = Map::new();
                for (key, value) in object {
                    let at = format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
                    // A model sends these back as they are: a mark would get into a file.
                    let whole = key == "comments" && value.is_object();
                    if whole && value.to_string().len() <= MAX_TEXT {
                        // They are given once, and have a bound of their own.
                        shown.insert(key.clone(), value.clone());
                    } else if key != "evidence" {
                        shown.insert(key.clone(), self.cut(value, &at, cuts));
                    } else if value.to_string().len() <= self.text.min(MAX_TEXT) {
                        shown.insert(key.clone(), value.clone());
                    } else {
                        cuts.push(at);
                    }
                }
                shown.into()
            }
            other => other.clone(),
        }
    }
}

fn bounded_text(text: String) -> String {
    if text.len() <= ROOM {
        return text;
    }
    let note = format!("… This answer is cut. {REST}\n");
    let cut = cut_text(&text, ROOM - note.len()).unwrap_or(text);
    format!("{cut}{}{note}", if cut.ends_with('\n') { "" } else { "\n" })
}

/// `text` with at most `max` bytes and without long lines; `None` if it is so already.
fn cut_text(text: &str, max: usize) -> Option<String> {
    let is_long = |line: &str| line.len() > MAX_LINE;
    let lines = if text.len() > MAX_LINE && text.lines().any(is_long) {
        Some(short_lines(text))
    } else {
        None
    };
    let shown = lines.as_deref().unwrap_or(text);
    if shown.len() <= max {
        return lines;
    }
    let mark = "… more …\n";
    let end = floor(shown, max.saturating_sub(mark.len()));
    let end = shown[..end].rfind('\n').map_or(end, |at| at + 1);
    Some(format!("{}{mark}", &shown[..end]))
}

/// `text` with its long lines cut. Of a removed line and the line that replaces it, the surroundings
/// of the change are shown; of other lines the beginning.
fn short_lines(text: &str) -> String {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut out = String::new();
    let mut at = 0;
    while at < lines.len() {
        let count = |from: usize, sign: char| {
            lines[from..].iter().take_while(|line| line.starts_with(sign)).count()
        };
        let removed = count(at, '-');
        // Between them may be `\ No newline at end of file`.
        let notes = if removed == 0 { 0 } else { count(at + removed, '\\') };
        let added = if removed == 0 { 0 } else { count(at + removed + notes, '+') };
        if added == 0 {
            let end = at + removed.max(1);
            lines[at..end].iter().for_each(|line| shorten(&mut out, line, 0..MAX_LINE));
            at = end;
            continue;
        }
        let (old, rest) = lines[at..at + removed + notes + added].split_at(removed);
        let (between, new) = rest.split_at(notes);
        let pairs = |one: &[&str], other: &[&str], out: &mut String| {
            for (n, line) in one.iter().enumerate() {
                let changed = other.get(n).map_or(0..MAX_LINE, |other| changed(line, other));
                shorten(out, line, changed);
            }
        };
        pairs(old, new, &mut out);
        out.extend(between.iter().copied());
        pairs(new, old, &mut out);
        at += removed + notes + added;
    }
    out
}

/// The bytes of `line` around what it has and `other` has not. Both begin with their signs.
fn changed(line: &str, other: &str) -> std::ops::Range<usize> {
    let (one, other) = (&line.as_bytes()[1..], &other.as_bytes()[1..]);
    let same = one.iter().zip(other).take_while(|(a, b)| a == b).count();
    let most = one.len().min(other.len()) - same;
    let ends = one.iter().rev().zip(other.iter().rev()).take_while(|(a, b)| a == b);
    let ends = ends.take(most).count();
    let from = (1 + same).saturating_sub(AROUND);
    from..(line.len() - ends + AROUND).min(from + MAX_LINE)
}

/// Writes `line`: if it is long, its sign, and `shown` of its bytes with marks for the rest.
fn shorten(out: &mut String, line: &str, shown: std::ops::Range<usize>) {
    if line.len() <= MAX_LINE {
        return out.push_str(line);
    }
    let from = if shown.start <= 1 { 0 } else { floor(line, shown.start) };
    let to = floor(line, shown.end.min(line.len()));
    if from > 0 {
        out.push_str(&line[..floor(line, 1)]);
        out.push_str(&left_out(from - 1));
    }
    out.push_str(&line[from..to]);
    if to < line.len() {
        out.push_str(&left_out(line.len() - to));
        out.push('\n');
    }
}

fn left_out(bytes: usize) -> String {
    format!("[… {bytes} bytes …]")
}

/// The last boundary of a character at or before `at`.
fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_answer_is_not_changed() {
        let json = json!({"text": "x".repeat(ROOM / 2), "lines": vec![0; 10]});
        assert_eq!(bounded_json(json.clone()), json);
        let text = "x".repeat(ROOM);
        assert_eq!(bounded_text(text.clone()), text);
    }

    #[test]
    fn a_change_of_one_word_in_a_long_line_is_shown_with_its_surroundings() {
        let (before, after) = ("a".repeat(500_000), "ü".repeat(500_000));
        let note = "\\ No newline at end of file\n";
        let patch = format!("@@ -1 +1 @@\n-{before}old{after}\n{note}+{before}new{after}\n{note}");
        let json = json!({"schema": "s", "files": [{"patch": patch}]});
        let found = bounded_json(json);
        let shown = found["files"][0]["patch"].as_str().unwrap();
        assert!(shown.len() < 3000 && shown.starts_with("@@ -1 +1 @@\n-[… 4998"), "{shown}");
        assert!(shown.contains("aaaoldüüü") && shown.contains("aaanewüüü"), "{shown}");
        assert_eq!(shown.lines().count(), 5);
        assert_eq!(found["truncated"], true);
        assert_eq!(found["cut"], json!({"at": ["/files/0/patch"], "rest": REST}));
        let text = bounded_text(patch);
        assert!(text.contains(shown) && text.ends_with("any part of it.\n"), "{text}");
    }

    #[test]
    fn every_answer_fits() {
        let quoted = "\"\\\n".repeat(100_000);
        let many: Vec<Value> = (0..20_000).map(|n| json!({"path": format!("a/{n}")})).collect();
        let deep = json!({"a": vec![json!({"b": vec!["x".repeat(500); 500]}); 500]});
        let keys: Map<String, Value> = (0..9_000).map(|n| (format!("key {n}"), json!(1))).collect();
        for json in [
            json!({"text": quoted}),
            json!({"text": "x".repeat(1 << 20)}),
            json!({"files": many, "text": quoted}),
            deep,
            Value::Object(keys),
        ] {
            let found = bounded_json(json);
            assert!(found.to_string().len() <= ROOM, "{}", found.to_string().len());
            assert_eq!(found["truncated"], true);
        }
        for text in [quoted.clone(), "ü".repeat(ROOM), "x\n".repeat(ROOM)] {
            assert!(bounded_text(text).len() <= ROOM);
        }
    }

    #[test]
    fn what_a_model_sends_back_is_complete_or_left_out() {
        let error = json!({"code": "X", "hint": "h", "evidence": {"request": "x".repeat(90_000)}});
        let found = bounded_json(json!({"errors": [error]}));
        assert_eq!(found["errors"], json!([{"code": "X", "hint": "h"}]));
        assert_eq!(found["cut"]["at"], json!(["/errors/0/evidence"]));
    }

    #[test]
    fn lines_without_a_counterpart_show_their_beginning() {
        let long = "y".repeat(5000);
        let found = short_lines(&format!("-{long}\n short\n+{long}"));
        let (first, rest) = found.split_once('\n').unwrap();
        assert_eq!(first.len(), MAX_LINE + "[… 4002 bytes …]".len());
        assert!(first.starts_with("-yyy") && rest.starts_with(" short\n+yyy"), "{rest}");
    }
}
