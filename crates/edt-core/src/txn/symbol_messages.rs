//! The findings of an edit that names a definition and is refused.

use edt_edit::symbol::{SymbolChange, SymbolEdit};
use edt_edit::symbol_error::{FoundSymbol, SymbolError};
use edt_types::text::{Shown as _, counted};
use edt_types::{Code, Finding, RepoPath};
use serde_json::json;

/// The most definitions and lines that a message names.
const MAX_NAMED: usize = 10;

/// `SYMBOL_NOT_FOUND`, `SYMBOL_AMBIGUOUS` or `SYMBOL_UNCLEAR`; `BAD_REQUEST` for an empty text or a
/// new name that is none.
pub(super) fn refused(path: &RepoPath, edit: &SymbolEdit, fault: &SymbolError) -> Finding {
    let outline = format!("`edt outline {}` lists its definitions.", path.for_shell());
    let name = edit.symbol.shown();
    let unclear =
        |message: String, remedy: &str| Finding::new(Code::SymbolUnclear, message, remedy);
    let finding = match fault {
        SymbolError::NoSymbols => unclear(
            format!("edt reads no definitions of files such as {path}."),
            "Use mode \"edit\" with `old_text`.",
        ),
        SymbolError::Unparsed(why) => unclear(
            format!("The definitions of {path} cannot be read: {why}."),
            "Use mode \"edit\" with `old_text`.",
        ),
        SymbolError::NotFound(near) => {
            let near: Vec<&String> = near.iter().take(MAX_NAMED).collect();
            let line = edit.line.map_or_else(String::new, |line| format!(" with line {line}"));
            let similar = match near.as_slice() {
                [] => String::new(),
                names => {
                    let names: Vec<String> = names.iter().map(|name| name.shown()).collect();
                    format!(" Similar names: {}.", names.join(", "))
                }
            };
            let message = format!("{path} has no definition {name}{line}.{similar}");
            let remedy = format!("Send one of its names. {outline}");
            Finding::new(Code::SymbolNotFound, message, remedy).with("similar", json!(near))
        }
        SymbolError::Ambiguous(all) => {
            let message = format!(
                "{} of {path} are named {name}: {}.",
                counted(all.len(), "definition"),
                list(all)
            );
            let remedy = "Send the complete name of one, or one of its lines as `start_line`.";
            let symbols: Vec<_> = all
                .iter()
                .map(|one| {
                    json!({"name": one.name, "kind": one.kind, "first_line": one.lines.0, "last_line": one.lines.1})
                })
                .collect();
            Finding::new(Code::SymbolAmbiguous, message, remedy).with("symbols", symbols)
        }
        SymbolError::Broken(one) => unclear(
            format!("{} of {path} has a syntax error, so its end is not known.", described(one)),
            "Use mode \"edit\" with `old_text`, and correct the syntax error.",
        ),
        SymbolError::SharedLine(one) => unclear(
            format!("{} of {path} shares a line with other code.", described(one)),
            "Use mode \"edit\" with `old_text`.",
        ),
        SymbolError::NameTaken(lines) => unclear(
            format!("{path} uses the new name already, in {}.", numbers(lines)),
            "Choose another name, or rename that one first.",
        ),
        SymbolError::UnclearUses(lines) => unclear(
            format!(
                "In {} of {path}, it is not certain that the name means {name}.",
                numbers(lines)
            ),
            "Change each use with mode \"edit\".",
        )
        .with("lines", json!(lines)),
        SymbolError::NoContent => Finding::new(
            Code::BadRequest,
            format!("The new text for {name} is empty."),
            "Send the complete definition. To remove it, use mode \"delete_lines\".",
        ),
        SymbolError::UnclearContent => unclear(
            format!("The new text for {name} does not begin with one definition."),
            "Send the definition with the comments and attributes directly above it, or use mode \
             \"edit\".",
        ),
        SymbolError::NoName => {
            let to = match &edit.change {
                SymbolChange::Rename(to) => to.shown(),
                _ => String::new(),
            };
            Finding::new(
                Code::BadRequest,
                format!("The new name {to:?} is no identifier."),
                "Send letters, digits and `_`, without those of the definitions around it.",
            )
        }
    };
    finding.nothing_changed().at(path)
}

fn described(symbol: &FoundSymbol) -> String {
    format!("The {} {} (line {})", symbol.kind, symbol.name.shown(), symbol.lines.0)
}

fn list(all: &[FoundSymbol]) -> String {
    let one = |symbol: &FoundSymbol| {
        format!("{} {} (line {})", symbol.kind, symbol.name.shown(), symbol.lines.0)
    };
    let mut named: Vec<String> = all.iter().take(MAX_NAMED).map(one).collect();
    if all.len() > MAX_NAMED {
        named.push(format!("{} more", all.len() - MAX_NAMED));
    }
    named.join(", ")
}

fn numbers(lines: &[usize]) -> String {
    let shown: Vec<String> = lines.iter().take(MAX_NAMED).map(usize::to_string).collect();
    let more = if lines.len() > MAX_NAMED { ", …" } else { "" };
    let noun = if lines.len() == 1 { "line" } else { "lines" };
    format!("{noun} {}{more}", shown.join(", "))
}
