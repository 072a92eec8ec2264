//! Reflogs. What one transaction logs is written in one call, so that a kill cannot tear it, and a
//! power failure tears only its end.

use super::Oid;
use super::identity::Role;
use super::reftable::{NewLogEntry, stored};
use super::repo::Repo;
use edt_io::file::{File, OpenMode};
use edt_io::{failed, fs};
use edt_types::Result;
use std::path::{Path, PathBuf};

/// How many entries of a log in tables may follow one that recovery looks for.
const MOST_LATER: usize = 100;

/// How a reflog line is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReflogWrite {
    /// The line is new.
    Append,
    /// After a crash: only the part that the log does not have yet.
    AppendIfMissing,
}

/// An expected line of a log: the old value, the new value, the message.
pub type ReflogLine<'a> = (Oid, Oid, &'a str);

/// A move of a ref, as its log has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoggedMove {
    pub from: Oid,
    pub to: Oid,
    /// Whether the message is edt's.
    pub by_edt: bool,
    /// When it was written, in seconds since 1970; 0 if the line does not say.
    pub time: i64,
}

/// What distinguishes a move from the others of its log: the two values and the time.
pub type MoveId = (Oid, Oid, i64);

impl LoggedMove {
    #[must_use]
    pub fn id(&self) -> MoveId {
        (self.from, self.to, self.time)
    }

    /// `None` if it is no line of a log.
    fn parse(line: &[u8]) -> Option<LoggedMove> {
        let mut ids = line.split(|b| *b == b' ').map(Oid::from_hex);
        let (from, to) = (ids.next()?.ok()?, ids.next()?.ok()?);
        let tab = memchr::memchr(b'\t', line).unwrap_or(line.len());
        let (head, message) = line.split_at(tab);
        let time =
            head.rsplit(|b| *b == b' ').nth(1).and_then(|time| std::str::from_utf8(time).ok());
        let time = time.and_then(|time| time.parse().ok()).unwrap_or(0);
        Some(LoggedMove { from, to, by_edt: message.starts_with(b"\tedt "), time })
    }
}

/// Open logs, with their paths.
#[derive(Debug, Default)]
pub struct Reflogs(Vec<(PathBuf, File)>);

impl Repo {
    /// Opens the logs of `names`, so that a log that cannot be written is known before anything is
    /// changed. A log that does not exist is not created yet.
    ///
    /// # Errors
    /// `IO_ERROR`, `GIT_DIR_READ_ONLY`.
    pub fn open_logs<'n>(&self, names: impl Iterator<Item = &'n str>) -> Result<Reflogs> {
        let mut open = Vec::new();
        if self.has_tables() {
            return Ok(Reflogs(open));
        }
        for name in names {
            let path = self.log_path(name);
            match File::open(&path, OpenMode::Append) {
                Ok(file) => open.push((path, file)),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    if self.creates_logs()
                        && let Some(above) = path.ancestors().skip(1).find(|above| above.exists())
                    {
                        fs::check_writable(above)
                            .map_err(|error| failed("make a log in", above, &error))?;
                    }
                }
                Err(error) => return Err(failed("open the log", &path, &error).into()),
            }
        }
        Ok(Reflogs(open))
    }

    /// Whether Git would create a log that does not exist.
    #[must_use]
    pub fn creates_logs(&self) -> bool {
        let wanted = self.inner.config_snapshot().string("core.logAllRefUpdates");
        let wanted = wanted.map(|value| value.to_string().to_ascii_lowercase());
        !matches!(wanted.as_deref(), Some("false" | "no" | "off" | "0"))
    }

    /// The log at `path` to append to; `None` if Git would write none.
    fn open_log(&self, path: &Path) -> Result<Option<File>> {
        let create = self.creates_logs();
        let is_new = self.is_shared() && !path.exists();
        let how = if create { OpenMode::AppendOrCreate } else { OpenMode::Append };
        let file = match File::open(path, how) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && create => {
                let directory = path.parent().unwrap_or(path);
                fs::make_dir(directory).map_err(|error| failed("make", directory, &error))?;
                let open = File::open(path, OpenMode::AppendOrCreate);
                open.map_err(|error| failed("open the log", path, &error))?
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed("open the log", path, &error).into()),
        };
        if is_new {
            self.share(path)?;
        }
        Ok(Some(file))
    }

    /// Appends `lines` to the log of `name`, if Git would write one. The log is one of `open`, or is
    /// opened now. Logs in tables are not opened.
    ///
    /// # Errors
    /// `IO_ERROR`, `GIT_DIR_READ_ONLY`.
    pub fn log_ref(
        &self,
        open: &Reflogs,
        name: &str,
        lines: &[ReflogLine<'_>],
        write: ReflogWrite,
    ) -> Result<()> {
        if self.has_tables() {
            let text = self.log_text(name).unwrap_or_default();
            let text = String::from_utf8_lossy(&text);
            let is_there = |line: &ReflogLine<'_>| {
                write == ReflogWrite::AppendIfMissing
                    && text.lines().rev().take(MOST_LATER).any(|there| is_of(there, *line))
            };
            let new = lines.iter().filter(|line| !is_there(line));
            let new = new.map(|&(from, to, message)| NewLogEntry { name, from, to, message });
            let new: Vec<_> = new.collect();
            return if new.is_empty() { Ok(()) } else { self.change_refs(&[], &new) };
        }
        let path = self.log_path(name);
        let opened;
        let file = if let Some((_, file)) = open.0.iter().find(|(open, _)| *open == path) {
            file
        } else {
            let Some(file) = self.open_log(&path)? else { return Ok(()) };
            opened = file;
            &opened
        };
        let signature = self.signature(Role::Committer)?;
        let mut bytes = Vec::new();
        match write {
            ReflogWrite::Append => {
                lines.iter().for_each(|line| bytes.extend(text(*line, &signature)));
            }
            ReflogWrite::AppendIfMissing => {
                let tail = tail(file, &path)?;
                let torn = tail.rsplit('\n').next().unwrap_or_default();
                let complete = &tail[..tail.len() - torn.len()];
                let missing =
                    |line: &&ReflogLine<'_>| !complete.lines().any(|there| is_of(there, **line));
                let missing: Vec<_> = lines.iter().filter(missing).collect();
                if missing.is_empty() {
                    return Ok(());
                }
                missing.iter().for_each(|line| bytes.extend(text(**line, &signature)));
                // A torn last line is completed if it is the beginning of this line, and removed if
                // a power failure left zeros. Otherwise it gets a line end.
                if torn.contains('\0') {
                    let complete = file.len().map(|len| len - torn.len() as u64);
                    let cut = complete.and_then(|complete| file.truncate(complete));
                    cut.map_err(|error| failed("repair the log", &path, &error))?;
                } else {
                    let header_end = header(*missing[0], &signature).len();
                    match missing_part(&bytes, torn.as_bytes(), header_end) {
                        Some(rest) => bytes = rest.to_vec(),
                        None => bytes.insert(0, b'\n'),
                    }
                }
            }
        }
        file.write_all(&bytes).map_err(|error| failed("write the log", &path, &error).into())
    }

    /// The last complete line of the log of `name`.
    #[must_use]
    pub fn last_move(&self, name: &str) -> Option<LoggedMove> {
        let bytes = self.log_text(name)?;
        LoggedMove::parse(
            self.complete_lines(&bytes).strip_suffix(b"\n")?.rsplit(|b| *b == b'\n').next()?,
        )
    }

    /// The complete lines of the log of `name` that followed `last`, the newest first, each with its
    /// message. If the log has lost that line, those that were written at `time` (in seconds since
    /// 1970) or later.
    #[must_use]
    pub fn moves_since(
        &self,
        name: &str,
        last: Option<MoveId>,
        time: i64,
    ) -> Vec<(LoggedMove, String)> {
        let text = self.log_text(name).unwrap_or_default();
        let mut lines = Vec::new();
        for line in self.complete_lines(&text).rsplit(|b| *b == b'\n') {
            let Some(logged) = LoggedMove::parse(line) else { continue };
            if Some(logged.id()) == last {
                return lines;
            }
            let message = line.splitn(2, |b| *b == b'\t').nth(1).unwrap_or_default();
            lines.push((logged, String::from_utf8_lossy(message).into_owned()));
        }
        lines.retain(|(line, _)| line.time >= time);
        lines
    }

    fn complete_lines<'l>(&self, log: &'l [u8]) -> &'l [u8] {
        &log[..complete_len(log, self.null().as_slice().len() * 2)]
    }

    /// The log of `name`; `None` if it has none that can be read.
    pub(super) fn log_text(&self, name: &str) -> Option<Vec<u8>> {
        match self.tables_of(name).ok()? {
            Some(tables) => tables.log(name).ok(),
            None => std::fs::read(self.log_path(name)).ok(),
        }
    }

    /// The file of the log of `name`.
    #[must_use]
    pub fn log_path(&self, name: &str) -> PathBuf {
        let dir = if name == "HEAD" { self.git_dir() } else { self.common_dir() };
        dir.join("logs").join(name)
    }
}

/// The log of HEAD.
#[derive(Debug)]
pub struct HeadLog(pub(super) Vec<u8>);

impl HeadLog {
    /// The branch `edt/…` that the user switched HEAD away from, if edt moved HEAD no more since. The
    /// name is without `refs/heads/`.
    #[must_use]
    pub fn switched_from(&self) -> Option<String> {
        for line in String::from_utf8_lossy(&self.0).lines().rev() {
            let Some((head, message)) = line.split_once('\t') else { continue };
            if message.starts_with("edt ") {
                return None;
            }
            let Some((from, to)) = message
                .strip_prefix("checkout: moving from ")
                .and_then(|branches| branches.split_once(" to "))
            else {
                continue;
            };
            let mut ids = head.split(' ');
            let is_edts = ids.next() == ids.next();
            if from.starts_with("edt/") && !is_edts {
                return Some(from.to_owned());
            }
            if is_edts && (from.starts_with("edt/") || to.starts_with("edt/")) {
                return None;
            }
        }
        None
    }

    /// The newest move, if a reset made it, with the revision that it names.
    #[must_use]
    pub fn last_reset(&self) -> Option<(LoggedMove, String)> {
        for line in self.0.rsplit(|b| *b == b'\n') {
            let Some(logged) = LoggedMove::parse(line) else { continue };
            let message = line.splitn(2, |b| *b == b'\t').nth(1)?;
            let to = message.strip_prefix(b"reset: moving to ")?;
            // A later reset to the same commit moves nothing.
            if logged.from != logged.to {
                return Some((logged, String::from_utf8_lossy(to).into_owned()));
            }
        }
        None
    }
}

/// A line of a log up to its message.
fn header((from, to, _): ReflogLine<'_>, signature: &[u8]) -> Vec<u8> {
    [format!("{from} {to} ").as_bytes(), signature].concat()
}

fn text(line: ReflogLine<'_>, signature: &[u8]) -> Vec<u8> {
    let mut text = header(line, signature);
    text.push(b'\t');
    text.extend(line.2.bytes().map(|b| if b == b'\n' { b' ' } else { b }));
    text.push(b'\n');
    text
}

/// Whether `line` of a log says this. A table has the beginning of a long message.
fn is_of(line: &str, (from, to, log): ReflogLine<'_>) -> bool {
    let says = |log: &str| line.ends_with(&format!("\t{log}"));
    line.starts_with(&format!("{from} {to} ")) && (says(log) || says(&stored(log)))
}

/// The rest of `line` after its torn beginning `torn`. The two may differ in their time stamp,
/// which ends before `header_end`.
fn missing_part<'l>(line: &'l [u8], torn: &[u8], header_end: usize) -> Option<&'l [u8]> {
    let time_start = memchr::memrchr(b'>', &line[..header_end]).map_or(header_end, |at| at + 1);
    let differs = torn.iter().zip(line).position(|(torn, line)| torn != line);
    let same = differs.is_none_or(|at| at >= time_start)
        && torn
            .iter()
            .skip(header_end)
            .eq(line.iter().skip(header_end).take(torn.len().saturating_sub(header_end)));
    (same && torn.len() < line.len()).then(|| &line[torn.len()..])
}

/// Whether it is a complete line of a log, as Git requires it: two ids, a committer, a time and a
/// zone.
fn is_line(line: &[u8], hex: usize) -> bool {
    let mut ids = line.splitn(3, |b| *b == b' ');
    let has_ids = ids.by_ref().take(2).filter(|id| is_hex(id, hex)).count() == 2;
    let committer = ids.next().unwrap_or_default();
    let after_mail =
        committer.splitn(2, |b| *b == b'>').nth(1).and_then(|it| it.strip_prefix(b" "));
    let mut words = after_mail.unwrap_or_default().splitn(2, |b| *b == b' ');
    let time = words.next().unwrap_or_default();
    let has_zone = words.next().is_some_and(|zone| {
        matches!(zone, [b'+' | b'-', digits @ ..] if digits.iter().take_while(|b| b.is_ascii_digit()).count() >= 4)
    });
    let has_time = !time.is_empty() && time.iter().all(u8::is_ascii_digit);
    has_ids && has_time && has_zone && line.ends_with(b"\n") && !line.contains(&0)
}

fn is_hex(id: &[u8], len: usize) -> bool {
    id.len() == len && id.iter().all(u8::is_ascii_hexdigit)
}

/// The length of a log without the torn or zero bytes that a power failure left at its end.
fn complete_len(bytes: &[u8], hex: usize) -> usize {
    let mut end = bytes.len();
    while end > 0 {
        let start = bytes[..end - 1].iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
        if is_line(&bytes[start..end], hex) {
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
    use super::{complete_len, is_of, missing_part, stored};
    use crate::Oid;

    #[test]
    fn an_entry_of_a_table_has_the_beginning_of_a_long_message() {
        let (from, to) = (Oid::from_bytes_or_panic(&[1; 20]), Oid::from_bytes_or_panic(&[2; 20]));
        let log = "a long\nmessage ".repeat(200);
        let line = |message: &str| format!("{from} {to} A <a@b> 1700000055 +0000\t{message}");
        assert!(stored(&log).len() == 1024 && is_of(&line(&stored(&log)), (from, to, &log)));
        assert!(!is_of(&line(&log[..100]), (from, to, &log)));
    }

    #[test]
    fn a_torn_line_is_completed_if_only_its_time_stamp_differs() {
        let line = b"11 22 A <a@b> 1700000055 +0000\tedt undo\n";
        let completed =
            |torn: &[u8]| missing_part(line, torn, 30).map(|rest| [torn, rest].concat());
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
    fn a_torn_end_is_not_counted_as_complete_lines() {
        let line = format!("{0} {0} A <a@b> 1 +0000\twhy\n", "0".repeat(40));
        let twice = line.repeat(2);
        assert_eq!(complete_len(twice.as_bytes(), 40), twice.len());
        for torn in ["\0\0\0", "\0\0\n", "00", "000 111 A", &line[..60]] {
            assert_eq!(
                complete_len(format!("{twice}{torn}").as_bytes(), 40),
                twice.len(),
                "{torn:?}"
            );
        }
        assert_eq!((complete_len(b"", 40), complete_len(b"\0\0", 40)), (0, 0));
    }

    use super::*;
    use edt_testkit::ScratchRepo;

    const NAME: &str = "refs/heads/x";

    fn oid(byte: u8) -> Oid {
        Oid::from_bytes_or_panic(&[byte; 20])
    }

    fn opened(scratch: &ScratchRepo) -> Repo {
        Repo::open(scratch.path()).unwrap()
    }

    #[test]
    fn a_torn_line_is_no_move() {
        let scratch = ScratchRepo::with(&[("a", "1")]);
        let repo = opened(&scratch);
        let (from, to) = (oid(1), oid(2));
        let line = format!("{from} {to} A <a@b> 1700000055 +0000\tcheckout: moving from a to b\n");
        let moves = |log: &str| {
            std::fs::create_dir_all(repo.git_dir().join("logs")).unwrap();
            std::fs::write(repo.log_path("HEAD"), log).unwrap();
            repo.moves_since("HEAD", None, 0).len()
        };
        assert_eq!(moves(&line), 1);
        assert_eq!(moves(&format!("{line}{}", &line[..line.len() - 3])), 1);
    }

    fn log_of(repo: &Repo) -> String {
        std::fs::read_to_string(repo.log_path(NAME)).unwrap_or_default()
    }

    /// The messages of the log with the first digits of both values.
    fn lines(repo: &Repo) -> Vec<String> {
        let shown = |line: &str| {
            let (head, message) = line.split_once('\t').unwrap();
            format!("{} {} {message}", &head[..2], &head[41..43])
        };
        log_of(repo).lines().map(shown).collect()
    }

    fn write(repo: &Repo, from: u8, to: u8, log: &str, how: ReflogWrite) {
        repo.log_ref(&Reflogs::default(), NAME, &[(oid(from), oid(to), log)], how).unwrap();
    }

    #[test]
    fn a_line_has_both_values_the_committer_and_the_message() {
        let scratch = ScratchRepo::unborn();
        let repo = opened(&scratch);
        write(&repo, 1, 2, "edt apply: why\nnot", ReflogWrite::Append);
        let line = log_of(&repo);
        let start = format!("{} {} {} ", oid(1), oid(2), repo.identity().unwrap());
        assert!(line.starts_with(&start), "{line}");
        assert!(line.ends_with("\tedt apply: why not\n"), "{line}");
    }

    #[test]
    fn a_line_that_is_there_is_not_written_again() {
        let scratch = ScratchRepo::unborn();
        let repo = opened(&scratch);
        for _ in 0..2 {
            write(&repo, 1, 2, "one", ReflogWrite::AppendIfMissing);
        }
        write(&repo, 1, 2, "two", ReflogWrite::AppendIfMissing);
        assert_eq!(lines(&repo), ["01 02 one", "01 02 two"]);
    }

    #[test]
    fn a_torn_line_is_completed() {
        let scratch = ScratchRepo::unborn();
        let repo = opened(&scratch);
        write(&repo, 1, 2, "one", ReflogWrite::Append);
        let whole = log_of(&repo);
        std::fs::write(repo.log_path(NAME), &whole[..60]).unwrap();
        write(&repo, 1, 2, "one", ReflogWrite::AppendIfMissing);
        assert_eq!(lines(&repo), ["01 02 one"]);
    }

    #[test]
    fn the_rest_of_another_torn_line_gets_a_line_end() {
        let scratch = ScratchRepo::unborn();
        let repo = opened(&scratch);
        write(&repo, 1, 2, "one", ReflogWrite::Append);
        std::fs::write(repo.log_path(NAME), "0909").unwrap();
        write(&repo, 1, 2, "one", ReflogWrite::AppendIfMissing);
        assert_eq!(log_of(&repo).lines().count(), 2);
        assert!(log_of(&repo).starts_with("0909\n0101"));
    }

    #[test]
    fn zeros_after_the_last_line_are_removed() {
        let scratch = ScratchRepo::unborn();
        let repo = opened(&scratch);
        write(&repo, 1, 2, "one", ReflogWrite::Append);
        let torn = [log_of(&repo).into_bytes(), vec![0; 30]].concat();
        std::fs::write(repo.log_path(NAME), torn).unwrap();
        write(&repo, 2, 3, "two", ReflogWrite::AppendIfMissing);
        assert_eq!(lines(&repo), ["01 02 one", "02 03 two"]);
    }

    #[test]
    fn no_log_is_created_where_git_would_create_none() {
        let scratch = ScratchRepo::unborn();
        let config = scratch.path().join(".git/config");
        let text = std::fs::read_to_string(&config).unwrap();
        std::fs::write(
            &config,
            text.replace("logallrefupdates = true", "logallrefupdates = false"),
        )
        .unwrap();
        let repo = opened(&scratch);
        write(&repo, 1, 2, "one", ReflogWrite::Append);
        assert!(!repo.log_path(NAME).exists());
    }
}
