//! The requests of the page.

use std::convert::Infallible;
use std::sync::Arc;

use hyper::body::{Bytes, Incoming};
use hyper::header::{HeaderValue, LOCATION, SET_COOKIE};
use hyper::{Method, Request, StatusCode};
use tokio::sync::mpsc;

use super::body::{self, Answer, Content, field};
use super::forms::{self, Unread};
use super::guard::Refused;
use super::shared::{Answered, Page, Shared, locked};
use crate::marks::{Mark, Reviewed};
use crate::model::Extent;
use crate::page::images::{MAX_SERVED, media_type};
use crate::page::{self, Live};
use edt_io::clock;
use edt_types::{Finding, Refusal};

const HTML: &str = "text/html; charset=utf-8";
const JSON: &str = "application/json";
const PLAIN: &str = "text/plain; charset=utf-8";

/// The header of a page that renews itself.
const RENEW: &str = "x-edt-renew";

/// Why nothing was done.
const CHANGED: &str =
    "The session changed since the page was loaded. Nothing was done: look again.";

/// How many events may wait for a page.
const MAX_EVENTS: usize = 8;

/// The answer to any request.
pub(super) async fn answer(
    shared: Arc<Shared>,
    request: Request<Incoming>,
) -> Result<Answer, Infallible> {
    Ok(match checked(&shared, request).await {
        Ok(answer) => answer,
        Err(refused) => {
            body::text(StatusCode::FORBIDDEN, PLAIN, format!("{}\n", refused.message()))
        }
    })
}

async fn checked(shared: &Arc<Shared>, request: Request<Incoming>) -> Result<Answer, Refused> {
    locked(&shared.guard).check_site(request.headers())?;
    let query = body::fields(request.uri().query().unwrap_or_default());
    if request.method() == Method::GET
        && request.uri().path() == "/"
        && let Some(token) = field(&query, "token")
    {
        // A page that was loaded before has the cookie already.
        let known = locked(&shared.guard).check_cookie(request.headers()).is_ok();
        return if known { Ok(redirect("/")) } else { exchange(shared, token) };
    }
    locked(&shared.guard).check_cookie(request.headers())?;
    *locked(&shared.used) = Some(clock::now());
    let path = request.uri().path().to_owned();
    match (request.method(), path.as_str()) {
        (&Method::GET, "/") => {
            let at = field(&query, "at").unwrap_or("all").to_owned();
            let place = |name| field(&query, name).and_then(|place| place.parse().ok());
            let (whole, chosen) = (place("whole"), place("lines"));
            // The answer is on the page already that renews itself.
            let renews = request.headers().contains_key(RENEW);
            let answer = field(&query, "answer").and_then(|number| number.parse().ok());
            let answer = answer.filter(|_| !renews);
            let shown = Shown { at, whole: whole.or(chosen), chosen, answer };
            let shared = Arc::clone(shared);
            let page = tokio::task::spawn_blocking(move || page(&shared, &shown)).await;
            Ok(page.unwrap_or_else(|_| broken()))
        }
        (&Method::GET, "/review.css") => {
            Ok(body::text(StatusCode::OK, "text/css; charset=utf-8", page::STYLE.to_owned()))
        }
        (&Method::GET, "/review.js") => {
            let script = page::SCRIPT.to_owned();
            Ok(body::text(StatusCode::OK, "text/javascript; charset=utf-8", script))
        }
        (&Method::GET, "/sources") => {
            let shared = Arc::clone(shared);
            let found = tokio::task::spawn_blocking(move || sources(&shared, &query)).await;
            Ok(found.unwrap_or_else(|_| broken()))
        }
        // A browser asks for it by itself.
        (&Method::GET, "/favicon.ico") => {
            Ok(body::text(StatusCode::NO_CONTENT, PLAIN, String::new()))
        }
        (&Method::GET, "/blob") => {
            let shared = Arc::clone(shared);
            let image = tokio::task::spawn_blocking(move || image(&shared, &query)).await;
            Ok(image.unwrap_or_else(|_| broken()))
        }
        (&Method::GET, "/events") => Ok(events(shared, field(&query, "state"))),
        (&Method::POST, "/act") => act(shared, request).await,
        (&Method::POST, "/mark") => mark(shared, request).await,
        _ => Ok(missing()),
    }
}

/// The cookie for the token of the link. The page is then loaded by the page itself: a browser
/// sends a strict cookie with no navigation that another program began.
fn exchange(shared: &Shared, token: &str) -> Result<Answer, Refused> {
    let cookie = locked(&shared.guard).exchange(token)?;
    *locked(&shared.used) = Some(clock::now());
    let mut answer = body::text(StatusCode::OK, HTML, page::forward());
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        answer.headers_mut().insert(SET_COOKIE, cookie);
    }
    Ok(answer)
}

/// What a page shows.
struct Shown {
    /// The id of the article.
    at: String,
    /// The place of the file that is unfolded.
    whole: Option<usize>,
    /// The place of the file of which the user chooses lines.
    chosen: Option<usize>,
    /// The number of the answer to an action.
    answer: Option<u64>,
}

/// The page with what is `shown`.
fn page(shared: &Shared, shown: &Shown) -> Answer {
    let at = shown.at.as_str();
    let acted = shown.answer.and_then(|number| locked(&shared.acted).get(number).cloned());
    // What changes while the page is read is a change for it.
    let state = shared.state();
    match shared.source.read(Extent::Article(at)) {
        Ok(mut review) => {
            if let Some(place) = shown.whole
                && let Some((commit, file)) = page::file_at(&mut review, at, place)
                && let Ok(Some(found)) = shared.source.whole(commit.as_deref(), &file.path)
            {
                (file.hunks, file.folded) = (found.hunks, false);
            }
            let form = locked(&shared.guard).form().to_owned();
            let live = Live {
                at,
                form: &form,
                acted: acted.as_ref().map(|done| &done.acted),
                opposite: acted.as_ref().and_then(|done| done.opposite_at(&review.tip)),
                state: &state,
                chosen: shown.chosen,
                contents: shared,
                colours: &shared.colours,
            };
            body::text(StatusCode::OK, HTML, page::live(&review, &live))
        }
        Err(refusal) => body::text(
            StatusCode::OK,
            HTML,
            page::over(&messages(&refusal), acted.as_ref().map(|done| &done.acted)),
        ),
    }
}

/// Who wrote the lines of the file `path` at the commit `tip`: the first line, the last one, and
/// the name.
fn sources(shared: &Shared, query: &[(String, String)]) -> Answer {
    let path = field(query, "path").unwrap_or_default();
    let found = shared.source.line_sources(path).ok();
    let Some((_, lines)) =
        found.filter(|(tip, _)| field(query, "tip").is_some_and(|seen| seen == tip))
    else {
        let text = "The session changed since the page was loaded.\n".to_owned();
        return body::text(StatusCode::CONFLICT, PLAIN, text);
    };
    let mut ranges: Vec<(usize, usize, String)> = Vec::new();
    let mut last = None;
    for (line, source) in (1..).zip(&lines) {
        match ranges.last_mut() {
            Some(range) if last == Some(source) => range.1 = line,
            _ => ranges.push((line, line, source.name())),
        }
        last = Some(source);
    }
    body::text(StatusCode::OK, JSON, serde_json::to_string(&ranges).unwrap_or_default())
}

/// One side of an image that the article `at` shows: the content of no other file is sent.
fn image(shared: &Shared, query: &[(String, String)]) -> Answer {
    let found = || {
        let (at, place) = (field(query, "at")?, field(query, "file")?.parse::<usize>().ok()?);
        let review = shared.source.read(Extent::Article(at)).ok()?;
        let file = page::shown_files(&review, at).get(place)?;
        let hash = match field(query, "side")? {
            "before" => file.hash_before.as_deref()?,
            "after" => file.hash_after.as_deref()?,
            _ => return None,
        };
        let on_disk = || shared.source.worktree_blob(&file.path, hash, MAX_SERVED);
        let bytes = shared.source.blob(hash, MAX_SERVED).or_else(on_disk)?;
        Some((media_type(&file.path, &bytes)?, bytes))
    };
    let Some((kind, bytes)) = found() else { return missing() };
    body::answer(StatusCode::OK, kind, Content::Whole(Some(Bytes::from(bytes))))
}

fn missing() -> Answer {
    body::text(StatusCode::NOT_FOUND, PLAIN, "There is no such page.\n".to_owned())
}

fn messages(refusal: &Refusal) -> String {
    let message = |finding: &Finding| format!("{} {}", finding.message(), finding.hint());
    refusal.as_slice().iter().map(message).collect::<Vec<_>>().join("\n")
}

/// The events of a page that shows the state `state`. Without one, it gets the state at once.
fn events(shared: &Shared, state: Option<&str>) -> Answer {
    let (sender, events) = mpsc::channel(MAX_EVENTS);
    let _ = sender.try_send(Bytes::from_static(b"retry: 2000\n\n"));
    let state = state.unwrap_or_default().to_owned();
    locked(&shared.pages).push(Page { events: sender, state });
    body::answer(StatusCode::OK, "text/event-stream", Content::Events(events))
}

/// The fields of a form of the page.
async fn form(
    shared: &Shared,
    request: Request<Incoming>,
) -> Result<Vec<(String, String)>, Refused> {
    let headers = request.headers().clone();
    let Some(fields) = body::form(request.into_body()).await else { return Err(Refused::Form) };
    let value = field(&fields, "form").unwrap_or_default();
    locked(&shared.guard).check_form(&headers, value)?;
    Ok(fields)
}

/// Marks a file as reviewed, and leads to the next one.
async fn mark(shared: &Arc<Shared>, request: Request<Incoming>) -> Result<Answer, Refused> {
    let fields = form(shared, request).await?;
    let shared = Arc::clone(shared);
    let marked = tokio::task::spawn_blocking(move || {
        let (at, place) = (field(&fields, "at")?, field(&fields, "file")?.parse::<usize>().ok()?);
        let reviewed = match field(&fields, "reviewed")? {
            "yes" => Reviewed::Yes,
            "no" => Reviewed::No,
            _ => return None,
        };
        let review = shared.source.read(Extent::Article(field(&fields, "at")?)).ok()?;
        let seen = |hash: &Option<String>, name| {
            hash.as_deref().unwrap_or_default() == field(&fields, name).unwrap_or_default()
        };
        // What the user saw is what the mark is about.
        let file = page::files_at(&review, at).get(place);
        let file = file
            .filter(|file| seen(&file.hash_before, "before") && seen(&file.hash_after, "after"));
        let failed = match file.map(|file| shared.source.mark(Mark::of(file), reviewed)) {
            Some(Ok(())) => None,
            Some(Err(refusal)) => Some(messages(&refusal)),
            None => Some("The file changed since the page was loaded: look again.".to_owned()),
        };
        let keep = |text: String| locked(&shared.acted).keep(Answered::nothing(&text));
        let answer = failed.map(keep).map_or(String::new(), |number| format!("&answer={number}"));
        // The number of an id counts from 1.
        let next = if reviewed == Reviewed::Yes { place + 2 } else { place + 1 };
        let at = plain(at)?;
        Some(redirect(&format!("/?at={at}{answer}#{at}-{next}")))
    });
    marked.await.unwrap_or_else(|_| Some(broken())).ok_or(Refused::Form)
}

async fn act(shared: &Arc<Shared>, request: Request<Incoming>) -> Result<Answer, Refused> {
    let fields = form(shared, request).await?;
    let at = field(&fields, "at").unwrap_or("all").to_owned();
    let doing = Arc::clone(shared);
    let acted = tokio::task::spawn_blocking(move || {
        let review = doing.source.read(Extent::Article("")).ok();
        // What the user saw is what the action is about.
        let is_seen = |tip: &str| !forms::needs_tip(&fields) || Some(tip) == field(&fields, "tip");
        let seen = review.filter(|review| is_seen(&review.tip));
        let Some(review) = seen else { return Some(Answered::nothing(&changed(&fields))) };
        Some(match forms::action(&fields, &review) {
            Ok(action) => {
                let acted = doing.source.act(&action);
                let tip = doing.source.read(Extent::Article("")).ok().map(|review| review.tip);
                Answered::of(&action, acted, &review.tip, tip)
            }
            Err(Unread::Incomplete(text)) => Answered::nothing(text),
            Err(Unread::Foreign) => return None,
        })
    });
    let Ok(acted) = acted.await else { return Ok(broken()) };
    let Some(acted) = acted else { return Err(Refused::Form) };
    let number = locked(&shared.acted).keep(acted);
    Ok(redirect(&format!("/?at={}&answer={number}", plain(&at).unwrap_or("all"))))
}

/// The id, if it has the characters of one.
fn plain(id: &str) -> Option<&str> {
    id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-').then_some(id)
}

/// Says that the session changed, and keeps what the user wrote.
fn changed(fields: &[(String, String)]) -> String {
    let written = field(fields, "message").filter(|message| !message.trim().is_empty());
    let written = written.map_or(String::new(), |text| format!("\nYou wrote:\n{text}"));
    format!("{CHANGED}{written}")
}

fn redirect(to: &str) -> Answer {
    let mut answer = body::text(StatusCode::SEE_OTHER, PLAIN, String::new());
    if let Ok(to) = HeaderValue::from_str(to) {
        answer.headers_mut().insert(LOCATION, to);
    }
    answer
}

fn broken() -> Answer {
    let text = "edt could not answer; `edt review` starts again.\n".to_owned();
    body::text(StatusCode::INTERNAL_SERVER_ERROR, PLAIN, text)
}
