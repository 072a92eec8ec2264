//! The transcripts in `tests/transcripts`, run in scratch repositories. `documentation.rs` runs the
//! README.

#[test]
fn the_transcripts_are_true() {
    let home = tempfile::tempdir().unwrap();
    let path = |name: &str| home.path().join(name).to_str().unwrap().to_owned();
    let config =
        "[user]\n\tname = A User\n\temail = user@example.com\n[init]\n\tdefaultBranch = main\n";
    std::fs::write(home.path().join("gitconfig"), config).unwrap();
    let git = std::env::split_paths(&std::env::var_os("PATH").unwrap())
        .map(|dir| dir.join("git"))
        .find(|git| git.is_file());
    trycmd::TestCases::new()
        .register_bin("git", git.expect("git is on PATH"))
        .env("HOME", path(""))
        .env("XDG_CONFIG_HOME", path("config"))
        .env("GIT_CONFIG_GLOBAL", path("gitconfig"))
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("NO_COLOR", "1")
        .case("tests/transcripts/*.md");
}
