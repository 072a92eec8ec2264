#![no_main]
//! Any `edt.toml` of the user and of a repository: it is read or refused, and that of the
//! repository loosens nothing that the user set.

use edt_guard::policy::Policy;
use edt_types::RepoPath;
use libfuzzer_sys::fuzz_target;

const USERS: &str = "[[protect]]\npaths = [\"ci/**\"]\noverride = \"never\"\n\n\
    [guards.size_reduction]\nmode = \"refuse\"\noverride = \"never\"\n";

fuzz_target!(|data: &[u8]| {
    if let Ok(text) = std::str::from_utf8(data) {
        let _ = Policy::of_recorded(Some(text), None);
    }
    let path = RepoPath::parse(b"ci/a/b.yml").unwrap();
    let users = Policy::of_recorded(Some(USERS), None).expect("the user's file is right");
    let Ok(both) = Policy::of_recorded(Some(USERS), Some(data)) else { return };
    assert!(both.protects(&path) && both.is_listed(&path));
    for place in [None, Some(&path)] {
        let of = |policy: &Policy| policy.rule("size_reduction", place).mode;
        assert!(of(&both) >= of(&users));
    }
});
