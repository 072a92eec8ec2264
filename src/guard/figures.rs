//! What was measured of each guard, as `benches/guards/figures.toml` has it.

use std::collections::BTreeMap;
use std::sync::OnceLock;

/// The figures of the guard `name`, in a sentence.
#[must_use]
pub fn of(name: &str) -> &'static str {
    all().get(name).map_or("not measured", String::as_str)
}

/// The guards that have figures.
pub fn names() -> impl Iterator<Item = &'static str> {
    all().keys().map(String::as_str)
}

fn all() -> &'static BTreeMap<String, String> {
    static ALL: OnceLock<BTreeMap<String, String>> = OnceLock::new();
    // A table that cannot be read has no figures; the test of this folder says so.
    ALL.get_or_init(|| {
        toml::from_str(include_str!("../../benches/guards/figures.toml")).unwrap_or_default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_can_be_read() {
        assert!(all().len() > 5 && of("no such guard") == "not measured");
    }
}
