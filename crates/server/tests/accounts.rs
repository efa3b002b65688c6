//! Registering and logging in: an email and a password give a token, which is an owner's like any other. Whatever is
//! tried, nobody learns whether an account exists by logging in, and nobody guesses passwords at speed.

use std::{sync::Arc, time::Duration};

use entourage_engine::{Engine, Kinds};
use entourage_llm::{Script, ScriptedModel};
use entourage_server::{Algorithm, Auth, Error, Settings, check_registration};
use entourage_store::{EntityQuery, Error as StoreError, Layered, Store};
use entourage_store_sqlite::SqliteStore;
use entourage_testkit::{FakeClock, Fault, Faults, quiet};
use entourage_types::{Account, Email, EntityKind, Owner, Record, Scope};
use reqwest::{Method, header::HeaderMap};
use serde_json::{Value, json};

use crate::{
    auth::{SECRET, settings, with},
    site::{Answer, Site, send},
};

const REGISTER: &str = "/api/auth/register";
const LOGIN: &str = "/api/auth/login";
const PASSWORD: &str = "correct horse battery";

pub(crate) fn open() -> Settings {
    Settings { registration: true, ..settings() }
}

fn given(email: &str, password: &str) -> Value {
    json!({ "email": email, "password": password })
}

fn token(body: &Value) -> &str {
    assert_eq!(body["token_type"], "bearer");
    body["access_token"].as_str().expect("a token")
}

fn memory() -> Arc<dyn Store> {
    Arc::new(SqliteStore::in_memory().expect("a store"))
}

/// A site whose clock the test moves.
async fn timed() -> (Site, FakeClock) {
    let clock = FakeClock::default();
    let model = ScriptedModel::deciding(|_| Some(Ok(Script::text("Heard."))));
    let engine = Engine::builder(memory(), Arc::new(model)).kinds(quiet(Kinds::builtin()));
    let engine = engine.clock(Arc::new(clock.clone())).build();
    (Site::serving(engine, open()).await, clock)
}

async fn accounts(store: &Arc<dyn Store>) -> Vec<Account> {
    let query = EntityQuery::of(EntityKind::ACCOUNT);
    let found = store.entities(&Scope::All, query).await.expect("accounts");
    found.iter().map(|entity| Account::from_entity(entity).expect("an account")).collect()
}

#[tokio::test]
async fn whoever_registers_and_logs_in_is_one_owner_whose_agents_no_other_account_sees() {
    let site = Site::with(open()).await;
    let registered = site.post(REGISTER, &given("Ann@Example.com", PASSWORD)).await.expect(201);
    let ann = site.bearing(token(&registered));
    let agent = ann.post("/v1/agents", &json!({})).await.expect(201);
    let path = format!("/v1/agents/{}", agent["id"].as_str().unwrap());

    let again = site.post(LOGIN, &given(" ann@example.COM ", PASSWORD)).await.expect(200);
    assert_eq!(site.bearing(token(&again)).get(&path).await.expect(200)["owner"], agent["owner"]);

    // The same password, another email.
    let other = site.post(REGISTER, &given("bob@example.com", PASSWORD)).await.expect(201);
    let bob = site.bearing(token(&other));
    bob.get(&path).await.problem(404, "not-found");
    assert_eq!(bob.get("/v1/agents").await.expect(200)["data"], json!([]));
}

#[tokio::test]
async fn the_token_of_an_account_names_a_generated_owner_lasts_a_day_and_is_not_the_operators() {
    let mut settings = open();
    let Auth::Jwt(jwt) = &mut settings.auth else { panic!("tokens are asked for") };
    (jwt.audience, jwt.issuer) = (Some("entourage".into()), Some("https://id.example".into()));
    jwt.operator = Some("ann@example.com".into());
    let site = Site::with(settings).await;
    for email in ["ann@example.com", "local@local"] {
        let body = site.post(REGISTER, &given(email, PASSWORD)).await.expect(201);
        let bearer = site.bearing(token(&body));
        bearer.get("/v1/agents").await.expect(200);
        for path in ["/v1/jobs", "/v1/settings"] {
            bearer.get(path).await.problem(403, "operator-only");
        }
        let claims: Value = jsonwebtoken::dangerous::insecure_decode(token(&body)).expect("claims").claims;
        let sub = claims["sub"].as_str().unwrap();
        assert_eq!((sub.len(), sub.contains('@')), (36, false), "a UUID: {sub}");
        assert_eq!(claims["exp"].as_u64().unwrap() - claims["iat"].as_u64().unwrap(), 24 * 3600);
        let mut names: Vec<&String> = claims.as_object().unwrap().keys().collect();
        names.sort();
        assert_eq!(names, ["aud", "exp", "iat", "iss", "sub"]);
    }
}

#[tokio::test]
async fn without_the_setting_both_paths_answer_404_whatever_is_sent() {
    for site in [Site::open().await, Site::with(settings()).await] {
        for path in [REGISTER, LOGIN] {
            for body in [given("ann@example.com", PASSWORD), json!({}), json!([])] {
                let detail = site.post(path, &body).await.detail(404);
                assert!(detail.contains("server.registration"), "{detail}");
            }
        }
        assert_eq!(accounts(site.engine.store()).await, []);
    }
}

#[tokio::test]
async fn a_server_that_cannot_sign_tokens_does_not_start_with_registration() {
    let site = Site::open().await;
    let ed = include_str!("keys/ed25519.public.pem");
    let rsa = include_str!("keys/rsa.public.pem");
    for auth in [Auth::None, with(Algorithm::EdDsa, ed).auth, with(Algorithm::Rs256, rsa).auth] {
        let settings = Settings { auth, registration: true, ..Settings::default() };
        let made = entourage_server::router(site.engine.clone(), &settings, site.stop.clone());
        for error in [made.expect_err("no router"), check_registration(&settings).unwrap_err()] {
            assert!(matches!(error, Error::Registration(_)), "{error}");
            let text = error.to_string();
            assert!(text.contains("server.registration") && text.contains("HS256"), "{text}");
        }
    }
    check_registration(&open()).unwrap();
}

#[tokio::test]
async fn of_two_registrations_at_once_with_one_email_one_succeeds() {
    let site = Site::with(open()).await;
    let one = given("ann@example.com", PASSWORD);
    let other = given("ANN@Example.com", "another password");
    let answers = tokio::join!(site.post(REGISTER, &one), site.post(REGISTER, &other));
    let answers = [answers.0, answers.1];
    let mut statuses = answers.each_ref().map(|answer| answer.status.as_u16());
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 409]);
    let refused = answers.iter().find(|answer| answer.status == 409).unwrap();
    let detail = refused.detail(409);
    assert!(detail.contains("log in"), "{detail}");
    assert_eq!(accounts(site.engine.store()).await.len(), 1);
    // Whose password it is shows who was first.
    let first = usize::from(answers[0].status != 201);
    site.post(LOGIN, [&one, &other][first]).await.expect(200);
    site.post(LOGIN, [&other, &one][first]).await.detail(401);
}

/// What of an answer may differ between any two requests: when it was sent, and its id.
fn comparable(answer: &Answer) -> (u16, &str, HeaderMap) {
    let mut headers = answer.headers.clone();
    headers.remove("date");
    headers.remove("x-request-id").expect("an id");
    (answer.status.as_u16(), &answer.text, headers)
}

#[tokio::test]
async fn a_wrong_password_and_an_unknown_email_get_the_same_answer_in_every_byte() {
    let site = Site::with(open()).await;
    site.post(REGISTER, &given("ann@example.com", PASSWORD)).await.expect(201);
    let wrong = site.post(LOGIN, &given("ann@example.com", "a wrong password")).await;
    wrong.detail(401);
    assert_eq!(wrong.headers["www-authenticate"], "Bearer");
    let unknown = site.post(LOGIN, &given("eve@example.com", "a wrong password")).await;
    assert_eq!(comparable(&wrong), comparable(&unknown));
}

#[tokio::test]
async fn attempts_with_one_email_are_limited_however_it_is_spelled_and_whether_they_succeed() {
    let (site, clock) = timed().await;
    site.post(REGISTER, &given("ann@example.com", PASSWORD)).await.expect(201);
    for number in 1..10 {
        let (email, password, status) = match number % 3 {
            0 => ("ann@example.com", PASSWORD, 200),
            1 => ("ANN@example.com", "a wrong password", 401),
            _ => (" ann@EXAMPLE.com", "a wrong password", 401),
        };
        site.post(LOGIN, &given(email, password)).await.expect(status);
    }
    for path in [LOGIN, REGISTER] {
        let refused = site.post(path, &given("Ann@Example.com", PASSWORD)).await;
        let detail = refused.detail(429);
        assert!(detail.contains("with this email; wait for 6 s"), "{detail}");
        assert_eq!(refused.headers["retry-after"], "6");
    }
    // Neither the limit of others nor what is no attempt is concerned.
    site.post(REGISTER, &given("bob@example.com", PASSWORD)).await.expect(201);
    site.post(LOGIN, &given("ann@example.com", "short")).await.detail(422);
    clock.advance(Duration::from_secs(5));
    let refused = site.post(LOGIN, &given("ann@example.com", PASSWORD)).await;
    assert_eq!(refused.headers["retry-after"], "1");
    clock.advance(Duration::from_secs(1));
    site.post(LOGIN, &given("ann@example.com", PASSWORD)).await.expect(200);
}

#[tokio::test]
async fn attempts_from_one_address_are_limited_whatever_the_email() {
    let (site, clock) = timed().await;
    let attempt = async |email: String| site.post(LOGIN, &given(&email, PASSWORD)).await;
    for number in 0..30 {
        attempt(format!("{number}@example.com")).await.expect(401);
    }
    let refused = attempt("late@example.com".into()).await;
    let detail = refused.detail(429);
    assert!(detail.contains("from your address; wait for 2 s"), "{detail}");
    assert_eq!(refused.headers["retry-after"], "2");
    clock.advance(Duration::from_secs(2));
    attempt("late@example.com".into()).await.expect(401);
    clock.advance(Duration::from_secs(60));
    attempt("1@example.com".into()).await.expect(401);
}

#[tokio::test]
async fn bad_input_is_refused_with_the_field_and_the_rule_and_leaves_nothing() {
    let site = Site::with(open()).await;
    let email = |text: &str| given(text, PASSWORD);
    let password = |text: &str| given("ann@example.com", text);
    let cases = [
        (email(""), "`email` has 0 characters"),
        (email("@b"), "`email` has 2 characters"),
        (email(&format!("{}@b", "a".repeat(253))), "`email` has 255 characters"),
        (email("ann"), "`email` is no address"),
        (email("ann@b@c"), "`email` is no address"),
        (email("an n@b"), "`email` has a space"),
        (email("ann\u{7}@b"), "`email` has a space or a control character"),
        (password("1234567"), "`password` has 7 characters"),
        (password(&"x".repeat(129)), "`password` has 129 characters"),
        (json!({"email": "ann@b"}), "send an object with `email` and `password`"),
        (json!({"password": PASSWORD}), "send an object with `email` and `password`"),
        (json!({"email": "ann@b", "password": 12_345_678}), "both strings"),
        (json!({"email": "ann@b", "password": PASSWORD, "1234567": 1}), "and nothing else"),
        (json!(PASSWORD), "send an object"),
        (json!([]), "send an object"),
    ];
    for path in [REGISTER, LOGIN] {
        for (body, said) in &cases {
            let answer = site.post(path, body).await;
            let detail = answer.detail(422);
            assert!(detail.contains(said), "{body}: {detail}");
            for secret in [PASSWORD, "1234567", "xxxxxxxx"] {
                assert!(!answer.text.contains(secret), "{}", answer.text);
            }
        }
        // As a page of another site sends it: a form or a text without asking first, or a link.
        let raw = |media: &'static str, body: String| {
            send(site.request(Method::POST, path).header("content-type", media).body(body))
        };
        let form = format!("email=ann@example.com&password={PASSWORD}");
        raw("application/x-www-form-urlencoded", form).await.detail(415);
        raw("text/plain", password(PASSWORD).to_string()).await.detail(415);
        raw("application/json", "{".into()).await.detail(422);
        site.get(path).await.detail(405);
        let large = given("ann@example.com", &"x".repeat(5 << 20));
        site.post(path, &large).await.detail(413);
    }
    assert_eq!(accounts(site.engine.store()).await, []);
    // None of it was an attempt.
    site.post(REGISTER, &password("例例例例例例例例")).await.expect(201);
    site.post(LOGIN, &password("例例例例例例例例")).await.expect(200);
}

/// An account is one commit: after a crash it is there whole or not at all, and either way its owner gets in.
#[tokio::test]
async fn a_crash_while_somebody_registers_leaves_a_whole_account_or_none() {
    let ann = given("ann@example.com", PASSWORD);
    for (fault, there, then) in [(Fault::DieBefore, 0, 201), (Fault::DieAfter, 1, 409)] {
        let store = memory();
        let faults = Faults::default().plan(1, fault);
        let dying = Arc::new(Layered::new(Arc::clone(&store), faults.clone()));
        let site = Site::at_rest(dying, open()).await;
        site.post(REGISTER, &ann).await.detail(503);
        assert!(faults.is_dead() && faults.commits() == 1);

        let site = Site::at_rest(Arc::clone(&store), open()).await;
        assert_eq!(accounts(&store).await.len(), there, "{fault:?}");
        site.post(REGISTER, &ann).await.expect(then);
        let body = site.post(LOGIN, &ann).await.expect(200);
        site.bearing(token(&body)).post("/v1/agents", &json!({})).await.expect(201);
    }
    // The connection to the store is lost, and the commit is made once.
    for fault in [Fault::UnknownBefore, Fault::UnknownAfter] {
        let store = memory();
        let faulty = Arc::new(Layered::new(Arc::clone(&store), Faults::default().plan(1, fault)));
        Site::at_rest(faulty, open()).await.post(REGISTER, &ann).await.expect(201);
        assert_eq!(accounts(&store).await.len(), 1, "{fault:?}");
    }
}

#[tokio::test]
async fn accounts_outlast_a_restart_and_the_database_has_no_password() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("entourage.db");
    let reopened = async || {
        loop {
            match SqliteStore::open(&path, Default::default()) {
                Ok(store) => return Arc::new(store),
                // The server before has not quite ended.
                Err(StoreError::InUse { .. }) => tokio::task::yield_now().await,
                Err(error) => panic!("{error}"),
            }
        }
    };
    let ann = given("ann@example.com", PASSWORD);
    let site = Site::at_rest(reopened().await, open()).await;
    let registered = site.post(REGISTER, &ann).await.expect(201);
    let agent = site.bearing(token(&registered)).post("/v1/agents", &json!({})).await.expect(201);
    site.stop.cancel();
    let Site { engine, served, .. } = site;
    served.await.unwrap().unwrap();
    drop(engine);

    let site = Site::at_rest(reopened().await, open()).await;
    let body = site.post(LOGIN, &ann).await.expect(200);
    let listed = site.bearing(token(&body)).get("/v1/agents").await.expect(200);
    assert_eq!(listed["data"][0]["id"], agent["id"]);
    let stored = accounts(site.engine.store()).await.remove(0);
    assert!(stored.password.expose().starts_with("$argon2id$v=19$m=19456,t=2,p=1$"));
    for file in std::fs::read_dir(directory.path()).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        let has = |text: &str| bytes.windows(text.len()).any(|window| window == text.as_bytes());
        assert!(!has(PASSWORD) && !has(token(&registered)) && !has(SECRET));
    }
}

/// Accounts are the engine's: an owner who knows an account's id reads nothing of it, and nobody registers another
/// owner's name.
#[tokio::test]
async fn no_owner_reads_accounts() {
    let site = Site::with(open()).await;
    site.post(REGISTER, &given("ann@example.com", PASSWORD)).await.expect(201);
    let account = accounts(site.engine.store()).await.remove(0);
    for owner in [account.sub.clone(), Owner::local(), Owner::new("ann@example.com")] {
        let client = site.engine.client(owner);
        assert!(client.record::<Account>(account.id).await.is_err());
        assert_eq!(client.records::<Account>(Default::default()).await.unwrap(), []);
        let mine = Account { email: Email::parse("eve@example.com").unwrap(), ..account.clone() };
        assert!(client.save(&mine, 0).await.is_err(), "only the engine writes accounts");
    }
    assert!(site.engine.clock().now() >= account.created);
}
