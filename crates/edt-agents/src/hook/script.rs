//! The installed script of a hook: its template with edt's path and a checksum. The checksum
//! identifies the script without any other record.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use super::call::Hook;

/// The line that identifies a script of edt.
const MARK: &str = "# edt-hook 1";

/// Who wrote a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScriptOwner {
    /// edt, of any version.
    Edt,
    /// edt, and it was changed since.
    EdtModified,
    /// Another program, or the user.
    Other,
}

/// The script of `hook` that calls the program at `edt`.
#[must_use]
pub fn render(hook: &dyn Hook, edt: &Path) -> Vec<u8> {
    let recorded = [b"recorded=".as_slice(), &shell_quoted(edt.as_os_str().as_bytes())].concat();
    let lines = hook
        .script()
        .lines()
        .map(|line| if line == "recorded=''" { &recorded } else { line.as_bytes() });
    let text: Vec<u8> = lines.flat_map(|line| [line, b"\n"].concat()).collect();
    let sealed = format!("{MARK} {:08x}\n", crc32fast::hash(&text));
    replaced(&text, format!("{MARK}\n").as_bytes(), sealed.as_bytes())
}

/// Who wrote the script `bytes`.
#[must_use]
pub fn owner(bytes: &[u8], hook: &dyn Hook) -> ScriptOwner {
    if bytes == hook.script().as_bytes() {
        return ScriptOwner::Edt;
    }
    let line = bytes.split(|&byte| byte == b'\n').find(|line| line.starts_with(b"# edt-hook "));
    let Some(line) = line else { return ScriptOwner::Other };
    let mark = line.iter().rposition(|&byte| byte == b' ').map_or(line, |at| &line[..at]);
    let bare = replaced(bytes, &[line, b"\n"].concat(), &[mark, b"\n"].concat());
    let sum = format!("{:08x}", crc32fast::hash(&bare));
    if line.ends_with(sum.as_bytes()) { ScriptOwner::Edt } else { ScriptOwner::EdtModified }
}

/// `text` as one word of a shell.
#[must_use]
pub fn shell_quoted(text: &[u8]) -> Vec<u8> {
    let mut out = vec![b'\''];
    for &byte in text {
        match byte {
            b'\'' => out.extend(b"'\\''"),
            byte => out.push(byte),
        }
    }
    out.push(b'\'');
    out
}

fn replaced(text: &[u8], what: &[u8], by: &[u8]) -> Vec<u8> {
    match memchr::memmem::find(text, what) {
        Some(at) => [&text[..at], by, &text[at + what.len()..]].concat(),
        None => text.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hook::HOOKS;

    #[test]
    fn a_script_of_any_version_is_identified() {
        for hook in HOOKS {
            let script = render(*hook, Path::new("/opt/it's here/edt"));
            let text = String::from_utf8(script.clone()).unwrap();
            assert!(text.contains("\nrecorded='/opt/it'\\''s here/edt'\n"), "{text}");
            assert_eq!(owner(&script, *hook), ScriptOwner::Edt);
            assert_eq!(
                owner(hook.script().as_bytes(), *hook),
                ScriptOwner::Edt,
                "installed by hand"
            );
            assert_eq!(
                owner(format!("{text}exit 0\n").as_bytes(), *hook),
                ScriptOwner::EdtModified
            );
            assert_eq!(owner(b"#!/bin/sh\nedt check\n", *hook), ScriptOwner::Other);
            let bare = b"#!/bin/sh\n# edt-hook 0\nexec edt old\n";
            let old =
                format!("#!/bin/sh\n# edt-hook 0 {:08x}\nexec edt old\n", crc32fast::hash(bare));
            assert_eq!(owner(old.as_bytes(), *hook), ScriptOwner::Edt, "an older version");
        }
    }
}
