//! Diffs and summaries of files, as Git prints them.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};

use super::render::{coloured, paint};
use edt_core::session::views::file_diff::FileDiff;
use edt_types::text::{counted, escape_controls};

/// Renders diffs as Git prints them, in colours.
pub(super) fn render(files: &[FileDiff]) -> String {
    let mut out = String::new();
    for file in files {
        let header = file.header();
        let (first, rest) = header.split_once('\n').unwrap_or((&header, ""));
        let first = paint(Style::new().bold(), first);
        let _ = write!(out, "{first}\n{rest}{}", coloured(&file.patch));
    }
    out
}

/// The widest bar of a summary, in characters.
const BAR: u64 = 40;

/// Renders a summary as `git diff --stat` does.
pub(super) fn summary(files: &[FileDiff]) -> String {
    let name = |file: &FileDiff| {
        let from = file.from.as_ref().map(|from| format!("{from} => ")).unwrap_or_default();
        escape_controls(&format!("{from}{}", file.path)).0
    };
    let names: Vec<String> = files.iter().map(name).collect();
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let total = |file: &FileDiff| file.lines_added + file.lines_removed;
    let most = files.iter().map(total).max().unwrap_or(0);
    let digits = most.to_string().len().max(3);
    let mut out = String::new();
    for (file, name) in files.iter().zip(&names) {
        if file.binary {
            let _ = writeln!(out, " {name:<width$} | {:>digits$}", "Bin");
            continue;
        }
        // A changed line is never invisible.
        let scaled = |lines: u64| {
            if most <= BAR { lines } else { (lines * BAR / most).max(u64::from(lines > 0)) }
        };
        let bar = |lines: u64, sign: &str, color: AnsiColor| {
            let bar = sign.repeat(usize::try_from(scaled(lines)).unwrap_or_default());
            if bar.is_empty() { bar } else { paint(color.on_default(), &bar) }
        };
        let (plus, minus) = (
            bar(file.lines_added, "+", AnsiColor::Green),
            bar(file.lines_removed, "-", AnsiColor::Red),
        );
        let line = format!(" {name:<width$} | {:>digits$} {plus}{minus}", total(file));
        let _ = writeln!(out, "{}", line.trim_end());
    }
    if !files.is_empty() {
        let count = counted(files.len() as u64, "file");
        let added: u64 = files.iter().map(|file| file.lines_added).sum();
        let removed: u64 = files.iter().map(|file| file.lines_removed).sum();
        let _ = writeln!(out, " {count} changed, +{added} -{removed}");
    }
    out
}
