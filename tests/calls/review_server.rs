//! `edt review` as a server: who may ask, what its buttons do, and when it ends.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::test_repo::{EDT, TestRepo};

/// The session `s` with three edits of two files.
fn session() -> TestRepo {
    let workspace = TestRepo::with(&[("a.txt", b"one\n"), ("b.txt", b"one\n")]);
    workspace.edt(&["begin", "s"]).landed();
    for (path, text) in [("a.txt", "two\n"), ("b.txt", "two\n"), ("a.txt", "three\n")] {
        workspace.apply(&json!({"path": path, "mode": "append", "content": text})).landed();
    }
    workspace
}

/// A server and what its browser knows.
struct Server {
    child: Child,
    /// The host with the port.
    host: String,
    /// The path of the link.
    link: String,
    cookie: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    /// A server whose link nobody opened.
    fn unopened(workspace: &TestRepo) -> Server {
        let mut command = workspace.command(EDT);
        command.arg("review");
        Server::started(command)
    }

    fn started(mut command: Command) -> Server {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let (_, link) = line.trim().split_once("http://").unwrap();
        let (host, link) = link.split_once('/').unwrap();
        let (host, link) = (host.to_owned(), format!("/{link}"));
        Server { child, host, link, cookie: String::new() }
    }

    fn of(workspace: &TestRepo) -> Server {
        let mut server = Server::unopened(workspace);
        server.cookie = server.cookie_of_link();
        server
    }

    fn cookie_of_link(&self) -> String {
        let answer = self.get(&self.link, &[]);
        let cookie = answer.split_once("set-cookie: ").unwrap().1.split_once(';').unwrap().0;
        cookie.to_owned()
    }

    fn connect(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.host).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let mut all = vec![("host", self.host.as_str()), ("cookie", self.cookie.as_str())];
        for (name, value) in headers {
            all.retain(|(other, _)| other != name);
            all.push((name, value));
        }
        let headers: String =
            all.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let length = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).unwrap();
        stream
    }

    fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> String {
        let mut answer = Vec::new();
        self.connect(method, path, headers, body).read_to_end(&mut answer).unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    }

    fn get(&self, path: &str, headers: &[(&str, &str)]) -> String {
        self.ask("GET", path, headers, "")
    }

    /// The values of the hidden fields `form` and `tip` of a page.
    fn hidden(&self, page: &str) -> (String, String) {
        let page = self.get(page, &[]);
        let value = |name: &str| {
            let rest = page.split_once(&format!("name=\"{name}\" value=\"")).unwrap().1;
            rest.split_once('"').unwrap().0.to_owned()
        };
        (value("form"), value("tip"))
    }

    fn origin(&self) -> String {
        format!("http://{}", self.host)
    }

    /// The page after the form `fields` of the page at `at` was sent.
    fn act(&self, at: &str, fields: &str) -> String {
        let (form, tip) = self.hidden(&format!("/?at={at}"));
        let body = format!("form={form}&tip={tip}&at={at}&{fields}");
        let answer = self.ask("POST", "/act", &[("origin", &self.origin())], &body);
        self.follow(&answer)
    }

    /// The page that an answer leads to.
    fn follow(&self, answer: &str) -> String {
        assert_eq!(status(answer), 303, "{answer}");
        let place = answer.split_once("location: ").unwrap().1.split_once("\r\n").unwrap().0;
        self.get(place.split('#').next().unwrap(), &[])
    }
}

fn status(answer: &str) -> u16 {
    answer.split(' ').nth(1).unwrap().parse().unwrap()
}

#[test]
fn who_wrote_the_lines_of_a_file_is_a_request_of_its_own() {
    let workspace = session();
    let server = Server::of(&workspace);
    let page = server.get("/", &[]);
    assert!(page.contains("data-path=\"a%2Etxt\"") && !page.contains("data-w"), "{page}");
    let (_, tip) = server.hidden("/");
    let ask = |tip: &str, path: &str| {
        let answer = server.get(&format!("/sources?tip={tip}&path={path}"), &[]);
        let json = answer.lines().find(|line| line.starts_with('['));
        (status(&answer), json.unwrap_or_default().to_owned())
    };
    assert_eq!(ask(&tip, "a.txt"), (200, r##"[[1,1,"you"],[2,2,"#1"],[3,3,"#3"]]"##.into()));
    assert_eq!(ask(&tip, "no-such"), (200, "[]".into()));
    assert_eq!(ask("0123", "a.txt").0, 409);
}

#[test]
fn the_browser_gets_the_link_in_a_private_file_that_is_removed_once_the_page_is_there() {
    let workspace = session();
    let seen = workspace.home.join("seen");
    let browser = "#!/bin/sh\nstat -c %a \"$1\" \"${1%/*}\" >\"$SEEN.new\"\necho \"$@\" >>\"$SEEN.new\"\n\
                   cat \"$1\" >>\"$SEEN.new\"\nmv \"$SEEN.new\" \"$SEEN\"\n";
    let program = workspace.home.join("browser");
    std::fs::write(&program, browser).unwrap();
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    let mut command = workspace.command(EDT);
    command.args(["review", "--open"]).env("BROWSER", &program).env("SEEN", &seen);
    let mut server = Server::started(command);
    let began = Instant::now();
    while !seen.exists() && began.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(10));
    }
    let seen = std::fs::read_to_string(seen).unwrap();
    let [file_mode, directory_mode, file, html] = seen.lines().collect::<Vec<_>>()[..] else {
        panic!("{seen}")
    };
    assert_eq!((file_mode, directory_mode), ("600", "700"));
    let link = format!("http://{}{}", server.host, server.link);
    assert!(html.contains(&format!("content=\"0;url={link}\"")) && !file.contains("token"));
    assert!(Path::new(file).exists());
    server.cookie = server.cookie_of_link();
    assert_eq!(status(&server.get("/", &[])), 200);
    assert!(!Path::new(file).exists());
}

/// What a command left: files, HEAD, history and the names of the refs.
fn left(workspace: &TestRepo) -> Vec<String> {
    let refs = workspace.git(&["for-each-ref", "--format=%(refname)"]);
    vec![
        workspace.text("a.txt"),
        workspace.text("b.txt"),
        workspace.git(&["symbolic-ref", "HEAD"]),
        workspace.git(&["log", "--format=%s %T"]),
        workspace.git(&["status", "--porcelain"]),
        refs,
    ]
}

#[test]
fn the_link_works_once_and_gives_the_cookie_that_every_request_needs() {
    let workspace = session();
    let server = Server::of(&workspace);
    let none: [(&str, &str); 1] = [("cookie", "")];
    for path in ["/", "/review.js", "/events", &server.link] {
        assert_eq!(status(&server.get(path, &none)), 403, "{path}");
    }
    let page = server.get("/?at=edit-2", &[]);
    assert_eq!(status(&page), 200);
    assert!(
        page.contains("content-security-policy: default-src 'none'; style-src 'self'"),
        "{page}"
    );
    assert!(page.contains("<article id=\"edit-2\">") && !page.contains("<script>"));
    assert_eq!(status(&server.get("/review.css", &[])), 200);
    assert_eq!(status(&server.get("/no-such", &[])), 404);
    assert_eq!(status(&server.get(&server.link, &[])), 303);
}

#[test]
fn a_wrong_token_does_not_use_up_the_link() {
    let server = Server::unopened(&session());
    assert_eq!(status(&server.get("/?token=0", &[])), 403);
    assert_eq!(status(&server.get(&server.link, &[])), 200);
}

#[test]
fn other_names_and_other_sites_are_refused_and_change_nothing() {
    let workspace = session();
    let server = Server::of(&workspace);
    let before = workspace.snapshot();
    let (form, tip) = server.hidden("/?at=edit-1");
    let own = server.origin();
    for host in ["evil.example", "evil.example:80"] {
        assert_eq!(status(&server.get("/", &[("host", host)])), 403, "{host}");
    }
    let body = format!("form={form}&tip={tip}&at=all&action=undo-to&edit=1");
    let post =
        |headers: &[(&str, &str)], body: &str| status(&server.ask("POST", "/act", headers, body));
    assert_eq!(post(&[("origin", "http://evil.example")], &body), 403);
    assert_eq!(post(&[("origin", "null")], &body), 403);
    assert_eq!(post(&[], &body), 403);
    assert_eq!(post(&[("origin", &own), ("sec-fetch-site", "cross-site")], &body), 403);
    assert_eq!(post(&[("origin", &own)], &body.replace(&form, "0")), 403);
    assert_eq!(post(&[("origin", &own), ("cookie", "")], &body), 403);
    assert_eq!(post(&[("origin", &own)], &body.replace("undo-to", "rm")), 403);
    crate::test_repo::same(&before, &workspace.snapshot());
}

#[test]
fn each_button_leaves_the_repository_as_its_command_does() {
    let cases: [(&str, &str, &[&str]); 6] = [
        ("edit-1", "action=undo-to&edit=1", &["undo", "--to", "1"]),
        ("edit-2", "action=revert&edit=2", &["revert", "2"]),
        ("all", "action=restore&file=0", &["restore", "a.txt"]),
        ("all", "action=land&message=Say+two", &["land", "-m", "Say two"]),
        ("edit-2", "action=land-to&edit=2", &["land", "--to", "2"]),
        ("all", "action=abandon", &["abandon"]),
    ];
    for (at, fields, args) in cases {
        let (by_page, by_command) = (session(), session());
        let server = Server::of(&by_page);
        let page = server.act(at, fields);
        assert!(page.contains(&format!("<code>$ edt {}", args[0])), "{page}");
        assert!(page.contains("<section class=\"answer\""), "{page}");
        by_command.edt(args).landed();
        assert_eq!(left(&by_page), left(&by_command), "{fields}");
    }
}

#[test]
fn an_undo_on_the_page_can_be_redone_there() {
    let workspace = session();
    let before = workspace.rev("HEAD");
    let server = Server::of(&workspace);
    let page = server.act("edit-1", "action=undo-to&edit=1");
    let undone = page.split_once("/?at=undone-").unwrap().1.split_once('"').unwrap().0.to_owned();
    server.act(&format!("undone-{undone}"), "action=redo");
    assert_eq!(workspace.rev("HEAD"), before);
}

#[test]
fn the_chosen_part_is_in_the_arguments_of_the_command() {
    for (at, fields, command) in [
        ("edit-1", "action=part&file=0&lines=file", "revert 1 --path=:/a.txt"),
        ("all", "action=part&file=1&lines=a2", "revert --session --path=:/b.txt --added=2-2"),
        (
            "all",
            "action=part&file=0&lines=chosen&line=a2&line=a3",
            "revert --session --path=:/a.txt --added=2-3",
        ),
        ("all", "action=land-only&edit=1&edit=3&message=x", "land --only=1,3 --message=x"),
    ] {
        let workspace = session();
        let page = Server::of(&workspace).act(at, fields).replace('\'', "");
        assert!(page.contains(&format!("<code>$ edt {command}</code>")), "{command}: {page}");
    }
    let workspace = session();
    let server = Server::of(&workspace);
    for fields in ["action=part&file=0&lines=chosen", "action=land-only"] {
        let page = server.act("all", fields);
        assert!(page.contains("is chosen. Nothing was done."), "{page}");
    }
}

/// The page's paths count from the root, also where the server was started below it.
#[test]
fn a_page_served_from_a_directory_acts_on_the_files_it_shows() {
    for (at, fields, command) in [
        ("all", "action=part&file=1&lines=file", "revert --session --path=:/b.txt"),
        ("all", "action=part&file=0&lines=comment&message=Why", "comment add --path=:/a.txt"),
        ("all", "action=restore&file=1", "restore -- :/b.txt"),
    ] {
        let workspace = session();
        std::fs::create_dir(workspace.root.join("below")).unwrap();
        let mut call = workspace.command(EDT);
        call.arg("review").current_dir(workspace.root.join("below"));
        let mut server = Server::started(call);
        server.cookie = server.cookie_of_link();
        let page = server.act(at, fields).replace('\'', "");
        assert!(page.contains(&format!("<code>$ edt {command}")), "{command}: {page}");
        assert!(!page.contains("class=\"answer refused\""), "{command}: {page}");
    }
}

#[test]
fn a_part_that_no_page_shows_is_refused() {
    let workspace = session();
    let server = Server::of(&workspace);
    let (form, tip) = server.hidden("/?at=all");
    for (at, fields) in [
        ("all", "file=9&lines=file"),
        ("all", "file=0&lines=x1"),
        ("all", "file=0&lines=a2-1"),
        ("all", "file=0"),
        ("uncommitted", "file=0&lines=file"),
        ("nowhere", "file=0&lines=file"),
    ] {
        let body = format!("form={form}&tip={tip}&at={at}&action=part&{fields}");
        let answer = server.ask("POST", "/act", &[("origin", &server.origin())], &body);
        assert_eq!(status(&answer), 403, "{fields}");
    }
}

#[test]
fn an_image_of_the_session_is_served_with_its_type_and_nothing_else_is() {
    let image = b"\x89PNG\r\n\x1a\n\0after";
    let workspace =
        TestRepo::with(&[("a.png", b"\x89PNG\r\n\x1a\n\0before"), ("b.png", b"<svg>\0")]);
    workspace.edt(&["begin", "s"]).landed();
    workspace.write("a.png", image);
    workspace.write("b.png", b"<script>\0");
    workspace.git(&["commit", "-qam", "images"]);
    let server = Server::of(&workspace);
    let page = server.get("/?at=all", &[]);
    assert!(page.contains("<img src=\"/blob?at=all&amp;file=0&amp;side=after\""), "{page}");
    let answer = server.get("/blob?at=all&file=0&side=after", &[]);
    assert_eq!(status(&answer), 200);
    assert!(answer.contains("content-type: image/png\r\n"), "{answer}");
    assert!(answer.contains("x-content-type-options: nosniff\r\n"), "{answer}");
    assert!(answer.contains("\0after"), "{answer}");
    assert!(server.get("/blob?at=all&file=0&side=before", &[]).contains("\0before"));
    for query in
        ["at=all&file=1&side=after", "at=all&file=9&side=after", "at=all&file=0&side=x", ""]
    {
        assert_eq!(status(&server.get(&format!("/blob?{query}"), &[])), 404, "{query}");
    }
    let none = [("cookie", "")];
    assert_eq!(status(&server.get("/blob?at=all&file=0&side=after", &none)), 403);
}

#[test]
fn a_refused_call_is_between_the_edits_with_what_was_done_instead() {
    let workspace = session();
    let refused = json!({"path": "a.txt", "mode": "edit", "old_text": "no such line here",
        "content": "thirty"});
    workspace.refuses_request(&["OLD_TEXT_NOT_FOUND"], 1, &refused);
    workspace.apply(&json!({"path": "a.txt", "mode": "overwrite", "content": "all\n"})).landed();
    let server = Server::of(&workspace);
    let page = server.get("/?at=all", &[]);
    let id = page.split_once("/?at=refusal-").unwrap().1.split_once('"').unwrap().0.to_owned();
    assert!(page.contains("then edit 4"), "{page}");
    let article = server.get(&format!("/?at=refusal-{id}"), &[]);
    assert!(article.contains("OLD_TEXT_NOT_FOUND") && article.contains("/?at=edit-4"), "{article}");
    assert!(article.contains("<ins data-n=\"1\">"), "{article}");
}

#[test]
fn a_proposal_is_shown_with_its_diff_and_is_approved_in_the_terminal_alone() {
    let rules = "[[protect]]\npaths = [\"ci.yml\"]\noverride = \"approval\"\n";
    let workspace = TestRepo::with(&[("edt.toml", rules.as_bytes()), ("ci.yml", b"on: push\n")]);
    workspace.edt(&["begin", "s"]).landed();
    let propose =
        ["propose", "ci.yml", "--mode", "overwrite", "--content", "on: [push]\n", "-m", "ci"];
    workspace.edt(&propose);
    let server = Server::of(&workspace);
    let page = server.get("/?at=proposal-1", &[]);
    assert!(page.contains("<article id=\"proposal-1\">"), "{page}");
    assert!(page.contains("edt approve p1") && page.contains("id=\"proposal-1-1\""), "{page}");
    let before = workspace.snapshot();
    let answer = server.act("proposal-1", "action=approve&proposal=1");
    assert!(answer.contains("APPROVAL_REQUIRED"), "{answer}");
    assert!(answer.contains("<section class=\"answer refused\""), "{answer}");
    crate::test_repo::same(&before, &workspace.snapshot());
    let answer = server.act("proposal-1", "action=reject&proposal=1&message=");
    assert!(answer.contains("Nothing is written. Nothing was done."), "{answer}");
    let answer = server.act("proposal-1", "action=reject&proposal=1&message=Not+now");
    assert!(answer.contains("<code>$ edt reject p1"), "{answer}");
    assert!(!answer.contains("value=\"reject\""), "{answer}");
    // The agent gets the decision in its next answer.
    let next = workspace.edt(&["apply", "b.txt", "--mode", "create", "--content", "b\n"]).json;
    let reasons: Vec<_> = next["warnings"].as_array().unwrap().iter().collect();
    let is_it = |one: &&&serde_json::Value| one["code"] == "user_rejected";
    let message = reasons.iter().find(is_it).unwrap()["message"].as_str().unwrap();
    assert_eq!(message, "Proposal p1 (ci) was rejected: Not now");
}

#[test]
fn what_the_user_wrote_is_kept_if_the_session_changed_meanwhile() {
    let workspace = session();
    let server = Server::of(&workspace);
    let (form, tip) = server.hidden("/?at=edit-1");
    workspace.apply(&json!({"path": "b.txt", "mode": "append", "content": "new\n"})).landed();
    let body = format!("form={form}&tip={tip}&at=edit-1&action=comment-add&message=Why+so");
    let answer = server.ask("POST", "/act", &[("origin", &server.origin())], &body);
    let page = server.follow(&answer);
    assert!(page.contains("The session changed") && page.contains("Why so"), "{page}");
}

/// Marks the first file of the page at `at`.
fn mark(server: &Server, at: &str, reviewed: &str) -> String {
    let page = server.get(&format!("/?at={at}"), &[]);
    let form = page.split_once("action=\"/mark\"").unwrap().1.split_once("</form>").unwrap().0;
    let value = |name: &str| {
        let rest = form.split_once(&format!("name=\"{name}\" value=\"")).unwrap().1;
        rest.split_once('"').unwrap().0.to_owned()
    };
    let names = ["form", "at", "file", "before", "after"];
    let fields: String = names.iter().map(|name| format!("{name}={}&", value(name))).collect();
    let body = format!("{fields}reviewed={reviewed}");
    server.ask("POST", "/mark", &[("origin", &server.origin())], &body)
}

#[test]
fn a_file_is_reviewed_until_it_changes_again() {
    let workspace = session();
    let server = Server::of(&workspace);
    let answer = mark(&server, "all", "yes");
    assert!(answer.contains("location: /?at=all#all-2\r\n"), "{answer}");
    let reviewed = || {
        let files = workspace.edt(&["review"]).json["files"].take();
        files.as_array().unwrap().iter().map(|file| file["reviewed"] == true).collect::<Vec<bool>>()
    };
    assert_eq!(reviewed(), [true, false]);
    let closed = "<details class=\"file\" id=\"all-1\" data-path=\"a%2Etxt\"><summary>";
    assert!(server.get("/", &[]).contains(closed));
    workspace.apply(&json!({"path": "a.txt", "mode": "append", "content": "new\n"})).landed();
    assert_eq!(reviewed(), [false, false]);
    workspace.edt(&["undo"]).landed();
    assert_eq!(reviewed(), [true, false]);
    mark(&server, "all", "no");
    assert_eq!(reviewed(), [false, false]);
}

#[test]
fn a_folded_file_is_shown_on_demand() {
    let workspace = TestRepo::with(&[("a.txt", b"one\n")]);
    workspace.edt(&["begin", "s"]).landed();
    let content = crate::test_repo::lines(3000);
    workspace.apply(&json!({"path": "b.txt", "mode": "create", "content": content})).landed();
    let server = Server::of(&workspace);
    for at in ["all", "edit-1"] {
        let page = server.get(&format!("/?at={at}"), &[]);
        assert!(page.contains("This file is folded.") && !page.contains("data-n="), "{page}");
        let link = format!("/?at={at}&amp;whole=0#{at}-1");
        assert!(page.contains(&link), "{page}");
        assert!(server.get(&format!("/?at={at}&whole=0"), &[]).contains("<ins data-n=\"3000\""));
        assert_eq!(status(&server.get(&format!("/?at={at}&whole=7"), &[])), 200);
    }
}

#[test]
fn a_file_that_the_user_did_not_see_is_not_marked() {
    let workspace = session();
    let server = Server::of(&workspace);
    let (form, _) = server.hidden("/?at=all");
    let body = format!("form={form}&at=all&file=0&before=0&after=0&reviewed=yes");
    let origin = server.origin();
    let answer = server.ask("POST", "/mark", &[("origin", &origin)], &body);
    assert!(server.follow(&answer).contains("The file changed since the page was loaded"));
    assert_eq!(workspace.edt(&["review"]).json["files"][0]["reviewed"], false);
    let wrong = body.replace(&form, "0");
    assert_eq!(status(&server.ask("POST", "/mark", &[("origin", &origin)], &wrong)), 403);
}

#[test]
fn the_page_shows_the_refusal_of_a_command_with_its_hint() {
    let workspace = session();
    workspace.write("c.txt", "mine\n");
    workspace.git(&["add", "c.txt"]);
    workspace.git(&["commit", "-qm", "by hand"]);
    let server = Server::of(&workspace);
    let before = workspace.snapshot();
    let page = server.act("all", "action=land");
    assert!(page.contains("<section class=\"answer refused\""), "{page}");
    assert!(page.contains("APPROVAL_REQUIRED") && page.contains("next: "), "{page}");
    crate::test_repo::same(&before, &workspace.snapshot());
}

#[test]
fn a_button_of_a_page_that_is_out_of_date_does_nothing() {
    let workspace = session();
    let server = Server::of(&workspace);
    let (form, tip) = server.hidden("/?at=edit-3");
    workspace.apply(&json!({"path": "b.txt", "mode": "append", "content": "new\n"})).landed();
    let tip_now = workspace.rev("HEAD");
    let body = format!("form={form}&tip={tip}&at=edit-3&action=undo-to&edit=1");
    let answer = server.ask("POST", "/act", &[("origin", &server.origin())], &body);
    assert_eq!((status(&answer), workspace.rev("HEAD")), (303, tip_now));
    assert!(server.follow(&answer).contains("The session changed since the page was loaded."));
}

#[test]
fn an_open_page_gets_an_event_when_the_session_changes_and_when_the_server_ends() {
    let workspace = session();
    let mut server = Server::of(&workspace);
    let page = server.get("/", &[]);
    let state = page.split_once("data-state=\"").unwrap().1.split_once('"').unwrap().0;
    // What changes before the page listens is a change for it.
    workspace.apply(&json!({"path": "b.txt", "mode": "append", "content": "early\n"})).landed();
    let address = format!("/events?state={state}");
    let mut events = BufReader::new(server.connect("GET", &address, &[], ""));
    let mut next = |wanted: &str| {
        let mut line = String::new();
        while !line.contains(wanted) {
            line.clear();
            assert_ne!(events.read_line(&mut line).unwrap(), 0, "no {wanted}");
        }
    };
    next("retry: ");
    next("event: changed");
    workspace.apply(&json!({"path": "b.txt", "mode": "append", "content": "new\n"})).landed();
    next("event: changed");
    let id = rustix::process::Pid::from_child(&server.child);
    rustix::process::kill_process(id, rustix::process::Signal::INT).unwrap();
    next("event: ended");
    assert!(server.child.wait().unwrap().success());
}

#[test]
fn an_action_changes_no_other_session_that_the_worktree_is_in_now() {
    for (fields, landed) in [
        ("action=land", false),
        ("action=abandon", false),
        ("action=undo", false),
        ("action=revert&edit=1", false),
        ("action=restore&file=0", false),
        ("action=redo", false),
        ("action=undo-landing", true),
    ] {
        let workspace = session();
        let server = Server::of(&workspace);
        let (form, tip) = server.hidden("/?at=all");
        if landed {
            workspace.edt(&["land"]).landed();
        } else {
            workspace.git(&["switch", "-q", "main"]);
        }
        workspace.edt(&["begin", "other"]);
        for text in ["1\n", "2\n"] {
            workspace.apply(&json!({"path": "a.txt", "mode": "append", "content": text}));
        }
        workspace.edt(&["undo"]);
        let other = workspace.rev("edt/other");
        let body = format!("form={form}&tip={tip}&at=all&{fields}");
        let answer = server.ask("POST", "/act", &[("origin", &server.origin())], &body);
        let page = server.follow(&answer);
        assert_eq!(workspace.rev("HEAD"), other, "{fields}: {page}");
        assert_eq!(workspace.git(&["symbolic-ref", "HEAD"]).trim(), "refs/heads/edt/other");
        if !landed {
            assert!(page.contains("SESSION_MOVED"), "{fields}: {page}");
        }
    }
}

#[test]
fn a_landing_is_undone_on_the_page_of_its_session() {
    let workspace = session();
    let server = Server::of(&workspace);
    let (form, tip) = server.hidden("/?at=all");
    let page = server.act("all", "action=land");
    assert!(page.contains("value=\"undo-landing\""), "{page}");
    let body = format!("form={form}&tip={tip}&at=all&action=undo-landing");
    let answer = server.ask("POST", "/act", &[("origin", &server.origin())], &body);
    let page = server.follow(&answer);
    assert!(page.contains("<code>$ edt land --undo"), "{page}");
    assert!(page.contains("<section class=\"answer\""), "{page}");
}

#[test]
fn what_made_no_commit_is_not_taken_back() {
    let workspace = TestRepo::with(&[("a.txt", b"one\n")]);
    workspace.edt(&["begin", "s"]).landed();
    for text in ["two\n", "one\n"] {
        workspace.apply(&json!({"path": "a.txt", "mode": "overwrite", "content": text})).landed();
    }
    workspace.apply(&json!({"path": "b.txt", "mode": "create", "content": "b\n"})).landed();
    let server = Server::of(&workspace);
    let tip = workspace.rev("HEAD");
    let page = server.act("edit-1", "action=revert&edit=1");
    if workspace.rev("HEAD") == tip {
        assert!(!page.contains("Undo this"), "{page}");
    }
    let page = server.act("edit-3", "action=revert&edit=3");
    assert!(page.contains("Undo this"), "{page}");
}

#[test]
fn each_page_has_the_answer_to_its_own_action() {
    let workspace = session();
    let server = Server::of(&workspace);
    let (form, tip) = server.hidden("/?at=all");
    let post = |fields: &str| {
        let body = format!("form={form}&tip={tip}&at=all&{fields}");
        server.ask("POST", "/act", &[("origin", &server.origin())], &body)
    };
    let first = post("action=land-only");
    let second = post("action=part&file=0&lines=chosen");
    assert!(!server.get("/?at=all", &[]).contains("is chosen."));
    assert!(server.follow(&second).contains("No line is chosen."));
    assert!(server.follow(&first).contains("No edit is chosen."));
}

#[test]
fn an_uncommitted_image_is_served_while_the_file_has_it() {
    let workspace = TestRepo::with(&[("a.png", b"\x89PNG\r\n\x1a\n\0before")]);
    workspace.edt(&["begin", "s"]).landed();
    workspace.apply(&json!({"path": "b.txt", "mode": "create", "content": "b\n"})).landed();
    workspace.write("a.png", b"\x89PNG\r\n\x1a\n\0after");
    let server = Server::of(&workspace);
    let answer = server.get("/blob?at=uncommitted&file=0&side=after", &[]);
    assert!(status(&answer) == 200 && answer.contains("\0after"), "{answer}");
}

#[test]
fn a_page_as_a_file_has_no_draft() {
    let workspace = session();
    let server = Server::of(&workspace);
    let page = server.act("edit-1", "action=comment-add&message=Only+mine");
    assert!(page.contains("Only mine"), "{page}");
    let file = workspace.home.join("page.html");
    workspace.edt(&["review", "--html", file.to_str().unwrap()]);
    let html = std::fs::read_to_string(file).unwrap();
    assert!(!html.contains("Only mine"), "{html}");
}

#[test]
fn an_agent_may_not_serve_the_page() {
    let workspace = session();
    let mut command = workspace.command(EDT);
    let done = command.arg("review").env("CLAUDECODE", "1").output().unwrap();
    let text = String::from_utf8(done.stderr).unwrap();
    assert!(!done.status.success() && text.contains("a call of an agent"), "{text}");
}
