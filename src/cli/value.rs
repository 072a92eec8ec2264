//! Parsers and checks of argument values.

use clap::builder::{PossibleValuesParser, TypedValueParser};

use edt_types::{Code, Finding, Result};

/// Accepts the names in `all`. Their type belongs to a library, which does not know `clap`.
pub(super) fn one_of<T: Copy + Send + Sync + 'static>(
    all: impl IntoIterator<Item = (&'static str, T)>,
) -> impl TypedValueParser<Value = T> {
    let all: Vec<(&'static str, T)> = all.into_iter().collect();
    let names: Vec<&'static str> = all.iter().map(|(name, _)| *name).collect();
    PossibleValuesParser::new(names).try_map(move |name| {
        let found = all.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| *value).ok_or_else(|| format!("{name:?} is not one of the values"))
    })
}

/// Refuses a page size of 0: such a page has no entries and no position to continue from.
pub(super) fn require_positive(flag: &str, most: u64) -> Result<()> {
    if most > 0 {
        return Ok(());
    }
    let message = format!("{flag} is 0, so no entry could be shown.");
    Err(Finding::new(Code::BadRequest, message, format!("Send {flag} with 1 or more, or omit it."))
        .into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_of_nothing_is_refused() {
        assert_eq!(require_positive("max", 1), Ok(()));
        assert_eq!(
            require_positive("max", 0),
            Err(Finding::new(
                Code::BadRequest,
                "max is 0, so no entry could be shown.",
                "Send max with 1 or more, or omit it."
            )
            .into())
        );
    }
}
