//! TOML 1.1, read by the parser of Cargo.

use edt_types::RepoPath;
use toml::de::DeTable;

use crate::judgement::Rejection;

pub(crate) fn toml(text: &str, _: &RepoPath) -> Result<(), Rejection> {
    match DeTable::parse(text) {
        Ok(_) => Ok(()),
        Err(error) => {
            let at = error.span().map_or(text.len(), |bytes| bytes.start);
            Err(Rejection { message: error.message().to_owned(), at })
        }
    }
}
