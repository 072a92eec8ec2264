//! Who may ask the server: the browser that opened the link once, from the page itself.

use hyper::HeaderMap;
use hyper::header::{COOKIE, HOST, ORIGIN};

/// The secrets of one server.
#[derive(Debug)]
pub(super) struct Guard {
    port: u16,
    /// What the link has. It works once.
    token: Option<String>,
    /// What the cookie has.
    cookie: String,
    /// What every form of the page has.
    form: String,
}

/// Why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refused {
    /// The name in `Host` is not the server's: another site's name leads here.
    Host,
    /// Another site sent it.
    Site,
    /// The browser has no cookie of the server.
    Cookie,
    /// The link was used before.
    Used,
    /// The form is not the page's.
    Form,
}

impl Refused {
    pub(super) const fn message(self) -> &'static str {
        match self {
            Refused::Host => "This name is not the server's. Open the link that edt printed.",
            Refused::Site => "Another site sent this request.",
            Refused::Cookie => "Open the link that `edt review` printed.",
            Refused::Used => {
                "This link was used before, and works once. If it was not you, end `edt review` \
                 with Ctrl-C. Start it again for a new link."
            }
            Refused::Form => "This form is not of this page. Load the page again.",
        }
    }
}

impl Guard {
    /// # Errors
    /// If the operating system gives no random bytes.
    pub(super) fn new(port: u16) -> std::io::Result<Guard> {
        Ok(Guard { port, token: Some(secret()?), cookie: secret()?, form: secret()? })
    }

    /// The link that works once.
    pub(super) fn link(&self) -> String {
        let token = self.token.as_deref().unwrap_or_default();
        format!("http://127.0.0.1:{}/?token={token}", self.port)
    }

    /// The value of the hidden field of every form.
    pub(super) fn form(&self) -> &str {
        &self.form
    }

    /// Whether a request from the page itself has these headers.
    pub(super) fn check_site(&self, headers: &HeaderMap) -> Result<(), Refused> {
        let names = ["127.0.0.1", "localhost"].map(|name| format!("{name}:{}", self.port));
        let host =
            only(headers, HOST.as_str()).filter(|host| names.iter().any(|name| name == host));
        let host = host.ok_or(Refused::Host)?;
        let of_other = |origin: &str| origin != format!("http://{host}");
        if headers.contains_key(ORIGIN) && only(headers, ORIGIN.as_str()).is_none_or(of_other) {
            return Err(Refused::Site);
        }
        Ok(())
    }

    /// Whether the browser opened the link before.
    pub(super) fn check_cookie(&self, headers: &HeaderMap) -> Result<(), Refused> {
        let expected = format!("{}={}", self.cookie_name(), self.cookie);
        let all = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut sent = all.flat_map(|value| value.split(';')).map(str::trim);
        if sent.any(|one| is_same(one, &expected)) { Ok(()) } else { Err(Refused::Cookie) }
    }

    /// Whether the page sent this form, which has `value` in its hidden field.
    pub(super) fn check_form(&self, headers: &HeaderMap, value: &str) -> Result<(), Refused> {
        // A browser sends the origin with every form.
        if !headers.contains_key(ORIGIN) {
            return Err(Refused::Site);
        }
        let site = only(headers, "sec-fetch-site");
        if site.is_some_and(|site| site != "same-origin") {
            return Err(Refused::Site);
        }
        if is_same(value, &self.form) { Ok(()) } else { Err(Refused::Form) }
    }

    /// The header `Set-Cookie` for who sends the token of the link, once.
    pub(super) fn exchange(&mut self, token: &str) -> Result<String, Refused> {
        match &self.token {
            Some(own) if is_same(own, token) => {
                self.token = None;
                let (name, value) = (self.cookie_name(), &self.cookie);
                Ok(format!("{name}={value}; HttpOnly; SameSite=Strict; Path=/"))
            }
            Some(_) => Err(Refused::Cookie),
            None => Err(Refused::Used),
        }
    }

    /// Cookies do not know ports.
    fn cookie_name(&self) -> String {
        format!("edt_review_{}", self.port)
    }
}

/// The value of a header that occurs once.
fn only<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let mut all = headers.get_all(name).iter();
    match (all.next(), all.next()) {
        (Some(value), None) => value.to_str().ok(),
        _ => None,
    }
}

/// Takes as long for a wrong text as for the right one.
fn is_same(one: &str, other: &str) -> bool {
    let differing = one.bytes().zip(other.bytes()).fold(0, |all, (one, other)| all | (one ^ other));
    one.len() == other.len() && differing == 0
}

/// 128 random bits, as hex.
fn secret() -> std::io::Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(std::io::Error::other)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderName;

    fn headers(all: &[(&str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in all {
            let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
            headers.append(name, value.parse().unwrap());
        }
        headers
    }

    fn site(all: &[(&str, &str)]) -> Result<(), Refused> {
        Guard::new(4000).unwrap().check_site(&headers(all))
    }

    #[test]
    fn a_name_of_another_site_that_leads_here_is_refused() {
        assert_eq!(site(&[("host", "127.0.0.1:4000")]), Ok(()));
        assert_eq!(site(&[("host", "localhost:4000")]), Ok(()));
        for host in ["evil.example:4000", "127.0.0.1:4001", "127.0.0.1", "localhost.evil:4000"] {
            assert_eq!(site(&[("host", host)]), Err(Refused::Host), "{host}");
        }
        assert_eq!(site(&[]), Err(Refused::Host));
        let twice = [("host", "127.0.0.1:4000"), ("host", "evil.example:4000")];
        assert_eq!(site(&twice), Err(Refused::Host));
    }

    #[test]
    fn a_request_of_another_site_is_refused() {
        let from = |origin: &str| site(&[("host", "127.0.0.1:4000"), ("origin", origin)]);
        assert_eq!(from("http://127.0.0.1:4000"), Ok(()));
        for origin in
            ["http://localhost:4000", "http://127.0.0.1:4001", "null", "https://x.example"]
        {
            assert_eq!(from(origin), Err(Refused::Site), "{origin}");
        }
    }

    #[test]
    fn the_link_works_once_and_gives_the_cookie() {
        let mut guard = Guard::new(4000).unwrap();
        let token = guard.link().split_once("token=").unwrap().1.to_owned();
        assert_eq!(guard.exchange("x"), Err(Refused::Cookie));
        let cookie = guard.exchange(&token).unwrap();
        assert!(cookie.ends_with("; HttpOnly; SameSite=Strict; Path=/"), "{cookie}");
        assert_eq!(guard.exchange(&token), Err(Refused::Used));
        let cookie = cookie.split_once(';').unwrap().0;
        assert_eq!(guard.check_cookie(&headers(&[("cookie", &format!("a=b; {cookie}"))])), Ok(()));
        assert_eq!(
            guard.check_cookie(&headers(&[("cookie", "edt_review_4000=0")])),
            Err(Refused::Cookie)
        );
        assert_eq!(guard.check_cookie(&headers(&[])), Err(Refused::Cookie));
    }

    #[test]
    fn a_form_needs_its_origin_and_its_value() {
        let guard = Guard::new(4000).unwrap();
        let origin = ("origin", "http://127.0.0.1:4000");
        let form = |all: &[(&str, &str)], value: &str| guard.check_form(&headers(all), value);
        assert_eq!(form(&[origin], guard.form()), Ok(()));
        assert_eq!(form(&[], guard.form()), Err(Refused::Site));
        assert_eq!(
            form(&[origin, ("sec-fetch-site", "same-site")], guard.form()),
            Err(Refused::Site)
        );
        assert_eq!(form(&[origin], "0"), Err(Refused::Form));
    }
}
