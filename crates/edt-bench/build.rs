//! Writes the table of the shipped suites that `src/shipped.rs` includes: every file of every
//! directory below `fixtures/bench` that has a `suite.toml`.

use std::fmt::Write as _;
use std::path::Path;

/// The directory of the suites, seen from this crate's directory.
const SUITES: &str = "../../fixtures/bench";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={SUITES}");
    if let Err(why) = write_suites() {
        println!("cargo::error={}", why.replace('\n', " | "));
    }
}

fn write_suites() -> Result<(), String> {
    let variable = |name: &str| std::env::var(name).map_err(|err| format!("{name}: {err}"));
    let root = Path::new(&variable("CARGO_MANIFEST_DIR")?).join(SUITES);
    let mut files = Vec::new();
    files_below(&root, "", &mut files).map_err(|err| format!("{SUITES}: {err}"))?;
    files.sort();
    let is_suite = |path: &str| {
        path.split_once('/').is_some_and(|(suite, _)| root.join(suite).join("suite.toml").is_file())
    };
    let mut code = String::from("&[\n");
    for (path, executable) in files.iter().filter(|(path, _)| is_suite(path)) {
        let file = root.join(path);
        let file = file.to_str().ok_or_else(|| format!("{} is not UTF-8", file.display()))?;
        writeln!(code, "({path:?}, {executable}, include_bytes!({file:?}) as &[u8]),")
            .map_err(|err| err.to_string())?;
    }
    code.push_str("]\n");
    std::fs::write(Path::new(&variable("OUT_DIR")?).join("suites.rs"), code)
        .map_err(|err| format!("suites.rs: {err}"))
}

fn files_below(dir: &Path, prefix: &str, files: &mut Vec<(String, bool)>) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
        let metadata = entry.metadata()?;
        if metadata.is_dir() {
            println!("cargo::rerun-if-changed={SUITES}/{path}");
            files_below(&entry.path(), &format!("{path}/"), files)?;
        } else {
            files.push((path, metadata.permissions().mode() & 0o111 != 0));
        }
    }
    Ok(())
}
