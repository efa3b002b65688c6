//! Logging in and out.

use std::{sync::Arc, time::Duration};

use entourage_engine::Kinds;
use entourage_llm::{Script, ScriptedModel};
use entourage_server::{Algorithm, mint};
use entourage_store::Store;
use entourage_store_sqlite::SqliteStore;
use entourage_testkit::FakeClock;
use entourage_types::Owner;
use reqwest::{Method, StatusCode};
use serde_json::json;

use super::{Browser, cookie_of};
use crate::{
    auth::{SECRET, settings, token_of, with},
    goal_site,
    site::{Site, send},
    stream::{Stream, within},
};

#[tokio::test]
async fn a_stranger_gets_to_the_login_and_from_there_to_the_page() {
    let site = Site::with(settings()).await;
    let browser = Browser::of(&site);
    let sent_away = browser.get("/console/trees?status=failed").await;
    assert_eq!(sent_away.status, StatusCode::SEE_OTHER);
    let login = sent_away.headers["location"].to_str().unwrap().to_owned();
    let page = browser.page(&login).await;
    assert!(page.contains("value=\"/console/trees?status=failed\""), "{page}");
    let fields = [("token", token_of("ann")), ("next", "/console/trees?status=failed".to_owned())];
    let fields = fields.each_ref().map(|(name, value)| (*name, value.as_str()));
    let done = browser.post("/console/login", &fields).await;
    assert_eq!(done.headers["location"], "/console/trees?status=failed");
    let elsewhere = [("token", token_of("ann")), ("next", "https://evil.example".to_owned())];
    let elsewhere = elsewhere.each_ref().map(|(name, value)| (*name, value.as_str()));
    assert_eq!(browser.post("/console/login", &elsewhere).await.headers["location"], "/console");
    let wrong = browser.post("/console/login", &[("token", "no token")]).await;
    assert_eq!(wrong.status, StatusCode::UNAUTHORIZED);
    assert!(wrong.text.contains("the token is refused") && wrong.text.contains("<form"), "{}", wrong.text);
    assert!(!wrong.headers.contains_key("set-cookie"));
}

#[tokio::test]
async fn a_part_of_a_page_says_that_the_login_has_ended() {
    let site = Site::with(settings()).await;
    let browser = Browser::of(&site);
    assert_eq!(browser.get("/console/live").await.status, StatusCode::UNAUTHORIZED);
    for path in ["/console/f/trees", "/console/f"] {
        let refused = browser.get(path).await;
        assert_eq!(refused.status, StatusCode::UNAUTHORIZED, "{path}");
        assert_eq!(refused.headers["hx-retarget"], "#failed", "what is shown stays");
        assert!(refused.text.contains("log in again"), "{}", refused.text);
    }
}

#[tokio::test]
async fn a_cookie_is_out_of_reach_of_scripts_and_good_for_the_console_alone() {
    let site = Site::with(settings()).await;
    let token = token_of("ann");
    let answer = Browser::of(&site).post("/console/login", &[("token", &token)]).await;
    let set = answer.headers["set-cookie"].to_str().unwrap();
    for part in ["Path=/console;", "HttpOnly", "SameSite=Lax", "Max-Age="] {
        assert!(set.contains(part), "{part}: {set}");
    }
    assert!(!set.contains(&token) && !set.contains("Secure"), "{set}");
    let cookie = cookie_of(&answer);
    let api = site.request(Method::GET, "/v1/agents").header("cookie", &cookie);
    assert_eq!(send(api).await.status, StatusCode::UNAUTHORIZED);
    let forged = cookie.replace("entourage_console=", "entourage_console=0");
    let request = Browser::of(&site).request(Method::GET, "/console").header("cookie", forged);
    assert_eq!(send(request).await.status, StatusCode::SEE_OTHER);
    // A page of another port can add a cookie for some paths: of two, none is taken.
    let other = Browser::logged_in(&site, &token_of("bob")).await.cookie.expect("a cookie");
    let request =
        Browser::of(&site).request(Method::GET, "/console").header("cookie", format!("{other}; {cookie}"));
    assert_eq!(send(request).await.status, StatusCode::SEE_OTHER);
    let by_tls = Browser::of(&site).form("/console/login", &[("token", &token)]);
    let by_tls = by_tls.header("sec-fetch-site", "same-origin").header("origin", "https://agents.example");
    let answer = send(by_tls).await;
    let set = answer.headers["set-cookie"].to_str().unwrap();
    assert!(set.starts_with("__Host-") && set.contains("Path=/;") && set.ends_with("Secure"), "{set}");
    let request = Browser::of(&site).request(Method::GET, "/console").header("cookie", cookie_of(&answer));
    assert_eq!(send(request).await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_login_outlives_a_restart_and_not_a_change_of_the_key() {
    let store: Arc<dyn Store> = Arc::new(SqliteStore::in_memory().unwrap());
    let first = Site::over(Arc::clone(&store), settings()).await;
    let cookie = Browser::logged_in(&first, &token_of("ann")).await.cookie;
    for (settings, status) in [
        (settings(), StatusCode::OK),
        (with(Algorithm::Hs256, &format!("another {SECRET}")), StatusCode::SEE_OTHER),
        (settings(), StatusCode::OK),
    ] {
        let site = Site::over(Arc::clone(&store), settings).await;
        let browser = Browser { cookie: cookie.clone(), ..Browser::of(&site) };
        assert_eq!(browser.get("/console").await.status, status);
    }
}

#[tokio::test]
async fn who_logs_out_has_no_page_and_no_stream_and_everywhere_means_all_browsers() {
    let site = Site::with(settings()).await;
    let (one, other, third) = (
        Browser::logged_in(&site, &token_of("ann")).await,
        Browser::logged_in(&site, &token_of("ann")).await,
        Browser::logged_in(&site, &token_of("ann")).await,
    );
    let bob = Browser::logged_in(&site, &token_of("bob")).await;
    let mut stream = Stream::open(one.request(Method::GET, "/console/live")).await;
    assert_eq!(stream.next().await.expect("a frame").event, "hello");
    let left = one.post("/console/logout", &[]).await;
    assert_eq!(left.headers["location"], "/console/login");
    assert!(stream.next().await.is_none(), "the stream ends");
    assert_eq!(one.get("/console").await.status, StatusCode::SEE_OTHER);
    assert_eq!(other.get("/console").await.status, StatusCode::OK);
    other.post("/console/logout", &[("everywhere", "true")]).await;
    assert_eq!(third.get("/console").await.status, StatusCode::SEE_OTHER);
    assert_eq!(bob.get("/console").await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_page_of_another_person_asks_nothing_and_is_loaded_again() {
    let site = Site::with(settings()).await;
    let (ann, bob) = (
        Browser::logged_in(&site, &token_of("ann")).await,
        Browser::logged_in(&site, &token_of("bob")).await,
    );
    let page = ann.page("/console/chats").await;
    let asker = page.split("data-asker=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let said = [("text", "Ann's words"), ("key", "k")];
    let sent = async |browser: &Browser<'_>| {
        let form = browser.form("/console/agents", &said).header("console-asker", &asker);
        send(form.header("hx-request", "true").header("sec-fetch-site", "same-origin")).await
    };
    let refused = sent(&bob).await;
    assert_eq!(
        (refused.status, &refused.headers["hx-refresh"]),
        (StatusCode::CONFLICT, &"true".parse().unwrap())
    );
    let agents = site.bearing(&token_of("bob")).get("/v1/agents").await.expect(200);
    assert_eq!(agents["data"].as_array().unwrap().len(), 0, "{agents}");
    assert!(sent(&ann).await.status.is_success());
}

#[tokio::test]
async fn who_logs_in_again_ends_the_login_before_and_is_named_to_the_page() {
    let site = Site::with(settings()).await;
    let ann = Browser::logged_in(&site, &token_of("ann")).await;
    let form = ann.form("/console/login", &[("token", &token_of("bob"))]);
    let answer = send(form.header("hx-request", "true").header("sec-fetch-site", "same-origin")).await;
    assert_eq!(answer.status, StatusCode::NO_CONTENT, "{}", answer.text);
    assert!(answer.headers["hx-trigger"].to_str().unwrap().contains("\"owner\":\"bob\""));
    assert_eq!(ann.get("/console").await.status, StatusCode::SEE_OTHER);
}

#[tokio::test]
async fn a_login_ends_with_its_token() {
    let site = Site::with(settings()).await;
    let short = mint(&settings(), &Owner::new("ann"), Duration::from_secs(6)).unwrap();
    let browser = Browser::logged_in(&site, &short).await;
    let mut stream = Stream::open(browser.request(Method::GET, "/console/live")).await;
    // Each heartbeat would renew the patience of `next`.
    within("the stream ends", async { while stream.next().await.is_some() {} }).await;
    assert_eq!(browser.get("/console").await.status, StatusCode::SEE_OTHER);
}

#[tokio::test]
async fn a_login_lasts_twelve_hours_at_most() {
    const HOUR: Duration = Duration::from_secs(3600);
    let clock = FakeClock::default();
    let engine =
        goal_site::engine(ScriptedModel::new([Script::text("Hello.")]), &clock, Kinds::builtin()).build();
    let site = Site::serving(engine, settings()).await;
    let token = mint(&settings(), &Owner::new("ann"), 24 * HOUR).unwrap();
    let answer = Browser::of(&site).post("/console/login", &[("token", &token)]).await;
    assert!(answer.headers["set-cookie"].to_str().unwrap().contains("Max-Age=43200"), "{:?}", answer.headers);
    let browser = Browser { cookie: Some(cookie_of(&answer)), ..Browser::of(&site) };
    clock.advance(12 * HOUR - Duration::from_secs(1));
    assert_eq!(browser.get("/console").await.status, StatusCode::OK);
    clock.advance(Duration::from_secs(1));
    assert_eq!(browser.get("/console").await.status, StatusCode::SEE_OTHER);
}

#[tokio::test]
async fn attempts_are_limited_and_no_login_is_asked_for_where_none_is_needed() {
    let site = Site::with(settings()).await;
    let browser = Browser::of(&site);
    let mut refused = 0;
    // Time allows a few more than a minute's attempts.
    while browser.post("/console/login", &[("token", "x")]).await.status != StatusCode::TOO_MANY_REQUESTS {
        refused += 1;
        assert!(refused < 60, "attempts are not limited");
    }
    assert!(refused >= 30, "{refused}");
    // Whoever has a token is not kept out by those who guess.
    Browser::logged_in(&site, &token_of("ann")).await;
    let open = Site::open().await;
    let answer = Browser::of(&open).get("/console/login?next=/console/trees").await;
    assert_eq!(answer.headers["location"], "/console/trees");
}

#[tokio::test]
async fn an_owner_has_a_hundred_logins_and_the_oldest_gives_way() {
    let site = Site::with(settings()).await;
    let client = site.engine.client(Owner::new("ann"));
    let (first, _) = client.log_in(None).await.unwrap();
    for _ in 0..100 {
        client.log_in(None).await.unwrap();
    }
    assert!(site.engine.console_login(&first).await.unwrap().is_none());
    let (last, login) = client.log_in(None).await.unwrap();
    assert!(!login.is_operator, "the owner of a token is not the operator");
    assert_eq!(site.engine.console_login(&last).await.unwrap(), Some(login));
    let agents = site.bearing(&token_of("ann")).post("/v1/agents", &json!({})).await;
    agents.expect(201);
}
