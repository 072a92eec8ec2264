//! What a request has and what an answer has.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use http_body_util::{BodyExt as _, Limited};
use hyper::body::{Body, Bytes, Frame, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use percent_encoding::percent_decode_str;
use tokio::sync::mpsc;

/// The most bytes of a form: one with 30,000 chosen lines.
const MAX_FORM: usize = 512 * 1024;

/// Nothing else may be loaded, run or framed, and a form leads nowhere else.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; \
                      img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// The headers of every answer. With `no-referrer` a browser would send no origin with forms.
const HEADERS: [(&str, &str); 7] = [
    ("content-security-policy", POLICY),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "same-origin"),
    ("cache-control", "no-store"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
];

/// The body of an answer.
#[derive(Debug)]
pub(super) enum Content {
    Whole(Option<Bytes>),
    /// Events, until the sender is dropped.
    Events(mpsc::Receiver<Bytes>),
}

impl Body for Content {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Content>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Content::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Content::Events(events) => {
                events.poll_recv(context).map(|event| event.map(|bytes| Ok(Frame::data(bytes))))
            }
        }
    }
}

pub(super) type Answer = Response<Content>;

pub(super) fn answer(status: StatusCode, kind: &'static str, content: Content) -> Answer {
    let mut answer = Response::new(content);
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    answer
}

pub(super) fn text(status: StatusCode, kind: &'static str, text: String) -> Answer {
    answer(status, kind, Content::Whole(Some(Bytes::from(text))))
}

/// The fields of a form; `None` if it is too large or was interrupted.
pub(super) async fn form(body: Incoming) -> Option<Vec<(String, String)>> {
    let bytes = Limited::new(body, MAX_FORM).collect().await.ok()?.to_bytes();
    Some(fields(&String::from_utf8_lossy(&bytes)))
}

/// The fields of a query or a form.
pub(super) fn fields(text: &str) -> Vec<(String, String)> {
    let decoded = |part: &str| {
        let part = part.replace('+', " ");
        percent_decode_str(&part).decode_utf8_lossy().into_owned()
    };
    let pairs = text.split('&').filter(|pair| !pair.is_empty());
    let pairs = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    pairs.map(|(name, value)| (decoded(name), decoded(value))).collect()
}

/// The first field with this name.
pub(super) fn field<'f>(fields: &'f [(String, String)], name: &str) -> Option<&'f str> {
    fields.iter().find(|(one, _)| one == name).map(|(_, value)| value.as_str())
}

/// All values with this name.
pub(super) fn values<'f>(
    fields: &'f [(String, String)],
    name: &str,
) -> impl Iterator<Item = &'f str> {
    fields.iter().filter(move |(one, _)| one == name).map(|(_, value)| value.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_of_a_form_are_decoded() {
        let all = fields("a=1%262+3&b&=x&c=%C3%A9");
        assert_eq!(
            (field(&all, "a"), field(&all, "b"), field(&all, "c")),
            (Some("1&2 3"), Some(""), Some("é"))
        );
        assert_eq!(field(&all, "d"), None);
    }
}
