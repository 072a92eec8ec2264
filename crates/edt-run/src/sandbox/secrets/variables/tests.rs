use super::*;

const KEY: &str = "0123456789abcdef0123";

/// Names of secrets, whatever their values are.
const SECRET_NAMES: &[&str] = &[
    "GITHUB_TOKEN",
    "GH_TOKEN",
    "GITLAB_TOKEN",
    "CI_JOB_TOKEN",
    "CI_JOB_JWT_V2",
    "CI_REGISTRY_PASSWORD",
    "NPM_TOKEN",
    "NODE_AUTH_TOKEN",
    "CARGO_REGISTRY_TOKEN",
    "CARGO_REGISTRIES_OWN_TOKEN",
    "POETRY_PYPI_TOKEN_OWN",
    "UV_INDEX_OWN_PASSWORD",
    "NUGETPACKAGESOURCECREDENTIALS_OWN",
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "GEMINI_API_KEY",
    "HF_TOKEN",
    "my_api_key",
    "OPENAIKEY",
    "STRIPE_KEY",
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "GPG_PASSPHRASE",
    "AZURE_CLIENT_SECRET",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "VAULT_TOKEN",
    "DB_PASS",
    "SSHPASS",
    "PGPASS",
    "PGPASSWORD",
    "MYSQL_PWD",
    "DB_PWD",
    "LDAP_PW",
    "REDISCLI_AUTH",
    "COMPOSER_AUTH",
    "BASIC_AUTH",
    "SENTRY_DSN",
    "SENTRYDSN",
    "SESSION_JWT",
    "SSH_AUTH_SOCK",
    "DOCKER_HOST",
    "GH_PAT",
    "GITHUB_PAT_READ",
    "TWINE_PASSWORD",
    "SLACK_WEBHOOK_SECRET",
    "SLACK_WEBHOOK_URL",
    "SIGNING_KEY",
    "ENCRYPTION_KEY",
    "RAILS_MASTER_KEY",
    "DJANGO_SECRET_KEY",
    "SESSION_COOKIE",
    "DBUS_SESSION_BUS_ADDRESS",
    "NPM_CONFIG__AUTH",
    "npm_config__authToken",
    "SUDO_ASKPASS",
    "LDAP_CREDS",
    "DIRENV_DIFF",
    "OTEL_EXPORTER_OTLP_HEADERS",
    "POSTGRES_PASSWORD_FILE",
];

/// Values of secrets, under a name that passes otherwise.
const SECRET_VALUES: &[&str] = &[
    "sk-0123456789abcdef",
    "sk-ant-api03-0123456789",
    "sk_live_0123456789",
    "AIzaSyA0123456789",
    "eyJhbGciOiJIUzI1NiJ9",
    "eyJhbGciOi.eyJzdWIiOi.abc",
    "gsk_0123456789",
    "xai-0123456789",
    "ghp_0123456789",
    "github_pat_0123456789",
    "glpat-0123456789",
    "AKIA0123456789AB",
    "xoxb-0123456789",
    "https://ghp_0123456789@github.com/x/y",
    "https://0123456789abcdef0123@o1.ingest.example.com/2",
    "postgres://me:pass@host/db",
    "redis://:pass@host",
    "host=db http://me:pass@proxy:3128",
    "Bearer 0123456789",
    "AUTHORIZATION: basic dXNlcjpwYXNz1",
    "-----BEGIN PRIVATE KEY-----",
    "--registry=x --token=abcdef",
    "-Djavax.net.ssl.keyStorePassword=changeit",
    "https://example.com/?access_token=abcdef",
    "access-tokens = github.com=ghp_0123456789",
    "https://hooks.slack.com/services/T0/B0/abcdef",
    "https://discord.com/api/webhooks/1/abcdef",
    "https://discordapp.com/api/webhooks/1/abcdef",
    "https://x.webhook.office.com/webhookb2/abcdef",
    "https://outlook.office.com/webhook/abcdef",
    "https://a.blob.core.example.net/c?sv=1&sig=abc%3D",
    "https://b.s3.example.com/k?X-Amz-Signature=abcdef",
    "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=abc==",
    "Endpoint=sb://x/;SharedAccessKey=abc=",
    "Server=db;Uid=me;Pwd=hunter2;",
    "Server=db;User Id=me;Password=hunter2;",
    "0123456789abcdef0123@example.com",
    "ghp_0123456789@example.com:x/y",
];

/// Variables that builds, shells, CI systems and projects set.
const ORDINARY_VARIABLES: &[(&str, &str)] = &[
    ("PATH", "/bin"),
    ("HOME", "/home/me"),
    ("PWD", "/home/me"),
    ("OLDPWD", "/"),
    ("INIT_CWD", "/w"),
    ("HOMEPAGE_URL", "https://example.com/a@b"),
    ("USER_URL", "https://me@example.com"),
    // Regression: PAT (personal access token) matched these names.
    ("LD_LIBRARY_PATH", "/x"),
    ("PKG_CONFIG_PATH", "/x"),
    ("EDITOR", "sk-edit"),
    ("CONDA_DEFAULT_ENV", "sk-learn-project"),
    ("npm_package_description", "Basic HTTP server number 1"),
    ("npm_config_cache", "/tmp/npm"),
    ("npm_lifecycle_event", "test"),
    ("GPG_KEY", "A035C8C19219BA821ECEA86B64E628F8D684696D"),
    ("LESSKEY", "x"),
    ("GOAUTH", "netrc"),
    ("NEXT_PUBLIC_MAPS_KEY", "x"),
    ("COMPASS", "1"),
    ("RUSTFLAGS", "-Copt-level=1"),
    ("RUST_LOG", "edt=debug,info"),
    ("RUST_BACKTRACE", "1"),
    ("CARGO_TARGET_DIR", "/t"),
    ("CARGO_BUILD_JOBS", "2"),
    ("CARGO_PROFILE_DEV_DEBUG", "line-tables-only"),
    ("TERM_PROGRAM", "vscode"),
    ("COLORTERM", "truecolor"),
    ("LC_ALL", "C.UTF-8"),
    ("TZ", "Europe/Berlin"),
    ("CI", "true"),
    ("GITHUB_SHA", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b"),
    ("CI_COMMIT_BRANCH", "main"),
    ("PYTHONPATH", "/w/src"),
    ("PYTEST_ADDOPTS", "-q"),
    ("PIP_INDEX_URL", "https://pypi.example.com/simple"),
    ("VIRTUAL_ENV", "/w/.venv"),
    ("NODE_OPTIONS", "--max-old-space-size=4096"),
    ("NODE_ENV", "development"),
    ("GOFLAGS", "-mod=mod"),
    ("GOPROXY", "https://proxy.golang.org,direct"),
    ("JAVA_HOME", "/usr/lib/jvm"),
    ("JAVA_TOOL_OPTIONS", "-Xmx1g"),
    ("MAKEFLAGS", "-j8"),
    ("CFLAGS", "-O2 -g"),
    ("CXX", "clang++"),
    ("http_proxy", "http://proxy:3128"),
    ("NO_PROXY", "localhost,127.0.0.1"),
    ("XDG_RUNTIME_DIR", "/run/user/1000"),
    ("LS_COLORS", "*.tar=01;31:*.zip=01;31"),
    ("DATABASE_HOST", "db.example.com"),
    ("DATABASE_PORT", "5432"),
    ("DATABASE_URL", "postgres://localhost/app"),
    ("MY_FLAG", "anything"),
    ("MY_SWITCH", "on"),
    ("MY_NUMBER", "42"),
    ("APP_ENV", "staging"),
    ("APP_LOG_LEVEL", "debug"),
    ("FEATURE_NEW_PARSER_ENABLED", "yes"),
    ("AWS_REGION", "eu-west-1"),
    ("AWS_PROFILE", "dev"),
    ("EDT_TESTS", "ci"),
    ("TOKENIZERS_PARALLELISM", "false"),
    ("BUILD_URL", "https://ci.example.com/job/1?design=abc"),
    ("MAIL_URL", "somebody.of.a.long.name1234@example.com"),
    ("ACTION_URL", "actions/checkout@9f86d081884c7d659a2feaa0c55ad015a3bf4f1b"),
    ("_", "/usr/bin/env"),
];

fn passes(name: &str, value: &str) -> bool {
    VariableRules::default().pass(name.as_ref(), value.as_ref())
}

#[test]
fn the_tables_are_long() {
    assert!(SECRET_NAMES.len() + SECRET_VALUES.len() >= 49);
    assert!(ORDINARY_VARIABLES.len() >= 49);
}

#[test]
fn credentials_are_withheld() {
    for name in SECRET_NAMES {
        assert!(!passes(name, KEY), "{name}");
    }
    for value in SECRET_VALUES {
        assert!(!passes("MY_URL", value), "{value}");
    }
}

/// A request may set any other variable; the user's configuration may let a beginning pass.
#[test]
fn credentials_are_withheld_whoever_sets_them() {
    for name in SECRET_NAMES {
        let rules = VariableRules {
            allowed: vec![format!("{}*", &name[..2])],
            requested: vec![OsString::from(name)],
        };
        assert!(!rules.pass(name.as_ref(), KEY.as_ref()), "{name}");
    }
}

#[test]
fn ordinary_variables_pass() {
    for (name, value) in ORDINARY_VARIABLES {
        assert!(passes(name, value), "{name}");
    }
}

#[test]
fn a_variable_that_no_list_knows_is_withheld_until_it_is_allowed_or_requested() {
    let (name, value) = (OsStr::new("ACME_GREETING"), OsStr::new("hello"));
    assert!(!VariableRules::default().pass(name, value));
    let allowed =
        |one: &str| VariableRules { allowed: vec![one.to_owned()], requested: Vec::new() };
    assert!(allowed("ACME_GREETING").pass(name, value));
    assert!(allowed("ACME_*").pass(name, value));
    assert!(!allowed("ACME").pass(name, value));
    let requested = VariableRules { allowed: Vec::new(), requested: vec![name.to_owned()] };
    assert!(requested.pass(name, value));
}

#[test]
fn only_the_users_own_name_lets_a_secret_pass() {
    let rules = VariableRules { allowed: vec!["STRIPE_KEY".to_owned()], requested: Vec::new() };
    assert!(rules.pass("STRIPE_KEY".as_ref(), "sk_live_0123456789".as_ref()));
    assert!(!rules.pass("OTHER_KEY".as_ref(), "sk_live_0123456789".as_ref()));
    let env = [("PATH", "/bin"), ("X_TOKEN", "x"), ("ODD", "thing")];
    let env = env.map(|(name, value)| (OsString::from(name), OsString::from(value)));
    assert_eq!(rules.withheld(&env), ["X_TOKEN", "ODD"]);
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
