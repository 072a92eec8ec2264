//! Filter drivers (`filter.<name>.clean`, `.smudge`, `.process`): who named them, and bytes sent through them.
//!
//! A driver of the person's own configuration is the person's. One of the repository's configuration runs only once a person
//! trusts exactly this command, and exactly these files of the worktree that it names.

use std::ffi::OsStr;
use std::fmt::Debug;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::time::Duration;

use gix::bstr::ByteSlice as _;
use gix::config::Source;

use super::pkt_line;
use super::repo::Repo;
use super::sha256;
use crate::base::{Code, Finding, RepoPath, Result};
use crate::io::bounded::{self, End, Through};
use crate::io::disk::MAX_FILE;
use crate::io::scratch::Scratch;

/// The longest a filter may take for one file, unless `edt.filterTimeout` (in seconds) says otherwise.
const LIMIT: Duration = Duration::from_secs(60);

/// A driver as the configuration defines it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Driver {
    /// Its name.
    pub name: String,
    /// The command line from disk to blob.
    pub clean: Option<Vec<u8>>,
    /// The command line from blob to disk.
    pub smudge: Option<Vec<u8>>,
    /// The command line of a program for both, which is preferred.
    pub process: Option<Vec<u8>>,
    /// Whether Git insists on it.
    pub required: bool,
    /// Whether the repository's own configuration names a command.
    pub local: bool,
}

/// Which way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// From disk to blob.
    Clean,
    /// From blob to disk.
    Smudge,
}

impl Way {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Way::Clean => "clean",
            Way::Smudge => "smudge",
        }
    }
}

/// What a person decided about programs that a repository names.
pub trait Trust: Debug {
    /// Whether the person trusts what has this hash, in the worktree at `root`.
    ///
    /// # Errors
    /// `IO_ERROR` if it cannot be read.
    fn trusts(&self, hash: &str, root: &Path) -> Result<bool>;
}

impl Repo {
    /// Lets `trust` decide whether the repository's own filters may run; without, none does.
    pub fn set_trust(&mut self, trust: Box<dyn Trust>) {
        self.trust = Some(trust);
    }

    /// The driver of that name; `None` if nothing defines it, or nothing that Git would heed.
    #[must_use]
    pub fn driver(&self, name: &str) -> Option<Driver> {
        let config = self.inner.config_snapshot();
        let mut driver = Driver {
            name: name.to_owned(),
            clean: None,
            smudge: None,
            process: None,
            required: false,
            local: false,
        };
        let (mut found, mut local) = (false, [false; 3]);
        for section in config.plumbing().sections_by_name("filter").into_iter().flatten() {
            if section.header().subsection_name().is_none_or(|named| named != name) {
                continue;
            }
            found = true;
            let here = matches!(section.meta().source, Source::Local | Source::Worktree);
            let commands = [&mut driver.clean, &mut driver.smudge, &mut driver.process];
            for ((key, command), local) in
                ["clean", "smudge", "process"].into_iter().zip(commands).zip(&mut local)
            {
                if let Some(value) = section.value(key) {
                    *local = here && !value.is_empty();
                    *command = Some(value.to_vec()).filter(|value| !value.is_empty());
                }
            }
            if let Some(value) = section.value_implicit("required") {
                let value = value.map_or(b"true".to_vec(), |value| value.to_ascii_lowercase());
                driver.required = matches!(value.as_slice(), b"true" | b"yes" | b"on" | b"1");
            }
        }
        driver.local = local.contains(&true);
        found.then_some(driver)
    }

    /// The drivers whose commands the repository's own configuration names.
    #[must_use]
    pub fn local_drivers(&self) -> Vec<Driver> {
        let config = self.inner.config_snapshot();
        let mut names = std::collections::BTreeSet::new();
        for section in config.plumbing().sections_by_name("filter").into_iter().flatten() {
            names.extend(
                section.header().subsection_name().map(|name| name.to_str_lossy().into_owned()),
            );
        }
        names.iter().filter_map(|name| self.driver(name)).filter(|driver| driver.local).collect()
    }

    /// What is trusted with `driver`, as SHA-256: its name, its commands, and every file of the worktree or the Git folder
    /// that a command names.
    ///
    /// # Errors
    /// `INTERNAL` if hashing fails.
    pub fn driver_hash(&self, driver: &Driver) -> Result<String> {
        let mut all = format!("edt filter 1\n{:?}\n", driver.name).into_bytes();
        for (key, command) in
            [("clean", &driver.clean), ("smudge", &driver.smudge), ("process", &driver.process)]
        {
            let Some(command) = command else { continue };
            all.extend_from_slice(format!("{key} {:?}\n", command.as_bstr()).as_bytes());
            for word in named_by(command) {
                let file = self.root_path().join(OsStr::from_bytes(&word));
                if file.is_file() {
                    let inside = file.canonicalize().is_ok_and(|file| self.is_below(&file));
                    let sum = if inside { sum_of(&file)? } else { "outside".to_owned() };
                    all.extend_from_slice(format!("file {:?} {sum}\n", word.as_bstr()).as_bytes());
                }
            }
        }
        sha256(&all)
    }

    fn is_below(&self, file: &Path) -> bool {
        let folders = [self.root_path(), self.git_dir(), self.common_dir()];
        folders
            .iter()
            .any(|folder| folder.canonicalize().is_ok_and(|folder| file.starts_with(folder)))
    }

    /// Whether `driver` may run here.
    ///
    /// # Errors
    /// `IO_ERROR` if what the person trusts cannot be read.
    pub fn may_run(&self, driver: &Driver) -> Result<bool> {
        if !driver.local {
            return Ok(true);
        }
        match &self.trust {
            Some(trust) => trust.trusts(&self.driver_hash(driver)?, &self.real_root()?),
            None => Ok(false),
        }
    }

    /// `bytes` sent through `driver`; as they are if it defines nothing for this way.
    ///
    /// # Errors
    /// `TRUST_REQUIRED`, before anything runs; `PROGRAM_NOT_FOUND`, `COMMAND_TIMEOUT`, `FILTER_FAILED`.
    pub(super) fn filtered(
        &self,
        driver: &Driver,
        way: Way,
        path: &RepoPath,
        bytes: Vec<u8>,
    ) -> Result<Vec<u8>> {
        let single = if way == Way::Clean { &driver.clean } else { &driver.smudge };
        let (command, input) = match (&driver.process, single) {
            (Some(process), _) => {
                (process.clone(), pkt_line::request(way.name(), path.as_bytes(), &bytes))
            }
            (None, Some(command)) => (expanded(command, path), bytes.clone()),
            (None, None) if driver.required => {
                return Err(failed(
                    driver,
                    way,
                    path,
                    "it is required, but defines no command for this way",
                )
                .into());
            }
            (None, None) => return Ok(bytes),
        };
        if !self.may_run(driver)? {
            return Err(untrusted(driver, path).into());
        }
        let output = self.ran(driver, way, path, &command, &input)?;
        if driver.process.is_none() {
            return Ok(output);
        }
        match pkt_line::answer(way.name(), &output) {
            pkt_line::Answer::Content(content) => Ok(content),
            pkt_line::Answer::NotOffered if !driver.required => Ok(bytes),
            pkt_line::Answer::NotOffered => {
                Err(failed(driver, way, path, "it does not offer this way").into())
            }
            pkt_line::Answer::Failed(status) => Err(failed(driver, way, path, &status).into()),
        }
    }

    fn ran(
        &self,
        driver: &Driver,
        way: Way,
        path: &RepoPath,
        command: &[u8],
        input: &[u8],
    ) -> Result<Vec<u8>> {
        let (root, limit) = (self.real_root()?, self.filter_limit());
        let wrap = |error: std::io::Error| failed(driver, way, path, &error.to_string());
        let scratch = Scratch::outside(&root).map_err(wrap)?;
        let most = usize::try_from(MAX_FILE).unwrap_or(usize::MAX) + 4096;
        let command = OsStr::from_bytes(command);
        let passed = Through { command, dir: &root, scratch: scratch.path(), input, most, limit };
        let passed = bounded::through(&passed).map_err(wrap)?;
        let complaint = String::from_utf8_lossy(&passed.complaint).trim().replace('\n', "; ");
        let told = if complaint.is_empty() { String::new() } else { format!(" ({complaint})") };
        match (passed.end, passed.output) {
            (End::Exit(0), Some(output)) => Ok(output),
            (End::Exit(0), None) => {
                Err(failed(driver, way, path, &format!("it wrote more than {MAX_FILE} bytes"))
                    .into())
            }
            (End::Exit(127), _) => Err(not_found(driver, way, path, &told).into()),
            (End::Exit(code), _) => {
                Err(failed(driver, way, path, &format!("exit status {code}{told}")).into())
            }
            (End::Signal(signal), _) => {
                Err(failed(driver, way, path, &format!("signal {signal}{told}")).into())
            }
            (End::TimedOut, _) => Err(too_slow(driver, way, path, limit).into()),
        }
    }

    fn filter_limit(&self) -> Duration {
        let seconds = self.inner.config_snapshot().integer("edt.filterTimeout");
        seconds
            .and_then(|seconds| u64::try_from(seconds).ok())
            .filter(|&s| s > 0)
            .map_or(LIMIT, Duration::from_secs)
    }

    /// Settings that keep a `git` from running the repository's own filters that nobody trusts.
    ///
    /// # Errors
    /// `IO_ERROR` if what the person trusts cannot be read.
    pub fn without_untrusted(&self) -> Result<Vec<(String, &'static str)>> {
        self.blanked(|driver| self.may_run(driver))
    }

    /// The same for a worktree that is about to be checked out, in which nothing is trusted but what `main`, the one it is made from,
    /// trusts with the very same commands, and without files that they name.
    ///
    /// # Errors
    /// As [`without_untrusted`](Repo::without_untrusted).
    pub fn without_untrusted_by(&self, main: &Repo) -> Result<Vec<(String, &'static str)>> {
        self.blanked(|driver| {
            let there = main.driver(&driver.name);
            let same = there.as_ref() == Some(driver)
                && main.driver_hash(driver)? == self.driver_hash(driver)?;
            Ok(same && main.may_run(driver)?)
        })
    }

    /// Settings without the repository's own filters that `may_run` does not allow.
    fn blanked(
        &self,
        may_run: impl Fn(&Driver) -> Result<bool>,
    ) -> Result<Vec<(String, &'static str)>> {
        let mut settings = Vec::new();
        for driver in self.local_drivers() {
            if !may_run(&driver)? {
                let keys = [("clean", ""), ("smudge", ""), ("process", ""), ("required", "false")];
                settings.extend(
                    keys.map(|(key, value)| (format!("filter.{}.{key}", driver.name), value)),
                );
            }
        }
        Ok(settings)
    }
}

impl Driver {
    /// Its commands, for a person who is asked to trust them.
    #[must_use]
    pub fn commands(&self) -> Vec<String> {
        let named = [("clean", &self.clean), ("smudge", &self.smudge), ("process", &self.process)];
        let shown = |(key, command): (&str, &Option<Vec<u8>>)| {
            command.as_ref().map(|command| format!("{key}: {}", String::from_utf8_lossy(command)))
        };
        named.into_iter().filter_map(shown).collect()
    }
}

/// What a command line, or a setting that is a path, may name: its words, as they stand and as a shell reads quotes and backslashes, and
/// the whole.
pub(super) fn named_by(command: &[u8]) -> Vec<Vec<u8>> {
    const BETWEEN: &[u8] = b" \t\n'\"=;|&<>()$`";
    let mut all: Vec<Vec<u8>> = command
        .split(|byte| BETWEEN.contains(byte))
        .filter(|word| !word.is_empty())
        .map(<[u8]>::to_vec)
        .collect();
    let (mut word, mut quote, mut bytes) = (Vec::new(), None, command.iter().copied());
    let mut read = vec![command.trim_ascii().to_vec()];
    while let Some(byte) = bytes.next() {
        match (byte, quote) {
            (b'\'' | b'"', None) => quote = Some(byte),
            (_, Some(open)) if byte == open => quote = None,
            (b'\\', None | Some(b'"')) => word.extend(bytes.next()),
            (_, None) if BETWEEN.contains(&byte) => read.push(std::mem::take(&mut word)),
            _ => word.push(byte),
        }
    }
    read.push(word);
    for word in read {
        if !word.is_empty() && !all.contains(&word) {
            all.push(word);
        }
    }
    all
}

/// What tells the content of `file` from any other. One that cannot be read, or is too large, is like no other: it is never trusted.
pub(super) fn sum_of(file: &Path) -> Result<String> {
    match crate::io::whole::small(file, MAX_FILE) {
        Some(bytes) => sha256(&bytes),
        None => Ok(format!("unread at {}", crate::io::clock::utc())),
    }
}

/// `command` with `%f` replaced by the path, quoted for the shell, as Git does.
fn expanded(command: &[u8], path: &RepoPath) -> Vec<u8> {
    let mut out = Vec::with_capacity(command.len() + 64);
    let mut bytes = command.iter().copied();
    while let Some(byte) = bytes.next() {
        match (byte, byte == b'%') {
            (_, false) => out.push(byte),
            (_, true) => match bytes.next() {
                Some(b'f') => {
                    out.push(b'\'');
                    for &byte in path.as_bytes() {
                        match byte {
                            b'\'' | b'!' => out.extend_from_slice(&[b'\'', b'\\', byte, b'\'']),
                            byte => out.push(byte),
                        }
                    }
                    out.push(b'\'');
                }
                Some(b'%') | None => out.push(b'%'),
                Some(other) => out.extend_from_slice(&[b'%', other]),
            },
        }
    }
    out
}

fn untrusted(driver: &Driver, path: &RepoPath) -> Finding {
    let commands = driver.commands().join(", ");
    Finding::new(
        Code::TrustRequired,
        format!(
            "{path} goes through the filter {:?}, which this repository's own configuration defines ({commands}) and nobody has trusted. It was not run; nothing was changed.",
            driver.name
        ),
        "Ask a person to run `edt trust` in a terminal: it shows the commands and asks. Or edit a file that needs no filter.",
    )
    .at(path)
    .with("filter", driver.name.clone())
}

fn failed(driver: &Driver, way: Way, path: &RepoPath, why: &str) -> Finding {
    Finding::new(
        Code::FilterFailed,
        format!("The filter {:?} could not {} {path}: {why}. Nothing was changed.", driver.name, way.name()),
        format!("Let a person mend the filter (`git config --get-regexp '^filter\\.{}\\.'` shows it), then repeat the call.", driver.name),
    )
    .at(path)
    .with("filter", driver.name.clone())
}

fn not_found(driver: &Driver, way: Way, path: &RepoPath, told: &str) -> Finding {
    Finding::new(
        Code::ProgramNotFound,
        format!(
            "The filter {:?} names a program for {} that is not there{told}. Nothing was changed.",
            driver.name,
            way.name()
        ),
        format!(
            "Let a person install it (`git config --get filter.{}.{}` shows it), then repeat the call.",
            driver.name,
            way.name()
        ),
    )
    .at(path)
    .with("filter", driver.name.clone())
}

fn too_slow(driver: &Driver, way: Way, path: &RepoPath, limit: Duration) -> Finding {
    let seconds = limit.as_secs();
    Finding::new(
        Code::CommandTimeout,
        format!(
            "The filter {:?} did not {} {path} within {seconds} s and was ended. Nothing was changed.",
            driver.name,
            way.name()
        ),
        format!("Repeat the call, or let a person give it more time: `git config edt.filterTimeout {}`.", seconds * 4),
    )
    .at(path)
    .with("filter", driver.name.clone())
    .with("seconds", seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_quoted_for_the_shell() {
        let path = RepoPath::from_tree(b"a'b!c.txt");
        assert_eq!(
            expanded(b"x %f 100%% %d %", &path).as_bstr(),
            b"x 'a'\\''b'\\!'c.txt' 100% %d %".as_bstr()
        );
    }
}
