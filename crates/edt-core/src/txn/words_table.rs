//! The words that tools of other agents have for what a request says.

use similar::get_close_matches;

use super::loose_values::snake_case;

/// The key of edt, and the names that tools of other agents have for it, in snake case.
pub(super) const NAMES: &[(&str, &[&str])] = &[
    (
        "path",
        &[
            "file_path",
            "filepath",
            "filename",
            "file_name",
            "file",
            "target_file",
            "relative_path",
            "absolute_path",
            "abs_path",
            "notebook_path",
            "path_in_project",
        ],
    ),
    (
        "old_text",
        &[
            "old_string",
            "old_str",
            "old",
            "search",
            "search_text",
            "search_string",
            "find",
            "old_content",
            "original",
            "original_text",
            "old_code",
            "target_content",
        ],
    ),
    (
        "content",
        &[
            "new_string",
            "new_str",
            "new_text",
            "new",
            "replacement",
            "replace",
            "replace_with",
            "text",
            "file_text",
            "contents",
            "new_content",
            "file_content",
            "insert_text",
            "new_code",
            "code",
            "code_content",
            "replacement_content",
            "body",
        ],
    ),
    ("mode", &["command", "operation", "action", "op", "type", "edit_type"]),
    ("start_line", &["line", "line_number", "from_line", "first_line"]),
    ("end_line", &["to_line", "last_line"]),
    ("to", &["new_path", "destination", "dest", "target_path", "new_name"]),
    ("replace_all", &["allow_multiple", "all", "all_occurrences"]),
    ("expected_hash", &["hash", "blob", "blob_id"]),
    ("expected_text", &["expected"]),
    (
        "edits",
        &["edit", "changes", "operations", "replacements", "multi_edit", "replacement_chunks"],
    ),
    ("patch", &["patch_text", "diff", "unified_diff", "input"]),
    ("message", &["commit_message"]),
    ("allow", &["overrides", "override"]),
    ("symbol", &["symbol_name", "name_path"]),
];

/// Keys that say nothing about the edit, in snake case.
pub(super) const WITHOUT_MEANING: &[&str] = &[
    "description",
    "display_description",
    "explanation",
    "instruction",
    "instructions",
    "thought",
    "thoughts",
    "reason",
    "reasoning",
    "rationale",
    "summary",
    "tool_call_id",
    "create_dirs",
    "create_directories",
    "atomic",
    "blocking",
    "language",
    "line_count",
];
/// Flags that mean what edt does anyway, unless they are `true`.
pub(super) const OFF: &[&str] =
    &["dry_run", "use_regex", "regex", "is_regex", "empty_file", "ignore_case"];

/// Flags of other tools that ask for an override: the key, the value that asks, the override.
pub(super) const FLAGS: &[(&str, bool, &str)] = &[
    ("allow_size_reduce", true, "size_reduction"),
    ("allow_size_reduction", true, "size_reduction"),
    ("skip_validation", true, "syntax_error"),
    ("check_duplicates", false, "duplicate"),
    ("allow_duplicate", true, "duplicate"),
];

/// The mode of edt, and the words of other tools for it, in lower case without `_` and `-`.
pub(super) const MODES: &[(&str, &[&str])] = &[
    ("create", &["create", "new", "createfile", "add", "addfile", "newfile"]),
    ("write", &["write", "writefile", "save", "full", "wholefile", "rewrite"]),
    ("overwrite", &["overwrite", "overwritefile", "replacefile"]),
    (
        "edit",
        &[
            "edit",
            "strreplace",
            "replace",
            "searchreplace",
            "searchandreplace",
            "update",
            "modify",
            "substitute",
            "change",
            "editfile",
            "replacetext",
            "patch",
        ],
    ),
    ("append", &["append", "appendfile"]),
    ("insert", &["insert", "insertat", "insertbefore", "insertlines", "insertline"]),
    ("replace_lines", &["replacelines", "replacerange", "replaceline"]),
    ("delete_lines", &["deletelines", "removelines", "deleterange", "deleteline"]),
    ("delete", &["delete", "remove", "deletefile", "removefile", "rm", "unlink"]),
    ("rename", &["rename", "move", "renamefile", "movefile", "mv"]),
    ("replace_symbol", &["replacesymbol", "replacesymbolbody"]),
    ("insert_before_symbol", &["insertbeforesymbol"]),
    ("insert_after_symbol", &["insertaftersymbol"]),
    ("rename_symbol", &["renamesymbol"]),
];

/// Words for a mode of tools that read and write.
const READING: &[&str] = &["view", "read", "cat", "open", "show", "readfile", "viewfile"];

/// Whether the word asks to read a file.
pub(super) fn reads(word: &str) -> bool {
    READING.contains(&word.to_lowercase().replace(['_', '-', ' '], "").as_str())
}

/// The key of edt that an unknown one most likely means: the one whose names it resembles most.
pub(super) fn nearest(key: &str) -> Option<&'static str> {
    let names: Vec<(&str, &str)> = NAMES
        .iter()
        .flat_map(|(own, others)| {
            std::iter::once((*own, *own)).chain(others.iter().map(|other| (*other, *own)))
        })
        .collect();
    let all: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
    let near = get_close_matches(snake_case(key).as_str(), &all, 1, 0.7);
    let near = near.first()?;
    names.iter().find(|(name, _)| name == near).map(|(_, own)| *own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_key_is_that_whose_names_it_resembles() {
        assert_eq!(nearest("replacement_text"), Some("content"));
        assert_eq!(nearest("newtext"), Some("content"));
        assert_eq!(nearest("old_txt"), Some("old_text"));
        assert_eq!(nearest("filePathName"), Some("path"));
        assert_eq!(nearest("fuzzy"), None);
        assert!(reads("view") && reads("read_file") && !reads("edit"));
    }
}
