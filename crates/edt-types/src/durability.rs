//! Whether an edit is on stable storage before edt answers.

use std::str::FromStr;

use serde::Deserialize;

/// What a power failure may destroy of an answered edit. A killed process loses nothing at either
/// level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    /// edt waits for nothing. A power failure may destroy the edits of the last 30 seconds and
    /// leave torn files. For scratch disks and CI.
    Off,
    /// edt waits until the edit is on stable storage. After a power failure, plain Git finds every
    /// answered edit.
    #[default]
    On,
}

impl Durability {
    pub const NAMES: [&'static str; 2] = ["off", "on"];

    /// The level that a value of Git's `core.fsync` asks for: `Off` if Git syncs nothing.
    #[must_use]
    pub fn from_core_fsync(components: &str) -> Durability {
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
        if base.is_empty() && added.is_empty() { Durability::Off } else { Durability::On }
    }
}

impl FromStr for Durability {
    type Err = String;

    fn from_str(name: &str) -> Result<Durability, String> {
        match name {
            "off" => Ok(Durability::Off),
            "on" => Ok(Durability::On),
            _ => Err(format!("the levels are {}", Durability::NAMES.join(", "))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Durability;

    #[test]
    fn core_fsync_maps_to_a_level() {
        for off in ["none", "none,-pack", "-pack,-derived-metadata"] {
            assert_eq!(Durability::from_core_fsync(off), Durability::Off, "{off}");
        }
        for on in ["default", "-loose-object", "pack", "all", "all,none", "none,reference"] {
            assert_eq!(Durability::from_core_fsync(on), Durability::On, "{on}");
        }
    }
}
