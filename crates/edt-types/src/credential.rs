//! Keys and tokens that can be recognized by the prefix that their issuers give them.

/// A kind of keys and tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenKind {
    /// Who issues them.
    pub issuer: &'static str,
    /// How they begin.
    pub prefix: &'static str,
    /// How many characters follow at least, and at most.
    pub length: (usize, usize),
    /// Which characters these are.
    pub alphabet: Alphabet,
}

/// The characters after a prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alphabet {
    /// `0-9a-f`.
    Hex,
    /// `A-Z2-7`.
    Base32,
    /// `0-9A-Za-z`.
    Alphanumeric,
    /// `0-9A-Za-z_-`.
    Url,
    /// `0-9A-Za-z_.-`.
    Dotted,
}

impl Alphabet {
    #[must_use]
    pub const fn contains(self, byte: u8) -> bool {
        match self {
            Alphabet::Hex => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
            Alphabet::Base32 => matches!(byte, b'A'..=b'Z' | b'2'..=b'7'),
            Alphabet::Alphanumeric => byte.is_ascii_alphanumeric(),
            Alphabet::Url => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
            Alphabet::Dotted => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'),
        }
    }
}

const fn kind(
    issuer: &'static str,
    prefix: &'static str,
    length: (usize, usize),
    alphabet: Alphabet,
) -> TokenKind {
    TokenKind { issuer, prefix, length, alphabet }
}

use Alphabet::{Alphanumeric, Base32, Dotted, Hex, Url};

/// The kinds, as their issuers and the scanners of code hosts publish them. Of two prefixes that
/// begin alike the longer one is first.
pub const TOKEN_KINDS: &[TokenKind] = &[
    kind("GitHub", "github_pat_", (82, 93), Url),
    kind("GitHub", "ghp_", (36, 255), Alphanumeric),
    kind("GitHub", "gho_", (36, 255), Alphanumeric),
    kind("GitHub", "ghu_", (36, 255), Alphanumeric),
    kind("GitHub", "ghs_", (36, 255), Alphanumeric),
    kind("GitHub", "ghr_", (36, 255), Alphanumeric),
    kind("GitLab", "glpat-", (20, 60), Dotted),
    kind("GitLab", "gldt-", (20, 60), Url),
    kind("GitLab", "glrt-", (20, 60), Url),
    kind("Grafana", "glsa_", (41, 41), Url),
    kind("Anthropic", "sk-ant-", (80, 120), Url),
    kind("OpenAI", "sk-proj-", (40, 200), Url),
    kind("OpenAI", "sk-svcacct-", (40, 200), Url),
    kind("OpenRouter", "sk-or-v1-", (64, 64), Hex),
    kind("OpenAI", "sk-admin-", (40, 200), Url),
    kind("OpenAI", "sk-", (48, 48), Alphanumeric),
    kind("Stripe", "sk_live_", (24, 247), Alphanumeric),
    kind("Stripe", "rk_live_", (24, 247), Alphanumeric),
    kind("Stripe", "sk_test_", (24, 247), Alphanumeric),
    kind("Stripe", "whsec_", (32, 64), Alphanumeric),
    kind("Groq", "gsk_", (52, 52), Alphanumeric),
    kind("xAI", "xai-", (80, 80), Alphanumeric),
    kind("Replicate", "r8_", (37, 37), Alphanumeric),
    kind("Google", "AIza", (35, 35), Url),
    kind("Google", "GOCSPX-", (28, 28), Url),
    kind("Google", "ya29.", (60, 400), Url),
    kind("Amazon", "AKIA", (16, 16), Base32),
    kind("Amazon", "ASIA", (16, 16), Base32),
    kind("Slack", "xoxa-", (24, 255), Url),
    kind("Slack", "xoxb-", (24, 255), Url),
    kind("Slack", "xoxe-", (24, 255), Url),
    kind("Slack", "xoxe.", (24, 400), Dotted),
    kind("Slack", "xoxp-", (24, 255), Url),
    kind("Slack", "xoxr-", (24, 255), Url),
    kind("Slack", "xoxs-", (24, 255), Url),
    kind("Slack", "xapp-", (24, 255), Url),
    kind("npm", "npm_", (36, 36), Alphanumeric),
    kind("PyPI", "pypi-AgE", (50, 400), Url),
    kind("Hugging Face", "hf_", (34, 37), Alphanumeric),
    kind("Docker", "dckr_pat_", (27, 27), Url),
    kind("DigitalOcean", "dop_v1_", (64, 64), Hex),
    kind("Linear", "lin_api_", (40, 40), Alphanumeric),
    kind("Shopify", "shpat_", (32, 32), Hex),
    kind("Atlassian", "ATATT3", (180, 220), Url),
    kind("SendGrid", "SG.", (66, 66), Dotted),
    kind("age", "AGE-SECRET-KEY-1", (58, 58), Alphanumeric),
    kind("Databricks", "dapi", (32, 32), Hex),
    kind("GitLab", "glptt-", (40, 40), Hex),
    kind("GitLab", "glft-", (20, 60), Url),
    kind("GitLab", "glimt-", (25, 60), Url),
    kind("GitLab", "glagent-", (50, 60), Url),
    kind("GitLab", "gloas-", (64, 64), Hex),
    kind("GitLab", "glsoat-", (20, 60), Url),
    kind("GitLab", "glcbt-", (20, 80), Url),
    kind("GitLab", "glffct-", (20, 60), Url),
    kind("GitLab", "GR1348941", (20, 20), Url),
    kind("Grafana", "glc_", (32, 400), Alphanumeric),
    kind("Stripe", "rk_test_", (24, 247), Alphanumeric),
    kind("Slack", "xoxd-", (24, 400), Url),
    kind("Hugging Face", "api_org_", (34, 34), Alphanumeric),
    kind("DigitalOcean", "doo_v1_", (64, 64), Hex),
    kind("DigitalOcean", "dor_v1_", (64, 64), Hex),
    kind("Shopify", "shpca_", (32, 32), Hex),
    kind("Shopify", "shppa_", (32, 32), Hex),
    kind("Shopify", "shpss_", (32, 32), Hex),
    kind("Adobe", "p8e-", (32, 32), Alphanumeric),
    kind("Alibaba Cloud", "LTAI", (20, 20), Alphanumeric),
    kind("Artifactory", "AKCp", (69, 69), Alphanumeric),
    kind("Buildkite", "bkua_", (40, 40), Hex),
    kind("Clojars", "CLOJARS_", (60, 60), Alphanumeric),
    kind("Doppler", "dp.pt.", (43, 43), Alphanumeric),
    kind("Duffel", "duffel_live_", (43, 43), Url),
    kind("Duffel", "duffel_test_", (43, 43), Url),
    kind("Dynatrace", "dt0c01.", (89, 89), Dotted),
    kind("EasyPost", "EZAK", (54, 54), Alphanumeric),
    kind("EasyPost", "EZTK", (54, 54), Alphanumeric),
    kind("Figma", "figd_", (40, 44), Url),
    kind("Fly.io", "fo1_", (43, 43), Url),
    kind("Frame.io", "fio-u-", (64, 64), Url),
    kind("HashiCorp Vault", "hvs.", (90, 120), Url),
    kind("HashiCorp Vault", "hvb.", (138, 300), Url),
    kind("Heroku", "HRKU-AA", (58, 58), Url),
    kind("Infracost", "ico-", (32, 32), Alphanumeric),
    kind("LangSmith", "lsv2_pt_", (43, 43), Url),
    kind("LangSmith", "lsv2_sk_", (43, 43), Url),
    kind("Mapbox", "sk.eyJ", (60, 300), Dotted),
    kind("Netlify", "nfp_", (36, 40), Alphanumeric),
    kind("New Relic", "NRAK-", (27, 27), Alphanumeric),
    kind("New Relic", "NRII-", (32, 32), Url),
    kind("Notion", "ntn_", (46, 46), Alphanumeric),
    kind("NVIDIA", "nvapi-", (64, 64), Url),
    kind("Perplexity", "pplx-", (48, 48), Alphanumeric),
    kind("PlanetScale", "pscale_oauth_", (32, 64), Dotted),
    kind("PlanetScale", "pscale_pw_", (32, 64), Dotted),
    kind("PlanetScale", "pscale_tkn_", (32, 64), Dotted),
    kind("Postman", "PMAK-", (59, 59), Url),
    kind("Prefect", "pnu_", (36, 36), Alphanumeric),
    kind("Pulumi", "pul-", (40, 40), Hex),
    kind("ReadMe", "rdme_", (70, 70), Alphanumeric),
    kind("RubyGems", "rubygems_", (48, 48), Hex),
    kind("Scalingo", "tk-us-", (48, 48), Url),
    kind("Sendinblue", "xkeysib-", (81, 81), Url),
    kind("Sentry", "sntrys_", (60, 400), Url),
    kind("Sentry", "sntryu_", (64, 64), Hex),
    kind("Shippo", "shippo_live_", (40, 40), Hex),
    kind("Shippo", "shippo_test_", (40, 40), Hex),
    kind("Square", "sq0atp-", (22, 60), Url),
    kind("Square", "sq0csp-", (43, 43), Url),
    kind("Supabase", "sbp_", (40, 40), Hex),
    kind("Tailscale", "tskey-", (28, 80), Url),
    kind("Typeform", "tfp_", (59, 59), Dotted),
    kind("JSON Web Token", "eyJ", (60, 4000), Dotted),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_longer_prefix_comes_before_one_that_it_begins_with() {
        for (at, one) in TOKEN_KINDS.iter().enumerate() {
            let earlier =
                TOKEN_KINDS[..at].iter().find(|other| one.prefix.starts_with(other.prefix));
            assert_eq!(earlier, None, "{}", one.prefix);
            assert!(one.length.0 <= one.length.1, "{}", one.prefix);
        }
    }

    #[test]
    fn every_alphabet_has_its_characters_alone() {
        let count = |alphabet: Alphabet| (0..=255).filter(|byte| alphabet.contains(*byte)).count();
        let counts = [Hex, Base32, Alphanumeric, Url, Dotted].map(count);
        assert_eq!(counts, [16, 32, 62, 64, 65]);
    }
}
