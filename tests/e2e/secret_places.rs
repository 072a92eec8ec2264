//! A confined program reads no usual place of credentials in a home directory, wherever the home,
//! the XDG directories and the worktree are; and it still builds.

use std::path::{Path, PathBuf};
use std::process::Command;

use edt_types::Level;

use crate::confined_repo::{As, Cage, Call, RunReport, bubblewrap, is_root, programs};
use crate::test_repo::{Answer, EDT, TestRepo, run};

/// Where programs store credentials, relative to a home directory.
const PLACES: &[&str] = &[
    // Keys and remote machines.
    ".ssh/id_ed25519",
    ".ssh/config",
    ".gnupg/private-keys-v1.d/key",
    ".putty/sshhostkeys",
    ".config/age/keys.txt",
    ".config/sops/age/keys.txt",
    ".config/minisign/minisign.key",
    ".minisign/minisign.key",
    ".step/secrets/root_ca_key",
    ".mitmproxy/mitmproxy-ca.pem",
    ".local/share/mkcert/rootCA-key.pem",
    ".pki/nssdb/key4.db",
    ".globus/userkey.pem",
    ".config/filezilla/sitemanager.xml",
    ".config/remmina/host.remmina",
    // Clouds.
    ".aws/credentials",
    ".aws/config",
    ".aws/sso/cache/a.json",
    ".azure/msal_token_cache.json",
    ".config/gcloud/credentials.db",
    ".config/gcloud/application_default_credentials.json",
    ".boto",
    ".oci/config",
    ".aliyun/config.json",
    ".tccli/default.credential",
    ".bluemix/config.json",
    ".s3cfg",
    ".passwd-s3fs",
    ".mc/config.json",
    ".config/rclone/rclone.conf",
    ".config/doctl/config.yaml",
    ".config/hcloud/cli.toml",
    ".config/linode-cli",
    ".config/scw/config.yaml",
    ".config/exoscale/exoscale.toml",
    ".config/openstack/clouds.yaml",
    ".fly/config.yml",
    ".config/heroku/auth",
    ".config/netlify/config.json",
    ".local/share/com.vercel.cli/auth.json",
    ".config/railway/config.json",
    ".railway/config.json",
    ".wrangler/config/default.toml",
    ".config/.wrangler/config/default.toml",
    ".config/configstore/firebase-tools.json",
    ".config/stripe/config.toml",
    ".config/ngrok/ngrok.yml",
    ".ngrok2/ngrok.yml",
    ".cloudflared/cert.pem",
    ".config/sentry/token",
    ".sentryclirc",
    ".databrickscfg",
    ".snowflake/config.toml",
    ".snowsql/config",
    ".bigqueryrc",
    // Clusters, containers, infrastructure.
    ".kube/config",
    ".docker/config.json",
    ".config/containers/auth.json",
    ".config/helm/registry/config.json",
    ".minikube/profiles/minikube/client.key",
    ".terraform.d/credentials.tfrc.json",
    ".terraformrc",
    ".tofurc",
    ".pulumi/credentials.json",
    ".vault-token",
    ".consul-token",
    ".nomad-token",
    ".chef/knife.pem",
    ".vagrant.d/insecure_private_key",
    ".ansible/vault-pass",
    ".config/argocd/config",
    // Code hosts and package registries.
    ".git-credentials",
    ".config/git/credentials",
    ".config/gh/hosts.yml",
    ".config/glab-cli/config.yml",
    ".config/hub",
    ".config/tea/config.yml",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".pypirc",
    ".local/share/uv/credentials/credentials.toml",
    ".config/pypoetry/auth.toml",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".local/share/gem/credentials",
    ".bundle/config",
    ".composer/auth.json",
    ".config/composer/auth.json",
    ".nuget/NuGet/NuGet.Config",
    ".config/NuGet/NuGet.Config",
    ".m2/settings.xml",
    ".m2/settings-security.xml",
    ".gradle/gradle.properties",
    ".sbt/.credentials",
    ".sbt/1.0/credentials.sbt",
    ".ivy2/.credentials",
    ".hex/hex.config",
    ".pub-cache/credentials.json",
    ".config/dart/pub-credentials.json",
    ".conan2/credentials.json",
    ".conan/.conan.db",
    ".jfrog/jfrog-cli.conf.v6",
    ".android/adbkey",
    ".julia/servers/pkg.julialang.org/auth.toml",
    ".stack/upload/credentials.json",
    ".luarocks/upload_config.lua",
    ".sbt/1.0/credentials",
    ".m2/settings-work.xml",
    ".gradle/init.d/repository.gradle",
    ".lein/profiles.clj",
    ".lein/credentials.clj.gpg",
    ".dotnet/corefx/cryptography/x509stores/my/key.pfx",
    ".nvm/.npmrc",
    ".cache/vivaldi/Default/Cache/entry",
    ".cache/opera/Default/Cache/entry",
    ".cache/google-chrome-beta/Default/Cache/entry",
    ".cache/librewolf/a.default/cache2/entry",
    ".cache/epiphany/entry",
    // Networks and databases.
    ".netrc",
    "_netrc",
    ".authinfo",
    ".authinfo.gpg",
    ".pgpass",
    ".my.cnf",
    ".mylogin.cnf",
    ".mongorc.js",
    ".dbshell",
    ".config/redli",
    ".rediscli_auth",
    ".local/share/DBeaverData/workspace6/General/.dbeaver/credentials-config.json",
    ".msmtprc",
    ".fetchmailrc",
    ".smbcredentials",
    // Passwords and wallets.
    ".password-store/site.gpg",
    ".local/share/keyrings/login.keyring",
    ".local/share/kwalletd/kdewallet.kwl",
    ".config/op/config",
    ".config/1Password/data",
    ".1password/agent.sock.token",
    ".config/Bitwarden/data.json",
    ".config/Bitwarden CLI/data.json",
    ".lastpass/key",
    ".config/keepassxc/keepassxc.ini",
    ".bitcoin/wallet.dat",
    ".ethereum/keystore/key",
    ".config/solana/id.json",
    ".electrum/wallets/default_wallet",
    ".monero/wallet.keys",
    // Browsers and mail.
    ".mozilla/firefox/a.default/logins.json",
    ".cache/mozilla/firefox/a.default/cache2/entry",
    ".config/google-chrome/Default/Login Data",
    ".config/chromium/Default/Cookies",
    ".config/BraveSoftware/Brave-Browser/Default/Cookies",
    ".config/microsoft-edge/Default/Cookies",
    ".config/vivaldi/Default/Cookies",
    ".config/opera/Cookies",
    ".thunderbird/a.default/logins.json",
    ".local/share/evolution/mail/passwords",
    "snap/firefox/common/.mozilla/firefox/a/logins.json",
    "snap/chromium/common/chromium/Default/Cookies",
    ".var/app/org.mozilla.firefox/logins.json",
    // Histories and start-up files.
    ".bash_history",
    ".zsh_history",
    ".local/share/fish/fish_history",
    ".local/share/atuin/history.db",
    ".python_history",
    ".psql_history",
    ".mysql_history",
    ".sqlite_history",
    ".node_repl_history",
    ".irb_history",
    ".lesshst",
    ".viminfo",
    ".bashrc",
    ".zshrc",
    ".profile",
    ".config/fish/config.fish",
    ".config/environment.d/keys.conf",
    ".env",
    // Editors, chats, agents, models.
    ".config/Code/User/globalStorage/state.vscdb",
    ".config/Cursor/User/globalStorage/state.vscdb",
    ".config/JetBrains/IdeaIC2024.1/options/security.xml",
    ".local/share/JetBrains/token",
    ".config/github-copilot/hosts.json",
    ".config/zed/settings.json",
    ".config/Slack/Cookies",
    ".config/discord/Cookies",
    ".config/Signal/config.json",
    ".claude.json",
    ".claude/.credentials.json",
    ".codex/auth.json",
    ".gemini/oauth_creds.json",
    ".qwen/oauth_creds.json",
    ".cursor/mcp.json",
    ".local/share/opencode/auth.json",
    ".config/goose/secrets.yaml",
    ".aider.conf.yml",
    ".continue/config.json",
    ".huggingface/token",
    ".cache/huggingface/token",
    ".kaggle/kaggle.json",
    ".config/openai/credentials",
    ".jupyter/jupyter_server_config.json",
    ".local/share/jupyter/runtime/kernel-1.json",
    ".wandb/settings",
    ".config/wandb/settings",
    // What no list can name.
    ".unheard-of/token",
    ".config/unheard-of.toml",
    ".local/share/unheard-of/token",
    ".local/state/unheard-of/token",
];

/// What programs need, relative to a home directory.
const NEEDED: &[&str] = &[
    ".cargo/bin/tool",
    ".cargo/registry/index",
    ".cargo/config.toml",
    ".rustup/settings.toml",
    ".cache/pip/wheel",
    ".npm/_cacache/entry",
    ".nvm/versions/node/v1/bin/node",
    ".pyenv/shims/python3",
    ".local/bin/tool",
    ".local/lib/python3.11/site-packages/a.py",
    ".local/share/uv/python/cpython/bin/python",
    ".local/share/mise/installs/node/1/bin/node",
    ".m2/repository/a.jar",
    ".gradle/caches/a.jar",
    ".config/git/ignore",
    ".config/go/env",
    ".gitconfig",
    ".config/edt/edt.toml",
    "go/pkg/mod/a.go",
    "documents/a.txt",
];

/// Parts of names in [`PLACES`] that no list has: in a worktree, they are its own.
const WORKTREES: &[&str] = &[
    "unheard-of",
    "/.bashrc",
    "/.zshrc",
    "/.profile",
    "/.env",
    "/.config/fish/",
    "/.config/environment.d/",
];

const CONFINED: [Level; 2] = [Level::Standard, Level::Strict];

fn put(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// The place of `name` if `.config` and the like are below `xdg`.
fn elsewhere(home: &Path, xdg: Option<&Path>, name: &str) -> PathBuf {
    let moved =
        [".config", ".local/share", ".local/state", ".cache"].into_iter().find_map(|from| {
            let rest = name.strip_prefix(from)?.strip_prefix('/')?;
            Some(xdg?.join(from.trim_start_matches('.').replace('/', "-")).join(rest))
        });
    moved.unwrap_or_else(|| home.join(name))
}

/// Fills a home directory, and asks a program which files it can read.
struct Home {
    places: Vec<PathBuf>,
    needed: Vec<PathBuf>,
}

impl Home {
    fn fill(home: &Path, xdg: Option<&Path>) -> Home {
        let all = |names: &[&str]| -> Vec<PathBuf> {
            names.iter().map(|name| elsewhere(home, xdg, name)).collect()
        };
        let (places, needed) = (all(PLACES), all(NEEDED));
        places.iter().for_each(|path| put(path, "the secret\n"));
        needed.iter().for_each(|path| put(path, "[user]\n\tname = needed\n"));
        Home { places, needed }
    }

    /// Fails if the program reads a place of credentials, or cannot read what it needs.
    #[track_caller]
    fn holds(&self, printed: &RunReport, what: &str) {
        assert_eq!(printed.how, "Exit(0)", "{what}: {printed:?}");
        let read: Vec<&str> = printed.out.lines().collect();
        let is_read = |path: &&PathBuf| read.contains(&path.to_str().unwrap());
        let leaked: Vec<_> = self.places.iter().filter(is_read).collect();
        assert!(leaked.is_empty(), "{what}: read {leaked:#?}");
        let missing: Vec<_> = self.needed.iter().filter(|path| !is_read(path)).collect();
        assert!(missing.is_empty(), "{what}: not read {missing:#?}");
    }

    /// The script that prints each file that can be read and is not empty.
    fn script(&self) -> String {
        let all = self.places.iter().chain(&self.needed);
        let words: Vec<String> = all
            .map(|path| edt_types::text::shell_word(path.to_str().unwrap().as_bytes()))
            .collect();
        format!("for f in {}; do test -s \"$f\" && echo \"$f\"; done; true", words.join(" "))
    }
}

/// Each user that can be tried, with each way to each level.
fn everywhere(check: impl Fn(&Cage, &dyn Fn(&[&str]) -> Call)) {
    let users = if is_root() { vec![As::Self_, As::Nobody] } else { vec![As::Self_] };
    for user in users {
        for level in CONFINED {
            for backend in ["own", "bubblewrap"] {
                if backend == "bubblewrap" && (level != Level::Strict || !bubblewrap()) {
                    continue;
                }
                let cage = Cage::new(user);
                let call =
                    |argv: &[&str]| Call { backend: backend.to_owned(), ..cage.call(level, argv) };
                check(&cage, &call);
            }
        }
    }
}

fn with(mut call: Call, variables: &[(&str, &Path)]) -> Call {
    for (name, value) in variables {
        call.env.retain(|(known, _)| known != name);
        call.env.push(((*name).to_owned(), value.to_str().unwrap().to_owned()));
    }
    call
}

#[test]
fn the_table_has_at_least_104_places() {
    let unique: std::collections::BTreeSet<_> = PLACES.iter().collect();
    assert!(unique.len() == PLACES.len() && PLACES.len() >= 104, "{}", PLACES.len());
}

#[test]
fn no_credentials_of_the_home_directory_are_read() {
    everywhere(|cage, call| {
        let home = Home::fill(&cage.home, None);
        cage.hand_over();
        home.holds(&cage.run(&call(&["sh", "-c", &home.script()])), "HOME");
        // The caller's own HOME for the program does not uncover edt's.
        let other = with(call(&["sh", "-c", &home.script()]), &[("HOME", &cage.outside)]);
        home.holds(&cage.run(&other), "another HOME");
    });
}

#[test]
fn no_credentials_are_read_where_xdg_directories_are_elsewhere() {
    everywhere(|cage, call| {
        let home = Home::fill(&cage.home, Some(&cage.outside));
        cage.hand_over();
        let directories =
            ["config", "local-share", "local-state", "cache"].map(|name| cage.outside.join(name));
        let names = ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"];
        let variables: Vec<(&str, &Path)> =
            names.into_iter().zip(directories.iter().map(PathBuf::as_path)).collect();
        home.holds(&cage.run(&with(call(&["sh", "-c", &home.script()]), &variables)), "XDG");
    });
}

#[test]
fn no_credentials_are_read_where_the_worktree_is_in_the_home_directory() {
    everywhere(|cage, call| {
        let path = cage.root.parent().unwrap().to_owned();
        let home = Home::fill(&path, None);
        cage.hand_over();
        let call = with(call(&["sh", "-c", &home.script()]), &[("HOME", &path)]);
        home.holds(&cage.run(&call), "worktree in the home");
    });
}

#[test]
fn a_worktree_in_a_hidden_directory_is_visible_and_its_neighbours_are_not() {
    everywhere(|cage, call| {
        let home = Home::fill(&cage.home, None);
        let root = cage.home.join(".config/nvim");
        put(&root.join("lua/init.lua"), "x");
        put(&root.join(".git/HEAD"), "ref: refs/heads/main\n");
        cage.hand_over();
        let script = format!("test -s lua/init.lua || exit 3; echo x > new; {}", home.script());
        let call = call(&["sh", "-c", &script]);
        let git = vec![root.join(".git")];
        let call = Call { root: root.clone(), dir: root, git, ..call };
        home.holds(&cage.run(&call), "worktree in .config");
    });
}

/// Places that a list names are hidden there, too. A name that no list has is the worktree's.
#[test]
fn no_credentials_are_read_where_the_worktree_contains_the_home_directory() {
    everywhere(|cage, call| {
        for home in [cage.root.join("home"), cage.root.clone()] {
            let mut filled = Home::fill(&home, None);
            cage.hand_over();
            let listed = |name: &str| !WORKTREES.iter().any(|part| name.contains(part));
            filled.places.retain(|path| listed(path.to_str().unwrap()));
            assert!(filled.places.len() >= 104, "{}", filled.places.len());
            let call = with(call(&["sh", "-c", &filled.script()]), &[("HOME", &home)]);
            filled.holds(&cage.run(&call), "worktree around the home");
        }
    });
}

#[test]
fn the_home_directory_of_the_account_counts_whatever_home_says() {
    if !is_root() {
        println!("skipped: only root can replace /etc/passwd in a namespace");
        return;
    }
    for level in CONFINED {
        let cage = Cage::new(As::Self_);
        let home = Home::fill(&cage.home, None);
        let table = cage.outside.join("passwd");
        std::fs::write(&table, format!("root:x:0:0:root:{}:/bin/sh\n", cage.home.display()))
            .unwrap();
        let mut command = Command::new("unshare");
        let script = "mount --bind \"$1\" /etc/passwd; shift; HOME=/nowhere exec \"$@\"";
        command.args(["-m", "sh", "-euc", script, "sh"]).arg(&table).arg(&programs().0);
        let call =
            with(cage.call(level, &["sh", "-c", &home.script()]), &[("HOME", &cage.outside)]);
        home.holds(&cage.run_by(command, &call), "the account's home");
    }
}

#[test]
fn configuration_with_credentials_is_hidden() {
    let cage = Cage::new(As::Self_);
    let files = [
        (".gitconfig", "[url \"https://me:s3cr3t@example.com/\"]\n\tinsteadOf = x:\n"),
        (".config/git/config", "[github]\n\ttoken = 0123456789abcdef\n"),
        (".cargo/config.toml", "[registries.own]\ntoken = \"0123\"\n"),
        (".config/pip/pip.conf", "[global]\nindex-url = https://me:s3cr3t@example.com/\n"),
        (".config/go/env", "GOPROXY=https://me:s3cr3t@example.com\n"),
    ];
    for (name, text) in files {
        put(&cage.home.join(name), text);
    }
    let script = files.map(|(name, _)| format!("test -s ~/{name} && echo {name}")).join("; ");
    let printed = cage.run(&cage.call(Level::Standard, &["sh", "-c", &format!("{script}; true")]));
    assert_eq!((printed.how.as_str(), printed.out.as_str()), ("Exit(0)", ""), "{printed:?}");
}

/// The tools of this machine, with the home directory of the user who runs the tests.
#[test]
fn everyday_builds_succeed_in_the_sandbox() {
    let Some(home) = std::env::var_os("HOME").map(PathBuf::from) else { return };
    let builds = [
        (
            "cargo",
            "cargo init -q --vcs none --name demo crate && cd crate && cargo build -q --offline && cargo test -q --offline && ./target/debug/demo",
        ),
        (
            "npm",
            "mkdir js && cd js && export npm_config_cache=$TMPDIR/npm; npm init -y > /dev/null && npm pack --silent && npm exec --offline -c 'node -e 1' && npm run env > /dev/null",
        ),
        (
            "pip",
            "pip --version && pip list > /dev/null && python3 -m venv --without-pip venv && venv/bin/python -c 1",
        ),
        (
            "go",
            "mkdir go && cd go && go mod init demo && printf 'package main\\nfunc main(){}\\n' > main.go && GOCACHE=$TMPDIR/go go build .",
        ),
        (
            "make",
            "printf 'all:\\n\\tcc -o m m.c\\n\\t./m\\n' > Makefile; echo 'int main(void){return 0;}' > m.c; make",
        ),
        ("git", "git status --porcelain > /dev/null && git log --oneline"),
    ];
    let is_installed = |(tool, _): &(&str, &str)| {
        let found = Command::new("sh").args(["-c", &format!("command -v {tool}")]).output();
        found.unwrap().status.success()
    };
    let builds: Vec<(&str, &str)> = builds.into_iter().filter(is_installed).collect();
    for level in CONFINED {
        for (tool, script) in edt_testkit::share(builds.clone(), 2) {
            let cage = Cage::new(As::Self_);
            let call = with(cage.call(level, &["bash", "-euc", script]), &[("HOME", &home)]);
            let printed = cage.run(&Call { ms: 120_000, ..call });
            assert_eq!(printed.how, "Exit(0)", "{tool} at {level}: {printed:#?}");
        }
    }
}

/// A repository whose user allows every command, with `more` below `[run]`.
fn repository(more: &str) -> TestRepo {
    let workspace = TestRepo::with(&[("a.txt", b"one\n")]);
    let file = workspace.home.join(".config/edt/edt.toml");
    put(&file, &format!("[run]\nunknown = \"allow\"\n{more}"));
    workspace
}

/// The answer of a program that prints variables, names one that it misses, and fails if `exit` is
/// not 0.
fn printed(workspace: &TestRepo, exit: u8) -> Answer {
    let script = format!(
        "echo \"$ACME_GREETING:$ACME_KEY:$RUST_LOG\"\n[ -n \"$ACME_KEY\" ] || echo no ACME_KEY >&2\nexit {exit}\n"
    );
    std::fs::write(workspace.root.join("job.sh"), script).unwrap();
    let mut command = workspace.command(EDT);
    command.env("ACME_GREETING", "hello").env("ACME_KEY", "0123").env("RUST_LOG", "debug");
    command.args(["run", "--json", "--", "sh", "job.sh"]);
    run(command, b"", &[])
}

fn warning(answer: &Answer) -> Option<&str> {
    let all = answer.json["warnings"].as_array().unwrap();
    let found: Vec<_> = all.iter().filter(|one| one["code"] == "variables_withheld").collect();
    assert!(found.len() <= 1, "{found:?}");
    found.first().map(|one| one["message"].as_str().unwrap())
}

#[test]
fn a_failed_program_is_told_which_variables_were_withheld_and_how_one_passes() {
    let workspace = repository("");
    let failed = printed(&workspace, 3);
    assert_eq!(failed.json["run"]["stdout"]["text"], "::debug\n", "{:#}", failed.json);
    assert_eq!(
        failed.json["run"]["sandbox"]["withheld"],
        serde_json::json!(["ACME_GREETING", "ACME_KEY"])
    );
    assert_eq!(
        warning(&failed),
        Some(
            "The program failed. It did not get these variables, which its output names: ACME_KEY. \
             If it needs one, the user adds it below [run] in their own edt.toml: environment = \
             [\"ACME_KEY\"]"
        )
    );
    assert_eq!(warning(&printed(&workspace, 0)), None);
}

#[test]
fn the_users_own_configuration_lets_variables_pass() {
    let workspace = repository("environment = [\"ACME_*\"]\n");
    assert_eq!(printed(&workspace, 0).json["run"]["stdout"]["text"], "hello::debug\n");
    let workspace = repository("environment = [\"ACME_GREETING\", \"ACME_KEY\"]\n");
    assert_eq!(printed(&workspace, 0).json["run"]["stdout"]["text"], "hello:0123:debug\n");
}

#[test]
fn the_users_own_configuration_uncovers_a_place_and_the_repository_cannot() {
    // Not in /dev/shm, which the sandbox replaces.
    let cage = Cage::new(As::Self_);
    let own = "[run]\nunknown = \"allow\"\nreadable = [\"~/.acme\", \"~/.npmrc\"]\n";
    put(&cage.home.join(".config/edt/edt.toml"), own);
    for name in [".acme/settings", ".npmrc", ".odd/settings"] {
        put(&cage.home.join(name), "text\n");
    }
    let script =
        "for f in .acme/settings .npmrc .odd/settings; do cat ~/$f && echo $f; done; true\n";
    std::fs::write(cage.root.join("job.sh"), script).unwrap();
    let mut command = Command::new(EDT);
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", &cage.home);
    command.current_dir(&cage.root).args(["run", "--json", "--", "sh", "job.sh"]);
    let answer = run(command, b"", &[]);
    let text = answer.json["run"]["stdout"]["text"].as_str().unwrap();
    assert_eq!(text, "text\n.acme/settings\ntext\n.npmrc\n", "{:#}", answer.json);
    for key in ["readable", "environment"] {
        let policy = format!("[run]\n{key} = [\"/x\"]\n");
        let other = TestRepo::with(&[("edt.toml", policy.as_bytes())]);
        let refused = other.runs(&[], &["true"]);
        assert_eq!(refused.codes(), ["BAD_REQUEST"], "{:#}", refused.json);
    }
}
