//! Names that secrets have, for everything that must know them: which variables a confined program
//! gets, which values the guard takes for credentials, and what is left out of spans.
//!
//! The three look at different texts, and a list that fits one raises false alarms in another: a
//! variable is a word in capitals, an assignment in code has any style, and a span has prose. A new
//! name belongs in each of the modules below, or there is a reason.

/// Names of environment variables, in capitals.
pub mod variables {
    /// Parts of the names of secrets.
    pub const PARTS: &[&str] = &[
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
        "WEBHOOK",
    ];
    /// How names of secrets end.
    pub const ENDS: &[&str] = &[
        "KEY",
        "PASS",
        "PWD",
        "AUTH",
        "DSN",
        "JWT",
        "CREDS",
        "CREDENTIALS",
        "_PW",
        "_PIN",
        "_SALT",
    ];
    /// Complete words of the names of secrets, after the first: `PAT` must not match
    /// `LIBRARY_PATH`.
    pub const WORDS: &[&str] = &["PAT", "JWT", "PASS", "OTP"];
    /// Names of secrets, and of access to key agents, D-Bus, daemons and the terminal's server.
    pub const WHOLE: &[&str] = &[
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
        "PGSERVICEFILE",
        "DIRENV_DIFF",
        "VSCODE_IPC_HOOK_CLI",
        "VSCODE_GIT_IPC_HANDLE",
    ];
    /// Names that end like those of secrets and are none: directories, keyboards of a pager, a
    /// public key's id in images of Python, a cache's key, the kind of Go's logins.
    pub const NO_SECRETS: &[&str] =
        &["PWD", "OLDPWD", "LESSKEY", "COMPASS", "GPG_KEY", "CACHE_KEY", "GOAUTH"];
    /// Settings that a browser gets.
    pub const PUBLIC_PREFIXES: &[&str] = &["NEXT_PUBLIC_", "VITE_", "REACT_APP_", "PUBLIC_"];
}

/// Names to which a text assigns a value, without separators.
pub mod assigned {
    /// How names of keys end.
    pub const KEYS: &[&str] = &[
        "apikey",
        "accesskey",
        "secretkey",
        "privatekey",
        "authkey",
        "encryptionkey",
        "signingkey",
        "masterkey",
        "accountkey",
        "sharedkey",
        "secret",
        "token",
        "credential",
        "credentials",
    ];
    /// The same for names of passwords, which are shorter.
    pub const PASSWORDS: &[&str] = &["password", "passwd", "passphrase", "pwd"];
    /// Names of tokens that are no secrets: those of lexers, pages, models and forms.
    pub const NO_SECRETS: &[&str] = &[
        "nexttoken",
        "pagetoken",
        "continuationtoken",
        "synctoken",
        "cursortoken",
        "csrftoken",
        "xsrftoken",
        "canceltoken",
        "cancellationtoken",
        "publickey",
        "clienttoken",
        "idempotencytoken",
    ];
}

/// Words of identifiers in spans.
pub mod spans {
    /// Words of names whose values are secret.
    pub const WORDS: &[&str] = &[
        "password",
        "passwords",
        "passwd",
        "passphrase",
        "pass",
        "pwd",
        "secret",
        "secrets",
        "token",
        "credential",
        "credentials",
        "authorization",
        "cookie",
        "apikey",
    ];
    /// Ends of words that are written without separators.
    pub const ENDS: &[&str] = &[
        "password",
        "passwd",
        "passphrase",
        "apikey",
        "accesskey",
        "secretkey",
        "privatekey",
        "authtoken",
        "accesstoken",
    ];
    /// Words before `key` in a name whose value is secret.
    pub const KEY_PREFIXES: &[&str] = &[
        "api",
        "access",
        "private",
        "secret",
        "encryption",
        "signing",
        "auth",
        "master",
        "account",
        "shared",
        "storage",
        "session",
        "crypto",
        "cipher",
        "aes",
        "hmac",
        "rsa",
        "ssh",
        "deploy",
        "service",
    ];
}
