//! A hook's script as it is installed: its template with the program's path, and a checksum by which it is known again without
//! any other record.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use super::Hook;

/// The line by which a script of edt's is known.
const MARK: &str = "# edt-hook 1";

/// Whose script it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// Edt's, as some version of edt wrote it.
    Ours,
    /// Edt's, and changed since.
    Changed,
    /// Somebody else's.
    Foreign,
}

/// The script of `hook` for the program at `edt`.
#[must_use]
pub fn render(hook: &dyn Hook, edt: &Path) -> Vec<u8> {
    let recorded = [b"recorded=".as_slice(), &quoted(edt.as_os_str().as_bytes())].concat();
    let lines = hook
        .script()
        .lines()
        .map(|line| if line == "recorded=''" { &recorded } else { line.as_bytes() });
    let text: Vec<u8> = lines.flat_map(|line| [line, b"\n"].concat()).collect();
    let sealed = format!("{MARK} {:08x}\n", crc32fast::hash(&text));
    replaced(&text, format!("{MARK}\n").as_bytes(), sealed.as_bytes())
}

/// Whose script `bytes` is.
#[must_use]
pub fn whose(bytes: &[u8], hook: &dyn Hook) -> Whose {
    if bytes == hook.script().as_bytes() {
        return Whose::Ours;
    }
    let line = bytes.split(|&byte| byte == b'\n').find(|line| line.starts_with(b"# edt-hook "));
    let Some(line) = line else { return Whose::Foreign };
    let mark = line.iter().rposition(|&byte| byte == b' ').map_or(line, |at| &line[..at]);
    let bare = replaced(bytes, &[line, b"\n"].concat(), &[mark, b"\n"].concat());
    let sum = format!("{:08x}", crc32fast::hash(&bare));
    if line.ends_with(sum.as_bytes()) { Whose::Ours } else { Whose::Changed }
}

/// `text` as one word of the shell's.
#[must_use]
pub fn quoted(text: &[u8]) -> Vec<u8> {
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
    fn a_script_is_known_again_whatever_version_wrote_it() {
        for hook in HOOKS {
            let script = render(*hook, Path::new("/opt/it's here/edt"));
            let text = String::from_utf8(script.clone()).unwrap();
            assert!(text.contains("\nrecorded='/opt/it'\\''s here/edt'\n"), "{text}");
            assert_eq!(whose(&script, *hook), Whose::Ours);
            assert_eq!(whose(hook.script().as_bytes(), *hook), Whose::Ours, "put there by hand");
            assert_eq!(whose(format!("{text}exit 0\n").as_bytes(), *hook), Whose::Changed);
            assert_eq!(whose(b"#!/bin/sh\nedt check\n", *hook), Whose::Foreign);
            let bare = b"#!/bin/sh\n# edt-hook 0\nexec edt old\n";
            let old =
                format!("#!/bin/sh\n# edt-hook 0 {:08x}\nexec edt old\n", crc32fast::hash(bare));
            assert_eq!(whose(old.as_bytes(), *hook), Whose::Ours, "an older version");
        }
    }
}
