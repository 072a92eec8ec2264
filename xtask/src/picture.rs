//! `cargo xtask picture`: draws the last console block of a tested transcript as an animated terminal,
//! for the README. The same transcript makes the same bytes.

use std::fmt::Write as _;

use super::{root, write};

const TRANSCRIPT: &str = "tests/transcripts/picture.md";
const PICTURE: &str = "docs/images/session.svg";

/// Columns of the terminal; longer lines are wrapped.
const COLUMNS: usize = 100;
/// Rows of the terminal.
const ROWS: usize = 24;
/// Size of a character, in pixels.
const WIDTH: f64 = 8.43;
const HEIGHT: f64 = 19.0;
/// Space around the text, in pixels.
const MARGIN: f64 = 14.0;

/// Seconds: for one typed character, before an answer, after one, for one of its lines, and at the
/// end.
const TYPED: f64 = 0.035;
const THOUGHT: f64 = 0.35;
const READ: f64 = 1.1;
const READ_LINE: f64 = 0.28;
const END: f64 = 4.0;

/// One row of the terminal.
struct Row {
    text: String,
    class: &'static str,
    /// Whether the row is typed, character by character.
    typed: bool,
    /// Whether it begins a line of the transcript.
    first: bool,
}

pub(crate) fn picture(_args: &[String]) -> Result<(), String> {
    let page =
        std::fs::read_to_string(root().join(TRANSCRIPT)).map_err(|error| error.to_string())?;
    let block = page.rsplit("```console\n").next().unwrap_or_default();
    let lines: Vec<&str> = block.lines().take_while(|line| *line != "```").collect();
    write(PICTURE, draw(&rows(&lines)).as_bytes())
}

fn rows(lines: &[&str]) -> Vec<Row> {
    let mut rows = Vec::new();
    for line in lines {
        let comment = line.strip_prefix("$ #").map(|text| format!("#{text}"));
        let typed = line.starts_with("$ ") && comment.is_none();
        let class = if comment.is_some() { "note" } else { class(line) };
        let text: Vec<char> = comment.unwrap_or_else(|| (*line).to_owned()).chars().collect();
        let mut rest = &text[..];
        let mut first = true;
        loop {
            let at = break_at(rest);
            let (row, after) = rest.split_at(at);
            rows.push(Row { text: row.iter().collect(), class, typed, first });
            if after.is_empty() {
                break;
            }
            (rest, first) = (after, false);
        }
    }
    rows
}

/// Where a row ends: at the last space that fits.
fn break_at(text: &[char]) -> usize {
    if text.len() <= COLUMNS {
        return text.len();
    }
    text[..COLUMNS]
        .iter()
        .rposition(|one| *one == ' ')
        .filter(|at| *at > COLUMNS / 2)
        .map_or(COLUMNS, |at| at + 1)
}

/// What a line of an answer is.
fn class(line: &str) -> &'static str {
    let word = line.split(' ').next().unwrap_or_default().trim_end_matches(':');
    let is_code = word.len() > 3 && word.chars().all(|one| one.is_ascii_uppercase() || one == '_');
    match word {
        "$" => "call",
        "applied" | "undone" | "redone" | "landed" => "good",
        _ if is_code => "bad",
        _ if line.starts_with("  next:") => "hint",
        _ if line.starts_with('+') => "good",
        _ if line.starts_with('-') => "bad",
        _ => "text",
    }
}

fn draw(rows: &[Row]) -> String {
    let (shown, total) = times(rows);
    let percent = |seconds: f64| format!("{:.2}%", seconds / total * 100.0);
    let (width, height) =
        (count(COLUMNS) * WIDTH + 2.0 * MARGIN, count(ROWS) * HEIGHT + 2.0 * MARGIN);
    let mut style = String::from(STYLE);
    let _ = write!(style, ".a{{animation-duration:{total:.2}s}}");
    let mut body = String::new();
    let mut scroll = vec![(0.0, 0)];
    for (number, (row, (from, until))) in rows.iter().zip(&shown).enumerate() {
        let (start, end) = (percent(*from), percent(*from + 0.01));
        let _ =
            write!(style, "@keyframes r{number}{{0%,{start}{{opacity:0}}{end},100%{{opacity:1}}}}");
        let y = MARGIN + (count(number) + 0.75) * HEIGHT;
        let text = escaped(&row.text);
        let _ = writeln!(
            body,
            r#"<g class="a" style="animation-name:r{number}"><text x="{MARGIN}" y="{y:.1}"><tspan class="{}">{text}</tspan></text></g>"#,
            row.class
        );
        if row.typed {
            let letters = row.text.chars().count();
            let _ = write!(
                style,
                "@keyframes t{number}{{0%,{start}{{transform:translateX(0);animation-timing-function:steps({letters})}}{},100%{{transform:translateX({:.1}px)}}}}",
                percent(*until),
                count(letters) * WIDTH + MARGIN
            );
            let top = MARGIN + count(number) * HEIGHT;
            let _ = writeln!(
                body,
                r#"<rect class="a cover" x="{MARGIN}" y="{top:.1}" width="{width:.0}" height="{HEIGHT}" style="animation-name:t{number}"/>"#
            );
        }
        if number >= ROWS {
            scroll.push((*from, number + 1 - ROWS));
        }
    }
    let moved = |rows: usize| format!("{{transform:translateY({:.1}px)}}", -count(rows) * HEIGHT);
    style.push_str("@keyframes scroll{");
    for pair in scroll.windows(2) {
        let _ = write!(style, "{},{}{}", percent(pair[0].0), percent(pair[1].0), moved(pair[0].1));
    }
    let (from, last) = scroll[scroll.len() - 1];
    let _ = write!(style, "{},100%{}}}", percent(from + 0.01), moved(last));
    // Without motion the end of the session is shown.
    let _ = write!(
        style,
        "@media(prefers-reduced-motion:reduce){{.a{{animation:none!important}}.cover{{display:none}}.all{}}}",
        moved(last)
    );
    format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0}" height="{height:.0}" viewBox="0 0 {width:.0} {height:.0}" role="img" aria-label="A session of edt in a terminal: an edit is refused, corrected, undone, reviewed and landed">
<style>{style}</style>
<rect width="100%" height="100%" rx="8" fill="#16181d"/>
<svg x="0" y="{MARGIN}" width="{width:.0}" height="{:.0}" viewBox="0 {MARGIN} {width:.0} {:.0}"><g class="a all" style="animation-name:scroll">
{body}</g></svg>
</svg>
"##,
        count(ROWS) * HEIGHT,
        count(ROWS) * HEIGHT
    )
}

/// When each row appears and when it is complete, and the length of the whole, in seconds.
fn times(rows: &[Row]) -> (Vec<(f64, f64)>, f64) {
    let mut now = 0.5;
    let mut shown = Vec::new();
    for (number, row) in rows.iter().enumerate() {
        let from = now;
        if row.typed {
            now += count(row.text.chars().count()) * TYPED;
        } else if row.class == "note" {
            now += READ;
        }
        shown.push((from, now));
        let Some(next) = rows.get(number + 1) else { break };
        let answers = row.typed && !next.typed;
        if answers && next.class != "note" {
            now += THOUGHT;
        }
        if (next.class == "note" || next.typed) && next.first && !row.typed && row.class != "note" {
            let length = rows[..=number].iter().rev().take_while(|row| !row.typed).count();
            now += READ + READ_LINE * count(length);
        }
    }
    (shown, now + END)
}

fn count(number: usize) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX))
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

const STYLE: &str = "\
text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;white-space:pre}\
.text{fill:#b8bec9}.call{fill:#fff;font-weight:600}.note{fill:#6cb6ff;font-style:italic}\
.good{fill:#7ee787}.bad{fill:#ff7b72}.hint{fill:#e3b341}.cover{fill:#16181d}\
.a{animation-iteration-count:infinite;animation-timing-function:linear;animation-fill-mode:both}\
.all{animation-timing-function:step-end}";
