//! `edt setup`: its entries coexist with everything else in the agents' files, and their removal
//! leaves no trace.

use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::test_repo::{Answer, EDT, TestRepo, run};

const AGENTS: [&str; 16] = [
    "claude-code",
    "codex",
    "gemini",
    "opencode",
    "cline",
    "cursor",
    "copilot",
    "windsurf",
    "aider",
    "qwen",
    "kimi",
    "kilo",
    "continue",
    "goose",
    "zed",
    "junie",
];

/// Those that have no hooks.
const HOOKLESS: [&str; 7] = ["aider", "kimi", "kilo", "continue", "goose", "zed", "junie"];

/// Settings of the user, in the home directory or the project, with details that programs tend to
/// lose: comments, order, unusual white space, no final newline.
const SETTINGS: [(&str, &str); 23] = [
    (
        ".claude.json",
        "{\"numStartups\": 7,\n   \"mcpServers\": {\"other\": {\"command\": \"o\"}}, \"z\": 1}",
    ),
    (".mcp.json", "{\n\t\"mcpServers\": {}\n}\n"),
    (
        ".claude/settings.json",
        "{\n  \"permissions\": {\"deny\": [\"WebFetch\"], \"allow\": [ ]},\n  \"hooks\": {\"PreToolUse\": [{\"matcher\": \"Bash\", \"hooks\": [{\"type\": \"command\", \"command\": \"mine\"}]}]}\n}\n",
    ),
    (".codex/config.toml", "# mine\nmodel = \"m\" # why\n\n[mcp_servers.other]\ncommand = 'o'\n"),
    (".codex/hooks.json", "{\"hooks\": {}}"),
    (
        ".gemini/settings.json",
        "{\n    \"ui\": {\"theme\": \"x\"}, // dark\n    \"tools\": {\"exclude\": [\"write_file\"]}\n}\n",
    ),
    (
        "opencode.jsonc",
        "{\n  // models\n  \"model\": \"a/b\",\n  \"permission\": {\"edit\": \"ask\", \"bash\": \"deny\"},\n}\n",
    ),
    (".cursor/mcp.json", "{ }\n"),
    (".cursor/hooks.json", "{\n  \"version\": 1,\n  \"hooks\": { \"preToolUse\": [] }\n}\n"),
    (
        ".vscode/mcp.json",
        "{\n  \"servers\": { \"a\": {\"command\": \"a\"} }, // mine\n  \"inputs\": []\n}\n",
    ),
    (".windsurf/hooks.json", "{\"hooks\":{\"pre_write_code\":[{\"command\":\"mine\"}]}}\n"),
    (".codeium/windsurf/hooks.json", "\u{feff}{\r\n  \"hooks\": {}\r\n}\r\n"),
    (".aider.conf.yml", "# mine\nmodel: x"),
    ("AGENTS.md", "# Ours\n\nBe kind.\n"),
    (".qwen/settings.json", "{\n  // mine\n  \"permissions\": { \"deny\": [\"edit\"] },\n}\n"),
    (".kimi/mcp.json", "{\"mcpServers\": {\"other\": {\"command\": \"o\"}}}"),
    ("kilo.jsonc", "{\n  // models\n  \"mcp\": {},\n}\n"),
    (".config/kilo/kilo.json", "{\"model\": \"x\"}\n"),
    (".config/goose/config.yaml", "# mine\nextensions: {}\n"),
    (".zed/settings.json", "// Zed\n{\n  \"tab_size\": 4, // four\n}\n"),
    (".config/zed/settings.json", "// Zed\n{\n  \"context_servers\": {},\n}\n"),
    (".junie/guidelines.md", "Be kind.\r\n"),
    (".continue/rules/mine.md", "Be kind.\n"),
];

/// Every file and directory below `at`, with modes and links, without `.git`.
fn tree(at: &Path) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    let (mut all, mut open) = (BTreeMap::new(), vec![at.to_owned()]);
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(directory).unwrap().map(Result::unwrap) {
            let (path, meta) = (entry.path(), entry.path().symlink_metadata().unwrap());
            if path.file_name().unwrap() == ".git" {
                continue;
            }
            let bytes = match () {
                () if meta.is_symlink() => {
                    std::fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()
                }
                () if meta.is_dir() => {
                    open.push(path.clone());
                    Vec::new()
                }
                () => std::fs::read(&path).unwrap(),
            };
            all.insert(path, (meta.mode(), bytes));
        }
    }
    all
}

fn workspace() -> TestRepo {
    let workspace = TestRepo::with(&[("a.txt", b"one\n")]);
    std::fs::create_dir_all(workspace.home.join(".local/share")).unwrap();
    workspace
}

fn furnished() -> TestRepo {
    let workspace = workspace();
    for (path, text) in SETTINGS {
        for top in [&workspace.home, &workspace.root] {
            std::fs::create_dir_all(top.join(path).parent().unwrap()).unwrap();
            std::fs::write(top.join(path), text).unwrap();
        }
    }
    workspace
}

fn both(workspace: &TestRepo) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    let mut all = tree(&workspace.home);
    all.extend(tree(&workspace.root));
    all
}

/// Compares two trees, and names what differs.
#[track_caller]
fn same(
    now: &BTreeMap<PathBuf, (u32, Vec<u8>)>,
    before: &BTreeMap<PathBuf, (u32, Vec<u8>)>,
    why: &str,
) {
    let paths: std::collections::BTreeSet<&PathBuf> = now.keys().chain(before.keys()).collect();
    let printed = |one: Option<&(u32, Vec<u8>)>| {
        one.map(|(mode, bytes)| (*mode, String::from_utf8_lossy(bytes).into_owned()))
    };
    for path in paths {
        assert_eq!(printed(now.get(path)), printed(before.get(path)), "{why}: {}", path.display());
    }
}

fn did(answer: &Answer) -> Vec<&str> {
    answer.json["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| step["action"].as_str().unwrap())
        .collect()
}

#[test]
fn what_was_set_up_goes_again_and_every_byte_is_as_it_was() {
    for workspace in [workspace(), furnished()] {
        for scope in ["user", "project"] {
            for agent in AGENTS {
                let args = ["setup", agent, "--scope", scope];
                let before = both(&workspace);
                let printed = workspace.edt(&[&args[..], &["--dry-run"]].concat());
                same(&both(&workspace), &before, &format!("{agent}: a dry run"));
                let set_up = workspace.edt(&args);
                assert_eq!(
                    set_up.json["files"], printed.json["files"],
                    "{agent}: the report is what was done"
                );
                assert!(
                    did(&set_up).iter().all(|did| ["created", "changed"].contains(did)),
                    "{set_up:?}"
                );
                let after = both(&workspace);
                let again = workspace.edt(&args);
                assert!(did(&again).iter().all(|did| *did == "unchanged"), "{again:?}");
                same(&both(&workspace), &after, &format!("{agent}: a second time"));
                let printed = workspace.edt(&[&args[..], &["--remove", "--dry-run"]].concat());
                let removed = workspace.edt(&[&args[..], &["--remove"]].concat());
                assert_eq!(removed.json["files"], printed.json["files"], "{agent}");
                same(&both(&workspace), &before, &format!("{agent} in the {scope} scope"));
            }
        }
    }
}

#[test]
fn all_agents_share_files_and_can_be_removed_in_any_order() {
    for workspace in [workspace(), furnished()] {
        let before = both(&workspace);
        AGENTS.iter().for_each(|agent| drop(workspace.edt(&["setup", agent])));
        for agent in AGENTS {
            let removed = workspace.edt(&["setup", agent, "--remove"]);
            let shared =
                ["codex", "opencode", "cursor", "copilot", "windsurf", "kimi", "kilo", "goose"];
            let shared = shared.contains(&agent);
            assert_eq!(did(&removed).contains(&"kept"), shared, "{agent}: {removed:?}");
        }
        same(&both(&workspace), &before, "all");
    }
}

#[test]
fn removal_keeps_the_users_changes_and_removes_edts_part() {
    let workspace = furnished();
    workspace.edt(&["setup", "claude-code"]);
    workspace.edt(&["setup", "codex"]);
    let change = |path: &str, from: &str, to: &str| {
        let text = workspace.text(path);
        assert!(text.contains(from), "{text}");
        workspace.write(path, text.replace(from, to));
    };
    change(".claude/settings.json", "\"WebFetch\"", "\"WebFetch\", \"Edit\"");
    change(".codex/config.toml", "# why", "# because");
    change("AGENTS.md", "Be kind.", "Be very kind.");
    let removed = workspace.edt(&["setup", "claude-code", "--remove"]);
    assert_eq!(did(&removed), ["restored", "taken_out", "deleted"]);
    let settings: Value = serde_json::from_str(&workspace.text(".claude/settings.json")).unwrap();
    assert_eq!(
        settings,
        json!({"permissions": {"deny": ["WebFetch", "Edit"], "allow": []},
            "hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "mine"}]}]}})
    );
    // Without a receipt the same: what is edt's is known by itself.
    std::fs::remove_dir_all(workspace.home.join(".local/share/edt")).unwrap();
    let removed = workspace.edt(&["setup", "codex", "--remove"]);
    assert_eq!(did(&removed), ["taken_out", "taken_out", "taken_out", "deleted"]);
    assert_eq!(
        workspace.text(".codex/config.toml"),
        "# mine\nmodel = \"m\" # because\n\n[mcp_servers.other]\ncommand = 'o'\n"
    );
    assert_eq!(workspace.text("AGENTS.md"), "# Ours\n\nBe very kind.\n");
    assert!(!workspace.text(".codex/hooks.json").contains("edt"));
}

#[test]
fn a_file_that_cannot_be_read_is_named_with_the_place_and_nothing_at_all_is_written() {
    let cases = [
        ("claude-code", ".claude/settings.json", "{\n  \"a\": \n", "line"),
        ("claude-code", ".claude/settings.json", "{\"hooks\": []}", "its `hooks` is not an object"),
        ("codex", ".codex/config.toml", "a = 1\nb = \n", "line 2"),
        ("codex", "AGENTS.md", "<!-- BEGIN edt -->\n", "without"),
        (
            "aider",
            ".aider.conf.yml",
            "git-commit-verify: false\n",
            "it sets `git-commit-verify` already",
        ),
        (
            "aider",
            ".aider.conf.yml",
            "\"git-commit-verify\": false\n",
            "it sets `git-commit-verify` already",
        ),
        (
            "claude-code",
            ".claude/settings.json",
            "{\"hooks\": {}, \"hooks\": {}}",
            "has the key `hooks` twice",
        ),
        ("cline", ".clinerules/hooks/PreToolUse", "#!/bin/sh\nmine\n", "not written by edt"),
        ("opencode", ".opencode/plugins/edt.js", "export const mine = 1\n", "not written by edt"),
    ];
    for (agent, file, text, why) in cases {
        let workspace = workspace();
        workspace.write(file, text);
        let before = both(&workspace);
        let refused = workspace.edt(&["setup", agent]);
        assert_eq!((refused.codes(), refused.exit), (vec!["BAD_REQUEST"], 2), "{refused:?}");
        let message = refused.message();
        assert!(
            message.contains(workspace.root.join(file).to_str().unwrap()) && message.contains(why),
            "{message}"
        );
        same(&both(&workspace), &before, agent);
    }
}

#[test]
fn a_link_stays_a_link_and_a_mode_stays() {
    let workspace = workspace();
    let (kept, link) =
        (workspace.home.join("dotfiles.json"), workspace.home.join(".gemini/settings.json"));
    std::fs::create_dir_all(link.parent().unwrap()).unwrap();
    std::fs::write(&kept, "{\"a\": 1}\n").unwrap();
    std::fs::set_permissions(&kept, PermissionsExt::from_mode(0o600)).unwrap();
    symlink(&kept, &link).unwrap();
    let before = both(&workspace);
    workspace.edt(&["setup", "gemini", "--scope", "user"]);
    assert!(
        link.is_symlink() && std::fs::read_to_string(&kept).unwrap().contains("agent-hook gemini")
    );
    assert_eq!(kept.metadata().unwrap().mode() & 0o777, 0o600);
    // The earlier content may have secrets: only the user may read the receipt.
    let receipts = workspace.home.join(".local/share/edt/setup");
    assert_eq!(receipts.metadata().unwrap().mode() & 0o777, 0o700);
    workspace.edt(&["setup", "gemini", "--scope", "user", "--remove"]);
    same(&both(&workspace), &before, "all");
}

#[test]
fn environment_variables_of_agents_name_their_directories() {
    let workspace = workspace();
    let elsewhere = workspace.home.join("elsewhere");
    let cases = [
        (
            "claude-code",
            "CLAUDE_CONFIG_DIR",
            &["settings.json", ".claude.json", "skills/edt/SKILL.md"][..],
        ),
        ("codex", "CODEX_HOME", &["config.toml", "hooks.json", "AGENTS.md"]),
        ("gemini", "GEMINI_CLI_HOME", &[".gemini/settings.json"]),
        ("opencode", "OPENCODE_CONFIG_DIR", &["opencode.json", "plugins/edt.js"]),
        ("cline", "CLINE_DATA_DIR", &["settings/cline_mcp_settings.json"]),
        ("copilot", "COPILOT_HOME", &["mcp-config.json", "hooks/edt.json"]),
    ];
    for (agent, variable, files) in cases {
        let directory = elsewhere.join(agent);
        let mut command = workspace.command(EDT);
        command.args(["setup", agent, "--scope", "user", "--json"]).env(variable, &directory);
        run(command, b"", &[agent]);
        files.iter().for_each(|file| assert!(directory.join(file).is_file(), "{agent}: {file}"));
    }
}

#[test]
fn its_own_tools_are_taken_away_only_where_that_is_asked_for_and_can_be() {
    let workspace = furnished();
    let before = both(&workspace);
    let settings = |path: &str| -> Value {
        serde_json::from_str(
            &workspace
                .text(path)
                .lines()
                .map(|line| line.split(" //").next().unwrap())
                .collect::<String>(),
        )
        .unwrap()
    };
    workspace.edt(&["setup", "claude-code"]);
    assert_eq!(settings(".claude/settings.json")["permissions"]["deny"], json!(["WebFetch"]));
    workspace.edt(&["setup", "claude-code", "--only-edt"]);
    assert_eq!(
        settings(".claude/settings.json")["permissions"]["deny"],
        json!(["WebFetch", "Edit", "Write", "NotebookEdit"])
    );
    workspace.edt(&["setup", "gemini", "--only-edt"]);
    assert_eq!(
        settings(".gemini/settings.json")["tools"]["exclude"],
        json!(["write_file", "replace"])
    );
    workspace.edt(&["setup", "opencode", "--only-edt"]);
    assert!(
        workspace.text("opencode.jsonc").contains("{\"edit\": \"deny\", \"bash\": \"deny\"}"),
        "{}",
        workspace.text("opencode.jsonc")
    );
    workspace.edt(&["setup", "qwen", "--only-edt"]);
    assert!(workspace.text(".qwen/settings.json").contains("[\"edit\", \"write_file\"]"));
    for agent in ["claude-code", "gemini", "opencode", "qwen"] {
        workspace.edt(&["setup", agent, "--remove"]);
    }
    same(&both(&workspace), &before, "all");
    for agent in ["codex", "cline", "cursor", "copilot", "windsurf", "aider", "kimi", "zed"] {
        let refused = workspace.edt(&["setup", agent, "--only-edt"]);
        assert_eq!(refused.codes(), ["BAD_REQUEST"], "{agent}");
    }
    same(&both(&workspace), &before, "all");
}

fn listed<'a>(answer: &'a Answer, agent: &str) -> &'a Value {
    answer.json["agents"].as_array().unwrap().iter().find(|one| one["agent"] == agent).unwrap()
}

#[test]
fn gits_hooks_are_offered_until_they_are_installed() {
    let workspace = workspace();
    let offers = || workspace.edt(&["setup", "gemini"]).json["notes"].to_string();
    assert!(offers().contains("`edt hooks install`"));
    workspace.edt(&["hooks", "install"]);
    assert!(!offers().contains("`edt hooks install`"));
}

#[test]
fn the_list_tests_each_setup_and_reports_what_is_not_live() {
    let workspace = workspace();
    let before = both(&workspace);
    let list = workspace.edt(&["setup", "--list"]);
    assert_eq!(list.json["agents"].as_array().unwrap().len(), AGENTS.len());
    for agent in AGENTS {
        let hook = if HOOKLESS.contains(&agent) { "no_hook_protocol" } else { "not_installed" };
        assert_eq!(
            (&listed(&list, agent)["hook"], &listed(&list, agent)["mcp"]),
            (&json!(hook), &json!("not_installed"))
        );
        workspace.edt(&["setup", agent]);
    }
    let list = workspace.edt(&["setup", "--list"]);
    // The user adds the server of goose by hand.
    for agent in AGENTS.into_iter().filter(|agent| *agent != "goose") {
        let one = listed(&list, agent);
        // A server for all projects is there for this scope, too.
        assert!(
            one["installed"]
                .as_array()
                .unwrap()
                .contains(&json!({"scope": "project", "complete": true})),
            "{one}"
        );
        assert_eq!(
            one["hook"],
            if HOOKLESS.contains(&agent) { "no_hook_protocol" } else { "live" },
            "{one}"
        );
    }
    // A line by somebody else is reported and not run.
    let ran = workspace.root.join("ran");
    let text = workspace.text(".codex/hooks.json");
    workspace.write(
        ".codex/hooks.json",
        text.replace("agent-hook codex", &format!("agent-hook codex; touch {}", ran.display())),
    );
    let list = workspace.edt(&["setup", "--list"]);
    assert_eq!(
        (listed(&list, "codex")["hook"].as_str(), ran.exists()),
        (Some("not_installed"), false),
        "{}",
        listed(&list, "codex")
    );
    workspace.edt(&["setup", "codex"]);
    // The program is no longer where it was: nothing protects, and the list says so.
    let script = workspace
        .text(".clinerules/hooks/PreToolUse")
        .replace("edt agent-hook", "nowhere agent-hook");
    workspace.write(".clinerules/hooks/PreToolUse", script);
    let list = workspace.edt(&["setup", "--list"]);
    assert_eq!(listed(&list, "cline")["hook"], "not_live");
    let detail = listed(&list, "cline")["detail"].to_string();
    assert!(detail.contains("differ from those that this edt writes"), "{detail}");
    // A changed script is not edt's to delete.
    std::fs::remove_file(workspace.root.join(".clinerules/hooks/PreToolUse")).unwrap();
    AGENTS.iter().for_each(|agent| drop(workspace.edt(&["setup", agent, "--remove"])));
    let theirs = |path: &PathBuf| {
        [".codex", ".codex/hooks.json"].iter().any(|theirs| path.ends_with(theirs))
    };
    assert!(
        both(&workspace).keys().all(|path| before.contains_key(path) || theirs(path)),
        "{:?}",
        both(&workspace).keys()
    );
}

/// The command that an agent runs is this very program: by its name, if the name finds it.
#[test]
fn the_lines_that_are_written_call_this_program_by_its_name_if_that_finds_it() {
    let workspace = workspace();
    let bin = Path::new(EDT).parent().unwrap().to_str().unwrap();
    let path = format!("{bin}:{}", std::env::var("PATH").unwrap());
    let mut command = workspace.command(EDT);
    command.args(["setup", "codex", "--json"]).env("PATH", &path);
    run(command, b"", &["setup"]);
    assert!(workspace.text(".codex/hooks.json").contains("\"command\": \"edt agent-hook codex\""));
    assert!(workspace.text(".codex/config.toml").contains("command = \"edt\"\n"));
    let mut command = workspace.command(EDT);
    command.args(["setup", "--list", "--json"]).env("PATH", &path);
    assert_eq!(listed(&run(command, b"", &["list"]), "codex")["hook"], "live");
    // Called by its path, the lines change, and everything else stays as it was.
    workspace.edt(&["setup", "codex"]);
    assert!(
        workspace
            .text(".codex/hooks.json")
            .contains(&format!("\"command\": \"{EDT} agent-hook codex\""))
    );
    assert_eq!(workspace.text(".codex/hooks.json").matches("agent-hook codex").count(), 4);
    workspace.edt(&["setup", "codex", "--remove"]);
    assert!(!workspace.exists(".codex") && !workspace.exists("AGENTS.md"));
}

#[test]
fn the_plugins_in_this_repository_are_what_edt_emits() {
    let plugins = Path::new(env!("CARGO_MANIFEST_DIR")).join("plugins");
    let workspace = workspace();
    for agent in ["claude-code", "codex", "gemini", "opencode"] {
        let out = workspace.home.join(agent);
        workspace.edt(&["setup", agent, "--emit", out.to_str().unwrap()]);
        let relative = |at: &Path| -> BTreeMap<PathBuf, Vec<u8>> {
            let files = tree(at).into_iter().filter(|(path, _)| path.is_file());
            files
                .map(|(path, (_, bytes))| (path.strip_prefix(at).unwrap().to_owned(), bytes))
                .collect()
        };
        assert_eq!(
            relative(&plugins.join(agent)),
            relative(&out),
            "`edt setup {agent} --emit plugins/{agent}` brings it up to date"
        );
    }
    let refused = workspace.edt(&["setup", "cursor", "--emit", "x"]);
    assert_eq!(refused.codes(), ["BAD_REQUEST"]);
}

#[test]
fn a_users_entry_with_edts_name_is_restored_and_never_removed() {
    let files = [
        (
            "claude-code",
            ".mcp.json",
            "{\"mcpServers\": {\"edt\": {\"command\": \"edt\", \"args\": [\"mcp\", \"--tools\", \"read\"], \"env\": {\"A\": \"b\"}}}}",
        ),
        (
            "codex",
            ".codex/config.toml",
            "[mcp_servers.edt]\r\n# mine\r\ncommand = \"/opt/edt\"\r\nstartup_timeout_sec = 9\r\nargs = [\"mcp\"]\r\n\r\n[mcp_servers.edt.env]\r\nA = 'b'\r\n# end\r\n",
        ),
        (
            "codex",
            "AGENTS.md",
            "# Ours\r\n\r\n<!-- BEGIN edt -->\r\nby hand\r\n<!-- END edt -->\r\n\r\nmore\r\n",
        ),
        ("claude-code", ".claude/skills/edt/SKILL.md", "---\nname: edt\n---\nby hand\n"),
        (
            "claude-code",
            ".claude/settings.json",
            "{\"hooks\": {\"PreToolUse\": [{\"matcher\": \"Edit|MultiEdit|Write|NotebookEdit\", \"hooks\": [{\"type\": \"command\", \"command\": \"mine\"}, {\"type\": \"command\", \"command\": \"edt agent-hook claude-code\", \"timeout\": 5}]}]}}",
        ),
    ];
    for (agent, file, text) in files {
        let workspace = workspace();
        workspace.write(file, text);
        let before = both(&workspace);
        assert!(
            !did(&workspace.edt(&["setup", agent, "--remove"])).contains(&"taken_out"),
            "{file}"
        );
        same(&both(&workspace), &before, "removed without being set up");
        workspace.edt(&["setup", agent]);
        assert_ne!(workspace.text(file), text);
        assert!(
            workspace.text(file).contains("mine") || !text.contains("mine"),
            "{}",
            workspace.text(file)
        );
        workspace.edt(&["setup", agent]);
        workspace.edt(&["setup", agent, "--remove"]);
        same(&both(&workspace), &before, "set up and removed");
    }
    // So does a block or a skill that `edt guide` wrote.
    let workspace = workspace();
    workspace.edt(&["guide", "--format", "agents-md", "--write", "AGENTS.md"]);
    let before = both(&workspace);
    workspace.edt(&["setup", "codex"]);
    workspace.edt(&["setup", "codex", "--remove"]);
    same(&both(&workspace), &before, "guide");
}

#[test]
fn a_users_hook_and_an_earlier_choice_stay() {
    let workspace = furnished();
    workspace.edt(&["setup", "claude-code"]);
    let mut settings: Value =
        serde_json::from_str(&workspace.text(".claude/settings.json")).unwrap();
    let theirs = json!({"type": "command", "command": "theirs"});
    settings["hooks"]["PostToolUse"][0]["hooks"].as_array_mut().unwrap().push(theirs.clone());
    settings["permissions"]["deny"].as_array_mut().unwrap().push(json!("Edit"));
    workspace.write(".claude/settings.json", settings.to_string());
    workspace.edt(&["setup", "claude-code", "--only-edt"]);
    workspace.write(".claude/settings.json", workspace.text(".claude/settings.json") + "\n");
    workspace.edt(&["setup", "opencode", "--only-edt"]);
    workspace.write("opencode.jsonc", workspace.text("opencode.jsonc").replace("a/b", "a/c"));
    for agent in ["claude-code", "opencode"] {
        workspace.edt(&["setup", agent]);
        workspace.edt(&["setup", agent, "--remove"]);
    }
    let settings: Value = serde_json::from_str(&workspace.text(".claude/settings.json")).unwrap();
    assert_eq!(settings["hooks"]["PostToolUse"][0]["hooks"], json!([theirs]));
    assert_eq!(settings["permissions"]["deny"], json!(["WebFetch", "Edit"]));
    let text = workspace.text("opencode.jsonc");
    assert!(
        text.contains("\"edit\": \"ask\"") && text.contains("a/c") && !text.contains("edt"),
        "{text}"
    );
}

#[test]
fn nothing_is_written_through_a_file_or_a_link_out_of_the_project() {
    for (agent, name) in
        [("claude-code", ".claude"), ("codex", "AGENTS.md"), ("claude-code", ".mcp.json")]
    {
        let workspace = workspace();
        let out = workspace.home.join("dot");
        if name == ".claude" {
            workspace.write(name, "a file");
            let before = both(&workspace);
            for args in [&["setup", agent, "--dry-run"][..], &["setup", agent]] {
                let refused = workspace.edt(args);
                assert!(refused.json.to_string().contains("is not a directory"), "{refused:?}");
                same(&both(&workspace), &before, "a file in place of a directory");
            }
            std::fs::remove_file(workspace.root.join(name)).unwrap();
            std::fs::create_dir(&out).unwrap();
        } else {
            std::fs::write(&out, "{}\n").unwrap();
        }
        symlink(&out, workspace.root.join(name)).unwrap();
        let before = both(&workspace);
        let refused = workspace.edt(&["setup", agent]);
        assert!(refused.json.to_string().contains("leads out of the project"), "{refused:?}");
        same(&both(&workspace), &before, "a link");
    }
}

#[test]
fn a_receipt_counts_while_its_project_is_there_and_as_far_as_the_agents_files_reach() {
    let workspace = workspace();
    let before = both(&workspace);
    // Another project's receipt for the one list of servers that cline has.
    let other = workspace.home.join("other");
    std::fs::create_dir_all(other.join(".git")).unwrap();
    for root in [&other, &workspace.root] {
        let mut command = workspace.command(EDT);
        command.args(["setup", "cline", "--json"]).current_dir(root);
        run(command, b"", &["cline"]);
    }
    std::fs::remove_dir_all(&other).unwrap();
    let removed = workspace.edt(&["setup", "cline", "--remove"]);
    assert!(!did(&removed).contains(&"kept"), "{removed:?}");
    std::fs::remove_dir_all(workspace.home.join(".local/share/edt")).unwrap();
    // Installed in a directory that no variable names any more: it is reported and remembered.
    let elsewhere = workspace.home.join("elsewhere");
    let called = |args: &[&str]| {
        let mut command = workspace.command(EDT);
        command.args(args).arg("--json").env("CLAUDE_CONFIG_DIR", &elsewhere);
        run(command, b"", args)
    };
    called(&["setup", "claude-code", "--scope", "user"]);
    let removed = workspace.edt(&["setup", "claude-code", "--scope", "user", "--remove"]);
    assert_eq!(did(&removed), ["absent", "absent", "absent", "left", "left", "left"]);
    let remove = ["setup", "claude-code", "--scope", "user", "--remove"];
    workspace.as_user(b"", &remove, &[("CLAUDE_CONFIG_DIR", &elsewhere)]);
    // What came later under a sister's name does not hide it.
    workspace.edt(&["setup", "opencode"]);
    workspace.write("opencode.jsonc", "{}\n");
    workspace.edt(&["setup", "opencode", "--remove"]);
    std::fs::remove_file(workspace.root.join("opencode.jsonc")).unwrap();
    // A forged receipt names directories and files of others.
    let victim = workspace.home.join("victim");
    std::fs::create_dir(&victim).unwrap();
    std::fs::write(workspace.home.join("theirs"), "x").unwrap();
    workspace.edt(&["setup", "gemini"]);
    let receipts = std::fs::read_dir(workspace.home.join(".local/share/edt/setup")).unwrap();
    let receipt = receipts.map(|one| one.unwrap().path()).next().unwrap();
    let mut forged: Value = serde_json::from_slice(&std::fs::read(&receipt).unwrap()).unwrap();
    forged["files"][0]["folders"].as_array_mut().unwrap().push(json!(victim));
    let theirs =
        json!({"file": workspace.home.join("theirs"), "before": null, "after": "", "folders": []});
    forged["files"].as_array_mut().unwrap().push(theirs);
    std::fs::write(&receipt, forged.to_string()).unwrap();
    assert_eq!(
        did(&workspace.edt(&["setup", "gemini", "--remove"])),
        ["deleted", "deleted", "left"]
    );
    assert!(victim.exists() && workspace.home.join("theirs").exists());
    std::fs::remove_dir(victim).unwrap();
    std::fs::remove_file(workspace.home.join("theirs")).unwrap();
    workspace.edt(&["setup", "gemini", "--remove"]);
    same(&both(&workspace), &before, "all");
}

#[test]
fn five_concurrent_calls_lose_nothing() {
    let workspace = workspace();
    let before = both(&workspace);
    let names = ["codex", "opencode", "cursor", "copilot", "windsurf"];
    for remove in [false, true] {
        std::thread::scope(|scope| {
            for agent in names {
                let workspace = &workspace;
                scope.spawn(move || {
                    let args: &[&str] =
                        if remove { &["setup", agent, "--remove"] } else { &["setup", agent] };
                    assert_eq!(workspace.edt(args).exit, 0);
                });
            }
        });
        assert_eq!(workspace.exists("AGENTS.md"), !remove);
    }
    same(&both(&workspace), &before, "all");
}

#[test]
fn what_the_user_added_to_a_file_of_edt_is_neither_replaced_nor_deleted() {
    let files = [
        ("continue", ".continue/mcpServers/edt.yaml"),
        ("continue", ".continue/rules/edt.md"),
        ("cline", ".clinerules/hooks/PreToolUse"),
        ("opencode", ".opencode/plugins/edt.js"),
        ("claude-code", ".claude/skills/edt/SKILL.md"),
    ];
    for (agent, file) in files {
        let workspace = workspace();
        let before = both(&workspace);
        workspace.edt(&["setup", agent]);
        let written = workspace.text(file);
        workspace.write(file, format!("{written}mine\n"));
        let theirs = both(&workspace);
        for args in [&["setup", agent][..], &["setup", agent, "--remove"]] {
            let refused = workspace.edt(args);
            assert_eq!(refused.codes(), ["BAD_REQUEST"], "{refused:?}");
            let message = refused.message();
            assert!(message.contains(file) && message.contains("changed since"), "{message}");
            same(&both(&workspace), &theirs, file);
        }
        // What an earlier version wrote is edt's: a receipt says so.
        workspace.write(file, written);
        workspace.edt(&["setup", agent, "--remove"]);
        same(&both(&workspace), &before, file);
    }
    // A file that another agent needs stays as it is.
    let workspace = workspace();
    workspace.edt(&["setup", "codex"]);
    let skill = ".agents/skills/edt/SKILL.md";
    let sharing: Vec<&str> = AGENTS
        .into_iter()
        .filter(|agent| {
            let answer = workspace.edt(&["setup", agent, "--dry-run"]);
            *agent != "codex" && answer.json.to_string().contains(skill)
        })
        .collect();
    for agent in sharing {
        workspace.edt(&["setup", agent]);
        let written = workspace.text(skill);
        workspace.write(skill, format!("{written}mine\n"));
        assert!(did(&workspace.edt(&["setup", agent, "--remove"])).contains(&"kept"), "{agent}");
        assert_eq!(workspace.text(skill), format!("{written}mine\n"));
        workspace.write(skill, written);
    }
}

#[test]
fn a_plugin_does_not_replace_a_users_file() {
    let workspace = workspace();
    let out = workspace.home.join("out");
    std::fs::create_dir(&out).unwrap();
    std::fs::write(out.join(".mcp.json"), "{\"mcpServers\": {\"mine\": {}}}").unwrap();
    let before = both(&workspace);
    let args = ["setup", "claude-code", "--emit", out.to_str().unwrap()];
    assert_eq!(workspace.edt(&args).codes(), ["BAD_REQUEST"]);
    same(&both(&workspace), &before, "refused");
    std::fs::remove_file(out.join(".mcp.json")).unwrap();
    workspace.edt(&args);
    let manifest = out.join(".claude-plugin/plugin.json");
    let older =
        std::fs::read_to_string(&manifest).unwrap().replace(env!("CARGO_PKG_VERSION"), "0.0.1");
    std::fs::write(&manifest, older).unwrap();
    assert!(did(&workspace.edt(&args)).contains(&"changed"));
}

#[test]
fn the_list_goes_on_after_a_fault_and_knows_hooks_that_are_off() {
    let workspace = workspace();
    workspace.edt(&["setup", "codex"]);
    workspace.edt(&["setup", "claude-code"]);
    workspace.write(".claude/settings.local.json", "{\"disableAllHooks\": true}");
    let list = workspace.edt(&["setup", "--list"]);
    for agent in ["opencode", "cursor", "copilot", "windsurf"] {
        let installed = listed(&list, agent)["installed"].as_array().unwrap();
        assert!(
            installed.iter().all(|one| one["scope"] != "project"),
            "{agent} was never set up: {installed:?}"
        );
    }
    let claude = listed(&list, "claude-code");
    assert_eq!(claude["hook"], "not_live");
    assert!(claude["detail"].to_string().contains("disableAllHooks"), "{claude}");
    std::fs::remove_file(workspace.root.join("AGENTS.md")).unwrap();
    std::fs::create_dir(workspace.root.join("AGENTS.md")).unwrap();
    let list = workspace.edt(&["setup", "--list"]);
    let codex = listed(&list, "codex");
    assert_eq!(
        (&codex["hook"], codex["installed"][0]["complete"].as_bool()),
        (&json!("live"), Some(false))
    );
    assert!(codex["detail"].to_string().contains("AGENTS.md"), "{codex}");
    // A project's own program of that name is not run.
    workspace.write("edt", "#!/bin/sh\ntouch ran\n");
    std::fs::set_permissions(workspace.root.join("edt"), PermissionsExt::from_mode(0o755)).unwrap();
    let mut command = workspace.command(EDT);
    let path = format!(
        ".:{}:{}",
        Path::new(EDT).parent().unwrap().display(),
        std::env::var("PATH").unwrap()
    );
    command.args(["setup", "--list", "--json"]).env("PATH", path);
    let list = run(command, b"", &["list"]);
    assert!(
        listed(&list, "codex")["detail"].to_string().contains("relative directory"),
        "{}",
        listed(&list, "codex")
    );
    assert!(!workspace.exists("ran"));
}

/// A call of `edt setup` with a `PATH` that has no agent.
fn without_agents(workspace: &TestRepo, args: &[&str]) -> Answer {
    let mut command = workspace.command(EDT);
    command.args(args).arg("--json").env("PATH", "/nowhere");
    run(command, b"", args)
}

#[test]
fn without_a_name_the_agents_that_are_here_are_named_and_nothing_is_written() {
    let workspace = workspace();
    let before = both(&workspace);
    let none = without_agents(&workspace, &["setup"]);
    assert_eq!((none.codes().as_slice(), none.exit), (&["BAD_REQUEST"][..], 2));
    assert!(none.hint().contains("junie") && none.hint().contains("--mcp-json"), "{none:?}");
    same(&both(&workspace), &before, "no agent");
    std::fs::create_dir_all(workspace.home.join(".codex")).unwrap();
    std::fs::create_dir_all(workspace.root.join(".zed")).unwrap();
    let before = both(&workspace);
    let found = without_agents(&workspace, &["setup"]);
    assert_eq!((found.codes().as_slice(), found.exit), (&["BAD_REQUEST"][..], 2));
    assert_eq!(found.json["errors"][0]["evidence"]["found"], json!(["codex", "zed"]));
    assert_eq!(found.hint(), "Name one: `edt setup codex`, `edt setup zed`.");
    let user = without_agents(&workspace, &["setup", "--scope", "user"]);
    assert!(user.hint().contains("`edt setup codex --scope user`"), "{user:?}");
    same(&both(&workspace), &before, "a caller that cannot be asked");
}

#[test]
fn at_a_terminal_the_user_chooses_of_the_agents_that_are_here() {
    let workspace = workspace();
    for directory in [".codex", ".qwen", ".junie"] {
        std::fs::create_dir_all(workspace.home.join(directory)).unwrap();
    }
    let before = both(&workspace);
    let (exit, screen) = workspace.at_terminal("setup", "none\n");
    assert_eq!(exit, Some(0), "{screen}");
    assert!(
        screen.contains("Agents that were found:")
            && screen.contains("No agent was chosen, and nothing was changed.")
    );
    same(&both(&workspace), &before, "none");
    let (exit, screen) = workspace.at_terminal("setup", "no-such-agent\n");
    assert_eq!(exit, Some(2), "{screen}");
    same(&both(&workspace), &before, "no name of the list");
    let (exit, screen) = workspace.at_terminal("setup", "qwen, junie\n");
    assert_eq!(exit, Some(0), "{screen}");
    assert!(workspace.exists(".qwen/settings.json") && workspace.exists(".junie/mcp/mcp.json"));
    assert!(!workspace.exists(".codex"), "{screen}");
    let (exit, screen) = workspace.at_terminal("setup", "\n");
    assert_eq!(exit, Some(0), "{screen}");
    assert!(workspace.exists(".codex/config.toml"), "Enter means all: {screen}");
}

#[test]
fn any_list_of_servers_can_be_named() {
    let workspace = workspace();
    let old = "{\n  // mine\n  \"mcpServers\": {\"a\": {\"command\": \"a\"}}\n}\n";
    workspace.write("tools/servers.json", old);
    let before = both(&workspace);
    for file in ["tools/servers.json", "new/servers.json"] {
        let args = ["setup", "--mcp-json", file];
        assert_eq!(workspace.edt(&args).exit, 0);
        let text = workspace.text(file);
        assert!(text.contains("\"args\": [\"mcp\"]"), "{text}");
        assert_eq!(text.contains("// mine"), file.starts_with("tools"), "{text}");
        assert_eq!(did(&workspace.edt(&args)), ["unchanged"]);
    }
    for file in ["tools/servers.json", "new/servers.json"] {
        workspace.edt(&["setup", "--mcp-json", file, "--remove"]);
    }
    same(&both(&workspace), &before, "all");
    workspace.write("tools/servers.json", "{\"mcpServers\": 1}");
    let refused = workspace.edt(&["setup", "--mcp-json", "tools/servers.json"]);
    assert_eq!(refused.codes(), ["BAD_REQUEST"]);
    let mut agent = workspace.command(EDT);
    agent.args(["setup", "--mcp-json", "x.json", "--json"]).env("AI_AGENT", "x");
    let refused = run(agent, b"", &["setup"]);
    assert_eq!(refused.codes(), ["APPROVAL_REQUIRED"], "the caller names the file");
    assert!(!workspace.exists("x.json"));
}

#[test]
fn the_report_says_which_files_belong_in_a_commit() {
    let workspace = workspace();
    workspace.write(".gitignore", ".clinerules/\n");
    let bin = workspace.home.join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    symlink(EDT, bin.join("edt")).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let notes = |program: &Path, path: &str| {
        let mut command = workspace.command(program);
        command.args(["setup", "cline", "--json"]).env("PATH", path);
        run(command, b"", &["setup"]).json["notes"].to_string()
    };
    let said = notes(&bin.join("edt"), &path);
    let list = workspace.home.join(".cline/data/settings/cline_mcp_settings.json");
    assert!(said.contains("Commit, for everyone who works here: .cline/skills/edt/SKILL.md."));
    assert!(said.contains("so they stay on this machine: .clinerules/edt.md, .clinerules/hooks/"));
    assert!(
        said.contains(&format!("Yours alone, in no repository: {}.", list.display())),
        "{said}"
    );
    let said = notes(Path::new(EDT), &std::env::var("PATH").unwrap());
    assert!(said.contains("so do not commit them as they are: .cline/skills"), "{said}");
}

#[test]
fn codex_runs_programs_without_its_own_question_unless_the_user_chose_otherwise() {
    let workspace = workspace();
    workspace.edt(&["setup", "codex"]);
    let text = workspace.text(".codex/config.toml");
    let table = "[mcp_servers.edt.tools.run]\napproval_mode = \"approve\"\n";
    assert!(text.ends_with(table), "{text}");
    let theirs = text.replace("\"approve\"", "\"prompt\"");
    workspace.write(".codex/config.toml", &theirs);
    assert_eq!(did(&workspace.edt(&["setup", "codex"]))[0], "unchanged");
    assert_eq!(workspace.text(".codex/config.toml"), theirs);
}

#[test]
fn codex_gets_no_server_without_a_command_and_what_the_user_chose_stays_as_a_comment() {
    let forget = |workspace: &TestRepo| {
        std::fs::remove_dir_all(workspace.home.join(".local/share/edt")).unwrap();
    };
    let repeat = |workspace: &TestRepo| drop(workspace.edt(&["setup", "codex"]));
    let cases: [(&dyn Fn(&TestRepo), &str); 3] =
        [(&|_| (), "taken_out"), (&forget, "taken_out"), (&repeat, "restored")];
    for (before, action) in cases {
        let workspace = workspace();
        workspace.edt(&["setup", "codex"]);
        let text = workspace.text(".codex/config.toml");
        let theirs = text.replace("\"approve\"", "\"prompt\"");
        workspace.write(".codex/config.toml", &theirs);
        before(&workspace);
        assert_eq!(did(&workspace.edt(&["setup", "codex", "--remove"]))[0], action);
        let kept = workspace.text(".codex/config.toml");
        assert!(kept.lines().all(|line| line.is_empty() || line.starts_with("# ")), "{kept}");
        assert!(kept.contains("\n# approval_mode = \"prompt\"\n"), "{kept}");
    }
}

#[test]
fn each_agent_gets_the_form_that_it_reads() {
    let workspace = workspace();
    AGENTS.iter().for_each(|agent| drop(workspace.edt(&["setup", agent])));
    let command = json!({"command": EDT, "args": ["mcp"]});
    for (file, at, server) in [
        (".qwen/settings.json", "/mcpServers/edt", command.clone()),
        (".zed/settings.json", "/context_servers/edt", command.clone()),
        (".junie/mcp/mcp.json", "/mcpServers/edt", command.clone()),
        (
            "kilo.json",
            "/mcp/edt",
            json!({"type": "local", "command": [EDT, "mcp"], "enabled": true}),
        ),
    ] {
        let json: Value = serde_json::from_str(&workspace.text(file)).unwrap();
        assert_eq!(json.pointer(at), Some(&server), "{file}");
    }
    let kimi = std::fs::read(workspace.home.join(".kimi/mcp.json")).unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&kimi).unwrap()["mcpServers"]["edt"], command);
    let servers = workspace.text(".continue/mcpServers/edt.yaml");
    let line = format!("    command: {}\n    args: [\"mcp\"]\n", json!(EDT));
    assert!(servers.contains(&line), "{servers}");
    for rules in
        ["AGENTS.md", ".clinerules/edt.md", ".continue/rules/edt.md", ".junie/guidelines.md"]
    {
        let text = workspace.text(rules);
        assert!(text.contains("Do not use your own edit tools or shell redirections"), "{rules}");
    }
    let goose = workspace.edt(&["setup", "goose"]).json["notes"].to_string();
    assert!(
        goose.contains("goose/config.yaml by hand") && goose.contains("type: stdio"),
        "{goose}"
    );
}
