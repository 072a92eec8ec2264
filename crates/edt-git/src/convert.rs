//! How Git converts the bytes of a file between disk and blob: line endings, `$Id$`, encodings,
//! filters.
//!
//! A file has three forms. *Disk* is the content in the worktree. *Blob* is what Git records.
//! *Text* is what edits, guards and answers use: the bytes on disk, decoded if
//! `working-tree-encoding` names an encoding. Without a conversion all three are equal, and this
//! costs only a few `stat` calls ([`Repo::may_convert`]).
//!
//! Every conversion must be reversible: a file is refused if Git would check out other bytes than
//! those on disk. So every recorded state restores the exact bytes.

use std::path::PathBuf;

use gix::bstr::ByteSlice as _;
use gix::worktree::stack::state::attributes::Source;

use super::driver::{FilterDirection, FilterDriver};
use super::encoding::Encoding;
use super::eol::{AutoCrlf, End, EolConversion, has_crlf};
use super::file_id::{FileId, Tracked};
use super::index::IndexState;
use super::read::ObjectKind;
use super::repo::Repo;
use super::{Oid, causes, environment, keyword};
use edt_types::{Code, Finding, RepoPath, Result};

/// Where the attributes come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attributes {
    /// `.gitattributes` of the worktree; if one is not checked out, of this tree.
    Worktree(Oid),
    /// `.gitattributes` of this tree, for a state that is about to be checked out.
    Tree(Oid),
}

/// The three forms of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forms {
    /// The form that edits, guards and answers use.
    pub text: Vec<u8>,
    /// The other forms; `None` if all are equal.
    pub stored: Option<StoredForms>,
}

/// The forms that differ from the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredForms {
    /// The content on disk.
    pub disk: Vec<u8>,
    /// The content that Git records.
    pub blob: Vec<u8>,
}

impl Forms {
    /// A file without a conversion.
    #[must_use]
    pub const fn plain(text: Vec<u8>) -> Forms {
        Forms { text, stored: None }
    }

    /// The content on disk.
    #[must_use]
    pub fn disk(&self) -> &[u8] {
        self.stored.as_ref().map_or(&self.text, |stored| &stored.disk)
    }

    /// The content that Git records.
    #[must_use]
    pub fn blob(&self) -> &[u8] {
        self.stored.as_ref().map_or(&self.text, |stored| &stored.blob)
    }
}

/// The conversions of one path.
#[derive(Debug)]
pub struct Conversion<'a> {
    repo: &'a Repo,
    path: &'a RepoPath,
    ends: EolConversion,
    ident: bool,
    encoding: Option<Encoding>,
    driver: Option<FilterDriver>,
}

impl Repo {
    /// The conversions that Git applies to the file at `path`.
    ///
    /// # Errors
    /// `UNSUPPORTED_REPOSITORY` for an unsupported encoding, or for an encoding together with a
    /// filter; `IO_ERROR` if the attributes cannot be read.
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
                        "edt does not support its encoding {name}: it might not restore every byte"
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
            return Err(refused(path, "it has both a filter and an encoding", OUTSIDE).into());
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

    /// Whether any attribute or setting could convert the file. Costs a few `stat` calls instead of
    /// reading them. `recorded` returns whether a `.gitattributes` that is not in the worktree
    /// exists in the tree.
    ///
    /// # Errors
    /// Those of `recorded`.
    pub fn may_convert(
        &self,
        path: &RepoPath,
        recorded: impl Fn(&RepoPath) -> Result<bool>,
    ) -> Result<bool> {
        if self.may_convert_everywhere() {
            return Ok(true);
        }
        for file in attribute_files(path) {
            if !matches!(self.root().stat(file.as_bytes()), Ok(None)) || recorded(&file)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a setting, or an attribute file outside the worktree, could convert any file.
    pub(super) fn may_convert_everywhere(&self) -> bool {
        if self.auto_crlf() != AutoCrlf::Off {
            return true;
        }
        let configured =
            self.inner.config_snapshot().trusted_path("core.attributesFile").ok().flatten();
        let user_file = configured.or_else(|| {
            environment::user_config_dir(self.environment).map(|home| home.join("git/attributes"))
        });
        let fixed = [
            Some(self.common_dir().join("info/attributes")),
            user_file,
            Some(PathBuf::from("/etc/gitattributes")),
        ];
        fixed.iter().flatten().any(|file| file.exists())
    }

    /// The attributes of `path`, with built-in macros resolved.
    fn attributes_of(&self, path: &RepoPath, from: Attributes) -> Result<Vec<(String, Value)>> {
        let fail = |why: &str| unread(path, why);
        for file in attribute_files(path) {
            // Opening a FIFO would block until a writer appears.
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
    fn line_ends(&self, text: &Value, crlf: &Value, eol: &Value) -> EolConversion {
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
            Value::Unset => EolConversion::Keep,
            Value::Is(text) if text == "auto" => EolConversion::Auto(asked.unwrap_or_else(native)),
            Value::Is(text) if text == "input" => EolConversion::Text(asked.unwrap_or(End::Lf)),
            Value::Set => EolConversion::Text(asked.unwrap_or_else(native)),
            Value::Is(_) | Value::Unspecified => match (asked, auto_crlf) {
                (Some(end), _) => EolConversion::Text(end),
                (None, AutoCrlf::Off) => EolConversion::Keep,
                (None, AutoCrlf::Input) => EolConversion::Auto(End::Lf),
                (None, AutoCrlf::On) => EolConversion::Auto(End::CrLf),
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
    /// The forms of a file with the content `disk`.
    ///
    /// # Errors
    /// `UNSUPPORTED_REPOSITORY` if Git would check out other bytes; the errors of filters.
    pub fn of_disk(&self, disk: Vec<u8>) -> Result<Forms> {
        if self.is_nothing() {
            return Ok(Forms::plain(disk));
        }
        match self.of_written(disk)? {
            (_, Some(inexact)) => Err(inexact.into()),
            (forms, None) => Ok(forms),
        }
    }

    /// As [`of_disk`](Conversion::of_disk), for a file that is recorded and not written: the finding
    /// says that Git would check it out with other line endings.
    ///
    /// # Errors
    /// As [`of_disk`](Conversion::of_disk), for other differences.
    pub fn of_written(&self, disk: Vec<u8>) -> Result<(Forms, Option<Finding>)> {
        if self.is_nothing() {
            return Ok((Forms::plain(disk), None));
        }
        let (text, blob) = self.recorded(&disk)?;
        let inexact = (self.checked_out(&blob)? != disk).then(|| self.inexact(&disk));
        let has_only_ends = self.driver.is_none() && self.encoding.is_none() && !self.ident;
        match inexact {
            Some(inexact) if !has_only_ends => Err(inexact.into()),
            inexact => Ok((forms(text, disk, blob), inexact)),
        }
    }

    /// The forms of a new text, as Git would check it out after recording it.
    ///
    /// # Errors
    /// `UNSUPPORTED_REPOSITORY` if Git would record the checked-out file differently; the errors of
    /// filters.
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
                "Git would check out a file for this text from which it would record other bytes";
            return Err(refused(self.path, why, OUTSIDE).into());
        }
        Ok(forms)
    }

    /// The forms of a file as Git would check it out.
    ///
    /// # Errors
    /// `UNSUPPORTED_REPOSITORY` if it cannot be encoded; the errors of filters.
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

    /// What Git records for the bytes on disk, whether they are reversible or not.
    ///
    /// # Errors
    /// As [`Conversion::of_disk`].
    pub(super) fn blob_of(&self, disk: &[u8]) -> Result<Vec<u8>> {
        self.recorded(disk).map(|(_, blob)| blob)
    }

    fn is_nothing(&self) -> bool {
        self.ends == EolConversion::Keep
            && !self.ident
            && self.encoding.is_none()
            && self.driver.is_none()
    }

    /// The text and the blob for the content on disk: `convert_to_git`.
    fn recorded(&self, disk: &[u8]) -> Result<(Vec<u8>, Vec<u8>)> {
        let text = match self.encoding {
            Some(encoding) => encoding.decode(disk).map_err(|why| self.not_encoded(why))?,
            None => disk.to_vec(),
        };
        let blob = match &self.driver {
            Some(driver) => {
                self.repo.filtered(driver, FilterDirection::Clean, self.path, text.clone())?
            }
            None => text.clone(),
        };
        // Read only if it matters: the text contains CRLF, and the conversion is automatic.
        let blob = match self.ends {
            EolConversion::Auto(_) if memchr::memmem::find(&blob, b"\r\n").is_some() => {
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
        self.repo.filtered(driver, FilterDirection::Smudge, self.path, text)
    }

    /// Whether the version in the index is text with CRLF.
    fn recorded_crlf(&self) -> Result<bool> {
        match self.repo.staged_via_gix(self.path)? {
            IndexState::File(file) => Ok(has_crlf(&self.repo.object(file.oid, ObjectKind::Blob)?)),
            _ => Ok(false),
        }
    }

    /// The refusal of a file that Git would not check out with the same bytes.
    fn inexact(&self, disk: &[u8]) -> Finding {
        let count = |needle: &[u8]| memchr::memmem::find_iter(disk, needle).count();
        let (crlf, lf) = (count(b"\r\n"), count(b"\n"));
        if let Some(driver) = &self.driver {
            let why = format!(
                "Git would not check out the same bytes: its filter {:?} does not reverse them",
                driver.name
            );
            return refused(self.path, &why, OUTSIDE);
        }
        let (why, hint) = match self.ends {
            EolConversion::Keep => (String::new(), OUTSIDE.to_owned()),
            EolConversion::Text(end) | EolConversion::Auto(end) => {
                let (name, tool) =
                    if end == End::CrLf { ("CRLF", "unix2dos") } else { ("LF", "dos2unix") };
                let why = format!(
                    ": Git checks it out with {name}, and {crlf} of its {} in CRLF",
                    if lf == 1 { "1 line ends".to_owned() } else { format!("{lf} lines end") }
                );
                let path = self.path.for_shell();
                let hint = format!(
                    "Ask the user to convert the file to the line endings that Git checks out \
                     (`{tool} {path}`), or to remove the conversion; `git check-attr -a {path}` and \
                     `git config core.autocrlf` show where it is set."
                );
                (why, hint)
            }
        };
        refused(
            self.path,
            &format!("Git would not check out the bytes that are on disk{why}"),
            &hint,
        )
    }

    fn not_encoded(&self, why: &str) -> Finding {
        let hint = "Send text that the file's encoding can represent, or ask the user to fix the \
                    file or its working-tree-encoding.";
        refused(self.path, &format!("{why} (its working-tree-encoding attribute)"), hint)
    }
}

/// The value of an attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Value {
    Unspecified,
    Set,
    Unset,
    Is(String),
}

const OUTSIDE: &str = "Change this file outside edt, or ask the user to remove its conversion \
                       (`git check-attr -a` shows it).";

fn forms(text: Vec<u8>, disk: Vec<u8>, blob: Vec<u8>) -> Forms {
    let one = text == disk && disk == blob;
    Forms { text, stored: (!one).then_some(StoredForms { disk, blob }) }
}

/// The `.gitattributes` files that apply to `path`.
fn attribute_files(path: &RepoPath) -> impl Iterator<Item = RepoPath> + '_ {
    std::iter::once(b"".as_slice()).chain(path.parents()).map(attribute_file)
}

pub(super) fn attribute_file(directory: &[u8]) -> RepoPath {
    let separator: &[u8] = if directory.is_empty() { b"" } else { b"/" };
    RepoPath::from_tree(&[directory, separator, b".gitattributes"].concat())
}

fn refused(path: &RepoPath, why: &str, hint: &str) -> Finding {
    let message = format!("edt does not edit {path}: {why}.");
    Finding::new(Code::UnsupportedRepository, message, hint).nothing_changed().at(path)
}

fn unread(path: &RepoPath, why: &str) -> Finding {
    let message = format!("The attributes of {path} could not be read: {why}.");
    Finding::new(
        Code::IoError,
        message,
        "Fix what `git check-attr -a` reports, then repeat the call.",
    )
    .nothing_changed()
    .at(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use edt_testkit::ScratchRepo;

    /// A repository with these attributes in its worktree, and these settings.
    fn repo(attributes: &str, config: &str) -> (ScratchRepo, Repo) {
        let scratch = ScratchRepo::with(&[("a.txt", "one\n")]);
        std::fs::write(scratch.path().join(".gitattributes"), attributes).unwrap();
        let file = scratch.path().join(".git/config");
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::write(file, text + config).unwrap();
        let repo = Repo::open(scratch.path()).unwrap();
        (scratch, repo)
    }

    fn path() -> RepoPath {
        RepoPath::from_tree(b"a.txt")
    }

    fn with<T>(attributes: &str, config: &str, act: impl FnOnce(&Conversion<'_>) -> T) -> T {
        let (_scratch, repo) = repo(attributes, config);
        let path = path();
        act(&repo.conversion(&path, Attributes::Worktree(repo.empty_tree())).unwrap())
    }

    fn stored(disk: &[u8], blob: &[u8]) -> Option<StoredForms> {
        Some(StoredForms { disk: disk.to_vec(), blob: blob.to_vec() })
    }

    #[test]
    fn without_attributes_all_forms_are_equal() {
        let forms = with("", "", |conversion| conversion.of_text(b"a\r\nb\n".to_vec()).unwrap());
        assert_eq!(forms, Forms::plain(b"a\r\nb\n".to_vec()));
        assert_eq!((forms.disk(), forms.blob()), (&b"a\r\nb\n"[..], &b"a\r\nb\n"[..]));
    }

    #[test]
    fn text_with_crlf_on_disk_has_lf_in_git() {
        let forms = with("*.txt eol=crlf\n", "", |conversion| {
            conversion.of_disk(b"a\r\n".to_vec()).unwrap()
        });
        assert_eq!(forms, Forms { text: b"a\r\n".to_vec(), stored: stored(b"a\r\n", b"a\n") });
    }

    #[test]
    fn a_new_text_gets_the_line_ends_of_the_checkout() {
        let forms =
            with("*.txt eol=crlf\n", "", |conversion| conversion.of_text(b"a\n".to_vec()).unwrap());
        assert_eq!((forms.disk(), forms.blob()), (&b"a\r\n"[..], &b"a\n"[..]));
    }

    #[test]
    fn line_ends_that_git_would_not_check_out_again_are_refused() {
        let finding = with("*.txt eol=crlf\n", "", |conversion| {
            conversion.of_disk(b"a\r\nb\n".to_vec()).unwrap_err().into_vec().remove(0)
        });
        let expected = Finding::new(
            Code::UnsupportedRepository,
            "edt does not edit a.txt: Git would not check out the bytes that are on disk: Git \
             checks it out with CRLF, and 1 of its 2 lines end in CRLF.",
            "Ask the user to convert the file to the line endings that Git checks out (`unix2dos \
             a.txt`), or to remove the conversion; `git check-attr -a a.txt` and `git config \
             core.autocrlf` show where it is set.",
        );
        assert_eq!(finding, expected.nothing_changed().at(&path()));
    }

    #[test]
    fn a_setting_converts_files_without_attributes() {
        let forms = with("", "[core]\n\tautocrlf = true\n", |conversion| {
            conversion.of_blob(b"a\n".to_vec()).unwrap()
        });
        assert_eq!((forms.disk(), forms.blob()), (&b"a\r\n"[..], &b"a\n"[..]));
    }

    #[test]
    fn an_attribute_wins_over_the_setting() {
        let forms = with("*.txt -text\n", "[core]\n\tautocrlf = true\n", |conversion| {
            conversion.of_blob(b"a\n".to_vec()).unwrap()
        });
        assert_eq!(forms, Forms::plain(b"a\n".to_vec()));
    }

    #[test]
    fn an_id_is_expanded_on_disk_and_collapsed_in_git() {
        let (_scratch, repo) = repo("*.txt ident\n", "");
        let (path, id) = (path(), repo.blob_id(b"$Id$\n").unwrap());
        let conversion = repo.conversion(&path, Attributes::Worktree(repo.empty_tree())).unwrap();
        let forms = conversion.of_text(b"$Id$\n".to_vec()).unwrap();
        let disk = format!("$Id: {id} $\n");
        assert_eq!((forms.disk(), forms.blob()), (disk.as_bytes(), &b"$Id$\n"[..]));
    }

    #[test]
    fn an_encoded_file_is_edited_as_utf_8() {
        let attributes = "*.txt working-tree-encoding=UTF-16LE\n";
        let forms =
            with(attributes, "", |conversion| conversion.of_disk(b"a\0\n\0".to_vec()).unwrap());
        assert_eq!(forms, Forms { text: b"a\n".to_vec(), stored: stored(b"a\0\n\0", b"a\n") });
    }

    #[test]
    fn a_character_that_the_encoding_lacks_is_refused() {
        let attributes = "*.txt working-tree-encoding=ISO-8859-1\n";
        let summary = with(attributes, "", |conversion| {
            conversion.of_text("€\n".as_bytes().to_vec()).unwrap_err().into_vec().remove(0).summary
        });
        assert_eq!(
            summary,
            "edt does not edit a.txt: it contains a character that its encoding does not have (its \
             working-tree-encoding attribute)."
        );
    }

    fn refused_conversion(attributes: &str, config: &str) -> String {
        let (_scratch, repo) = repo(attributes, config);
        let path = path();
        let found = repo.conversion(&path, Attributes::Worktree(repo.empty_tree()));
        found.unwrap_err().into_vec().remove(0).summary
    }

    #[test]
    fn an_unknown_encoding_is_refused() {
        assert_eq!(
            refused_conversion("*.txt working-tree-encoding=SHIFT-JIS\n", ""),
            "edt does not edit a.txt: edt does not support its encoding SHIFT-JIS: it might not \
             restore every byte."
        );
    }

    #[test]
    fn a_file_with_a_filter_and_an_encoding_is_refused() {
        let attributes = "*.txt working-tree-encoding=UTF-16LE filter=x\n";
        assert_eq!(
            refused_conversion(attributes, "[filter \"x\"]\n\tclean = cat\n"),
            "edt does not edit a.txt: it has both a filter and an encoding."
        );
    }

    #[test]
    fn a_conversion_is_possible_only_with_attributes_or_a_setting() {
        let may = |repo: &Repo| repo.may_convert(&path(), |_| Ok(false)).unwrap();
        let (scratch, attributes) = repo("*.txt text\n", "");
        assert!(may(&attributes));
        std::fs::remove_file(scratch.path().join(".gitattributes")).unwrap();
        assert!(!may(&attributes));
        assert!(attributes.may_convert(&path(), |_| Ok(true)).unwrap());
        let (scratch, setting) = repo("", "[core]\n\tautocrlf = input\n");
        std::fs::remove_file(scratch.path().join(".gitattributes")).unwrap();
        assert!(may(&setting));
    }

    #[test]
    fn attributes_come_from_the_root_down_to_the_directory() {
        let path = RepoPath::from_tree(b"a/b/c.txt");
        let files: Vec<String> = attribute_files(&path).map(|file| file.text()).collect();
        assert_eq!(files, [".gitattributes", "a/.gitattributes", "a/b/.gitattributes"]);
    }
}
