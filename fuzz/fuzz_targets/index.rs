#![no_main]
//! An index of any bytes: it is read or refused. A changed entry is the only one that differs, and
//! what edt writes is read again.

use edt_git::index::{EntryChange, Index, IndexState};
use edt_git::{FileId, FileMode, Oid, TouchedTrees};
use edt_types::RepoPath;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((mode, data)) = data.split_first() else { return };
    let hash_len = if mode % 2 == 0 { 20 } else { 32 };
    let Ok(before) = Index::parse(data.to_vec(), hash_len) else { return };
    let Ok(mut index) = Index::parse(data.to_vec(), hash_len) else { return };
    assert_eq!(index.differences(&before), []);
    let paths = ["a", "src/b.rs", "z"].map(|path| RepoPath::parse(path.as_bytes()).unwrap());
    let path = &paths[usize::from(mode / 2) % paths.len()];
    let oid = if hash_len == 20 {
        Oid::from_bytes_or_panic(&[7; 20])
    } else {
        Oid::from_bytes_or_panic(&[7; 32])
    };
    let file = FileId { oid, mode: FileMode::of(mode & 64 != 0) };
    let seen: Vec<IndexState> = paths.iter().map(|path| before.staged(path)).collect();
    let _ = (index.is_skipped(path), index.case_collision(path), index.is_racy(0));
    let change = EntryChange {
        path: path.clone(),
        file: (mode & 128 == 0).then(|| (file, edt_fuzz::stat())),
    };
    if index.patch(std::slice::from_ref(&change), &TouchedTrees::new()).is_err() {
        assert_eq!(index.differences(&before), []);
        return;
    }
    let written = index.finish(|_| None).to_vec();
    // An index in which names have no order cannot be searched. Git refuses it.
    // Nor does edt change an entry with a conflict.
    if !before.is_whole() || before.staged(path) == IndexState::Unmerged {
        return;
    }
    let again = Index::parse(written, hash_len).expect("edt reads what it wrote");
    let wanted = change.file.map_or(IndexState::Nothing, |(file, _)| IndexState::File(file));
    assert_eq!(again.staged(path), wanted);
    for (other, seen) in paths.iter().zip(seen).filter(|(other, _)| *other != path) {
        assert_eq!(again.staged(other), seen);
    }
    assert!(again.differences(&before).iter().all(|differs| differs == path));
});
