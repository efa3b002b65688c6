//! What all pages have in common.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::Browser;
use crate::{
    auth::{settings, token_of},
    site::{Site, send},
};

/// All pages with something to show.
async fn pages(site: &Site) -> Vec<String> {
    let (agent, question) = site.asked("ask aloud").await;
    let id = |made: &Value, name: &str| made[name].as_str().expect("an id").to_owned();
    let run = id(&site.get(&format!("/v1/agents/{agent}/runs")).await.expect(200)["data"][0], "id");
    let project = id(&site.post("/v1/projects", &json!({"name": "Hers"})).await.expect(201), "id");
    let new = json!({"name": "Plan", "content": "Which colour?"});
    let document = id(&site.post(&format!("/v1/projects/{project}/documents"), &new).await.expect(201), "id");
    let changed = site.request(Method::PUT, &format!("/v1/documents/{document}")).header("if-match", "*");
    send(changed.json(&json!({"content": "Which colour? Red."}))).await.expect(200);
    let goal = id(&site.post("/v1/goals", &json!({"title": "Which colour"})).await.expect(201), "agent");
    let lists = [
        "",
        "/answered",
        "/grants",
        "/trees",
        "/trees?status=waiting&text=ask",
        "/goals",
        "/documents",
        "/memory",
    ];
    let more = [
        "/memory?in=sessions",
        "/memory?in=learnings&text=red",
        "/usage",
        "/usage?by=tree",
        "/kinds",
        "/kinds/general",
        "/agencies",
    ];
    lists
        .into_iter()
        .chain(more)
        .map(str::to_owned)
        .chain([format!("/q/{question}"), format!("/trees/{agent}"), format!("/agents/{agent}")])
        .chain([format!("/trees/{agent}/events"), format!("/trees/{agent}?at=3")])
        .chain([format!("/runs/{run}"), format!("/runs/{run}/requests/1"), format!("/goals/{goal}")])
        .chain([format!("/projects/{project}"), format!("/documents/{document}?v=2&with=1")])
        .collect()
}

#[tokio::test]
async fn each_page_is_served_whole_and_as_its_live_part_which_is_sent_once() {
    let site = Site::open().await;
    let browser = Browser::of(&site);
    // A step that has not ended takes longer each time.
    let is_still = |page: &String| !page.starts_with("/runs/") || page.contains("/requests/");
    for page in pages(&site).await.into_iter().filter(is_still) {
        let whole = browser.page(&format!("/console{page}")).await;
        let answer = browser.get(&format!("/console/f{page}")).await;
        assert_eq!(answer.status, StatusCode::OK, "{page}: {}", answer.text);
        assert!(answer.text.starts_with("<main"), "{page}: {}", answer.text);
        let body = answer.text.split_once('>').unwrap().1.trim();
        assert!(whole.contains(body), "{page}: the live part is that of the page\n{whole}\n---\n{body}");
        let digest = answer.headers["etag"].to_str().unwrap();
        let again =
            browser.request(Method::GET, &format!("/console/f{page}")).header("if-none-match", digest);
        let again = send(again).await;
        assert_eq!((again.status, again.text.as_str()), (StatusCode::NOT_MODIFIED, ""), "{page}");
    }
}

#[tokio::test]
async fn a_page_allows_no_script_and_no_style_but_its_own_and_is_kept_nowhere() {
    let site = Site::open().await;
    let browser = Browser::of(&site);
    let all = pages(&site).await.into_iter().map(|page| format!("/console{page}"));
    for page in all.chain(["/console/nowhere", "/console/agents/agt_x", "/console/logout"].map(str::to_owned))
    {
        let answer = browser.get(&page).await;
        let header = |name: &str| answer.headers[name].to_str().unwrap().to_owned();
        let policy = header("content-security-policy");
        assert!(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self';"), "{policy}");
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(
            ["cache-control", "x-content-type-options"].map(header),
            ["no-store", "nosniff"],
            "{page}"
        );
        assert_eq!(header("content-type"), "text/html; charset=utf-8", "{page}");
        let lower = answer.text.to_lowercase();
        for word in [" style=", " onclick", "hx-on", "javascript:", " js:"] {
            assert!(!lower.contains(word), "{page} has {word}");
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
    for part in ["Not found", "there is no agent", "seen-by-&#60;b&#62;", "href=\"/console\""] {
        assert!(answer.text.contains(part), "{part}: {}", answer.text);
    }
    let part = browser.get(&unknown.replace("/console", "/console/f")).await;
    assert_eq!(part.status, StatusCode::NOT_FOUND);
    assert!(
        part.text.starts_with("<main") && part.text.contains("hx-get"),
        "it is asked for again: {}",
        part.text
    );
}

#[tokio::test]
async fn what_belongs_to_another_owner_is_on_no_page() {
    let site = Site::with(settings()).await;
    let (ann, bob) = (site.bearing(&token_of("ann")), token_of("bob"));
    let pages = pages(&ann).await;
    let browser = Browser::logged_in(&site, &bob).await;
    for page in pages {
        for path in [format!("/console{page}"), format!("/console/f{page}")] {
            let answer = browser.get(&path).await;
            let is_list = !page.contains("_0");
            assert_eq!(answer.status == StatusCode::OK, is_list, "{path}: {}", answer.text);
            assert!(is_list || answer.status == StatusCode::NOT_FOUND, "{path}: {}", answer.status);
            assert!(!answer.text.contains("Which colour"), "{path}: {}", answer.text);
        }
    }
}

#[tokio::test]
async fn hostile_text_is_shown_and_does_nothing() {
    let site = Site::open().await;
    let browser = Browser::of(&site);
    for hostile in [
        "<script>alert(1)</script>",
        "\"><img src=x onerror=alert(1)>",
        "<form action=https://evil.example><button hx-get=/console>",
        "' hx-trigger=load hx-get=/console '",
        "turned \u{202e}text and \u{200b}nothing",
    ] {
        let agent = site.done(hostile).await;
        for page in
            [format!("/console/agents/{agent}"), format!("/console/trees/{agent}"), "/console/trees".into()]
        {
            let text = browser.page(&page).await;
            for raw in
                ["<script>alert", "<img", "<form action=https", "' hx-trigger=load", "\u{202e}", "\u{200b}"]
            {
                assert!(!text.contains(raw), "{page} has {raw:?}: {text}");
            }
        }
        let shown = browser.page(&format!("/console/agents/{agent}")).await;
        let word = if hostile.contains("turned") { "⟨U+202E⟩" } else { "&#60;" };
        assert!(shown.contains(word) || hostile.starts_with('\''), "{shown}");
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
    for site in [Site::open().await, Site::with(settings()).await] {
        let browser = Browser::of(&site);
        let get = |mode: &'static str, dest: &'static str| {
            let request =
                browser.request(Method::GET, "/console/login").header("sec-fetch-site", "cross-site");
            send(request.header("sec-fetch-mode", mode).header("sec-fetch-dest", dest))
        };
        let opened = get("navigate", "document").await;
        assert!(
            opened.status.is_success() || opened.status.is_redirection(),
            "a link in a mail: {}",
            opened.text
        );
        for (mode, dest) in [("no-cors", "image"), ("navigate", "iframe"), ("cors", "empty")] {
            assert_eq!(get(mode, dest).await.status, StatusCode::FORBIDDEN, "{mode} {dest}");
        }
    }
}

#[tokio::test]
async fn a_version_of_a_document_is_brought_back_unless_there_is_a_newer_one() {
    let site = Site::open().await;
    let browser = Browser::of(&site);
    let document = pages(&site).await.into_iter().find(|page| page.starts_with("/documents/")).unwrap();
    let document = document.split('?').next().unwrap().to_owned();
    let diff = browser.page(&format!("/console{document}?v=2&with=1")).await;
    assert!(diff.contains("<ins class=\"line\">") && diff.contains("Which colour? Red."), "{diff}");
    let undo = format!("/console{document}/undo");
    let stale = browser.post(&undo, &[("to", "1"), ("seen", "1")]).await;
    assert_eq!(stale.status, StatusCode::PRECONDITION_FAILED, "{}", stale.text);
    assert_eq!(browser.post(&undo, &[("to", "1"), ("seen", "2")]).await.status, StatusCode::SEE_OTHER);
    let now = site.get(&format!("/v1{document}")).await.expect(200);
    assert_eq!((now["version"].as_u64(), now["content"].as_str()), (Some(3), Some("Which colour?")));
}
