//! The definitions of a file.

use super::symbol_messages;
use edt_edit::symbol::{self, SymbolChange, SymbolEdit};
use edt_edit::symbol_error::FoundSymbol;
use edt_types::{RepoPath, Result};

/// The definitions of the text of `path`, in order.
///
/// # Errors
/// `SYMBOL_UNCLEAR` if edt reads no definitions of such files, or cannot parse this one.
pub fn outline(path: &RepoPath, text: &[u8]) -> Result<Vec<FoundSymbol>> {
    let none =
        SymbolEdit { symbol: String::new(), line: None, change: SymbolChange::Replace(Vec::new()) };
    symbol::outline(path, text)
        .map_err(|fault| symbol_messages::refused(path, &none, &fault).into())
}
