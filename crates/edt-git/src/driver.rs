//! Filter drivers (`filter.<name>.clean`, `.smudge`, `.process`): where they are defined, whether
//! they are trusted, and how content passes through them.
//!
//! A driver in the user's own configuration is trusted. A driver in the repository's configuration
//! runs only if the user trusts exactly this command, and exactly the files of the worktree that it
//! names.

use edt_types::text::Shown as _;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::time::Duration;

use gix::bstr::ByteSlice as _;

use super::pkt_line;
use super::repo::Repo;
use super::sha256;
use edt_io::bounded::{self, Filter, ProcessEnd};
use edt_io::disk::MAX_FILE;
use edt_io::scratch::Scratch;
use edt_types::{Code, Finding, RepoPath, Result};

/// The timeout of a filter for one file, unless `edt.filterTimeout` (in seconds) sets another.
const LIMIT: Duration = Duration::from_secs(60);

/// A driver as the configuration defines it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilterDriver {
    pub name: String,
    /// The command from disk to blob.
    pub clean: Option<Vec<u8>>,
    /// The command from blob to disk.
    pub smudge: Option<Vec<u8>>,
    /// The command of a long-running program for both directions, which Git prefers.
    pub process: Option<Vec<u8>>,
    /// Whether Git fails if the filter fails.
    pub required: bool,
    /// Whether a command comes from the repository's own configuration.
    pub local: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FilterDirection {
    /// From disk to blob.
    Clean,
    /// From blob to disk.
    Smudge,
}

impl FilterDirection {
    pub(super) const fn name(self) -> &'static str {
        match self {
            FilterDirection::Clean => "clean",
            FilterDirection::Smudge => "smudge",
        }
    }
}

impl Repo {
    /// The driver with this name; `None` if the configuration does not define one that Git would
    /// use.
    #[must_use]
    pub fn driver(&self, name: &str) -> Option<FilterDriver> {
        let config = self.inner.config_snapshot();
        let mut driver = FilterDriver {
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
            let here = self.configuration.awaits_trust(section.meta().source);
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

    /// The drivers whose commands come from the repository's own configuration.
    #[must_use]
    pub fn local_drivers(&self) -> Vec<FilterDriver> {
        let config = self.inner.config_snapshot();
        let mut names = std::collections::BTreeSet::new();
        for section in config.plumbing().sections_by_name("filter").into_iter().flatten() {
            names.extend(
                section.header().subsection_name().map(|name| name.to_str_lossy().into_owned()),
            );
        }
        names.iter().filter_map(|name| self.driver(name)).filter(|driver| driver.local).collect()
    }

    /// The SHA-256 of everything that is trusted with `driver`: its name, its commands, and every
    /// file of the worktree or the Git directory that a command names.
    ///
    /// # Errors
    /// `INTERNAL` if hashing fails.
    pub fn driver_hash(&self, driver: &FilterDriver) -> Result<String> {
        let mut all = format!("edt filter 1\n{:?}\n", driver.name).into_bytes();
        for (key, command) in
            [("clean", &driver.clean), ("smudge", &driver.smudge), ("process", &driver.process)]
        {
            let Some(command) = command else { continue };
            all.extend_from_slice(format!("{key} {:?}\n", command.as_bstr()).as_bytes());
            for word in possible_paths(command) {
                let file = self.root_path().join(OsStr::from_bytes(&word));
                if file.is_file() {
                    let inside = file.canonicalize().is_ok_and(|file| self.is_below(&file));
                    let sum = if inside { content_hash(&file)? } else { "outside".to_owned() };
                    all.extend_from_slice(format!("file {:?} {sum}\n", word.as_bstr()).as_bytes());
                }
            }
        }
        sha256(&all)
    }

    pub(super) fn is_below(&self, file: &Path) -> bool {
        let directories = [self.root_path(), self.git_dir(), self.common_dir()];
        directories.iter().any(|directory| {
            directory.canonicalize().is_ok_and(|directory| file.starts_with(directory))
        })
    }

    /// Whether `driver` is trusted to run here.
    ///
    /// # Errors
    /// `IO_ERROR` if the trust decisions cannot be read.
    pub fn may_run(&self, driver: &FilterDriver) -> Result<bool> {
        if !driver.local {
            return Ok(true);
        }
        match &self.trust {
            Some(trust) => trust.trusts(&self.driver_hash(driver)?, &self.real_root()?),
            None => Ok(false),
        }
    }

    /// Passes `bytes` through `driver`; unchanged if it defines no command for this direction.
    ///
    /// # Errors
    /// `TRUST_REQUIRED`, before anything runs; `PROGRAM_NOT_FOUND`, `COMMAND_TIMEOUT`,
    /// `FILTER_FAILED`.
    pub(super) fn filtered(
        &self,
        driver: &FilterDriver,
        direction: FilterDirection,
        path: &RepoPath,
        bytes: Vec<u8>,
    ) -> Result<Vec<u8>> {
        let single =
            if direction == FilterDirection::Clean { &driver.clean } else { &driver.smudge };
        let (command, input) = match (&driver.process, single) {
            (Some(process), _) => {
                (process.clone(), pkt_line::request(direction.name(), path.as_bytes(), &bytes))
            }
            (None, Some(command)) => (expanded(command, path), bytes.clone()),
            (None, None) if driver.required => {
                return Err(failed(
                    driver,
                    direction,
                    path,
                    "it is required, but has no command for this direction",
                )
                .into());
            }
            (None, None) => return Ok(bytes),
        };
        if !self.may_run(driver)? {
            return Err(untrusted(driver, path).into());
        }
        let output = self.run_filter(driver, direction, path, &command, &input)?;
        if driver.process.is_none() {
            return Ok(output);
        }
        match pkt_line::answer(direction.name(), &output) {
            pkt_line::Answer::Content(content) => Ok(content),
            pkt_line::Answer::NotOffered if !driver.required => Ok(bytes),
            pkt_line::Answer::NotOffered => {
                Err(failed(driver, direction, path, "it does not support this direction").into())
            }
            pkt_line::Answer::Failed(status) => {
                Err(failed(driver, direction, path, &status).into())
            }
        }
    }

    fn run_filter(
        &self,
        driver: &FilterDriver,
        direction: FilterDirection,
        path: &RepoPath,
        command: &[u8],
        input: &[u8],
    ) -> Result<Vec<u8>> {
        let (root, limit) = (self.real_root()?, self.filter_limit());
        let wrap = |error: std::io::Error| failed(driver, direction, path, &error.to_string());
        let scratch = Scratch::outside(self.environment, &root).map_err(wrap)?;
        let max_output = usize::try_from(MAX_FILE).unwrap_or(usize::MAX) + 4096;
        let command = OsStr::from_bytes(command);
        let confined = match self.confinement_of(driver)? {
            None => None,
            Some(confinement) => {
                let places = (root.as_path(), scratch.path());
                Some(self.run_filter_confined(
                    confinement,
                    command,
                    input,
                    places,
                    max_output,
                    limit,
                )?)
            }
        };
        let passed = Filter {
            command,
            dir: &root,
            scratch: scratch.path(),
            input,
            max_output,
            limit,
            environment: self.environment,
            reap_orphans: self.reap_orphans,
        };
        let passed = match confined {
            Some(passed) => passed,
            None => bounded::run_filter(&passed).map_err(wrap)?,
        };
        let stderr = String::from_utf8_lossy(&passed.stderr_tail).trim().replace('\n', "; ");
        let detail = if stderr.is_empty() { String::new() } else { format!(" ({stderr})") };
        match (passed.end, passed.output) {
            (ProcessEnd::Exit(0), Some(output)) => Ok(output),
            (ProcessEnd::Exit(0), None) => Err(failed(
                driver,
                direction,
                path,
                &format!("it wrote more than {MAX_FILE} bytes"),
            )
            .into()),
            (ProcessEnd::Exit(127), _) => Err(not_found(driver, direction, path, &detail).into()),
            (ProcessEnd::Exit(code), _) => {
                Err(failed(driver, direction, path, &format!("exit status {code}{detail}")).into())
            }
            (ProcessEnd::Signal(signal), _) => {
                Err(failed(driver, direction, path, &format!("signal {signal}{detail}")).into())
            }
            (ProcessEnd::TimedOut, _) => Err(too_slow(driver, direction, path, limit).into()),
        }
    }

    fn filter_limit(&self) -> Duration {
        let seconds = self.inner.config_snapshot().integer("edt.filterTimeout");
        seconds
            .and_then(|seconds| u64::try_from(seconds).ok())
            .filter(|&s| s > 0)
            .map_or(LIMIT, Duration::from_secs)
    }

    /// Settings that keep `git` from running the repository's own filters that are untrusted, or that
    /// have to be confined.
    ///
    /// # Errors
    /// `IO_ERROR` if the trust decisions cannot be read.
    pub fn settings_without_untrusted_filters(&self) -> Result<Vec<(String, &'static str)>> {
        // Git cannot confine them.
        self.disabling_settings(|driver| {
            Ok(self.may_run(driver)? && self.confinement_of(driver)?.is_none())
        })
    }

    /// The same for a new worktree before its checkout. Trusted are only filters that `main`, the
    /// worktree it is created from, trusts with the same commands, and that name no files.
    ///
    /// # Errors
    /// As [`settings_without_untrusted_filters`](Repo::settings_without_untrusted_filters).
    pub fn settings_for_new_worktree(&self, main: &Repo) -> Result<Vec<(String, &'static str)>> {
        self.disabling_settings(|driver| {
            let there = main.driver(&driver.name);
            let same = there.as_ref() == Some(driver)
                && main.driver_hash(driver)? == self.driver_hash(driver)?;
            Ok(same && main.may_run(driver)?)
        })
    }

    /// Settings that disable the repository's own filters which `may_run` does not allow.
    fn disabling_settings(
        &self,
        may_run: impl Fn(&FilterDriver) -> Result<bool>,
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

impl FilterDriver {
    /// The commands, for the question whether to trust them.
    #[must_use]
    pub fn commands(&self) -> Vec<String> {
        let named = [("clean", &self.clean), ("smudge", &self.smudge), ("process", &self.process)];
        let shown = |(key, command): (&str, &Option<Vec<u8>>)| {
            command.as_ref().map(|command| format!("{key}: {}", String::from_utf8_lossy(command)))
        };
        named.into_iter().filter_map(shown).collect()
    }
}

/// What a command line, or a setting that is a path, may name: its words, unquoted both literally
/// and as a shell does it, and the complete text.
pub(super) fn possible_paths(command: &[u8]) -> Vec<Vec<u8>> {
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

/// A hash of the content of `file`. A file that is unreadable or too large gets a value that never
/// repeats: it is never trusted.
pub(super) fn content_hash(file: &Path) -> Result<String> {
    match edt_io::fs::read_small(file, MAX_FILE) {
        Some(bytes) => sha256(&bytes),
        None => Ok(format!("unread at {}", edt_io::clock::utc())),
    }
}

/// `command` with `%f` replaced by the path, quoted for the shell as Git does it.
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

fn untrusted(driver: &FilterDriver, path: &RepoPath) -> Finding {
    let commands = driver.commands().join(", ").shown();
    Finding::new(
        Code::TrustRequired,
        format!(
            "{path} passes through the filter {:?}, which this repository's own configuration \
             defines ({commands}) and which is untrusted. The filter was not run.",
            driver.name
        ),
        "Ask the user to run `edt trust` in a terminal: it shows the commands and asks. Or edit a \
         file that needs no filter.",
    )
    .nothing_changed()
    .at(path)
    .with("filter", driver.name.clone())
}

fn failed(
    driver: &FilterDriver,
    direction: FilterDirection,
    path: &RepoPath,
    why: &str,
) -> Finding {
    Finding::new(
        Code::FilterFailed,
        format!("The filter {:?} could not {} {path}: {why}.", driver.name, direction.name()),
        format!(
            "Ask the user to fix the filter (`git config --get-regexp '^filter\\.{}\\.'` shows \
             it), then repeat the call.",
            driver.name
        ),
    )
    .nothing_changed()
    .at(path)
    .with("filter", driver.name.clone())
}

fn not_found(
    driver: &FilterDriver,
    direction: FilterDirection,
    path: &RepoPath,
    detail: &str,
) -> Finding {
    Finding::new(
        Code::ProgramNotFound,
        format!(
            "The filter {:?} names a program for {} that was not found{detail}.",
            driver.name,
            direction.name()
        ),
        format!(
            "Ask the user to install it (`git config --get filter.{}.{}` shows it), then repeat \
             the call.",
            driver.name,
            direction.name()
        ),
    )
    .nothing_changed()
    .at(path)
    .with("filter", driver.name.clone())
}

fn too_slow(
    driver: &FilterDriver,
    direction: FilterDirection,
    path: &RepoPath,
    limit: Duration,
) -> Finding {
    let seconds = limit.as_secs();
    Finding::new(
        Code::CommandTimeout,
        format!(
            "The filter {:?} did not {} {path} within {seconds} s and was killed.",
            driver.name,
            direction.name()
        ),
        format!(
            "Repeat the call, or ask the user to raise the timeout: `git config edt.filterTimeout \
             {}`.",
            seconds * 4
        ),
    )
    .nothing_changed()
    .at(path)
    .with("filter", driver.name.clone())
    .with("timeout_s", seconds)
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

    use crate::trust::TrustStore;
    use edt_testkit::ScratchRepo;

    fn with_config(more: &str) -> (ScratchRepo, Repo) {
        let scratch = ScratchRepo::with(&[("tool.sh", "cat\n")]);
        let config = scratch.path().join(".git/config");
        let text = std::fs::read_to_string(&config).unwrap();
        std::fs::write(config, text + more).unwrap();
        let repo = Repo::open(scratch.path()).unwrap();
        (scratch, repo)
    }

    const FILTER: &str = "[filter \"x\"]\n\tclean = ./tool.sh %f\n\tsmudge = cat\n\trequired\n";

    #[test]
    fn a_driver_has_the_commands_of_the_configuration() {
        let (_scratch, repo) = with_config(FILTER);
        let expected = FilterDriver {
            name: "x".into(),
            clean: Some(b"./tool.sh %f".to_vec()),
            smudge: Some(b"cat".to_vec()),
            process: None,
            required: true,
            local: true,
        };
        assert_eq!(repo.driver("x"), Some(expected.clone()));
        assert_eq!(expected.commands(), ["clean: ./tool.sh %f", "smudge: cat"]);
        assert_eq!((repo.driver("y"), repo.local_drivers()), (None, vec![expected]));
    }

    #[test]
    fn an_empty_command_removes_an_earlier_one() {
        let (_scratch, repo) = with_config(&format!("{FILTER}[filter \"x\"]\n\tclean =\n"));
        assert_eq!(repo.driver("x").unwrap().clean, None);
    }

    #[test]
    fn a_filter_of_the_repository_does_not_run_without_trust() {
        let (_scratch, repo) = with_config(FILTER);
        let driver = repo.driver("x").unwrap();
        let path = RepoPath::from_tree(b"a.txt");
        let filtered = repo.filtered(&driver, FilterDirection::Clean, &path, b"x".to_vec());
        assert_eq!(filtered.unwrap_err().into_vec(), [untrusted(&driver, &path)]);
    }

    /// Trusts one hash, in every worktree.
    #[derive(Debug)]
    struct OneHash(String);

    impl TrustStore for OneHash {
        fn trusts(&self, hash: &str, _: &Path) -> Result<bool> {
            Ok(hash == self.0)
        }
    }

    #[test]
    fn trust_in_a_filter_ends_when_the_file_that_it_names_changes() {
        let (scratch, mut repo) = with_config(FILTER);
        let driver = repo.driver("x").unwrap();
        repo.set_trust(Box::new(OneHash(repo.driver_hash(&driver).unwrap())));
        assert!(repo.may_run(&driver).unwrap());
        assert_eq!(repo.settings_without_untrusted_filters().unwrap(), []);
        std::fs::write(scratch.path().join("tool.sh"), "evil\n").unwrap();
        assert!(!repo.may_run(&driver).unwrap());
    }

    #[test]
    fn an_untrusted_filter_is_switched_off_for_git() {
        let (_scratch, repo) = with_config(FILTER);
        let settings = repo.settings_without_untrusted_filters().unwrap();
        let settings: Vec<(&str, &str)> =
            settings.iter().map(|(key, value)| (key.as_str(), *value)).collect();
        assert_eq!(
            settings,
            [
                ("filter.x.clean", ""),
                ("filter.x.smudge", ""),
                ("filter.x.process", ""),
                ("filter.x.required", "false")
            ]
        );
    }

    #[test]
    fn a_required_filter_without_a_command_for_the_direction_fails() {
        let (_scratch, repo) = with_config("[filter \"x\"]\n\tclean = cat\n\trequired = true\n");
        let driver = repo.driver("x").unwrap();
        let (path, direction) = (RepoPath::from_tree(b"a.txt"), FilterDirection::Smudge);
        let found = repo.filtered(&driver, direction, &path, b"x".to_vec()).unwrap_err();
        let why = "it is required, but has no command for this direction";
        assert_eq!(found.into_vec(), [failed(&driver, direction, &path, why)]);
    }

    #[test]
    fn a_filter_without_a_command_for_the_direction_changes_nothing() {
        let (_scratch, repo) = with_config("[filter \"x\"]\n\tclean = cat\n");
        let driver = repo.driver("x").unwrap();
        let (path, direction) = (RepoPath::from_tree(b"a.txt"), FilterDirection::Smudge);
        assert_eq!(repo.filtered(&driver, direction, &path, b"x".to_vec()).unwrap(), b"x");
    }

    #[test]
    fn the_time_limit_of_a_filter_is_a_setting_above_zero() {
        let limit = |more: &str| with_config(more).1.filter_limit().as_secs();
        assert_eq!((limit(""), limit("[edt]\n\tfilterTimeout = 5\n")), (60, 5));
        assert_eq!(limit("[edt]\n\tfilterTimeout = 0\n"), 60);
    }

    #[test]
    fn the_words_of_a_command_are_read_as_written_and_as_a_shell_does() {
        let words: Vec<String> = possible_paths(b"sh 'my tool.sh' --x=a\\ b")
            .into_iter()
            .map(|word| String::from_utf8(word).unwrap())
            .collect();
        for word in ["sh", "my", "tool.sh", "--x", "my tool.sh", "a b", "sh 'my tool.sh' --x=a\\ b"]
        {
            assert!(words.iter().any(|found| found == word), "{word}: {words:?}");
        }
    }
}
