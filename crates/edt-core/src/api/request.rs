//! A builder for requests.

use std::ops::RangeInclusive;

use crate::Mode;
use crate::txn::Request;
use crate::txn::edit_fields::EditFields;

/// Builds a request. A wrong path, mode or text is reported by [`Workspace::apply`], with every
/// other finding.
impl Request {
    /// An empty request; `message` becomes the subject of the commit.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Request {
        Request { message: Some(message.into()), ..Request::default() }
    }

    /// Replaces the one occurrence of `old_text` in `path`.
    #[must_use]
    pub fn edit(
        self,
        path: &str,
        old_text: impl Into<Vec<u8>>,
        content: impl Into<Vec<u8>>,
    ) -> Request {
        let fields = EditFields {
            old_text: Some(old_text.into()),
            content: Some(content.into()),
            ..EditFields::default()
        };
        self.with_edit(path, Mode::Edit, fields)
    }

    /// Replaces every occurrence of `old_text` in `path`; at least one must exist.
    ///
    /// ```standalone_crate
    /// # fn main() -> Result<(), edt_core::Refusal> {
    /// # let directory = edt_testkit::ScratchRepo::with(&[("a.txt", "one one\n")]);
    /// # let mut ws = edt_core::Workspace::open(directory.path(), edt_core::Options::default())?;
    /// ws.apply(&edt_core::Request::new("x").replace_all("a.txt", "one", "two"))?;
    /// # assert_eq!(std::fs::read_to_string(directory.path().join("a.txt")).unwrap(), "two two\n");
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn replace_all(
        self,
        path: &str,
        old_text: impl Into<Vec<u8>>,
        content: impl Into<Vec<u8>>,
    ) -> Request {
        let fields = EditFields {
            old_text: Some(old_text.into()),
            content: Some(content.into()),
            replace_all: Some(true),
            ..EditFields::default()
        };
        self.with_edit(path, Mode::Edit, fields)
    }

    /// Inserts `content` before line `line` of `path`. Lines count from 1; one past the last line is
    /// the end of the file.
    #[must_use]
    pub fn insert(self, path: &str, line: u64, content: impl Into<Vec<u8>>) -> Request {
        let fields = EditFields {
            start_line: Some(line),
            content: Some(content.into()),
            ..EditFields::default()
        };
        self.with_edit(path, Mode::Insert, fields)
    }

    /// Replaces the lines `lines` of `path`, which count from 1, with `content`.
    ///
    /// Line numbers alone are refused with `HASH_REQUIRED`: state the version of the file that they
    /// refer to with [`Request::expected_hash`].
    ///
    /// ```standalone_crate
    /// # fn main() -> Result<(), edt_core::Refusal> {
    /// # let directory = edt_testkit::ScratchRepo::with(&[("a.txt", "1\n2\n3\n4\n")]);
    /// # let mut ws = edt_core::Workspace::open(directory.path(), edt_core::Options::default())?;
    /// let created = ws.apply(&edt_core::Request::new("new").create("b.txt", "1\n2\n3\n4\n"))?;
    /// let hash = created.files[0].hash_after.clone().unwrap_or_default();
    /// let request = edt_core::Request::new("lines").replace_lines("b.txt", 2..=3, "two, three\n");
    /// ws.apply(&request.expected_hash("b.txt", hash))?;
    /// # assert_eq!(std::fs::read_to_string(directory.path().join("b.txt")).unwrap(), "1\ntwo, three\n4\n");
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn replace_lines(
        self,
        path: &str,
        lines: RangeInclusive<u64>,
        content: impl Into<Vec<u8>>,
    ) -> Request {
        let fields = EditFields { content: Some(content.into()), ..EditFields::of_lines(&lines) };
        self.with_edit(path, Mode::ReplaceLines, fields)
    }

    /// Removes the lines `lines` of `path`, which count from 1. Needs [`Request::expected_hash`], as
    /// [`Request::replace_lines`] does.
    #[must_use]
    pub fn delete_lines(self, path: &str, lines: RangeInclusive<u64>) -> Request {
        self.with_edit(path, Mode::DeleteLines, EditFields::of_lines(&lines))
    }

    /// Refuses the request with `HASH_MISMATCH` unless the blob id of `path` begins with `hash`, as
    /// hex with at least 7 digits. [`FileReport::hash_after`](crate::FileReport) has the id after an
    /// edit. Applies to the edits of `path` that the request has so far.
    #[must_use]
    pub fn expected_hash(mut self, path: &str, hash: impl Into<String>) -> Request {
        self.expect_hash(path.as_bytes(), hash.into());
        self
    }

    /// Creates the file `path`.
    #[must_use]
    pub fn create(self, path: &str, content: impl Into<Vec<u8>>) -> Request {
        self.with_content(path, Mode::Create, content)
    }

    /// Adds `content` to the end of `path`.
    #[must_use]
    pub fn append(self, path: &str, content: impl Into<Vec<u8>>) -> Request {
        self.with_content(path, Mode::Append, content)
    }

    /// Replaces the whole of the existing file `path`.
    #[must_use]
    pub fn overwrite(self, path: &str, content: impl Into<Vec<u8>>) -> Request {
        self.with_content(path, Mode::Overwrite, content)
    }

    /// Removes the file `path`.
    #[must_use]
    pub fn delete(self, path: &str) -> Request {
        self.with_edit(path, Mode::Delete, EditFields::default())
    }

    /// Moves the file `path` to `to`, content and mode bit kept.
    #[must_use]
    pub fn rename(self, path: &str, to: &str) -> Request {
        let fields = EditFields { to: Some(to.into()), ..EditFields::default() };
        self.with_edit(path, Mode::Rename, fields)
    }

    /// Overrides the guard of this name, where policy lets a request do so.
    #[must_use]
    pub fn allow(mut self, word: impl Into<String>) -> Request {
        self.allow.push(word.into());
        self
    }

    /// Names the agent; becomes the trailer `Edt-Agent`.
    #[must_use]
    pub fn agent(mut self, name: impl Into<String>) -> Request {
        self.agent = Some(name.into());
        self
    }

    fn with_content(self, path: &str, mode: Mode, content: impl Into<Vec<u8>>) -> Request {
        let fields = EditFields { content: Some(content.into()), ..EditFields::default() };
        self.with_edit(path, mode, fields)
    }

    fn with_edit(mut self, path: &str, mode: Mode, fields: EditFields) -> Request {
        let fields = EditFields { path: path.into(), mode: Some(mode), ..fields };
        self.add(fields);
        self
    }
}
