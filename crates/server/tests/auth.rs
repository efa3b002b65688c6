//! Tokens: the owner that they give a bearer, and every way in which they can be wrong.

use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use entourage_server::{Algorithm, Auth, Error, Jwt, Settings, mint};
use entourage_types::{Owner, Time};
use jsonwebtoken::{EncodingKey, Header};
use reqwest::Method;
use serde_json::{Value, json};

use crate::site::{Answer, Site, send};

pub(crate) const SECRET: &str = "a secret of the tests, longer than it is strong";
const HOUR: Duration = Duration::from_secs(3600);

pub(crate) fn settings() -> Settings {
    with(Algorithm::Hs256, SECRET)
}

pub(crate) fn with(algorithm: Algorithm, key: &str) -> Settings {
    let audience = (algorithm != Algorithm::Hs256).then(|| "entourage".into());
    let jwt = Jwt { algorithm, key: key.into(), audience, issuer: None, operator: None };
    Settings { auth: Auth::Jwt(jwt), ..Settings::default() }
}

pub(crate) fn token_of(owner: &str) -> String {
    mint(&settings(), &Owner::new(owner), HOUR).expect("a token")
}

/// A time some seconds from now, as tokens count it: in seconds since the Unix epoch.
pub(crate) fn from_now(seconds: i64) -> i64 {
    Time::now().micros() / 1_000_000 + seconds
}

fn signed(claims: &Value, secret: &str) -> String {
    let key = EncodingKey::from_secret(secret.as_bytes());
    jsonwebtoken::encode(&Header::default(), claims, &key).expect("a token")
}

/// A correctly signed token with a critical header parameter that a recipient must understand.
fn critical(claims: &Value) -> String {
    let header = Header { crit: Some(vec!["b64".into()]), ..Header::default() };
    jsonwebtoken::encode(&header, claims, &EncodingKey::from_secret(SECRET.as_bytes())).expect("a token")
}

pub(crate) async fn ask(site: &Site, authorization: Option<&str>) -> Answer {
    let request = site.request(Method::GET, "/v1/agents");
    send(match authorization {
        Some(value) => request.header("authorization", value),
        None => request,
    })
    .await
}

#[tokio::test]
async fn a_token_makes_its_bearer_the_owner() {
    let site = Site::with(settings()).await.bearing(&token_of("alice"));
    let agent = site.post("/v1/agents", &json!({})).await.expect(201);
    assert_eq!(agent["owner"], "alice");
}

#[tokio::test]
async fn every_invalid_token_is_refused() {
    let site = Site::with(settings()).await;
    let good = json!({"sub": "alice", "exp": from_now(3600)});
    let unsigned = |header: &Value| {
        let part = |json: &Value| URL_SAFE_NO_PAD.encode(json.to_string());
        format!("{}.{}.", part(header), part(&good))
    };
    let other_algorithm = {
        let key = EncodingKey::from_secret(SECRET.as_bytes());
        jsonwebtoken::encode(&Header::new(jsonwebtoken::Algorithm::HS384), &good, &key).unwrap()
    };
    let cases = [
        ("expired", signed(&json!({"sub": "alice", "exp": from_now(-3600)}), SECRET), "expired"),
        ("without exp", signed(&json!({"sub": "alice"}), SECRET), "`exp`"),
        ("without sub", signed(&json!({"exp": from_now(3600)}), SECRET), "`sub`"),
        ("of a long name", signed(&json!({"sub": "a".repeat(513), "exp": from_now(3600)}), SECRET), "`sub`"),
        ("with a NUL", signed(&json!({"sub": "a\0b", "exp": from_now(3600)}), SECRET), "`sub`"),
        ("of nobody", signed(&json!({"sub": "", "exp": from_now(3600)}), SECRET), "`sub`"),
        (
            "not yet valid",
            signed(&json!({"sub": "a", "exp": from_now(3600), "nbf": from_now(600)}), SECRET),
            "not valid yet",
        ),
        ("of another secret", signed(&good, "another secret, which is also long enough"), "signature"),
        ("of another algorithm", other_algorithm, "another algorithm"),
        ("unsigned", unsigned(&json!({"alg": "none", "typ": "JWT"})), "refused"),
        ("unsigned, pretending", unsigned(&json!({"alg": "HS256", "typ": "JWT"})), "signature"),
        ("with what is critical", critical(&good), "`crit`"),
        ("no token at all", "x.y.z".to_owned(), "malformed"),
    ];
    for (case, token, said) in cases {
        let answer = ask(&site, Some(&format!("Bearer {token}"))).await;
        let problem = answer.problem(401, "unauthorized");
        assert!(problem.detail.contains(said), "{case}: {}", problem.detail);
        assert_eq!(answer.headers["www-authenticate"], "Bearer", "{case}");
    }
    assert_eq!(ask(&site, Some(&format!("Bearer {}", signed(&good, SECRET)))).await.status, 200);
}

#[tokio::test]
async fn a_request_without_a_token_is_refused() {
    let site = Site::with(settings()).await;
    for authorization in [None, Some("Basic YWxpY2U6"), Some("Bearer")] {
        ask(&site, authorization).await.problem(401, "unauthorized");
    }
    site.get("/v1/agents/agt_1").await.problem(401, "unauthorized");
    site.get("/v1/kinds").await.problem(401, "unauthorized");
    assert_eq!(site.get("/healthz").await.status, 204);
}

#[tokio::test]
async fn a_configured_audience_and_issuer_are_required() {
    let mut settings = settings();
    if let Auth::Jwt(jwt) = &mut settings.auth {
        (jwt.audience, jwt.issuer) = (Some("entourage".into()), Some("https://id.example".into()));
    }
    let minted = mint(&settings, &Owner::new("alice"), HOUR).unwrap();
    let site = Site::with(settings).await;
    assert_eq!(ask(&site, Some(&format!("Bearer {minted}"))).await.status, 200);
    let claims = |aud: Value, iss: Value| json!({"sub": "a", "exp": from_now(60), "aud": aud, "iss": iss});
    for (wrong, said) in [
        (claims(json!("other"), json!("https://id.example")), "audience"),
        (claims(json!("entourage"), json!("https://evil.example")), "issuer"),
        (json!({"sub": "a", "exp": from_now(60), "iss": "https://id.example"}), "`aud`"),
        (json!({"sub": "a", "exp": from_now(60), "aud": "entourage"}), "`iss`"),
    ] {
        let problem = ask(&site, Some(&format!("Bearer {}", signed(&wrong, SECRET)))).await;
        let problem = problem.problem(401, "unauthorized");
        assert!(problem.detail.contains(said), "{}", problem.detail);
    }
}

#[tokio::test]
async fn a_token_signed_with_the_public_key_as_a_secret_is_refused() {
    let rsa = include_str!("keys/rsa.public.pem");
    let ed = include_str!("keys/ed25519.public.pem");
    let rsa_signer = EncodingKey::from_rsa_pem(include_bytes!("keys/rsa.private.pem")).unwrap();
    let ed_signer = EncodingKey::from_ed_pem(include_bytes!("keys/ed25519.private.pem")).unwrap();
    let claims = json!({"sub": "alice", "exp": from_now(60), "aud": "entourage"});
    for (algorithm, theirs, public, signer) in [
        (Algorithm::Rs256, jsonwebtoken::Algorithm::RS256, rsa, &rsa_signer),
        (Algorithm::EdDsa, jsonwebtoken::Algorithm::EdDSA, ed, &ed_signer),
    ] {
        let site = Site::with(with(algorithm, public)).await;
        let token = jsonwebtoken::encode(&Header::new(theirs), &claims, signer).unwrap();
        assert_eq!(ask(&site, Some(&format!("Bearer {token}"))).await.status, 200, "{theirs:?}");
        // The classic attack: the public key, used as a shared secret.
        let forged = signed(&claims, public);
        ask(&site, Some(&format!("Bearer {forged}"))).await.problem(401, "unauthorized");
    }
}

#[tokio::test]
async fn a_stream_ends_when_its_token_expires() {
    let settings = settings();
    let brief = mint(&settings, &Owner::new("alice"), Duration::from_secs(2)).unwrap();
    let site = Site::with(settings).await.bearing(&brief);
    let id = site.post("/v1/agents", &json!({})).await.expect(201)["id"].as_str().unwrap().to_owned();
    let mut stream = site.follow(&id, 0).await;
    assert!(stream.next().await.is_some());
    assert!(stream.next().await.is_none());
}

#[test]
fn minting_a_token_with_an_unusable_key_fails() {
    let short = mint(&with(Algorithm::Hs256, "short"), &Owner::local(), HOUR).unwrap_err();
    assert!(short.to_string().contains("openssl rand"), "{short}");
    assert!(!short.to_string().contains("short."), "{short}");
    for algorithm in [Algorithm::Rs256, Algorithm::EdDsa] {
        let error = mint(&with(algorithm, SECRET), &Owner::local(), HOUR).unwrap_err();
        assert!(matches!(error, Error::Mint(_)), "{error}");
    }
    assert!(matches!(mint(&Settings::default(), &Owner::local(), HOUR), Err(Error::Mint(_))));
    assert!(matches!(mint(&settings(), &Owner::new(""), HOUR), Err(Error::Mint(_))));
}

#[test]
fn a_token_lasts_no_longer_than_a_year() {
    let alice = Owner::new("alice");
    for absurd in [Duration::ZERO, 20_000 * 7 * 24 * HOUR] {
        assert!(matches!(mint(&settings(), &alice, absurd), Err(Error::Mint(_))), "{absurd:?}");
    }
    mint(&settings(), &alice, 365 * 24 * HOUR).unwrap();
}

#[tokio::test]
async fn a_token_that_only_claims_the_operators_name_is_refused() {
    let by_name = signed(&json!({"sub": "local", "exp": from_now(60)}), SECRET);
    let of = |settings: &Settings, operator: Option<&str>| {
        let mut settings = settings.clone();
        let Auth::Jwt(jwt) = &mut settings.auth else { panic!("tokens are asked for") };
        jwt.operator = operator.map(str::to_owned);
        settings
    };
    let refused = async |site: &Site, token: &str| {
        for path in ["/v1/jobs", "/v1/agents"] {
            let problem = site.bearing(token).get(path).await.problem(401, "unauthorized");
            assert!(problem.detail.contains("its `sub` is `local`"), "{path}: {}", problem.detail);
        }
    };
    let site = Site::with(of(&settings(), None)).await;
    refused(&site, &by_name).await;
    site.bearing(&token_of("local")).get("/v1/jobs").await.expect(200);
    let site = Site::with(of(&settings(), Some("ops@example"))).await;
    site.bearing(&token_of("ops@example")).get("/v1/jobs").await.expect(200);
    site.bearing(&token_of("alice")).get("/v1/jobs").await.problem(403, "operator-only");
    refused(&site, &by_name).await;

    // An external issuer's `operator` claim does not count.
    let public = with(Algorithm::EdDsa, include_str!("keys/ed25519.public.pem"));
    let signer = EncodingKey::from_ed_pem(include_bytes!("keys/ed25519.private.pem")).unwrap();
    let claims = json!({"sub": "local", "operator": true, "exp": from_now(60), "aud": "entourage"});
    let claimed =
        jsonwebtoken::encode(&Header::new(jsonwebtoken::Algorithm::EdDSA), &claims, &signer).unwrap();
    let site = Site::with(of(&public, None)).await;
    refused(&site, &claimed).await;
    Site::with(of(&public, Some("local"))).await.bearing(&claimed).get("/v1/jobs").await.expect(200);
}

#[tokio::test]
async fn a_public_key_requires_an_audience() {
    let site = Site::open().await;
    let mut settings = with(Algorithm::EdDsa, include_str!("keys/ed25519.public.pem"));
    let Auth::Jwt(jwt) = &mut settings.auth else { panic!("tokens are asked for") };
    jwt.audience = None;
    let made = entourage_server::router(site.engine.clone(), &settings, site.stop.clone());
    assert!(matches!(made.expect_err("no router"), Error::NoAudience("EdDSA")));
}

#[tokio::test]
async fn an_empty_audience_is_rejected() {
    let site = Site::open().await;
    for (algorithm, key) in
        [(Algorithm::Hs256, SECRET), (Algorithm::EdDsa, include_str!("keys/ed25519.public.pem"))]
    {
        let mut settings = with(algorithm, key);
        let Auth::Jwt(jwt) = &mut settings.auth else { panic!("tokens are asked for") };
        jwt.audience = Some(" ".into());
        let made = entourage_server::router(site.engine.clone(), &settings, site.stop.clone());
        assert!(matches!(made.expect_err("no router"), Error::EmptyAudience));
    }
}

#[tokio::test]
async fn a_server_does_not_start_with_a_key_it_cannot_use() {
    let site = Site::open().await;
    let bare: String =
        include_str!("keys/rsa.public.pem").lines().filter(|line| !line.starts_with('-')).collect();
    for settings in [
        with(Algorithm::Hs256, "short"),
        with(Algorithm::Hs256, include_str!("keys/rsa.public.pem")),
        // The public key without the PEM lines around it.
        with(Algorithm::Hs256, &bare),
        with(Algorithm::Rs256, include_str!("keys/rsa.private.pem")),
        with(Algorithm::EdDsa, include_str!("keys/ed25519.private.pem")),
        with(Algorithm::Rs256, SECRET),
        with(Algorithm::EdDsa, include_str!("keys/rsa.public.pem")),
    ] {
        let made = entourage_server::router(site.engine.clone(), &settings, site.stop.clone());
        let error = made.expect_err("no router");
        assert!(matches!(error, Error::Key { .. }), "{error}");
        assert!(!error.to_string().contains(SECRET), "{error}");
    }
}

#[test]
fn settings_are_validated_and_their_debug_output_hides_the_key() {
    let settings: Settings = serde_json::from_value(json!({
        "bind": "0.0.0.0:80",
        "heartbeat": 5,
        "auth": {"jwt": {"algorithm": "HS256", "key": SECRET, "audience": "entourage"}},
    }))
    .unwrap();
    assert_eq!(settings.heartbeat, Duration::from_secs(5));
    assert!(!format!("{settings:?}").contains(SECRET));
    for wrong in [json!({"port": 1}), json!({"auth": {"jwt": {"algorithm": "none", "key": ""}}})] {
        assert!(serde_json::from_value::<Settings>(wrong).is_err());
    }
    // With a time of 0 nothing would be served; only requests under way at the end may get no time.
    for name in ["heartbeat", "header_timeout", "body_timeout", "write_timeout"] {
        let error = serde_json::from_value::<Settings>(json!({ name: 0 })).unwrap_err().to_string();
        assert!(error.contains("expected a nonzero"), "{name}: {error}");
    }
    let at_once: Settings = serde_json::from_value(json!({"grace": 0})).unwrap();
    assert_eq!(at_once.grace, Duration::ZERO);
}
