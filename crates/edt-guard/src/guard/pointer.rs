//! A pointer stands for content that is not in the worktree. An edit of it does not edit the content.

use super::check::{Guard, GuardContext, GuardOutput};
use super::subject::Subject;
use edt_types::pointer::{Store, store_of};
use edt_types::{Code, Finding};

/// The guard `lfs_pointer`.
#[derive(Debug)]
pub struct LfsPointer;

impl Guard for LfsPointer {
    fn name(&self) -> &'static str {
        "lfs_pointer"
    }

    fn rule(&self) -> &'static str {
        "A pointer of Git LFS or git-annex, whose content is not in the worktree, would become \
         anything but another pointer or no file."
    }

    fn check(&self, file: &Subject<'_>, _: &GuardContext<'_>) -> Vec<GuardOutput> {
        let found = detect(file).map(|store| explain(file, store));
        GuardOutput::of(self.name(), found)
    }
}

/// The store whose pointer would become another text.
#[must_use]
pub fn detect(subject: &Subject<'_>) -> Option<Store> {
    let store = store_of(subject.before?)?;
    (store_of(subject.after?) != Some(store)).then_some(store)
}

fn explain(subject: &Subject<'_>, store: Store) -> Finding {
    let (path, name) = (subject.path, store.name());
    Finding::new(
        Code::LfsPointer,
        format!(
            "{path} is a pointer of {name}: its content is not in this worktree, and this text \
             would replace it."
        ),
        format!("Get the content with `{}` and edit that.", store.fetch()),
    )
    .nothing_changed()
    .or_override(
        "If the file should really have this text in place of the content, repeat with \
         allow: [\"lfs_pointer\"].",
    )
    .at(path)
    .with("store", name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use edt_types::RepoPath;

    const LFS: &str = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n";
    const ANNEX: &str = "/annex/objects/SHA256E-s12--4d7a2146.dat\n";

    fn found(before: &str, after: Option<&str>) -> Option<Store> {
        let path = RepoPath::parse(b"d.csv").unwrap();
        let limit = std::time::Duration::from_secs(5);
        let (before, after) = (Some(before.as_bytes()), after.map(str::as_bytes));
        detect(&Subject::new(&path, None, before, after, Vec::new(), limit))
    }

    #[test]
    fn a_pointer_is_not_edited_as_text() {
        for (pointer, store) in [(LFS, Store::Lfs), (ANNEX, Store::Annex)] {
            let longer = format!("{pointer}51,v\n");
            assert_eq!(found(pointer, Some(&longer)), Some(store));
            assert_eq!(found(pointer, Some("1,v\n")), Some(store));
            assert_eq!(found(pointer, Some("")), Some(store));
        }
    }

    #[test]
    fn a_pointer_may_become_another_one_or_go() {
        assert_eq!(found(LFS, Some(&LFS.replace("4d7a", "00ff"))), None);
        assert_eq!(found(ANNEX, Some(&ANNEX.replace("4d7a", "00ff"))), None);
        assert_eq!(found(LFS, None), None);
        assert_eq!(found(&format!("{LFS}51,v\n"), Some("1,v\n")), None);
    }
}
