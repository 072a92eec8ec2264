//! Pointers: small texts in place of files whose content is in another store.

/// A store of contents that has pointers in Git.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub enum Store {
    /// Git LFS.
    #[serde(rename = "git-lfs")]
    Lfs,
    /// git-annex.
    #[serde(rename = "git-annex")]
    Annex,
}

impl Store {
    /// Its name, for a sentence.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Store::Lfs => "Git LFS",
            Store::Annex => "git-annex",
        }
    }

    /// The command that puts the content in place of its pointer.
    #[must_use]
    pub fn fetch(self) -> &'static str {
        match self {
            Store::Lfs => "git lfs pull",
            Store::Annex => "git annex get",
        }
    }
}

/// The store whose pointer `text` is, as a whole.
#[must_use]
pub fn store_of(text: &[u8]) -> Option<Store> {
    // Git LFS reads no more of a pointer than this.
    const MAX_BYTES: usize = 1024;
    let text = std::str::from_utf8(text).ok().filter(|text| text.len() < MAX_BYTES)?;
    let mut lines = text.lines();
    let (first, rest): (&str, Vec<&str>) = (lines.next()?, lines.collect());
    let is_key = |key: &str| key.contains("--") && !key.contains(char::is_whitespace);
    if first.strip_prefix("/annex/objects/").is_some_and(is_key) && rest.is_empty() {
        return Some(Store::Annex);
    }
    let version = first.strip_prefix("version ")?;
    let hosts = ["https://git-lfs.github.com/spec/", "https://hawser.github.com/spec/"];
    let has = |key: &str| rest.iter().any(|line| line.starts_with(key));
    let is_field = |line: &&str| {
        ["oid ", "size ", "ext-"].iter().any(|key| line.starts_with(key)) && line.contains(' ')
    };
    let is_pointer = hosts.iter().any(|host| version.starts_with(host))
        && has("oid ")
        && has("size ")
        && rest.iter().all(is_field);
    is_pointer.then_some(Store::Lfs)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LFS: &str =
        "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935\nsize 12345\n";

    #[test]
    fn a_pointer_is_known_as_a_whole() {
        let extended = LFS.replace("oid", "ext-0-foo sha256:00\noid");
        for text in [LFS, &extended, &LFS.replace('\n', "\r\n")] {
            assert_eq!(store_of(text.as_bytes()), Some(Store::Lfs), "{text}");
        }
        let annex = b"/annex/objects/SHA256E-s12--4d7a2146.dat\n";
        assert_eq!(store_of(annex), Some(Store::Annex));
    }

    #[test]
    fn other_texts_are_no_pointers() {
        let longer = format!("{LFS}51,v\n");
        let about = format!("A pointer:\n{LFS}");
        let unfinished = LFS.replace("size 12345\n", "");
        let annex = "/annex/objects/SHA256E-s12--4d7a2146.dat\nmore\n";
        for text in ["", "version 1\n", "/annex/objects/\n", &longer, &about, &unfinished, annex] {
            assert_eq!(store_of(text.as_bytes()), None, "{text}");
        }
    }
}
