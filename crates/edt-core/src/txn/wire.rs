//! The JSON of `edt apply --request`.

use schemars::JsonSchema;
use serde::Deserialize;

use super::edit_fields::EditFields;
use super::other_words::{self, Nowhere, Surroundings};
use super::patch_text::PatchText;
use super::request::Request;
use super::request_key::bad;
use super::request_limits;
use super::words_table;
use edt_edit::Mode;
use edt_edit::place::Matching;
use edt_types::text::Shown as _;
use edt_types::{Code, Finding, Refusal, Result};

/// Defines [`RequestWire`] and [`WireEdit`]: a request has the keys of one edit, too.
macro_rules! wire {
    ($($(#[doc = $doc:literal])+ $key:ident: $type:ty,)+) => {
        /// The request of `edt apply`: `edits`, or `patch`, or the keys of a single edit at the top
        /// level.
        #[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields, default)]
        #[schemars(title = "edt.request/1")]
        pub struct RequestWire {
            /// The name and version of this shape: `edt.request/1`. It may be left out.
            pub schema: Option<String>,
            /// The reason for the edit; the first line is the commit's subject.
            pub message: Option<String>,
            /// The agent; recorded in a trailer.
            pub agent: Option<String>,
            /// Overrides, such as `size_reduction`.
            #[serde(deserialize_with = "request_limits::list")]
            pub allow: Vec<String>,
            /// The edits, applied in order, each to the result of the one before; all or none.
            #[serde(deserialize_with = "request_limits::optional_list")]
            pub edits: Option<Vec<WireEdit>>,
            $(
                /// Of a single edit: see `edits`.
                pub $key: Option<$type>,
            )+
            /// Instead of edits: a unified diff, `*** Begin Patch` … `*** End Patch`, SEARCH/REPLACE
            /// blocks, or complete files in fences below their paths. `path` names the file of a
            /// patch that names none, `expected_hash` is the blob id of the only file that it
            /// changes.
            pub patch: Option<String>,
            /// How far the hunks of a patch, or the texts of mode `edit`, may differ from the file.
            #[serde(rename = "match")]
            pub matching: Option<Match>,
        }

        /// One edit of one file.
        #[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields, default)]
        pub struct WireEdit {
            $($(#[doc = $doc])+ pub $key: Option<$type>,)+
        }

        impl RequestWire {
            /// The keys of a single edit.
            fn single(&mut self) -> WireEdit {
                WireEdit { $($key: self.$key.take(),)+ }
            }
        }

        impl WireEdit {
            fn is_empty(&self) -> bool {
                true $(&& self.$key.is_none())+
            }
        }
    };
}

wire! {
    /// The file, relative to the worktree's root, with `/`.
    path: String,
    /// What to do.
    mode: Mode,
    /// Mode edit: the present text, which must occur exactly once (or more often with
    /// `replace_all`).
    old_text: String,
    /// The new text; of the whole file for create and overwrite.
    content: String,
    /// Mode edit: replace every place instead of the only one.
    replace_all: bool,
    /// Mode create: set the mode bit.
    executable: bool,
    /// Mode rename: the new path. Mode `rename_symbol`: the new name.
    to: String,
    /// Modes with `symbol`: the name of the definition, such as `Parser.parse`, as `edt outline`
    /// prints it.
    symbol: String,
    /// Modes insert, `replace_lines`, `delete_lines`: the first line, 1-based. Modes with `symbol`:
    /// a line of the definition, if several have the name.
    start_line: u64,
    /// Modes `replace_lines`, `delete_lines`: the last line, included.
    end_line: u64,
    /// Instead of `start_line`: the anchor of the first line, as `edt read --anchors` prints it.
    start_anchor: String,
    /// Instead of `end_line`: the anchor of the last line; `start_anchor` if omitted.
    end_anchor: String,
    /// The present lines: those of the range, or, for insert, those that follow (empty at the end
    /// of the file).
    expected_text: String,
    /// The blob id that the file must have, as `edt read` prints it.
    expected_hash: String,
}

/// How far a hunk or a text may differ from the file; `matched_by` in the answer says how it did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Match {
    /// Not at all, except in line ends.
    Strict,
    /// In white space at the ends of lines, and in indentation by one rule for the whole hunk or
    /// text. The place must still be unique.
    Lenient,
}

impl Match {
    /// Both, with their names.
    pub const ALL: [(&'static str, Match); 2] =
        [("strict", Match::Strict), ("lenient", Match::Lenient)];
}

/// The largest request that is tried in other words, in bytes: all of it is in memory several times.
const MAX_OTHER_WORDS: usize = 8 << 20;

impl Request {
    /// Parses a JSON request, in the words of [`RequestWire`] or of other agents' tools. A word that
    /// writes a whole file makes a new one.
    ///
    /// # Errors
    /// `BAD_REQUEST` naming the place, an unknown key with the nearest known one, or a missing key;
    /// path and text findings of every edit.
    pub fn from_json(bytes: &[u8]) -> Result<Request> {
        Request::from_json_in(bytes, &Nowhere)
    }

    /// As [`Request::from_json`]. In `around` a word that writes a whole file overwrites one that is
    /// there, and an absolute path of the worktree is understood.
    ///
    /// # Errors
    /// As [`Request::from_json`].
    pub fn from_json_in(bytes: &[u8], around: &dyn Surroundings) -> Result<Request> {
        Request::in_own_words(bytes).or_else(|found| {
            let is_large = found.any(|finding| finding.code == Code::FileTooLarge)
                || bytes.len() > MAX_OTHER_WORDS;
            let other = if is_large { None } else { other_words::of(bytes, around) };
            let Some(other) = other else { return Err(found) };
            let json = other.json.to_string();
            let key = |found: &Refusal| found.as_slice().first()?.evidence.get("key").cloned();
            let request = Request::in_own_words(json.as_bytes()).map_err(|again| {
                // The places are those of the bytes that were sent.
                let is_same = key(&again).is_some() && key(&again) == key(&found);
                // What was understood at once is judged as it was written.
                let is_content = found.any(|finding| finding.code != Code::BadRequest);
                if is_same || is_content { found } else { again }
            })?;
            Ok(Request { left_out: other.left_out, ..request })
        })
    }

    fn in_own_words(bytes: &[u8]) -> Result<Request> {
        let mut wire: RequestWire =
            serde_json::from_slice(bytes).map_err(|error| not_json(&error.to_string()))?;
        if let Some(other) = wire.schema.as_ref().filter(|schema| *schema != RequestWire::SCHEMA) {
            let finding = bad(
                &format!("The request names the schema {}.", other.shown()),
                "Send `\"schema\": \"edt.request/1\"`, or leave the key out.",
            );
            return Err(finding.with("key", "schema").into());
        }
        let single = wire.single();
        if let Some(text) = wire.patch {
            let alone = WireEdit { path: None, expected_hash: None, ..single.clone() }.is_empty()
                && wire.edits.is_none();
            if !alone {
                let message = "The request has both `patch` and edits.";
                return Err(bad(
                    message,
                    "Send the edits or the patch. A patch takes only `path`, `expected_hash` and \
                     `match`.",
                )
                .into());
            }
            let matching = wire.matching.map_or(Matching::Strict, Match::matching);
            let path = single.path.map(String::into_bytes);
            let patch =
                PatchText::new(text.into_bytes(), path.as_deref(), single.expected_hash, matching)?;
            return Request::patch(wire.message, wire.agent, wire.allow, patch);
        }
        let edits_fields: Vec<EditFields> = match wire.edits {
            None => vec![single.into()],
            Some(edits) if single.is_empty() => edits.into_iter().map(Into::into).collect(),
            Some(_) => {
                return Err(bad(
                    "The request has both `edits` and the keys of a single edit.",
                    "Put every edit into `edits`.",
                )
                .into());
            }
        };
        let request = Request::of(wire.message, wire.agent, wire.allow, edits_fields)?;
        match wire.matching {
            Some(matching) => request.matching(matching.matching()),
            None => Ok(request),
        }
    }
}

impl Match {
    /// The same, as hunks are placed by it.
    #[must_use]
    pub const fn matching(self) -> Matching {
        match self {
            Match::Strict => Matching::Strict,
            Match::Lenient => Matching::Lenient,
        }
    }
}

impl RequestWire {
    /// The name and version of this shape.
    pub const SCHEMA: &'static str = "edt.request/1";
}

impl From<WireEdit> for EditFields {
    fn from(wire: WireEdit) -> EditFields {
        // Nothing is what a client fills in, where nothing can be meant or the hash says more.
        let says_nothing = wire.mode == Some(Mode::Insert) || wire.expected_hash.is_some();
        let expected_text = wire.expected_text.filter(|text| !(text.is_empty() && says_nothing));
        EditFields {
            path: wire.path.unwrap_or_default().into_bytes(),
            mode: wire.mode,
            old_text: wire.old_text.map(String::into_bytes),
            content: wire.content.map(String::into_bytes),
            replace_all: wire.replace_all,
            executable: wire.executable,
            to: wire.to.map(String::into_bytes),
            symbol: wire.symbol,
            start_line: wire.start_line,
            end_line: wire.end_line,
            start_anchor: wire.start_anchor,
            end_anchor: wire.end_anchor,
            expected_text: expected_text.map(String::into_bytes),
            expected_hash: wire.expected_hash,
        }
    }
}

/// serde's message; for an unknown key with the nearest known one.
fn not_json(why: &str) -> Finding {
    let unknown = why.strip_prefix("unknown field `").and_then(|rest| rest.split_once('`'));
    let Some((key, rest)) = unknown else {
        let word = why.strip_prefix("unknown variant `").and_then(|rest| rest.split('`').next());
        if word.is_some_and(words_table::reads) {
            return bad(
                &format!("The request is not valid: {why}."),
                "This call changes files. To read one call `read` (`edt read PATH`).",
            );
        }
        return bad(
            &format!("The request is not valid: {why}."),
            "Send one JSON object; `edt schema request` prints its schema.",
        );
    };
    let known: Vec<&str> = rest.split('`').skip(1).step_by(2).collect();
    let near = words_table::nearest(key).filter(|near| known.contains(near));
    let nearest = near.map_or_else(String::new, |near| format!(" Did you mean `{near}`?"));
    let place = rest
        .rsplit_once(" at line ")
        .map_or_else(String::new, |(_, place)| format!(" (line {place})"));
    bad(
        &format!("The request has the unknown key `{key}`{place}.{nearest}"),
        &format!("Known keys are: {}.", known.join(", ")),
    )
    .with("key", key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use edt_edit::{Edit, Expect, Op};
    use edt_types::{Code, RepoPath};

    fn error(json: &str) -> String {
        Request::from_json(json.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn a_single_edit_may_leave_out_the_array() {
        let request =
            Request::from_json(br#"{"path": "a", "mode": "append", "content": "x"}"#).unwrap();
        let op = Op::Append { content: b"x".to_vec() };
        assert_eq!(
            request.edits,
            [Edit { path: RepoPath::parse(b"a").unwrap(), expect: Expect::Anything, op }]
        );
    }

    #[test]
    fn a_request_may_name_its_schema_and_no_other() {
        let named = |schema: &str| {
            let json = format!(
                r#"{{"schema": "{schema}", "path": "a", "mode": "append", "content": "x"}}"#
            );
            Request::from_json(json.as_bytes())
        };
        assert_eq!(named(RequestWire::SCHEMA).unwrap().edits.len(), 1);
        let found = named("edt.request/2").unwrap_err();
        assert_eq!(found.as_slice()[0].evidence["key"], "schema");
        assert!(found.to_string().contains("edt.request/2"), "{found}");
    }

    #[test]
    fn an_unknown_key_is_named_with_the_nearest_known_one() {
        let error = error(r#"{"path": "a", "mode": "edit", "oldtext": "x"}"#);
        assert!(
            error.contains("unknown key `oldtext`") && error.contains("Did you mean `old_text`?"),
            "{error}"
        );
    }

    #[test]
    fn all_problems_are_found_not_only_the_first() {
        let found = Request::from_json(br#"{"allow": ["size"], "edits": [{"path": "../x", "mode": "edit", "content": "y"}, {"mode": "rename", "path": "a"}]}"#);
        let codes: Vec<Code> =
            found.unwrap_err().into_vec().iter().map(|finding| finding.code).collect();
        assert_eq!(
            codes,
            [Code::BadRequest, Code::BadRequest, Code::PathOutsideRepo, Code::OldTextRequired]
        );
    }

    #[test]
    fn a_mode_takes_only_its_own_keys() {
        assert!(
            error(r#"{"path": "a", "mode": "delete", "content": "x"}"#)
                .contains("does not take `content`")
        );
        assert!(error(r#"{"path": "a", "mode": "create"}"#).contains("needs `content`"));
        assert!(
            error(r#"{"path": "a", "content": "x", "start_line": 2}"#).contains("has no `mode`")
        );
        assert!(error(r#"{"path": "a", "mode": "create", "content": "#).contains("EOF"));
        assert!(error(r#"{"path": "a", "mode": "create", "content": 3}"#).contains("invalid type"));
    }

    fn refused(json: &str) -> (String, String) {
        let finding = Request::from_json(json.as_bytes()).unwrap_err().into_vec().remove(0);
        (finding.summary, finding.remedy)
    }

    fn texts(summary: &str, remedy: &str) -> (String, String) {
        (summary.to_owned(), remedy.to_owned())
    }

    #[test]
    fn a_patch_comes_without_edits() {
        assert_eq!(
            refused(r#"{"patch": "x", "edits": [{"path": "a"}]}"#),
            texts(
                "The request has both `patch` and edits.",
                "Send the edits or the patch. A patch takes only `path`, `expected_hash` and \
                 `match`."
            )
        );
        assert_eq!(
            refused(r#"{"patch": "x", "mode": "append", "path": "a", "content": "y"}"#).0,
            "The request has both `patch` and edits."
        );
    }

    #[test]
    fn the_way_to_match_is_only_for_patches_and_texts() {
        assert_eq!(
            refused(r#"{"match": "lenient", "path": "a", "mode": "delete"}"#),
            texts(
                "The request has `match`, and neither a patch nor an edit of mode \"edit\".",
                "Leave it out: only texts are matched."
            )
        );
        let json =
            r#"{"match": "lenient", "path": "a", "mode": "edit", "old_text": "a", "content": ""}"#;
        let request = Request::from_json(json.as_bytes()).unwrap();
        assert!(matches!(request.edits[0].op, Op::Edit { matching: Matching::Lenient, .. }));
    }

    #[test]
    fn keys_of_a_single_edit_are_not_mixed_with_a_list() {
        assert_eq!(
            refused(r#"{"edits": [{"path": "b", "mode": "delete"}], "path": "a"}"#),
            texts(
                "The request has both `edits` and the keys of a single edit.",
                "Put every edit into `edits`."
            )
        );
    }

    #[test]
    fn an_unknown_key_has_its_place() {
        assert_eq!(
            refused("{\"path\": \"a\",\n\"zzzzzzzz\": 1}").0,
            "The request has the unknown key `zzzzzzzz` (line 2 column 10)."
        );
    }

    #[test]
    fn text_that_is_not_json_is_refused_with_the_reason() {
        let (summary, remedy) = refused("hello");
        assert_eq!(summary, "The request is not valid: expected value at line 1 column 1.");
        assert_eq!(remedy, "Send one JSON object; `edt schema request` prints its schema.");
    }

    #[test]
    fn a_patch_may_name_its_file_its_hash_and_the_way_to_match() {
        let json = r#"{"patch": "x", "path": "a", "expected_hash": "abcdef1", "match": "lenient"}"#;
        let expected =
            PatchText::new(b"x".to_vec(), Some(b"a"), Some("abcdef1".into()), Matching::Lenient);
        let request = Request::from_json(json.as_bytes()).unwrap();
        assert_eq!(request.patch, Some(expected.unwrap()));
    }
}
