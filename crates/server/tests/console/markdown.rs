//! Markdown on pages: what models and people write is marked up, and nothing of it acts.

use std::sync::Arc;

use entourage_engine::Kinds;
use entourage_llm::{Message, Request, Script, ScriptedModel};
use entourage_store_sqlite::SqliteStore;
use entourage_testkit::quiet;
use serde_json::json;

use super::Browser;
use crate::site::{Site, asking};

/// A site whose model says what it is told, and writes a note of what follows `note `.
async fn site_of_echoes() -> Site {
    let speak = |request: &Request| {
        Some(Ok(match request.messages.last() {
            Some(Message::User(text)) => match text.strip_prefix("note ") {
                Some(note) => Script::call("create_note", json!({"title": "Found", "content": note})),
                None => Script::text(text.clone()),
            },
            _ => Script::text("Done."),
        }))
    };
    let store = Arc::new(SqliteStore::in_memory().expect("a store"));
    let engine = asking(Arc::new(ScriptedModel::deciding(speak)), store, quiet(Kinds::builtin()));
    let site = Site::serving(engine, entourage_server::Settings::default()).await;
    site.work();
    site
}

#[tokio::test]
async fn messages_notes_and_documents_are_marked_up_and_what_tools_return_is_not() {
    let site = site_of_echoes().await;
    let browser = Browser::of(&site);
    let (text, markup) = ("It is **blue**.", "<p>It is <strong>blue</strong>.</p>");
    let said = site.done(text).await;
    let page = browser.page(&format!("/console/agents/{said}")).await;
    assert_eq!(page.matches(markup).count(), 2, "of the person and of the model: {page}");
    let noted = site.done(&format!("note {text}")).await;
    let page = browser.page(&format!("/console/agents/{noted}")).await;
    assert!(page.contains("It is **blue**.&#34;"), "arguments are as they are: {page}");
    assert!(browser.page("/console/memory").await.contains(markup));
    let project = site.post("/v1/projects", &json!({"name": "Hers"})).await.expect(201)["id"].clone();
    let project = project.as_str().unwrap();
    let new = json!({"name": "Plan", "content": format!("# Plan\n\n{text}")});
    let document =
        site.post(&format!("/v1/projects/{project}/documents"), &new).await.expect(201)["id"].clone();
    let page = browser.page(&format!("/console/documents/{}", document.as_str().unwrap())).await;
    for part in [markup, "<h2>Plan</h2>", "# Plan\n\nIt is **blue**.</pre>"] {
        assert!(page.contains(part), "{part}: {page}");
    }
}

#[tokio::test]
async fn hostile_markdown_is_text_on_every_page_that_shows_it() {
    let site = site_of_echoes().await;
    let browser = Browser::of(&site);
    for (hostile, shown) in [
        ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
        ("<b class=row hx-get=/console hx-trigger=load>x</b>", "&lt;b class=row hx-get=/console"),
        (
            "![seen](https://evil.example/?a)",
            "<a href=\"https://evil.example/?a\" rel=\"noopener noreferrer nofollow\">seen</a>",
        ),
        ("[x](javascript:alert(1))", "<a rel=\"noopener noreferrer nofollow\">x</a>"),
        ("[x](/console/logout)", "<a rel=\"noopener noreferrer nofollow\">x</a>"),
        ("&#x202e;turned &#8203;nothing", "⟨U+202E⟩turned ⟨U+200B⟩nothing"),
        ("</div></article></main><h1>taken</h1>", "&lt;/div&gt;&lt;/article&gt;&lt;/main&gt;&lt;h1&gt;taken"),
    ] {
        let said = site.done(hostile).await;
        site.done(&format!("note {hostile}")).await;
        for page in [format!("/console/agents/{said}"), "/console/memory".to_owned()] {
            let text = browser.page(&page).await;
            assert!(text.contains(shown), "{page}: {hostile}: {text}");
            for raw in [
                "<script>",
                "<img",
                "<b ",
                "<h1>taken",
                "\"javascript:",
                "\"/console/logout\">x",
                "\u{202e}",
                "\u{200b}",
            ] {
                assert!(!text.contains(raw), "{page} has {raw:?}: {text}");
            }
        }
    }
}
