//! How much of an edit is on the medium before it is answered.

use std::str::FromStr;

use serde::Deserialize;

/// What a power cut may take of an answered edit; later is safer and slower. A killed process takes nothing at any level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    /// Nothing is waited for: a power cut may take the edits of the last half minute, and leave what is left torn.
    Off,
    /// One record with everything is waited for: after a power cut the next call of edt brings all answered edits back.
    #[default]
    Journal,
    /// Everything is waited for (`syncfs`): after a power cut plain Git finds all answered edits by itself.
    Full,
}

impl Durability {
    /// The names of the levels.
    pub const NAMES: [&'static str; 3] = ["off", "journal", "full"];

    /// The level that Git's `core.fsync` comes to: `off` if it names nothing to sync, `full` if Git syncs the loose objects, the
    /// references or the index that it writes; `None` if it says no more than Git does without it.
    #[must_use]
    pub fn of_git(components: &str) -> Option<Durability> {
        // As Git reads it: what is named with `-` goes from the base, what is named without is added at the end, `none` empties the base.
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
    fn what_git_is_told_to_sync_edt_syncs_too() {
        let of = |text: &str| Durability::of_git(text);
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
