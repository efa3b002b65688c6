//! What stands on the pages that sum up: bars, amounts, charts, versions, settings, and what a call has sent.

use std::{fs, sync::Arc};

use entourage_engine::{Engine, Kinds};
use entourage_llm::{Price, Script, ScriptedModel};
use entourage_server::Settings;
use entourage_store_sqlite::SqliteStore;
use entourage_types::Kind;
use reqwest::StatusCode;
use serde_json::{Value, json};

use super::Browser;
use crate::{
    agencies::{RESPONSES, desk},
    auth::token_of,
    installed::installed,
    kinds::{site_with_kind_files, write},
    site::{Site, send},
    stream::within,
};

/// The rows of a table or a list, each from its beginning.
fn rows<'p>(page: &'p str, begin: &str, end: &str) -> Vec<&'p str> {
    page.split(begin).skip(1).map(|rest| rest.split(end).next().unwrap()).collect()
}

/// The bars of a row: their class, where they begin, and how wide they are.
fn bars(row: &str) -> Vec<(&str, f64, f64)> {
    let of = |bar: &str, name: &str| {
        let value = bar.split(&format!(" {name}=\"")).nth(1).unwrap().split('"').next().unwrap();
        value.parse().unwrap()
    };
    let all = rows(row, "<rect class=\"", "/>");
    all.into_iter().map(|bar| (bar.split('"').next().unwrap(), of(bar, "x"), of(bar, "width"))).collect()
}

async fn first_run(site: &Site, agent: &str) -> Value {
    site.get(&format!("/v1/agents/{agent}/runs")).await.expect(200)["data"][0].clone()
}

#[tokio::test]
async fn a_run_shows_each_step_with_its_bars_its_tokens_and_where_it_leads() {
    let site = Site::open().await;
    let agent = site.done("tell hello").await;
    let run = first_run(&site, &agent).await["id"].as_str().unwrap().to_owned();
    let page = Browser::of(&site).page(&format!("/console/runs/{run}")).await;
    assert!(page.contains("<dt>Model calls</dt><dd>2</dd>"), "{page}");
    let task = site.get("/v1/tasks").await.expect(200)["data"][0]["id"].as_str().unwrap().to_owned();
    let steps = rows(&page, "<tr class=\"row\"", "</tr>");
    assert_eq!(steps.len(), 3, "{page}");
    for (row, path, what, class) in [
        (steps[0], format!("/console/runs/{run}/requests/1"), "model call 1", "works"),
        (steps[1], format!("/console/id/{task}"), "send_message", "waits"),
        (steps[2], format!("/console/runs/{run}/requests/2"), "model call 2", "works"),
    ] {
        assert!(row.contains(&format!("<a href=\"{path}\">{what}</a>")), "{what}: {row}");
        let bars = bars(row);
        assert!(bars.iter().any(|(bar, ..)| *bar == class), "{what}: {row}");
        for (_, x, width) in bars {
            assert!((0.0..1000.0).contains(&x) && width >= 1.0 && x + width <= 1000.1, "{what}: {row}");
        }
    }
    let ends = steps.iter().flat_map(|row| bars(row)).map(|(_, x, width)| x + width).fold(0.0, f64::max);
    assert!(ends > 998.0, "the last step ends where the drawing ends: {page}");
    let used =
        site.get(&format!("/v1/runs/{run}/steps")).await.expect(200)["data"][0]["used"]["usage"].clone();
    let tokens = format!("<td class=\"number\">{} + {}</td>", used["input"], used["output"]);
    assert!(steps[0].contains(&tokens) && steps[0].contains(">unpriced</td>"), "{tokens}: {}", steps[0]);
    assert!(!steps[1].contains("unpriced"), "a tool has no price: {}", steps[1]);
}

#[tokio::test]
async fn a_request_is_exact_until_what_it_is_rendered_from_has_changed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("entourage.db");
    let store = SqliteStore::open(&path, entourage_store_sqlite::Settings::default()).unwrap();
    let site = Site::over(Arc::new(store), Settings::default()).await;
    let browser = Browser::of(&site);
    let agent = site.done("hello").await;
    let run = first_run(&site, &agent).await["id"].as_str().unwrap().to_owned();
    let request = format!("/console/runs/{run}/requests/1");
    let page = browser.page(&request).await;
    assert!(page.contains("<strong>Exact</strong>") && !page.contains("Not proved"), "{page}");
    assert!(page.contains(">hello</pre>") && page.contains("<strong>system</strong>"), "{page}");
    let database = rusqlite::Connection::open(&path).unwrap();
    let change = "UPDATE items SET body = replace(body, 'hello', 'hullo') WHERE type = 'message'";
    assert_eq!(database.execute(change, []).unwrap(), 1);
    let page = browser.page(&request).await;
    assert!(page.contains("<strong>Not proved</strong>: what it is rendered from has changed"), "{page}");
    assert!(page.contains(">hullo</pre>") && !page.contains("Exact"), "{page}");
}

#[tokio::test]
async fn a_request_says_at_which_byte_and_why_it_leaves_the_call_before() {
    let directory = tempfile::tempdir().unwrap();
    write(directory.path(), "clerk", "");
    let site = site_with_kind_files(&directory, Settings::default()).await;
    let browser = Browser::of(&site);
    let made = site.post("/v1/agents", &json!({"kind": "clerk", "message": "Go."})).await.expect(201);
    let agent = made["id"].as_str().unwrap();
    site.follow(agent, 0).await.until(|frame| frame.event == "question").await;
    let question = site.get("/v1/questions?status=open").await.expect(200)["data"][0]["id"].clone();
    let answer = format!("/v1/questions/{}/answer", question.as_str().unwrap());
    site.post(&answer, &json!({"answer": "none"})).await.expect(200);
    site.follow(agent, 0).await.until(|frame| frame.is_status_of(agent, "succeeded")).await;

    fs::write(directory.path().join("clerk.md"), "---\nname: clerk\ntools: [ask_user]\n---\nAsk twice.\n")
        .unwrap();
    write(directory.path(), "cook", "");
    let reloaded = browser.post("/console/kinds/reload", &[]).await;
    assert_eq!(reloaded.status, StatusCode::SEE_OTHER, "{}", reloaded.text);
    assert_eq!(reloaded.headers["location"], "/console/kinds");
    assert!(browser.page("/console/kinds").await.contains("id=\"kind-cook\""));
    fs::remove_file(directory.path().join("cook.md")).unwrap();
    let by_script = browser.form("/console/kinds/reload", &[]).header("hx-request", "true");
    let shown = send(by_script.header("sec-fetch-site", "same-origin")).await;
    assert!(shown.text.starts_with("<main") && !shown.text.contains("id=\"kind-cook\""), "{}", shown.text);

    site.post(&format!("/v1/agents/{agent}/messages"), &json!({"message": "Go on."})).await.expect(202);
    let asking = async || {
        let runs = site.get(&format!("/v1/agents/{agent}/runs")).await.expect(200);
        runs["data"].as_array().unwrap().iter().find(|run| run["status"] == "waiting").cloned()
    };
    let run = within("it asks again", async {
        loop {
            if let Some(run) = asking().await {
                return run["id"].as_str().unwrap().to_owned();
            }
        }
    })
    .await;
    let now = site.get(&format!("/v1/runs/{run}/requests/1")).await.expect(200);
    let before = &now["before"];
    let path = format!("/v1/runs/{}/requests/{}", before["run"].as_str().unwrap(), before["number"]);
    let then = site.get(&path).await.expect(200);
    let systems = [&now, &then].map(|request| request["system"].as_str().unwrap().as_bytes());
    let same = systems[0].iter().zip(systems[1]).take_while(|(now, then)| now == then).count();
    let page = browser.page(&format!("/console/runs/{run}/requests/1")).await;
    let why = format!(
        "What the call before has sent breaks off at byte {same}: the agent has another version of its kind."
    );
    assert!(page.contains(&why), "{why}: {page}");
}

#[tokio::test]
async fn usage_has_a_bar_for_what_each_has_used_and_says_what_has_no_price() {
    let site = Site::open().await;
    site.done("tell hello").await;
    let report = site.get("/v1/usage?group_by=kind").await.expect(200);
    let size =
        |row: &Value| row["usage"]["input"].as_f64().unwrap() + row["usage"]["output"].as_f64().unwrap();
    let mut used = report["data"].as_array().unwrap().clone();
    used.sort_by(|one, other| size(other).total_cmp(&size(one)));
    let page = Browser::of(&site).page("/console/usage?by=kind").await;
    let shown = rows(&page, "<tr><th scope=\"row\">", "</tr>");
    assert_eq!((used.len(), shown.len()), (2, 2), "{page}");
    for (row, used_by) in shown.into_iter().zip(&used) {
        let kind = used_by["kind"].as_str().unwrap();
        let width = format!("{:.1}", size(used_by) / size(&used[0]) * 1000.0);
        for part in [
            format!("<a href=\"/console/kinds/{kind}\">{kind}</a>"),
            format!("<rect class=\"works\" x=\"0\" y=\"1\" width=\"{width}\""),
            format!("<td class=\"number\">unknown</td><td class=\"number\">{}</td>", used_by["calls"]),
            format!("<td class=\"number\">{}</td>", used_by["usage"]["input"]),
        ] {
            assert!(row.contains(&part), "{part}: {row}");
        }
    }
    assert!(page.contains("in 3 calls; 3 of them have no known price and are not in the cost"), "{page}");

    let price = Price { input: 1000.0, output: 1000.0, cached: None, cache_written: None };
    let model = ScriptedModel::new([Script::text("Hello.")]).priced(price);
    let kinds = Kinds::none().with(Kind::bare("assistant"));
    let engine = Engine::builder(Arc::new(SqliteStore::in_memory().unwrap()), Arc::new(model)).kinds(kinds);
    let site = Site::serving(engine.build(), Settings::default()).await;
    site.work();
    site.done("hello").await;
    let page = Browser::of(&site).page("/console/usage").await;
    assert!(page.contains("width=\"1000.0\"") && page.contains("<td class=\"number\">$0.0"), "{page}");
    assert!(!page.contains("no known price") && !page.contains("unknown"), "{page}");
}

#[tokio::test]
async fn an_agency_has_its_chart_the_same_as_a_list_and_its_chats() {
    let site = desk().await;
    let browser = Browser::of(&site);
    let page = browser.page("/console/agencies/desk").await;
    for (part, count) in [
        ("<rect class=\"entry\"", 1),
        ("<rect class=\"\"", 1),
        (">assistant</text>", 1),
        (">researcher</text>", 1),
        ("<line ", 1),
        ("takes messages of people</span> → researcher</li>", 1),
        ("Nobody has written to it.", 1),
    ] {
        assert_eq!(page.matches(part).count(), count, "{part}: {page}");
    }
    site.post(RESPONSES, &json!({"message": "hello", "chat_id": "first"})).await.expect(200);
    let root = site.get("/v1/agencies/desk/chats").await.expect(200)["data"][0]["root"].clone();
    let page = browser.page("/console/agencies/desk").await;
    let link = format!("<a href=\"/console/trees/{}\">", root.as_str().unwrap());
    assert!(page.contains(&link) && !page.contains("Nobody has written to it."), "{link}: {page}");
}

#[tokio::test]
async fn a_kind_lists_the_versions_with_which_runs_have_started() {
    let site = Site::open().await;
    let browser = Browser::of(&site);
    assert!(!browser.page("/console/kinds/assistant").await.contains("Versions with which runs"));
    let agent = site.done("hello").await;
    let run = first_run(&site, &agent).await;
    let version = run["kind_version"].as_str().unwrap();
    let path = format!("/console/kinds/assistant/{version}");
    for page in ["/console/kinds/assistant", &path] {
        let text = browser.page(page).await;
        let link = format!("<a href=\"{path}\" aria-current=\"page\"><code>{}", &version[..12]);
        assert!(text.contains(&link), "{link} of {page}: {text}");
        assert!(
            text.contains(&format!("/console/runs?kind=assistant&amp;version={version}")),
            "{page}: {text}"
        );
    }
    assert_eq!(browser.get("/console/kinds/assistant/none").await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn settings_have_their_values_and_who_has_set_them() {
    let site = installed().await;
    let page = Browser::logged_in(&site, &token_of("local")).await.page("/console/server/settings").await;
    let row =
        "<code>server.streams</code></th><td><code>64</code></td><td><span class=\"quiet\">default</span>";
    assert!(page.contains(row) && page.contains("There is no settings file."), "{page}");
}

#[tokio::test]
async fn a_job_of_maintenance_is_run_by_its_form() {
    let site = Site::open().await;
    let browser = Browser::of(&site);
    let of_job = |page: &str| rows(page, "<tr id=\"job-stranded\">", "</tr>")[0].to_owned();
    let row = of_job(&browser.page("/console/server").await);
    assert!(row.contains("<td>never</td>") && row.contains("/console/server/jobs/stranded/run"), "{row}");
    let run = browser.post("/console/server/jobs/stranded/run", &[]).await;
    assert_eq!(
        (run.status, &run.headers["location"]),
        (StatusCode::SEE_OTHER, &"/console/server".parse().unwrap())
    );
    let row = of_job(&browser.page("/console/server").await);
    assert!(!row.contains("never"), "{row}");
    let by_script = browser.form("/console/server/jobs/stranded/run", &[]).header("hx-request", "true");
    let shown = send(by_script.header("sec-fetch-site", "same-origin")).await;
    assert!(shown.text.starts_with("<main") && shown.text.contains("id=\"job-stranded\""), "{}", shown.text);
    assert_eq!(browser.post("/console/server/jobs/none/run", &[]).await.status, StatusCode::NOT_FOUND);
}
