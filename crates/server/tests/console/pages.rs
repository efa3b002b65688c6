//! What all pages have in common.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{
    Browser,
    filled::{Others, Sample, filled, owner},
};
use crate::{
    auth::{settings, token_of},
    site::{Site, send},
};

/// A document with two versions.
async fn document(site: &Site) -> String {
    let id = |made: Value| made["id"].as_str().expect("an id").to_owned();
    let project = id(site.post("/v1/projects", &json!({"name": "Hers"})).await.expect(201));
    let new = json!({"name": "Plan", "content": "Which colour?"});
    let document = id(site.post(&format!("/v1/projects/{project}/documents"), &new).await.expect(201));
    let changed = site.request(Method::PUT, &format!("/v1/documents/{document}")).header("if-match", "*");
    send(changed.json(&json!({"content": "Which colour? Red."}))).await.expect(200);
    format!("/console/documents/{document}")
}

/// Whether a path is one of a route.
fn fits(route: &str, path: &str) -> bool {
    let (route, path) = (route.split('/'), path.split('?').next().unwrap().split('/'));
    route.clone().count() == path.clone().count()
        && route.zip(path).all(|(route, part)| route.starts_with('{') || route == part)
}

#[tokio::test]
async fn each_page_is_looked_at_and_has_something_to_show() {
    let (site, samples) = filled().await;
    for route in entourage_server::console_pages() {
        let has_sample = samples.iter().any(|sample| fits(route.trim_end_matches('/'), &sample.path));
        assert!(has_sample, "{route} has no sample");
    }
    let browser = Browser::logged_in(&site, &owner()).await;
    for Sample { path, sign, .. } in samples {
        let page = browser.page(&format!("/console{path}")).await;
        assert!(page.contains(&sign), "{path} has no {sign}: {page}");
    }
}

#[tokio::test]
async fn each_page_is_served_whole_and_as_its_live_part_which_is_sent_once() {
    let (site, samples) = filled().await;
    let browser = Browser::logged_in(&site, &owner()).await;
    // A step that has not ended takes longer each time, and a job that has never run is due from now on.
    let is_still =
        |path: &String| path != "/server" && (!path.starts_with("/runs/") || path.contains("/requests/"));
    for path in samples.into_iter().map(|sample| sample.path).filter(is_still) {
        let whole = browser.page(&format!("/console{path}")).await;
        let answer = browser.get(&format!("/console/f{path}")).await;
        assert_eq!(answer.status, StatusCode::OK, "{path}: {}", answer.text);
        assert!(answer.text.starts_with("<main"), "{path}: {}", answer.text);
        let body = answer.text.split_once('>').unwrap().1.trim();
        assert!(whole.contains(body), "{path}: the live part is that of the page\n{whole}\n---\n{body}");
        let digest = answer.headers["etag"].to_str().unwrap();
        let again =
            browser.request(Method::GET, &format!("/console/f{path}")).header("if-none-match", digest);
        let again = send(again).await;
        assert_eq!((again.status, again.text.as_str()), (StatusCode::NOT_MODIFIED, ""), "{path}");
    }
}

#[tokio::test]
async fn a_page_allows_no_script_and_no_style_but_its_own_and_is_kept_nowhere() {
    let (site, samples) = filled().await;
    let browser = Browser::logged_in(&site, &owner()).await;
    let more = ["/nowhere", "/agents/agt_x", "/logout", "/login"].map(str::to_owned);
    for path in samples.into_iter().map(|sample| sample.path).chain(more) {
        let answer = browser.get(&format!("/console{path}")).await;
        for (name, value) in [
            (
                "content-security-policy",
                "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                 form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
            ),
            ("x-content-type-options", "nosniff"),
            ("x-frame-options", "DENY"),
            ("referrer-policy", "same-origin"),
            ("cross-origin-opener-policy", "same-origin"),
            ("cross-origin-resource-policy", "same-origin"),
            ("cache-control", "no-store"),
            ("content-type", "text/html; charset=utf-8"),
        ] {
            let sent = answer.headers.get(name).map(|sent| sent.to_str().unwrap());
            assert_eq!(sent, Some(value), "{name} of {path}");
        }
        let lower = answer.text.to_lowercase();
        for word in [" style=", " onclick", "hx-on", "javascript:", " js:"] {
            assert!(!lower.contains(word), "{path} has {word}");
        }
    }
}

#[tokio::test]
async fn what_belongs_to_another_owner_is_on_no_page() {
    let (site, samples) = filled().await;
    let browser = Browser::logged_in(&site, &token_of("bob")).await;
    for Sample { path, sign, others } in samples {
        for path in [format!("/console{path}"), format!("/console/f{path}")] {
            let answer = browser.get(&path).await;
            assert_eq!(answer.status, others.status(), "{path}: {}", answer.text);
            let has_sign = answer.text.contains(&sign);
            assert_eq!(has_sign, others == Others::Same, "{path}, {sign}: {}", answer.text);
        }
    }
}

#[tokio::test]
async fn assets_are_kept_for_good_under_the_digest_of_all_of_them() {
    let site = Site::open().await;
    let browser = Browser::of(&site);
    let page = browser.page("/console").await;
    let paths: Vec<&str> = page.split('"').filter(|path| path.starts_with("/console/assets/")).collect();
    assert!(paths.len() >= 4, "{paths:?}");
    let mut bytes = 0;
    for path in &paths {
        let answer = browser.get(path).await;
        assert_eq!(answer.status, StatusCode::OK, "{path}");
        assert!(answer.headers["cache-control"].to_str().unwrap().contains("immutable"), "{path}");
        bytes += answer.text.len();
    }
    assert!(bytes > 40_000, "{bytes}");
    let digest = paths[0].split('/').nth(3).unwrap();
    let other = paths[0].replace(digest, "0000000000000000");
    assert_eq!(browser.get(&other).await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_problem_is_a_page_with_what_is_wrong_and_the_id_of_the_request() {
    let site = Site::open().await;
    let browser = Browser::of(&site);
    let unknown = "/console/agents/agt_00000000000000000000000000000001";
    let request = browser.request(Method::GET, unknown).header("x-request-id", "seen-by-<b>");
    let answer = send(request).await;
    assert_eq!(answer.status, StatusCode::NOT_FOUND);
    assert!(answer.text.starts_with("<!doctype html>"), "{}", answer.text);
    for part in [
        "<h1>Not found</h1>",
        "there is no agent",
        "seen-by-&#60;b&#62;",
        "href=\"/console/trees\" data-key=\"t\"",
        "data-live=\"nothing\"",
    ] {
        assert!(answer.text.contains(part), "{part}: {}", answer.text);
    }
    let part = browser.get(&unknown.replace("/console", "/console/f")).await;
    assert_eq!(part.status, StatusCode::NOT_FOUND);
    assert!(
        ["hx-get", "<h1>Not found</h1>"].iter().all(|sign| part.text.contains(sign))
            && part.text.starts_with("<main"),
        "it is asked for again: {}",
        part.text
    );
}

#[tokio::test]
async fn hostile_text_is_shown_and_does_nothing() {
    let site = Site::open().await;
    let browser = Browser::of(&site);
    for (hostile, sign) in [
        ("<script>alert(1)</script>", "&#60;script&#62;alert(1)"),
        ("\"><img src=x onerror=alert(1)>", "&#34;&#62;&#60;img src=x"),
        (
            "<form action=https://evil.example><button hx-get=/console>",
            "&#60;form action=https://evil.example&#62;",
        ),
        ("' hx-trigger=load hx-get=/console '", "&#39; hx-trigger=load"),
        ("turned \u{202e}text and \u{200b}nothing", "turned ⟨U+202E⟩text and ⟨U+200B⟩nothing"),
    ] {
        let agent = site.done(hostile).await;
        for page in
            [format!("/console/agents/{agent}"), format!("/console/trees/{agent}"), "/console/trees".into()]
        {
            let text = browser.page(&page).await;
            for raw in ["<script>alert", "<img", "<form action=https", "\u{202e}", "\u{200b}"] {
                assert!(!text.contains(raw), "{page} has {raw:?}: {text}");
            }
            // Between elements a quotation mark ends nothing.
            let elements = text.split('<').filter_map(|part| part.split('>').next());
            for element in elements {
                assert!(!element.contains("' hx-trigger=load"), "{page}: {element}");
            }
        }
        let shown = browser.page(&format!("/console/agents/{agent}")).await;
        assert!(shown.contains(sign), "{sign}: {shown}");
    }
}

#[tokio::test]
async fn an_id_and_the_address_of_the_server_lead_to_their_pages() {
    let site = Site::open().await;
    let browser = Browser::of(&site);
    let (agent, question) = site.asked("ask").await;
    let run = site.get(&format!("/v1/agents/{agent}/runs")).await.expect(200)["data"][0]["id"].clone();
    for (from, to) in [
        ("/".to_owned(), "/console".to_owned()),
        (format!("/console/id/{agent}"), format!("/console/agents/{agent}")),
        (format!("/console/id/{question}"), format!("/console/q/{question}")),
        (
            format!("/console/id/{}", run.as_str().unwrap()),
            format!("/console/runs/{}", run.as_str().unwrap()),
        ),
    ] {
        let answer = browser.get(&from).await;
        assert!(answer.status.is_redirection(), "{from}: {}", answer.text);
        assert_eq!(answer.headers["location"], to, "{from}");
    }
    assert_eq!(browser.get("/console/id/nothing").await.status, StatusCode::NOT_FOUND);
    let plain = site.get("/").await;
    assert_eq!(plain.status, StatusCode::OK);
    assert!(plain.text.contains("/console"), "a client that is no browser reads where it is: {}", plain.text);
}

#[tokio::test]
async fn a_page_of_another_site_opens_a_page_and_reads_none() {
    for (site, status) in
        [(Site::open().await, StatusCode::SEE_OTHER), (Site::with(settings()).await, StatusCode::OK)]
    {
        let browser = Browser::of(&site);
        let get = |mode: &'static str, dest: &'static str| {
            let request =
                browser.request(Method::GET, "/console/login").header("sec-fetch-site", "cross-site");
            send(request.header("sec-fetch-mode", mode).header("sec-fetch-dest", dest))
        };
        let opened = get("navigate", "document").await;
        assert_eq!(opened.status, status, "a link in a mail: {}", opened.text);
        for (mode, dest) in [("no-cors", "image"), ("navigate", "iframe"), ("cors", "empty")] {
            assert_eq!(get(mode, dest).await.status, StatusCode::FORBIDDEN, "{mode} {dest}");
        }
    }
}

#[tokio::test]
async fn a_version_of_a_document_is_brought_back_unless_there_is_a_newer_one() {
    let site = Site::open().await;
    let browser = Browser::of(&site);
    let document = document(&site).await;
    let diff = browser.page(&format!("{document}?v=2&with=1")).await;
    assert!(diff.contains("<ins class=\"line\">") && diff.contains("Which colour? Red."), "{diff}");
    let undo = format!("{document}/undo");
    let stale = browser.post(&undo, &[("to", "1"), ("seen", "1")]).await;
    assert_eq!(stale.status, StatusCode::PRECONDITION_FAILED, "{}", stale.text);
    assert_eq!(browser.post(&undo, &[("to", "1"), ("seen", "2")]).await.status, StatusCode::SEE_OTHER);
    let now = site.get(&document.replace("/console", "/v1")).await.expect(200);
    assert_eq!((now["version"].as_u64(), now["content"].as_str()), (Some(3), Some("Which colour?")));
}

#[tokio::test]
async fn a_refusal_of_the_guard_is_a_page_for_a_browser_and_a_document_for_a_program() {
    let site = Site::open().await;
    let browser = Browser::of(&site);
    for path in ["/", "/console", "/console/trees"] {
        let from_elsewhere = |accepted: &'static str| {
            let request = browser.request(Method::GET, path).header("host", "evil.example");
            send(request.header("accept", accepted))
        };
        let page = from_elsewhere("text/html,application/xhtml+xml").await;
        assert_eq!(page.status, StatusCode::FORBIDDEN, "{path}: {}", page.text);
        assert!(
            page.text.starts_with("<!doctype html>") && page.text.contains("evil.example"),
            "{}",
            page.text
        );
        assert!(!page.text.contains("<nav"), "nobody is known who asks: {}", page.text);
        assert!(page.headers.contains_key("content-security-policy"), "{path}");
    }
    let request = browser.request(Method::GET, "/v1/agents").header("host", "evil.example");
    send(request.header("accept", "text/html")).await.problem(403, "foreign-site");
    let request = browser.request(Method::GET, "/").header("host", "evil.example");
    send(request.header("accept", "application/json")).await.problem(403, "foreign-site");
}

#[tokio::test]
async fn a_request_is_compared_with_any_other_of_its_run() {
    let site = Site::open().await;
    let browser = Browser::of(&site);
    let agent = site.done("tell hello").await;
    let run = site.get(&format!("/v1/agents/{agent}/runs")).await.expect(200)["data"][0]["id"].clone();
    let request = |rest: &str| format!("/console/runs/{}/requests/{rest}", run.as_str().unwrap());
    let before = browser.page(&request("2")).await;
    assert!(before.contains("All of the call before was sent here, too"), "{before}");
    assert!(before.contains("<option value=\"1\">call 1</option>"), "{before}");
    let first = browser.page(&request("2?with=1")).await;
    for part in ["All of call 1 was sent here, too", "as in call 1", "<option value=\"1\" selected>"] {
        assert!(first.contains(part), "{part}: {first}");
    }
    let later = browser.page(&request("1?with=2")).await;
    assert!(later.contains("All of this is the beginning of call 2"), "{later}");
    assert_eq!(browser.get(&request("2?with=9")).await.status, StatusCode::NOT_FOUND);
    assert_eq!(browser.get(&request("2?with=x")).await.status, StatusCode::BAD_REQUEST);
    assert!(browser.page(&request("2?with=")).await.contains("All of the call before"));
}

#[tokio::test]
async fn crumbs_have_names() {
    let site = Site::open().await;
    let browser = Browser::of(&site);
    let (root, _) = site.asked("tell ask").await;
    let tree = site.get(&format!("/v1/agents/{root}/tree")).await.expect(200);
    let below = tree["root"]["children"][0]["id"].as_str().unwrap().to_owned();
    let run = site.get(&format!("/v1/agents/{below}/runs")).await.expect(200)["data"][0]["id"].clone();
    let run = run.as_str().unwrap();
    let crumb = format!("<a href=\"/console/trees/{root}\">tell ask</a>");
    for page in [
        format!("/agents/{below}"),
        format!("/runs/{run}"),
        format!("/runs/{run}/requests/1"),
        format!("/trees/{root}/events"),
        format!("/trees/{root}?at=2"),
    ] {
        let text = browser.page(&format!("/console{page}")).await;
        assert!(text.contains(&crumb), "{page}: {text}");
    }
    assert!(browser.page(&document(&site).await).await.contains(">Hers</a></p>"));
}
