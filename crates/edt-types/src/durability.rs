//! How much of an edit is on disk before edt answers.

use std::str::FromStr;

use serde::Deserialize;

/// What a power failure may destroy of an answered edit. Later levels are safer and slower. A
/// killed process loses nothing at any level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    /// edt waits for nothing. A power failure may destroy the edits of the last 30 seconds and
    /// leave torn files.
    Off,
    /// edt waits for one journal record with everything. After a power failure, the next call of
    /// edt restores all answered edits.
    #[default]
    Journal,
    /// edt waits for everything (`syncfs`). After a power failure, plain Git finds all answered
    /// edits without edt.
    Full,
}

impl Durability {
    pub const NAMES: [&'static str; 3] = ["off", "journal", "full"];

    /// The level that a value of Git's `core.fsync` corresponds to: `off` if it syncs nothing,
    /// `full` if Git syncs the loose objects, the refs or the index that it writes, `None` if it
    /// asks for no more than Git's default.
    #[must_use]
    pub fn from_core_fsync(components: &str) -> Option<Durability> {
        // Git's rule: a component with `-` is removed from the base, one without is added at the
        // end, and `none` empties the base.
        let mut base = vec!["pack", "pack-metadata", "commit-graph"];
        let (mut added, mut taken): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
        for word in components.split(',').map(str::trim) {
            if word == "none" {
                base.clear();
                continue;
            }
            let (word, list) = match word.strip_prefix('-') {
                Some(word) => (word, &mut taken),
                None => (word, &mut added),
            };
            list.extend_from_slice(match word {
                "loose-object" => &["loose-object"],
                "pack" => &["pack"],
                "pack-metadata" => &["pack-metadata"],
                "commit-graph" => &["commit-graph"],
                "index" => &["index"],
                "reference" => &["reference"],
                "derived-metadata" => &["pack-metadata", "commit-graph"],
                "objects" => &["loose-object", "pack"],
                "committed" => &["loose-object", "pack", "reference"],
                "added" => &["loose-object", "pack", "reference", "index"],
                "all" => {
                    &["loose-object", "pack", "pack-metadata", "commit-graph", "index", "reference"]
                }
                _ => &[][..],
            });
        }
        base.retain(|part| !taken.contains(part));
        let synced = [base, added].concat();
        if synced.is_empty() {
            return Some(Durability::Off);
        }
        let live = ["loose-object", "index", "reference"].iter().any(|one| synced.contains(one));
        live.then_some(Durability::Full)
    }
}

impl FromStr for Durability {
    type Err = String;

    fn from_str(name: &str) -> Result<Durability, String> {
        match name {
            "off" => Ok(Durability::Off),
            "journal" => Ok(Durability::Journal),
            "full" => Ok(Durability::Full),
            _ => Err(format!("the levels are {}", Durability::NAMES.join(", "))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Durability;

    #[test]
    fn core_fsync_maps_to_a_level() {
        let of = |text: &str| Durability::from_core_fsync(text);
        assert_eq!((of("default"), of("-loose-object"), of("pack")), (None, None, None));
        assert_eq!(
            (of("none"), of("none,-pack"), of("-pack,-derived-metadata")),
            (Some(Durability::Off), Some(Durability::Off), Some(Durability::Off))
        );
        for full in [
            "all",
            "all,none",
            "committed",
            "added,-index",
            "index,-index",
            "index",
            "none,reference",
            "loose-object",
        ] {
            assert_eq!(of(full), Some(Durability::Full), "{full}");
        }
    }
}
