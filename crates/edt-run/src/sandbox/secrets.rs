//! What a confined program must not read: files and directories by path, variables by name or
//! value.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::SandboxPlan;

/// Paths below a home directory.
const HOME_PATHS: &[&str] = &[
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".oci",
    ".kube",
    ".docker/config.json",
    ".docker/run",
    ".netrc",
    "_netrc",
    ".authinfo",
    ".authinfo.gpg",
    ".git-credentials",
    ".npmrc",
    ".yarnrc.yml",
    ".pypirc",
    ".pgpass",
    ".my.cnf",
    ".vault-token",
    ".terraformrc",
    ".terraform.d/credentials.tfrc.json",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".bundle/config",
    ".m2/settings.xml",
    ".m2/settings-security.xml",
    ".gradle/gradle.properties",
    ".composer/auth.json",
    ".nuget/NuGet/NuGet.Config",
    ".huggingface/token",
    ".cache/huggingface/token",
    ".kaggle",
    ".databrickscfg",
    ".snowflake",
    ".boto",
    ".s3cfg",
    ".password-store",
    ".local/share/keyrings",
    ".local/share/kwalletd",
    ".pki",
    ".1password",
    ".bash_history",
    ".zsh_history",
    ".python_history",
    ".psql_history",
    ".mysql_history",
    ".node_repl_history",
    ".mozilla",
    ".thunderbird",
    ".config/google-chrome",
    ".config/chromium",
    ".config/BraveSoftware",
    ".config/microsoft-edge",
    ".config/vivaldi",
    ".config/opera",
    "snap/firefox",
    "snap/chromium",
    ".var/app",
    ".claude/.credentials.json",
    ".claude.json",
    ".codex/auth.json",
    ".gemini/oauth_creds.json",
    ".local/share/opencode/auth.json",
    ".aider.conf.yml",
];

/// Paths below the configuration directory, `~/.config` by default.
const CONFIG_PATHS: &[&str] = &[
    "gcloud",
    "gh",
    "glab-cli",
    "hub",
    "git/credentials",
    "op",
    "doctl",
    "hcloud",
    "rclone",
    "sops",
    "age",
    "helm/registry",
    "stripe",
    "heroku",
    "netlify",
    "vercel",
    "fly",
    "containers/auth.json",
    "pip/pip.conf",
    "pypoetry/auth.toml",
    "composer/auth.json",
    "configstore",
    "1Password",
    "Bitwarden CLI",
    "keepassxc",
    "github-copilot",
    "goose/secrets.yaml",
];

/// System paths. Only root can read most of them.
const SYSTEM: &[&str] = &[
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/ssl/private",
    "/etc/krb5.keytab",
    "/etc/wireguard",
    "/etc/NetworkManager/system-connections",
    "/etc/docker/key.json",
    "/etc/ssh/ssh_host_rsa_key",
    "/etc/ssh/ssh_host_ecdsa_key",
    "/etc/ssh/ssh_host_ed25519_key",
    "/etc/kubernetes",
    "/var/lib/docker",
    "/var/lib/kubelet",
    "/run/secrets",
    "/var/run/secrets",
    "/run/credentials",
    "/var/spool/cron",
];

/// Variables whose value is the path of such a file.
const PATH_VARIABLES: &[&str] = &[
    "NETRC",
    "KUBECONFIG",
    "AWS_SHARED_CREDENTIALS_FILE",
    "AWS_CONFIG_FILE",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "BOTO_CONFIG",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "CLOUDSDK_CONFIG",
    "AZURE_CONFIG_DIR",
    "DOCKER_CONFIG",
    "REGISTRY_AUTH_FILE",
    "GNUPGHOME",
    "NPM_CONFIG_USERCONFIG",
    "npm_config_userconfig",
    "PGPASSFILE",
    "PASSWORD_STORE_DIR",
    "GH_CONFIG_DIR",
    "VAULT_TOKEN_FILE",
];

/// Parts of variable names.
const NAME_PARTS: &[&str] = &[
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "CREDENTIAL",
    "API_KEY",
    "APIKEY",
    "PRIVATE_KEY",
    "ACCESS_KEY",
    "SIGNING_KEY",
    "ENCRYPTION_KEY",
    "AUTH_KEY",
    "COOKIE",
];

/// Last words of variable names that have more than one: `PWD` and `OLDPWD` are directories.
const LAST_WORDS: &[&str] = &["KEY", "PASS", "AUTH", "DSN", "JWT", "CREDS", "PWD", "PW"];

/// Names that end like those of secrets and are none: a public key's id in images of Python, settings
/// that a browser gets.
const PUBLIC_NAMES: &[&str] = &["GPG_KEY", "CACHE_KEY"];
const PUBLIC_PREFIXES: &[&str] = &["NEXT_PUBLIC_", "VITE_", "REACT_APP_", "PUBLIC_"];

/// Complete words of variable names, between underscores: `PAT` must not match `LIBRARY_PATH`.
const NAME_WORDS: &[&str] = &["PAT"];

/// Complete variable names: access to key agents, D-Bus and daemons.
const FULL_NAMES: &[&str] = &[
    "SSH_AUTH_SOCK",
    "SSH_AGENT_PID",
    "GPG_AGENT_INFO",
    "DBUS_SESSION_BUS_ADDRESS",
    "DOCKER_HOST",
    "OTEL_EXPORTER_OTLP_HEADERS",
    "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
    "GIT_ASKPASS",
    "SSH_ASKPASS",
    "SUDO_ASKPASS",
    "XAUTHORITY",
    "PGPASS",
    "MYSQL_PWD",
    "REDISCLI_AUTH",
    "NPM_CONFIG__AUTH",
];

/// Prefixes of values that are keys.
const VALUE_PREFIXES: &[&str] = &[
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "glsa_",
    "sk-",
    "sk_live_",
    "sk_test_",
    "rk_live_",
    "whsec_",
    "gsk_",
    "xai-",
    "r8_",
    "AIza",
    "ya29.",
    "eyJ",
    "xoxa-",
    "xoxb-",
    "xoxe",
    "xoxp-",
    "xapp-",
    "AKIA",
    "ASIA",
    "npm_",
    "pypi-",
    "hf_",
    "dckr_pat_",
    "dop_v1_",
    "lin_api_",
    "shpat_",
    "ATATT3",
    "SG.",
    "AGE-SECRET-KEY-",
    "Bearer ",
    "Basic ",
    "-----BEGIN",
];

/// The least length of a key. Shorter values with such a prefix, and those without a digit, are
/// words.
const MIN_KEY: usize = 12;

/// The names of the variables that a program does not get at standard and strict.
#[must_use]
pub fn withheld(env: &[(OsString, OsString)]) -> Vec<OsString> {
    env.iter()
        .filter(|(name, value)| is_secret(name, value))
        .map(|(name, _)| name.clone())
        .collect()
}

/// Whether a variable looks like a secret.
pub(super) fn is_secret(name: &OsStr, value: &OsStr) -> bool {
    let upper = name.to_string_lossy().to_uppercase();
    let value = value.to_string_lossy();
    let is_public = PUBLIC_NAMES.contains(&upper.as_str())
        || PUBLIC_PREFIXES.iter().any(|prefix| upper.starts_with(prefix));
    let last_of_several = upper.rsplit_once('_').map(|(_, last)| last);
    NAME_PARTS.iter().any(|part| upper.contains(part))
        || (!is_public && last_of_several.is_some_and(|last| LAST_WORDS.contains(&last)))
        || upper.split('_').skip(1).any(|word| NAME_WORDS.contains(&word))
        || FULL_NAMES.contains(&upper.as_str())
        || is_key(&value)
        || has_url_credentials(&value)
}

fn is_key(value: &str) -> bool {
    let is_prefixed = VALUE_PREFIXES.iter().any(|start| value.starts_with(start));
    let has_digit = || value.bytes().any(|byte| byte.is_ascii_digit());
    let words = value.split(' ').count();
    let is_header = ["Basic ", "Bearer "].iter().any(|start| value.starts_with(start));
    value.starts_with("-----BEGIN")
        || (is_prefixed
            && value.len() >= MIN_KEY
            && has_digit()
            && words == if is_header { 2 } else { 1 })
}

/// `scheme://user:password@host`, or a key in place of the user.
fn has_url_credentials(value: &str) -> bool {
    let Some((_, rest)) = value.split_once("://") else { return false };
    let authority = rest.split(['/', '?', '#', ' ']).next().unwrap_or_default();
    authority.rsplit_once('@').is_some_and(|(user, _)| match user.split_once(':') {
        Some((_, password)) => !password.is_empty(),
        None => is_key(user),
    })
}

/// All paths where secrets may be, whether they exist or not.
pub(super) fn secret_paths(plan: &SandboxPlan) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = plan.secrets.clone();
    let variables = |name: &str| {
        let of_plan =
            plan.env.iter().filter(|(key, _)| key == name).map(|(_, value)| value.clone());
        of_plan.chain(std::env::var_os(name)).collect::<Vec<OsString>>()
    };
    let variable = |name: &str| {
        let paths = variables(name).into_iter().map(PathBuf::from);
        paths.filter(|path| path.is_absolute()).collect::<Vec<_>>()
    };
    for home in homes(variable("HOME")) {
        paths.extend(HOME_PATHS.iter().map(|name| home.join(name)));
        paths.extend(CONFIG_PATHS.iter().map(|name| home.join(".config").join(name)));
    }
    for config in variable("XDG_CONFIG_HOME") {
        paths.extend(CONFIG_PATHS.iter().map(|name| config.join(name)));
    }
    for data in variable("XDG_DATA_HOME") {
        paths.extend(["keyrings", "kwalletd"].map(|name| data.join(name)));
    }
    for cargo in variable("CARGO_HOME") {
        paths.extend(["credentials", "credentials.toml"].map(|name| cargo.join(name)));
    }
    // Some variables, such as `KUBECONFIG`, list several paths.
    let named = PATH_VARIABLES.iter().flat_map(|name| variables(name));
    paths.extend(
        named
            .flat_map(|value| std::env::split_paths(&value).collect::<Vec<_>>())
            .filter(|path| path.is_absolute()),
    );
    paths.extend(SYSTEM.iter().map(PathBuf::from));
    paths
}

/// The home directories whose secrets this user could read: its own, from the environment and
/// `/etc/passwd`; for root, all.
fn homes(named: Vec<PathBuf>) -> Vec<PathBuf> {
    let me = rustix::process::geteuid();
    let table = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let mut homes = named;
    for line in table.lines() {
        let fields: Vec<&str> = line.split(':').collect();
        let [_, _, user, _, _, home, ..] = fields[..] else { continue };
        let own = user.parse() == Ok(me.as_raw());
        if own || me.is_root() && (home.starts_with("/home/") || home == "/root") {
            homes.push(home.into());
        }
    }
    homes.retain(|home| home.is_absolute() && home != Path::new("/"));
    homes.sort();
    homes.dedup();
    homes
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "0123456789abcdef0123";

    #[test]
    fn credentials_are_withheld() {
        let named = [
            "GITHUB_TOKEN",
            "GH_TOKEN",
            "GITLAB_TOKEN",
            "NPM_TOKEN",
            "CARGO_REGISTRY_TOKEN",
            "OPENAI_API_KEY",
            "ANTHROPIC_API_KEY",
            "GEMINI_API_KEY",
            "my_api_key",
            "STRIPE_KEY",
            "AWS_ACCESS_KEY_ID",
            "AWS_SECRET_ACCESS_KEY",
            "AWS_SESSION_TOKEN",
            "GPG_PASSPHRASE",
            "AZURE_CLIENT_SECRET",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "VAULT_TOKEN",
            "DB_PASS",
            "PGPASSWORD",
            "MYSQL_PWD",
            "DB_PWD",
            "REDISCLI_AUTH",
            "BASIC_AUTH",
            "SENTRY_DSN",
            "SESSION_JWT",
            "SSH_AUTH_SOCK",
            "DOCKER_HOST",
            "GH_PAT",
            "TWINE_PASSWORD",
            "SLACK_WEBHOOK_SECRET",
            "SIGNING_KEY",
            "ENCRYPTION_KEY",
            "SESSION_COOKIE",
            "DBUS_SESSION_BUS_ADDRESS",
            "NPM_CONFIG__AUTH",
            "SUDO_ASKPASS",
            "LDAP_CREDS",
        ];
        let valued = [
            "sk-0123456789abcdef",
            "sk_live_0123456789",
            "AIzaSyA0123456789",
            "eyJhbGciOiJIUzI1NiJ9",
            "gsk_0123456789",
            "xai-0123456789",
            "ghp_0123456789",
            "glpat-0123456789",
            "https://ghp_0123456789@github.com/x/y",
            "postgres://me:pass@host/db",
            "Bearer 0123456789",
            "-----BEGIN PRIVATE KEY-----",
        ];
        assert_eq!(named.len() + valued.len(), 49);
        for name in named {
            assert!(is_secret(name.as_ref(), KEY.as_ref()), "{name}");
        }
        for value in valued {
            assert!(is_secret("PLAIN".as_ref(), value.as_ref()), "{value}");
        }
    }

    #[test]
    fn ordinary_variables_pass() {
        for (name, value) in [
            ("PATH", "/bin"),
            ("PWD", "/home/me"),
            ("OLDPWD", "/"),
            ("HOMEPAGE", "https://example.com/a@b"),
            ("USER_AT", "https://me@example.com"),
            // Regression: PAT (personal access token) matched these names.
            ("LD_LIBRARY_PATH", "/x"),
            ("PKG_CONFIG_PATH", "/x"),
            ("EDITOR", "sk-edit"),
            ("CONDA_DEFAULT_ENV", "sk-learn-project"),
            ("npm_package_description", "Basic HTTP server number 1"),
            ("GPG_KEY", "A035C8C19219BA821ECEA86B64E628F8D684696D"),
            ("LESSKEY", "x"),
            ("NEXT_PUBLIC_MAPS_KEY", "x"),
            ("COMPASS", "1"),
            ("RUSTFLAGS", "-Copt-level=1"),
            ("TERM_PROGRAM", "vscode"),
        ] {
            assert!(!is_secret(name.as_ref(), value.as_ref()), "{name}");
        }
        let env = [("PATH", "/bin"), ("X_TOKEN", "x")];
        let env = env.map(|(name, value)| (OsString::from(name), OsString::from(value)));
        assert_eq!(withheld(&env), ["X_TOKEN"]);
    }

    #[test]
    fn a_password_in_an_address_is_a_secret() {
        assert!(has_url_credentials("postgres://me:pass@host/db"));
        assert!(has_url_credentials("https://x:y@[::1]:8080?q"));
    }

    #[test]
    fn an_address_without_a_password_is_none() {
        for value in ["https://me@host", "https://host/a:b@c", "https://me:@host", "a:b@c", ""] {
            assert!(!has_url_credentials(value), "{value}");
        }
    }

    #[test]
    fn files_that_variables_name_are_secret() {
        let mut plan =
            SandboxPlan::new(edt_types::Level::Standard, Path::new("/x"), Path::new("/w"));
        plan.env = [("KUBECONFIG", "/k/one:/k/two"), ("NETRC", "relative"), ("HOME", "/h")]
            .map(|(name, value)| (OsString::from(name), OsString::from(value)))
            .to_vec();
        plan.secrets = vec!["/own".into()];
        let paths = secret_paths(&plan);
        for path in ["/own", "/k/one", "/k/two", "/h/.ssh", "/h/.config/gh", "/etc/shadow"] {
            assert!(paths.contains(&PathBuf::from(path)), "{path}");
        }
        assert!(!paths.contains(&PathBuf::from("relative")));
    }

    #[test]
    fn the_root_directory_is_nobodys_home() {
        let homes = homes(vec!["/".into(), "relative".into(), "/h".into(), "/h".into()]);
        assert!(homes.contains(&PathBuf::from("/h")) && !homes.contains(&PathBuf::from("/")));
        assert_eq!(homes.iter().filter(|home| *home == Path::new("/h")).count(), 1);
        assert!(homes.iter().all(|home| home.is_absolute()));
    }
}
