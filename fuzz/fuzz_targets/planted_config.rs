#![no_main]
//! Any configuration of a Git directory that a program made: where edt finds it plain, another
//! reader finds no key that names a program.

use edt_git::planted::is_plain_config;
use libfuzzer_sys::fuzz_target;

/// Keys that name a program, a file of keys or another Git directory: section and key.
const NAMING: [(&str, &str); 22] = [
    ("core", "fsmonitor"),
    ("core", "sshcommand"),
    ("core", "pager"),
    ("core", "editor"),
    ("core", "hookspath"),
    ("core", "askpass"),
    ("core", "gitproxy"),
    ("core", "attributesfile"),
    ("core", "worktree"),
    ("sequence", "editor"),
    ("diff", "external"),
    ("diff", "textconv"),
    ("diff", "command"),
    ("filter", "clean"),
    ("filter", "smudge"),
    ("filter", "process"),
    ("merge", "driver"),
    ("gpg", "program"),
    ("credential", "helper"),
    ("include", "path"),
    ("includeif", "path"),
    ("uploadpack", "packobjectshook"),
];

fuzz_target!(|data: &[u8]| {
    if !is_plain_config(data, |_| false) {
        return;
    }
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(file) = gix_config::File::try_from(text) else { return };
    for section in file.sections() {
        let name = section.header().name().to_string().to_ascii_lowercase();
        for key in section.body().value_names() {
            let key = key.to_ascii_lowercase();
            assert!(!NAMING.contains(&(&name, &key)), "{name}.{key}");
            assert!(!key.ends_with("pager"), "{name}.{key}");
        }
    }
});
