//! The manifests of packages and plugins: one version for all, names that agree, and files that
//! exist. `packages/check.py` compares those that have a published schema with it.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use toml_edit::DocumentMut;

const VERSION: &str = env!("CARGO_PKG_VERSION");
/// What the templates of packages have in place of the version.
const VERSION_MARK: &str = "@VERSION@";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

fn text(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn json_of(path: &str) -> Value {
    serde_json::from_str(&text(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn cargo_toml() -> DocumentMut {
    text("Cargo.toml").parse().unwrap()
}

#[test]
fn every_manifest_has_the_version_of_the_workspace() {
    let manifest = cargo_toml();
    assert_eq!(manifest["workspace"]["package"]["version"].as_str(), Some(VERSION));
    for (name, dependency) in manifest["workspace"]["dependencies"].as_table().unwrap() {
        if let Some(version) = dependency.get("version").filter(|_| name.starts_with("edt-")) {
            assert_eq!(version.as_str(), Some(VERSION), "Cargo.toml, {name}");
        }
    }
    for path in [
        "packages/npm/edt/package.json",
        "plugins/claude-code/.claude-plugin/plugin.json",
        "plugins/codex/.codex-plugin/plugin.json",
        "plugins/gemini/gemini-extension.json",
    ] {
        assert_eq!(json_of(path)["version"], VERSION, "{path}");
    }
    let npm = json_of("packages/npm/edt/package.json");
    for (name, version) in npm["optionalDependencies"].as_object().unwrap() {
        assert_eq!(version, VERSION, "packages/npm/edt/package.json, {name}");
    }
    let server = json_of("packages/mcp/server.json");
    assert_eq!(server["version"], VERSION_MARK);
    for package in server["packages"].as_array().unwrap() {
        assert_eq!(package["version"], VERSION_MARK, "{package}");
    }
    assert_eq!(json_of("packages/mcp/manifest.json")["version"], VERSION_MARK);
    // maturin and Nix read Cargo.toml.
    let python: DocumentMut = text("packages/python/pyproject.toml").parse().unwrap();
    let dynamic = python["project"]["dynamic"].as_array().unwrap();
    assert!(dynamic.iter().any(|one| one.as_str() == Some("version")));
}

#[test]
fn the_registry_of_servers_can_prove_who_owns_its_packages() {
    let server = json_of("packages/mcp/server.json");
    let name = server["name"].as_str().unwrap();
    let npm = json_of("packages/npm/edt/package.json");
    assert_eq!(npm["mcpName"], name);
    assert!(text("packages/python/README.md").contains(&format!("<!-- mcp-name: {name} -->")));
    let python: DocumentMut = text("packages/python/pyproject.toml").parse().unwrap();
    let names: Vec<_> =
        server["packages"].as_array().unwrap().iter().map(|one| &one["identifier"]).collect();
    assert_eq!(names, [&npm["name"], &json!(python["project"]["name"].as_str())]);
    // Clients start a package by its name: `npx edt-cli mcp`, `uvx edt-cli mcp`.
    assert_eq!(npm["bin"].as_object().unwrap().len(), 1, "npx starts the only program");
    assert!(python["project"]["scripts"].get("edt-cli").is_some(), "uvx starts this program");
    // The registry refuses longer descriptions.
    assert!(server["description"].as_str().unwrap().len() <= 100);
}

#[test]
fn a_marketplace_names_plugins_that_are_in_this_repository() {
    let claude = json_of(".claude-plugin/marketplace.json");
    let codex = json_of(".agents/plugins/marketplace.json");
    for (market, source, manifest) in [
        (&claude, &claude["plugins"][0]["source"], ".claude-plugin/plugin.json"),
        (&codex, &codex["plugins"][0]["source"]["path"], ".codex-plugin/plugin.json"),
    ] {
        let source = source.as_str().unwrap();
        let directory = source.strip_prefix("./").unwrap();
        assert_eq!(
            json_of(&format!("{directory}/{manifest}"))["name"],
            market["plugins"][0]["name"],
            "{source}"
        );
        for file in [".mcp.json", "hooks/hooks.json", "skills/edt/SKILL.md"] {
            assert!(root().join(directory).join(file).is_file(), "{directory}/{file}");
        }
    }
}

/// Neither agent publishes a schema of these files; the keys are those that its documentation has.
#[test]
fn manifests_without_a_schema_have_documented_keys() {
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let extension = json_of("plugins/gemini/gemini-extension.json");
    assert_eq!(
        keys(&extension),
        ["contextFileName", "description", "mcpServers", "name", "version"]
    );
    assert!(
        root()
            .join("plugins/gemini")
            .join(extension["contextFileName"].as_str().unwrap())
            .is_file()
    );
    let market = json_of(".agents/plugins/marketplace.json");
    assert_eq!(keys(&market), ["interface", "name", "plugins"]);
    let plugin = &market["plugins"][0];
    assert_eq!(keys(plugin), ["category", "name", "policy", "source"]);
    assert_eq!(plugin["source"]["source"], "local");
    assert_eq!(
        plugin["policy"],
        json!({"installation": "AVAILABLE", "authentication": "ON_INSTALL"})
    );
}

/// `cargo binstall` gets the archive of the release: its name and the path of the program in it
/// are those that `packages/build.py` writes.
#[test]
fn cargo_binstall_finds_the_archives() {
    let manifest = cargo_toml();
    let targets = manifest["package"]["metadata"]["binstall"]["overrides"].as_table().unwrap();
    let build = text("packages/build.py");
    assert!(build.contains(r#"name = f"edt-{build.version}-{build.platform.npm}""#));
    let repository = env!("CARGO_PKG_REPOSITORY");
    let mut found = Vec::new();
    for (target, about) in targets {
        let filled = |key: &str| {
            let value = about[key].as_str().unwrap();
            let value = value.replace("{ version }", VERSION).replace("{ repo }", repository);
            value.replace("{ bin }", "edt")
        };
        let platform = match target.split('-').next() {
            Some("x86_64") => "linux-x64",
            Some("aarch64") => "linux-arm64",
            other => panic!("{other:?}"),
        };
        let name = format!("edt-{VERSION}-{platform}");
        let release = format!("{repository}/releases/download/v{VERSION}");
        assert_eq!(filled("pkg-url"), format!("{release}/{name}.tar.xz"), "{target}");
        assert_eq!(filled("bin-dir"), format!("{name}/edt"), "{target}");
        assert_eq!(filled("pkg-fmt"), "txz", "{target}");
        found.push(target);
    }
    // A static program runs with either C library.
    let expected = ["x86_64", "aarch64"]
        .map(|cpu| ["gnu", "musl"].map(|c| format!("{cpu}-unknown-linux-{c}")));
    assert_eq!(found, expected.concat());
}
