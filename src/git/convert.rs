//! How Git converts a file's bytes on their way in and out: line ends, `$Id$`, encodings, filters.
//!
//! A file has three forms. *Disk* is what stands in the worktree, *blob* is what Git records, *text* is what edits, guards and
//! answers speak of: the bytes on disk, but decoded where `working-tree-encoding` names an encoding. Where nothing converts,
//! the three are one, and nothing here costs more than a few `stat` calls ([`Repo::may_convert`]).
//!
//! Nothing is converted that would not come back: a file whose bytes are not those that Git would check out again is refused,
//! so that every recorded state gives the very bytes back.

use std::path::PathBuf;

use gix::bstr::ByteSlice as _;
use gix::worktree::stack::state::attributes::Source;

use super::driver::{Driver, Way};
use super::encoding::Encoding;
use super::eol::{Action, AutoCrlf, End, has_crlf};
use super::index::Staged;
use super::read::ObjectKind;
use super::repo::{FileId, Repo, Tracked};
use super::{Oid, causes, environment, keyword};
use crate::base::{Code, Finding, RepoPath, Result};

/// Where the attributes come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attributes {
    /// `.gitattributes` of the worktree; where one is not checked out, of this tree.
    Worktree(Oid),
    /// Those of this tree: for a state whose `.gitattributes` are about to be checked out, too.
    Tree(Oid),
}

/// A file's three forms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forms {
    /// What edits, guards and answers speak of.
    pub text: Vec<u8>,
    /// The others; `None` where all are one.
    pub stored: Option<Stored>,
}

/// What differs from the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// What stands on disk.
    pub disk: Vec<u8>,
    /// What Git records.
    pub blob: Vec<u8>,
}

impl Forms {
    /// A file that nothing converts.
    #[must_use]
    pub const fn plain(text: Vec<u8>) -> Forms {
        Forms { text, stored: None }
    }

    /// What stands on disk.
    #[must_use]
    pub fn disk(&self) -> &[u8] {
        self.stored.as_ref().map_or(&self.text, |stored| &stored.disk)
    }

    /// What Git records.
    #[must_use]
    pub fn blob(&self) -> &[u8] {
        self.stored.as_ref().map_or(&self.text, |stored| &stored.blob)
    }
}

/// What applies to one path.
#[derive(Debug)]
pub struct Conversion<'a> {
    repo: &'a Repo,
    path: &'a RepoPath,
    ends: Action,
    ident: bool,
    encoding: Option<Encoding>,
    driver: Option<Driver>,
}

impl Repo {
    /// What Git does with the file at `path`.
    ///
    /// # Errors
    /// `UNSUPPORTED_REPOSITORY` for an encoding that edt does not know, or one together with a filter; `IO_ERROR` if the
    /// attributes cannot be read.
    pub fn conversion<'a>(
        &'a self,
        path: &'a RepoPath,
        from: Attributes,
    ) -> Result<Conversion<'a>> {
        let value = |name: &str, all: &[(String, Value)]| {
            all.iter()
                .find(|(found, _)| found == name)
                .map_or(Value::Unspecified, |(_, value)| value.clone())
        };
        let all = self.attributes_of(path, from)?;
        let encoding = match value("working-tree-encoding", &all) {
            Value::Is(name) if !matches!(name.to_ascii_uppercase().as_str(), "UTF-8" | "UTF8") => {
                let why = || {
                    format!(
                        "edt does not know its encoding {name} well enough to give back every byte"
                    )
                };
                Some(Encoding::named(&name).ok_or_else(|| refused(path, &why(), OUTSIDE))?)
            }
            _ => None,
        };
        let driver = match value("filter", &all) {
            Value::Is(name) => self.driver(&name),
            _ => None,
        };
        if encoding.is_some() && driver.is_some() {
            return Err(refused(path, "it has a filter and an encoding at once", OUTSIDE).into());
        }
        let ends = self.line_ends(&value("text", &all), &value("crlf", &all), &value("eol", &all));
        Ok(Conversion {
            repo: self,
            path,
            ends,
            ident: value("ident", &all) == Value::Set,
            encoding,
            driver,
        })
    }

    /// Whether any attribute or setting could convert the file: a handful of `stat` calls instead of reading them. `recorded`
    /// tells of a `.gitattributes` that is not in the worktree.
    ///
    /// # Errors
    /// Those of `recorded`.
    pub fn may_convert(
        &self,
        path: &RepoPath,
        recorded: impl Fn(&RepoPath) -> Result<bool>,
    ) -> Result<bool> {
        if self.auto_crlf() != AutoCrlf::Off {
            return Ok(true);
        }
        let configured =
            self.inner.config_snapshot().trusted_path("core.attributesFile").ok().flatten();
        let personal = configured
            .or_else(|| environment::config_home().map(|home| home.join("git/attributes")));
        let fixed = [
            Some(self.common_dir().join("info/attributes")),
            personal,
            Some(PathBuf::from("/etc/gitattributes")),
        ];
        if fixed.iter().flatten().any(|file| file.exists()) {
            return Ok(true);
        }
        for file in attribute_files(path) {
            if !matches!(self.root().stat(file.as_bytes()), Ok(None)) || recorded(&file)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The attributes of `path`, built-in macros resolved.
    fn attributes_of(&self, path: &RepoPath, from: Attributes) -> Result<Vec<(String, Value)>> {
        let fail = |why: &str| unread(path, why);
        for file in attribute_files(path) {
            // Opening a FIFO would wait until somebody writes to it.
            if let Ok(Some(stat)) = self.root().stat(file.as_bytes())
                && stat.is_special()
            {
                return Err(fail(&format!("{file} is a FIFO, a socket or a device")).into());
            }
        }
        let (tree, source) = match from {
            Attributes::Worktree(tree) => (tree, Source::WorktreeThenIdMapping),
            Attributes::Tree(tree) => (tree, Source::IdMapping),
        };
        let mut index = gix::index::State::new(self.inner.object_hash());
        for file in attribute_files(path) {
            if let Tracked::File(FileId { oid, .. }) = self.tracked(tree, &file)? {
                let (flags, mode) =
                    (gix::index::entry::Flags::empty(), gix::index::entry::Mode::FILE);
                index.dangerously_push_entry(
                    gix::index::entry::Stat::default(),
                    oid,
                    flags,
                    mode,
                    file.as_bytes().as_bstr(),
                );
            }
        }
        index.sort_entries();
        let mut stack = self
            .inner
            .attributes_only(&index, source)
            .map_err(|error| fail(&causes(&error)))?
            .detach();
        let mut found = stack.attribute_matches();
        let at = stack.at_entry(path.as_bytes().as_bstr(), None, &self.inner.objects);
        at.map_err(|error| fail(&error.to_string()))?.matching_attributes(&mut found);
        let mut all = Vec::new();
        for assignment in found.iter().map(|found| found.assignment) {
            use gix::attrs::StateRef;
            let value = match assignment.state {
                StateRef::Set => Value::Set,
                StateRef::Unset => Value::Unset,
                StateRef::Unspecified => Value::Unspecified,
                StateRef::Value(value) => Value::Is(value.as_bstr().to_str_lossy().into_owned()),
            };
            all.push((assignment.name.as_str().to_owned(), value));
        }
        Ok(all)
    }

    /// `convert_attrs` of Git's `convert.c`.
    fn line_ends(&self, text: &Value, crlf: &Value, eol: &Value) -> Action {
        let auto_crlf = self.auto_crlf();
        let native = || {
            let crlf = match auto_crlf {
                AutoCrlf::On => true,
                AutoCrlf::Input => false,
                AutoCrlf::Off => {
                    let eol = self.inner.config_snapshot().string("core.eol");
                    eol.is_some_and(|eol| eol.eq_ignore_ascii_case(b"crlf"))
                }
            };
            if crlf { End::CrLf } else { End::Lf }
        };
        let asked = match eol {
            Value::Is(eol) if eol == "lf" => Some(End::Lf),
            Value::Is(eol) if eol == "crlf" => Some(End::CrLf),
            _ => None,
        };
        let text = if *text == Value::Unspecified { crlf } else { text };
        match text {
            Value::Unset => Action::Keep,
            Value::Is(text) if text == "auto" => Action::Auto(asked.unwrap_or_else(native)),
            Value::Is(text) if text == "input" => Action::Text(asked.unwrap_or(End::Lf)),
            Value::Set => Action::Text(asked.unwrap_or_else(native)),
            Value::Is(_) | Value::Unspecified => match (asked, auto_crlf) {
                (Some(end), _) => Action::Text(end),
                (None, AutoCrlf::Off) => Action::Keep,
                (None, AutoCrlf::Input) => Action::Auto(End::Lf),
                (None, AutoCrlf::On) => Action::Auto(End::CrLf),
            },
        }
    }

    fn auto_crlf(&self) -> AutoCrlf {
        let value = self.inner.config_snapshot().string("core.autocrlf");
        match value.map(|value| value.to_ascii_lowercase()).as_deref() {
            Some(b"input") => AutoCrlf::Input,
            None | Some(b"false" | b"no" | b"off" | b"0" | b"") => AutoCrlf::Off,
            Some(_) => AutoCrlf::On,
        }
    }
}

impl Conversion<'_> {
    /// The forms of a file that stands on disk.
    ///
    /// # Errors
    /// `UNSUPPORTED_REPOSITORY` if Git would not check out these very bytes; what a filter may answer.
    pub fn of_disk(&self, disk: Vec<u8>) -> Result<Forms> {
        if self.is_nothing() {
            return Ok(Forms::plain(disk));
        }
        let (text, blob) = self.recorded(&disk)?;
        if self.checked_out(&blob)? != disk {
            return Err(self.inexact(&disk).into());
        }
        Ok(forms(text, disk, blob))
    }

    /// The forms of a new text, as Git would check it out once it is recorded.
    ///
    /// # Errors
    /// `UNSUPPORTED_REPOSITORY` if Git would record something else of what it checks out; what a filter may answer.
    pub fn of_text(&self, text: Vec<u8>) -> Result<Forms> {
        if self.is_nothing() {
            return Ok(Forms::plain(text));
        }
        let disk = match self.encoding {
            Some(encoding) => encoding.encode(&text).map_err(|why| self.not_encoded(why))?,
            None => text,
        };
        let (_, blob) = self.recorded(&disk)?;
        let forms = self.of_blob(blob)?;
        if forms.disk() != disk && self.recorded(forms.disk())?.1 != forms.blob() {
            let why =
                "Git would record other bytes again of the file that it checks out for this text";
            return Err(refused(self.path, why, OUTSIDE).into());
        }
        Ok(forms)
    }

    /// The forms of a file as Git would check it out.
    ///
    /// # Errors
    /// `UNSUPPORTED_REPOSITORY` if it cannot be encoded; what a filter may answer.
    pub fn of_blob(&self, blob: Vec<u8>) -> Result<Forms> {
        if self.is_nothing() {
            return Ok(Forms::plain(blob));
        }
        let disk = self.checked_out(&blob)?;
        let text = match self.encoding {
            Some(encoding) => encoding.decode(&disk).map_err(|why| self.not_encoded(why))?,
            None => disk.clone(),
        };
        Ok(forms(text, disk, blob))
    }

    /// What Git records of the bytes on disk, whether it gives them back or not.
    ///
    /// # Errors
    /// As [`Conversion::of_disk`].
    pub(super) fn blob_of(&self, disk: &[u8]) -> Result<Vec<u8>> {
        self.recorded(disk).map(|(_, blob)| blob)
    }

    fn is_nothing(&self) -> bool {
        self.ends == Action::Keep && !self.ident && self.encoding.is_none() && self.driver.is_none()
    }

    /// The text and the blob of what stands on disk: `convert_to_git`.
    fn recorded(&self, disk: &[u8]) -> Result<(Vec<u8>, Vec<u8>)> {
        let text = match self.encoding {
            Some(encoding) => encoding.decode(disk).map_err(|why| self.not_encoded(why))?,
            None => disk.to_vec(),
        };
        let blob = match &self.driver {
            Some(driver) => self.repo.filtered(driver, Way::Clean, self.path, text.clone())?,
            None => text.clone(),
        };
        // Read only if it matters: the text holds CRLF, and the conversion is automatic.
        let blob = match self.ends {
            Action::Auto(_) if memchr::memmem::find(&blob, b"\r\n").is_some() => {
                let recorded_crlf = self.recorded_crlf()?;
                self.ends.to_git(blob, || recorded_crlf)
            }
            ends => ends.to_git(blob, || false),
        };
        Ok((text, if self.ident { keyword::collapse(&blob) } else { blob }))
    }

    /// The bytes that Git writes to disk: `convert_to_working_tree`.
    fn checked_out(&self, blob: &[u8]) -> Result<Vec<u8>> {
        let mut text = blob.to_vec();
        if self.ident {
            text = keyword::expand(&text, &self.repo.blob_id(blob)?.to_string());
        }
        text = self.ends.to_worktree(text);
        if let Some(encoding) = self.encoding {
            text = encoding.encode(&text).map_err(|why| self.not_encoded(why))?;
        }
        let Some(driver) = &self.driver else { return Ok(text) };
        self.repo.filtered(driver, Way::Smudge, self.path, text)
    }

    /// Whether what the index holds of the file is a text with CRLF.
    fn recorded_crlf(&self) -> Result<bool> {
        match self.repo.staged_by_git(self.path)? {
            Staged::File(file) => Ok(has_crlf(&self.repo.object(file.oid, ObjectKind::Blob)?)),
            _ => Ok(false),
        }
    }

    /// The refusal of a file that would not come back byte for byte.
    fn inexact(&self, disk: &[u8]) -> Finding {
        let count = |needle: &[u8]| memchr::memmem::find_iter(disk, needle).count();
        let (crlf, lf) = (count(b"\r\n"), count(b"\n"));
        if let Some(driver) = &self.driver {
            let why = format!(
                "Git would not check out the bytes that stand there: its filter {:?} does not give back what it takes",
                driver.name
            );
            return refused(self.path, &why, OUTSIDE);
        }
        let (why, hint) = match self.ends {
            Action::Keep => (String::new(), OUTSIDE.to_owned()),
            Action::Text(end) | Action::Auto(end) => {
                let (name, tool) =
                    if end == End::CrLf { ("CRLF", "unix2dos") } else { ("LF", "dos2unix") };
                let why = format!(
                    ": Git checks it out with {name}, and {crlf} of its {lf} lines end in CRLF"
                );
                let path = self.path.for_shell();
                let hint = format!(
                    "Let a person give it the line ends that Git checks out (`{tool} {path}`), or drop the conversion (`git check-attr -a {path}`, core.autocrlf)."
                );
                (why, hint)
            }
        };
        refused(
            self.path,
            &format!("Git would not check out the bytes that stand there{why}"),
            &hint,
        )
    }

    fn not_encoded(&self, why: &str) -> Finding {
        let hint = "Send text that the file's encoding can hold, or let a person mend the file or its working-tree-encoding.";
        refused(self.path, &format!("{why} (its working-tree-encoding attribute)"), hint)
    }
}

/// What an attribute says.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Value {
    Unspecified,
    Set,
    Unset,
    Is(String),
}

const OUTSIDE: &str = "Change this file outside edt, or let a person drop the conversion for it (`git check-attr -a` shows it).";

fn forms(text: Vec<u8>, disk: Vec<u8>, blob: Vec<u8>) -> Forms {
    let one = text == disk && disk == blob;
    Forms { text, stored: (!one).then_some(Stored { disk, blob }) }
}

/// The `.gitattributes` on the way to `path`.
fn attribute_files(path: &RepoPath) -> impl Iterator<Item = RepoPath> + '_ {
    std::iter::once(b"".as_slice()).chain(path.parents()).map(|folder| {
        let name = if folder.is_empty() {
            b".gitattributes".to_vec()
        } else {
            [folder, b"/.gitattributes"].concat()
        };
        RepoPath::from_tree(&name)
    })
}

fn refused(path: &RepoPath, why: &str, hint: &str) -> Finding {
    let message = format!("edt does not edit {path}: {why}. Nothing was changed.");
    Finding::new(Code::UnsupportedRepository, message, hint).at(path)
}

fn unread(path: &RepoPath, why: &str) -> Finding {
    let message =
        format!("The attributes of {path} could not be read: {why}. Nothing was changed.");
    Finding::new(
        Code::IoError,
        message,
        "`git check-attr -a` tells more; mend it and repeat the call.",
    )
    .at(path)
}
