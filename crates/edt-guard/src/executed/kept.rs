//! Hidden names that execute nothing: data, lists of what to leave out, versions, documents.

/// Hidden names that may change.
#[derive(Debug)]
pub struct KeptNames {
    /// As in the table of programs.
    pub names: &'static str,
    /// Why they are free.
    pub why: &'static str,
    /// Finds the lines of the text with which the file asks after all.
    pub unless: Option<LineFinder>,
}

/// Finds lines of a text.
pub type LineFinder = fn(&[u8]) -> Vec<&[u8]>;

/// The names that are free although they are hidden.
pub(super) const KEPT: &[KeptNames] = &[
    KeptNames {
        names: ".bazelignore .clang-format-ignore .cursorignore .cursorindexingignore \
                .dockerignore .ebignore .eslintignore .fdignore .gcloudignore .geminiignore \
                .git-blame-ignore-revs .gitignore .helmignore .hgignore .ignore \
                .markdownlintignore .npmignore .prettierignore .rgignore .slugignore \
                .stylelintignore .vercelignore .vscodeignore",
        why: "lists of what a tool leaves out",
        unless: None,
    },
    KeptNames {
        names: ".gitattributes",
        why: "attributes of files; a new line with a driver asks",
        unless: Some(drivers),
    },
    KeptNames {
        names: ".browserslistrc .clang-format .clippy.toml .codespellrc \
                .editorconfig .hadolint.yaml .rustfmt.toml .shellcheckrc .stylua.toml \
                .taplo.toml .typos.toml .yamllint .markdownlint.* .yamllint.*",
        why: "settings of formatters and checks that name no program",
        unless: None,
    },
    KeptNames {
        names: ".go-version .java-version .node-version .nvmrc .python-version .ruby-version \
                .swift-version .terraform-version",
        why: "the version of a language",
        unless: None,
    },
    KeptNames {
        names: ".gitkeep .keep .mailmap .nojekyll .placeholder",
        why: "empty files that keep a directory, marks, and names of authors",
        unless: None,
    },
    KeptNames {
        names: ".env .env.ci .env.default .env.defaults .env.dev .env.development \
                .env.development.local .env.dist .env.docker .env.example .env.local .env.prod \
                .env.production .env.production.local .env.sample .env.staging \
                .env.staging.local .env.template .env.test .env.test.local",
        why: "variables for programs of the project, read when somebody starts them",
        unless: None,
    },
    KeptNames {
        names: ".github/discussion_template/ .github/issue_template/ \
                .github/pull_request_template/ .gitlab/issue_templates/ \
                .gitlab/merge_request_templates/ .well-known/ .changes/*.md .changeset/*.md \
                .github/*.md .github/funding.yml .vscode/extensions.json",
        why: "documents and forms that are shown",
        unless: None,
    },
    KeptNames { names: ".sqlx/", why: "answers of a database to queries", unless: None },
    KeptNames {
        names: ".clinerules/*.md .clinerules/workflows/*.md .github/instructions/*.md \
                .github/prompts/*.md .clinerules .cursorrules .goosehints .rules .windsurfrules",
        why: "instructions for agents, whose changes are noted",
        unless: None,
    },
];

/// Instructions for agents. They execute nothing, but the next agent follows them.
pub(super) const INSTRUCTIONS: &[&str] =
    &[".clinerules/*.md .clinerules/workflows/*.md .github/instructions/*.md \
     .github/prompts/*.md .clinerules .cursorrules .github/copilot-instructions.md \
     .goosehints .rules .windsurfrules agents.md agents.override.md claude.local.md \
     claude.md crush.md gemini.md qwen.md warp.md"];

/// Drivers of `diff` and `merge` that Git has built in (gitattributes(5)): they run no program.
const BUILT_IN_DRIVERS: [&str; 29] = [
    "ada", "bash", "bibtex", "binary", "cpp", "csharp", "css", "dts", "elixir", "fortran",
    "fountain", "golang", "html", "ini", "java", "kotlin", "markdown", "matlab", "objc", "pascal",
    "perl", "php", "python", "ruby", "rust", "scheme", "tex", "text", "union",
];

/// The lines of a `.gitattributes` file that make Git run a program of its configuration.
fn drivers(text: &[u8]) -> Vec<&[u8]> {
    let is_driver = |attribute: &[u8]| {
        let value = |key: &[u8]| attribute.strip_prefix(key);
        value(b"filter=").is_some()
            || value(b"diff=")
                .or_else(|| value(b"merge="))
                .is_some_and(|name| BUILT_IN_DRIVERS.iter().all(|one| one.as_bytes() != name))
    };
    let names_driver = |line: &&[u8]| {
        let line = line.trim_ascii();
        !line.starts_with(b"#") && line.split(u8::is_ascii_whitespace).any(is_driver)
    };
    text.split(|byte| *byte == b'\n').filter(names_driver).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_with_a_driver_count() {
        let text = b"*.txt eol=lf\n*.bin filter=lfs diff=lfs -text\n# x filter=y\n*.po merge=po\n*.rs diff=rust merge=union\n";
        let lines = drivers(text);
        assert_eq!(lines, [&b"*.bin filter=lfs diff=lfs -text"[..], b"*.po merge=po"]);
    }
}
