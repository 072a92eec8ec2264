//! Reflogs: one write a line, so that a kill cannot tear it; what a power cut tore is mended.

use super::Oid;
use super::identity::Role;
use super::repo::{InHead, Repo};
use super::swap::Swap;
use crate::base::Result;
use crate::io::file::{File, Open};
use crate::io::{failed, whole};
use std::path::{Path, PathBuf};

/// Whether a reflog line may be there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line {
    /// It is new.
    New,
    /// A crash may have come after it, or in the middle of it: it is written unless it is there.
    Once,
}

/// A line that a log should have: where the ref came from, where it went, why.
pub type Wanted<'a> = (Oid, Oid, &'a str);

impl Repo {
    /// Writes the reflog lines of `swap`.
    ///
    /// # Errors
    /// `IO_ERROR`, `GIT_DIR_READ_ONLY`.
    pub fn log_swap(&self, swap: &Swap<'_>, line: Line) -> Result<()> {
        let names = [Some(swap.name), (swap.head == InHead::Yes).then_some("HEAD")];
        names
            .into_iter()
            .flatten()
            .try_for_each(|name| self.log_ref(name, swap.from, swap.to, swap.log, line))
    }

    /// Appends one line to the log of `name`, where Git would write one.
    ///
    /// # Errors
    /// `IO_ERROR`, `GIT_DIR_READ_ONLY`.
    pub fn log_ref(&self, name: &str, from: Oid, to: Oid, log: &str, once: Line) -> Result<()> {
        let path = self.log_path(name);
        let wanted = self
            .inner
            .config_snapshot()
            .string("core.logAllRefUpdates")
            .map(|value| value.to_string().to_ascii_lowercase());
        let create = !matches!(wanted.as_deref(), Some("false" | "no" | "off" | "0"));
        let file = match File::open(&path, if create { Open::AppendMade } else { Open::Append }) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && create => {
                let folder = path.parent().unwrap_or(&path);
                whole::make_folder(folder).map_err(|error| failed("make", folder, &error))?;
                let open = File::open(&path, Open::AppendMade);
                open.map_err(|error| failed("open the log", &path, &error))?
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(failed("open the log", &path, &error).into()),
        };
        let mut line = format!("{from} {to} ").into_bytes();
        line.extend_from_slice(&self.signature(Role::Committer)?);
        let told = line.len();
        line.push(b'\t');
        line.extend(log.bytes().map(|b| if b == b'\n' { b' ' } else { b }));
        line.push(b'\n');
        if once == Line::Once {
            let tail = tail(&file, &path)?;
            let same = |line: &str| {
                line.starts_with(&format!("{from} {to} ")) && line.ends_with(&format!("\t{log}"))
            };
            let torn = tail.rsplit('\n').next().unwrap_or_default().as_bytes();
            if tail[..tail.len() - torn.len()].lines().any(same) {
                return Ok(());
            }
            // A last line that a crash tore is completed if it is this one, else ended.
            match rest(&line, torn, told) {
                Some(rest) => line = rest.to_vec(),
                None => line.insert(0, b'\n'),
            }
        }
        file.write_all(&line).map_err(|error| failed("write the log", &path, &error).into())
    }

    /// Mends the log of `name` after a power cut: a torn end is cut off, and those of `wanted` that are missing after the last one that
    /// is there are written again. A log that knows none of them and does not lead up to one is left alone.
    ///
    /// # Errors
    /// `IO_ERROR`, `GIT_DIR_READ_ONLY`.
    pub fn mend_log(&self, name: &str, wanted: &[Wanted<'_>]) -> Result<()> {
        let path = self.log_path(name);
        let Ok(bytes) = std::fs::read(&path) else { return Ok(()) };
        let hex = self.null().as_slice().len() * 2;
        let mut whole = bytes[..whole_lines(&bytes, hex)].to_vec();
        // A hole in the middle: what was written in one block is lost, and what came after it is there.
        if whole.contains(&0) {
            let lines = whole.split_inclusive(|b| *b == b'\n').filter(|line| is_line(line, hex));
            whole = lines.flatten().copied().collect();
            whole::put_like(&path, &whole)
                .map_err(|error| failed("mend the log", &path, &error))?;
        } else if whole.len() < bytes.len() {
            let cut =
                File::open(&path, Open::There).and_then(|file| file.truncate(whole.len() as u64));
            cut.map_err(|error| failed("mend the log", &path, &error))?;
        }
        let text = String::from_utf8_lossy(&whole);
        let is_there = |(from, to, log): &Wanted<'_>| {
            let (start, end) = (format!("{from} {to} "), format!("\t{log}"));
            text.lines().any(|line| line.starts_with(&start) && line.ends_with(&end))
        };
        let last = text.lines().last().and_then(|line| line.split(' ').nth(1)).unwrap_or_default();
        let last = Oid::from_hex(last.as_bytes()).ok();
        let next = match wanted.iter().rposition(is_there) {
            Some(at) => Some(at + 1),
            None => wanted.iter().position(|(from, ..)| Some(*from) == last),
        };
        let missing = next.map_or(&[][..], |next| &wanted[next..]);
        missing
            .iter()
            .try_for_each(|(from, to, log)| self.log_ref(name, *from, *to, log, Line::New))
    }

    /// Where the last whole line of the log of `name` says that the ref went.
    #[must_use]
    pub fn last_logged(&self, name: &str) -> Option<Oid> {
        let bytes = std::fs::read(self.log_path(name)).ok()?;
        let whole = &bytes[..whole_lines(&bytes, self.null().as_slice().len() * 2)];
        let line = whole.strip_suffix(b"\n")?.rsplit(|b| *b == b'\n').next()?;
        Oid::from_hex(line.split(|b| *b == b' ').nth(1)?).ok()
    }

    fn log_path(&self, name: &str) -> PathBuf {
        let dir = if name == "HEAD" { self.git_dir() } else { self.common_dir() };
        dir.join("logs").join(name)
    }
}

/// What is still to be written of `line`, which tells its moment before `told`, after its beginning `torn`: the moment may be another.
fn rest<'l>(line: &'l [u8], torn: &[u8], told: usize) -> Option<&'l [u8]> {
    let moment = memchr::memrchr(b'>', &line[..told]).map_or(told, |at| at + 1);
    let differs = torn.iter().zip(line).position(|(torn, line)| torn != line);
    let same = differs.is_none_or(|at| at >= moment)
        && torn.iter().skip(told).eq(line.iter().skip(told).take(torn.len().saturating_sub(told)));
    (same && torn.len() < line.len()).then(|| &line[torn.len()..])
}

/// Whether it is a whole line of a log.
fn is_line(line: &[u8], hex: usize) -> bool {
    let ids = line
        .split(|b| *b == b' ')
        .take(2)
        .filter(|id| id.len() == hex && id.iter().all(u8::is_ascii_hexdigit));
    line.ends_with(b"\n") && !line.contains(&0) && ids.count() == 2
}

/// How many bytes of a log come before what a power cut left torn or zero at its end.
fn whole_lines(bytes: &[u8], hex: usize) -> usize {
    let mut end = bytes.len();
    while end > 0 {
        let start = bytes[..end - 1].iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
        let line = &bytes[start..end];
        let ids = line
            .split(|b| *b == b' ')
            .take(2)
            .filter(|id| id.len() == hex && id.iter().all(u8::is_ascii_hexdigit));
        if line.ends_with(b"\n") && !line.contains(&0) && ids.count() == 2 {
            break;
        }
        end = start;
    }
    end
}

/// The last lines of a log.
fn tail(file: &File, path: &Path) -> Result<String> {
    const TAIL: u64 = 4096;
    let wrap = |error: std::io::Error| failed("read the log", path, &error);
    let len = file.len().map_err(wrap)?;
    let mut tail = vec![0; usize::try_from(len.min(TAIL)).unwrap_or(0)];
    file.read_exact_at(&mut tail, len.saturating_sub(TAIL)).map_err(wrap)?;
    Ok(String::from_utf8_lossy(&tail).into_owned())
}

#[cfg(test)]
mod tests {
    use super::{rest, whole_lines};

    #[test]
    fn a_torn_line_is_completed_if_it_is_the_same_but_for_its_moment() {
        let line = b"11 22 A <a@b> 1700000055 +0000\tedt undo\n";
        let completed = |torn: &[u8]| rest(line, torn, 30).map(|rest| [torn, rest].concat());
        assert_eq!(completed(b"").as_deref(), Some(line.as_slice()));
        assert_eq!(completed(&line[..4]).as_deref(), Some(line.as_slice()));
        assert_eq!(completed(&line[..35]).as_deref(), Some(line.as_slice()));
        let earlier = b"11 22 A <a@b> 1699999999 +0000\tedt undo\n";
        assert_eq!(
            completed(&earlier[..22]).as_deref(),
            Some(b"11 22 A <a@b> 1699999955 +0000\tedt undo\n".as_slice())
        );
        assert_eq!(completed(&earlier[..35]).as_deref(), Some(earlier.as_slice()));
        for other in [b"11 23".as_slice(), b"11 22 B", b"11 22 A <a@b> 1700000055 +0000\tedt redo"]
        {
            assert_eq!(completed(other), None, "{}", String::from_utf8_lossy(other));
        }
    }

    #[test]
    fn a_torn_end_is_told_from_whole_lines() {
        let line = format!("{0} {0} A <a@b> 1 +0000\twhy\n", "0".repeat(40));
        let twice = line.repeat(2);
        assert_eq!(whole_lines(twice.as_bytes(), 40), twice.len());
        for torn in ["\0\0\0", "\0\0\n", "00", "000 111 A", &line[..60]] {
            assert_eq!(
                whole_lines(format!("{twice}{torn}").as_bytes(), 40),
                twice.len(),
                "{torn:?}"
            );
        }
        assert_eq!((whole_lines(b"", 40), whole_lines(b"\0\0", 40)), (0, 0));
    }
}
