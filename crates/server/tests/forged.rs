//! Tokens that are forged or odd, each in one respect: every one is refused, with the reason.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use entourage_server::{Algorithm, Auth};
use jsonwebtoken::{EncodingKey, Header, crypto::sign};
use reqwest::{Method, header::HeaderValue};
use serde_json::{Value, json};

use crate::{
    auth::{SECRET, ask, from_now, settings, token_of, with},
    site::{Site, send},
};

/// The header of a good token.
const HEADER: &str = r#"{"alg":"HS256","typ":"JWT"}"#;
/// The secret of an attacker who does not know the server's.
const THEIRS: &str = "a secret of somebody else, which is long enough";

/// A case: its name, the token, and a word of the reason why it is refused.
type Form = (&'static str, String, &'static str);

fn part(text: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(text)
}

/// Signs a header and claims, already encoded, with a secret.
fn sign_parts(secret: &str, parts: &str) -> String {
    let key = EncodingKey::from_secret(secret.as_bytes());
    let signature = sign(parts.as_bytes(), &key, jsonwebtoken::Algorithm::HS256).unwrap();
    format!("{parts}.{signature}")
}

/// A correctly signed token of exactly this header and these claims.
fn token(header: &str, claims: impl AsRef<[u8]>) -> String {
    sign_parts(SECRET, &format!("{}.{}", part(header), part(claims)))
}

/// The claims of a good token.
fn good() -> String {
    json!({"sub": "alice", "exp": from_now(3600)}).to_string()
}

async fn assert_all_refused(site: &Site, forms: impl IntoIterator<Item = Form>) {
    for (form, token, why) in forms {
        let answer = ask(site, Some(&format!("Bearer {token}"))).await;
        assert_eq!(answer.status, 401, "{form}: {}", answer.text);
        let problem = answer.problem(401, "unauthorized");
        assert!(problem.detail.contains("the token is refused"), "{form}: {}", problem.detail);
        assert!(problem.detail.contains(why), "{form}: {}", problem.detail);
        assert_eq!(answer.headers["www-authenticate"], "Bearer", "{form}");
    }
}

#[tokio::test]
async fn a_correctly_signed_token_with_an_invalid_header_is_refused() {
    let site = Site::with(settings()).await;
    let other = "another algorithm";
    let forms = [
        ("no algorithm", r#"{"typ":"JWT"}"#, "malformed"),
        ("an empty algorithm", r#"{"alg":""}"#, "malformed"),
        ("an algorithm of nothing", r#"{"alg":null}"#, "malformed"),
        ("a number for an algorithm", r#"{"alg":256}"#, "malformed"),
        ("a list of algorithms", r#"{"alg":["HS256"]}"#, "malformed"),
        ("an algorithm in small letters", r#"{"alg":"hs256"}"#, "malformed"),
        ("an algorithm with a blank", r#"{"alg":"HS256 "}"#, "malformed"),
        ("an algorithm that nobody here knows", r#"{"alg":"ES512"}"#, "malformed"),
        ("two algorithms", r#"{"alg":"HS256","alg":"HS256"}"#, "malformed"),
        ("no algorithm, signed", r#"{"alg":"none"}"#, "malformed"),
        ("a longer digest", r#"{"alg":"HS512"}"#, other),
        ("a key of RSA", r#"{"alg":"RS256"}"#, other),
        ("a key of RSA, padded otherwise", r#"{"alg":"PS256"}"#, other),
        ("a key of a curve", r#"{"alg":"ES256"}"#, other),
        ("a key of Ed25519", r#"{"alg":"EdDSA"}"#, other),
        ("nothing that is critical", r#"{"alg":"HS256","crit":[]}"#, "`crit`"),
        ("a claim that is critical", r#"{"alg":"HS256","crit":["exp"],"exp":1}"#, "`crit`"),
        ("a word for what is critical", r#"{"alg":"HS256","crit":"b64"}"#, "malformed"),
        ("a list for a header", r#"["HS256"]"#, "malformed"),
        ("a word for a header", "HS256", "malformed"),
        ("an empty header", "", "malformed"),
        ("a header with more behind it", r#"{"alg":"HS256"} {}"#, "malformed"),
    ];
    assert_all_refused(&site, forms.map(|(form, header, why)| (form, token(header, good()), why))).await;
    let unsigned = ["None", "NONE", "nOnE"]
        .map(|none| format!("{}.{}.", part(json!({"alg": none}).to_string()), part(good())));
    assert_all_refused(&site, unsigned.map(|token| ("unsigned, in other letters", token, "malformed"))).await;
    assert_eq!(ask(&site, Some(&format!("Bearer {}", token(HEADER, good())))).await.status, 200);
}

/// A token's author can write any key into its header, so a key there proves nothing.
#[tokio::test]
async fn a_key_in_the_header_of_a_token_is_not_trusted() {
    let site = Site::with(settings()).await;
    let signed = |secret: &str, more: Value| {
        let mut header = json!({"alg": "HS256", "typ": "JWT"});
        header.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        sign_parts(secret, &format!("{}.{}", part(header.to_string()), part(good())))
    };
    let why = "signature";
    let elsewhere = "https://evil.example/keys";
    let forms = [
        ("the key", signed(THEIRS, json!({"jwk": {"kty": "oct", "k": part(THEIRS)}})), why),
        ("where the key is", signed(THEIRS, json!({"jku": elsewhere})), why),
        ("where the certificate is", signed(THEIRS, json!({"x5u": elsewhere})), why),
        ("the certificate", signed(THEIRS, json!({"x5c": [part(THEIRS)]})), why),
        ("an empty file for a key", signed("", json!({"kid": "../../../../dev/null"})), why),
        ("a key out of a query", signed("key", json!({"kid": "' UNION SELECT 'key' --"})), why),
        ("an empty secret", signed("", json!({})), why),
        ("the secret and a line's end", signed(&format!("{SECRET}\n"), json!({})), why),
        ("the secret in capitals", signed(&SECRET.to_uppercase(), json!({})), why),
        ("the beginning of the secret", signed(&SECRET[..32], json!({})), why),
    ];
    assert_all_refused(&site, forms).await;
}

#[tokio::test]
async fn a_token_with_altered_or_misplaced_parts_is_refused() {
    let site = Site::with(settings()).await;
    let whole = token(HEADER, good());
    let parts: Vec<&str> = whole.split('.').collect();
    let [header, claims, signature] = parts[..] else { panic!("{whole}") };
    let operator = part(json!({"sub": "local", "operator": true, "exp": from_now(3600)}).to_string());
    let bare = part(r#"{"alg":"HS256"}"#);
    let bytes = URL_SAFE_NO_PAD.decode(signature).unwrap();
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    // Three `~` in a row encode to a character that differs between standard and URL-safe base64.
    let standard = part(json!({"sub": "~~~~~~", "exp": from_now(3600)}).to_string()).replace('-', "+");
    assert!(standard.contains('+'));
    let forms = [
        ("other claims", format!("{header}.{operator}.{signature}"), "signature"),
        ("another header", format!("{bare}.{claims}.{signature}"), "signature"),
        ("claims and header in each other's place", format!("{claims}.{header}.{signature}"), "malformed"),
        ("a signature that is cut", whole[..whole.len() - 3].to_owned(), "signature"),
        ("a signature that goes on", format!("{whole}AAAA"), "signature"),
        ("a signature in hex", format!("{header}.{claims}.{hex}"), "signature"),
        ("a signature of nothing", format!("{header}.{claims}.{}", part([0u8; 32])), "signature"),
        ("no signature", format!("{header}.{claims}."), "signature"),
        ("no place for one", format!("{header}.{claims}"), "malformed"),
        ("a padded signature", format!("{whole}="), "malformed"),
        ("padded claims", sign_parts(SECRET, &format!("{header}.{claims}=")), "malformed"),
        ("claims in the base64 of mail", sign_parts(SECRET, &format!("{header}.{standard}")), "malformed"),
        ("a blank before the signature", format!("{header}.{claims}. {signature}"), "malformed"),
        ("four parts", format!("{whole}.{signature}"), "malformed"),
        ("five parts, as what is encrypted has", format!("{header}.{header}.{whole}"), "malformed"),
        ("one part", header.to_owned(), "malformed"),
        ("empty parts", "..".to_owned(), "malformed"),
        ("two tokens", format!("{whole}, {whole}"), "malformed"),
        ("a token in quotes", format!("\"{whole}\""), "malformed"),
        (
            "JSON",
            json!({"protected": header, "payload": claims, "signature": signature}).to_string(),
            "malformed",
        ),
    ];
    assert_all_refused(&site, forms).await;
}

#[tokio::test]
async fn claims_with_values_of_the_wrong_type_are_refused() {
    let site = Site::with(settings()).await;
    let soon = from_now(3600);
    let forms = [
        ("no claims", String::new(), "malformed"),
        ("claims of nothing", "null".to_owned(), "malformed"),
        ("a text for claims", "\"alice\"".to_owned(), "malformed"),
        ("a list for claims", json!(["alice", soon, true]).to_string(), "malformed"),
        ("a longer list for claims", json!([soon, null, "alice", null, null]).to_string(), "malformed"),
        ("claims in claims", json!([{"sub": "alice", "exp": soon}]).to_string(), "malformed"),
        ("claims with more behind them", format!("{}{}", good(), good()), "malformed"),
        ("claims behind a byte order mark", format!("\u{feff}{}", good()), "malformed"),
        ("a number for an owner", json!({"sub": 7, "exp": soon}).to_string(), "malformed"),
        ("nobody for an owner", json!({"sub": null, "exp": soon}).to_string(), "malformed"),
        ("two owners in a list", json!({"sub": ["alice", "bob"], "exp": soon}).to_string(), "malformed"),
        ("an owner with a name", json!({"sub": {"name": "alice"}, "exp": soon}).to_string(), "malformed"),
        ("two owners", format!(r#"{{"sub":"alice","sub":"bob","exp":{soon}}}"#), "malformed"),
        ("two ends", format!(r#"{{"sub":"alice","exp":1,"exp":{soon}}}"#), "malformed"),
        ("a text for an end", json!({"sub": "alice", "exp": soon.to_string()}).to_string(), "malformed"),
        (
            "a date for an end",
            json!({"sub": "alice", "exp": "2999-01-01T00:00:00Z"}).to_string(),
            "malformed",
        ),
        ("an end of nothing", json!({"sub": "alice", "exp": null}).to_string(), "malformed"),
        ("an end that is true", json!({"sub": "alice", "exp": true}).to_string(), "malformed"),
        ("an end before time", json!({"sub": "alice", "exp": -soon}).to_string(), "malformed"),
        ("an end beyond all numbers", r#"{"sub":"alice","exp":1e300}"#.to_owned(), "malformed"),
        ("an end in a list", json!({"sub": "alice", "exp": [soon]}).to_string(), "malformed"),
        ("an end at the beginning of time", json!({"sub": "alice", "exp": 0}).to_string(), "expired"),
        ("a name of another case", json!({"sub": "alice", "EXP": soon}).to_string(), "`exp`"),
        ("a text for a beginning", json!({"sub": "alice", "exp": soon, "nbf": "0"}).to_string(), "malformed"),
        (
            "a beginning of nothing",
            json!({"sub": "alice", "exp": soon, "nbf": null}).to_string(),
            "malformed",
        ),
        (
            "a text that says who is the operator",
            json!({"sub": "local", "exp": soon, "operator": "true"}).to_string(),
            "malformed",
        ),
        (
            "a number that says so",
            json!({"sub": "local", "exp": soon, "operator": 1}).to_string(),
            "malformed",
        ),
        (
            "the operator by name, and not",
            json!({"sub": "local", "exp": soon, "operator": false}).to_string(),
            "its `sub` is `local`",
        ),
    ];
    assert_all_refused(&site, forms.map(|(form, claims, why)| (form, token(HEADER, claims), why))).await;
    let torn = [&br#"{"sub":"al"#[..], &[0xff], format!(r#"ice","exp":{soon}}}"#).as_bytes()].concat();
    assert_all_refused(&site, [("an owner that is no text", token(HEADER, torn), "malformed")]).await;
}

#[tokio::test]
async fn an_audience_or_issuer_that_almost_matches_is_refused() {
    let mut settings = settings();
    let Auth::Jwt(jwt) = &mut settings.auth else { panic!("tokens are asked for") };
    (jwt.audience, jwt.issuer) = (Some("entourage".into()), Some("https://id.example".into()));
    let site = Site::with(settings).await;
    let claims = |aud: Value, iss: Value| {
        let claims = json!({"sub": "alice", "exp": from_now(60), "aud": aud, "iss": iss});
        token(HEADER, claims.to_string())
    };
    let of = |form, aud: Value, why| (form, claims(aud, json!("https://id.example")), why);
    let by = |form, iss: Value, why| (form, claims(json!("entourage"), iss), why);
    let forms = [
        of("an audience in capitals", json!("Entourage"), "audience"),
        of("a longer audience", json!("entourage-staging"), "audience"),
        of("an audience with a blank", json!("entourage "), "audience"),
        of("an empty audience", json!(""), "audience"),
        of("two audiences in a text", json!("other entourage"), "audience"),
        of("other audiences", json!(["other", "more"]), "audience"),
        of("no audiences", json!([]), "audience"),
        of("a number for an audience", json!(7), "`aud`"),
        of("an audience of nothing", json!(null), "`aud`"),
        of("an audience that is true", json!({"entourage": true}), "`aud`"),
        by("an issuer with a slash", json!("https://id.example/"), "issuer"),
        by("an issuer without its lock", json!("http://id.example"), "issuer"),
        by("an issuer in capitals", json!("https://ID.example"), "issuer"),
        by("an issuer that goes on", json!("https://id.example.evil.example"), "issuer"),
        by("an empty issuer", json!(""), "issuer"),
        by("other issuers", json!(["https://evil.example"]), "issuer"),
        by("a number for an issuer", json!(7), "`iss`"),
        by("an issuer of nothing", json!(null), "`iss`"),
    ];
    assert_all_refused(&site, forms).await;
    let among = claims(json!(["other", "entourage"]), json!("https://id.example"));
    assert_eq!(ask(&site, Some(&format!("Bearer {among}"))).await.status, 200);
}

#[tokio::test]
async fn a_token_must_be_signed_with_the_configured_algorithm_and_key() {
    let (rsa, ed) = (include_str!("keys/rsa.public.pem"), include_str!("keys/ed25519.public.pem"));
    let rsa_signer = EncodingKey::from_rsa_pem(include_bytes!("keys/rsa.private.pem")).unwrap();
    let ed_signer = EncodingKey::from_ed_pem(include_bytes!("keys/ed25519.private.pem")).unwrap();
    let claims = json!({"sub": "alice", "exp": from_now(3600), "aud": "entourage"});
    let by =
        |algorithm, key: &EncodingKey| jsonwebtoken::encode(&Header::new(algorithm), &claims, key).unwrap();
    // A token with a signature of `bytes` zeros, which flawed verifiers accept for every key.
    let zeros = |algorithm: &str, bytes: usize| {
        let header = part(json!({"alg": algorithm}).to_string());
        format!("{header}.{}.{}", part(claims.to_string()), part(vec![0u8; bytes]))
    };
    let as_secret = |pem: &str| {
        let lines: String = pem.lines().filter(|line| !line.starts_with('-')).collect();
        let der = base64::engine::general_purpose::STANDARD.decode(lines).unwrap();
        by(jsonwebtoken::Algorithm::HS256, &EncodingKey::from_secret(&der))
    };
    let other = "another algorithm";
    let of_rsa = [
        ("a longer digest", by(jsonwebtoken::Algorithm::RS512, &rsa_signer), other),
        ("the same key, padded otherwise", by(jsonwebtoken::Algorithm::PS256, &rsa_signer), other),
        ("another key", by(jsonwebtoken::Algorithm::EdDSA, &ed_signer), other),
        ("the public key as a secret", as_secret(rsa), other),
        ("a signature of zeros", zeros("RS256", 256), "signature"),
        ("a short signature", zeros("RS256", 1), "signature"),
        ("no signature", zeros("RS256", 0), "signature"),
        ("unsigned", zeros("none", 0), "malformed"),
    ];
    assert_all_refused(&Site::with(with(Algorithm::Rs256, rsa)).await, of_rsa).await;
    let of_ed = [
        ("another key", by(jsonwebtoken::Algorithm::RS256, &rsa_signer), other),
        ("the public key as a secret", as_secret(ed), other),
        ("a signature of zeros", zeros("EdDSA", 64), "signature"),
        ("a short signature", zeros("EdDSA", 63), "signature"),
        ("no signature", zeros("EdDSA", 0), "signature"),
        ("unsigned", zeros("none", 0), "malformed"),
    ];
    assert_all_refused(&Site::with(with(Algorithm::EdDsa, ed)).await, of_ed).await;
}

/// A good token, sent in any other way than the accepted one.
#[tokio::test]
async fn a_token_is_accepted_only_in_a_single_authorization_header() {
    let site = Site::with(settings()).await;
    let good = token_of("alice");
    let get = |path: &str| site.request(Method::GET, path);
    let agents = || get("/v1/agents");
    let bearer = format!("Bearer {good}");
    for scheme in ["bearer", "BEARER", "Bearer  "] {
        assert_eq!(ask(&site, Some(&format!("{scheme} {good}"))).await.status, 200, "{scheme}");
    }
    let missing = "send `Authorization: Bearer <token>`";
    let forms = [
        ("without a scheme", agents().header("authorization", &good), missing),
        ("as another scheme", agents().header("authorization", format!("Token {good}")), missing),
        (
            "as another scheme, named as ours",
            agents().header("authorization", format!("Bearer: {good}")),
            missing,
        ),
        ("as a password", agents().basic_auth("alice", Some(&good)), missing),
        ("behind a tab", agents().header("authorization", format!("Bearer\t{good}")), missing),
        ("in the address", get(&format!("/v1/agents?access_token={good}")), missing),
        ("in a cookie", agents().header("cookie", format!("token={good}; Authorization={bearer}")), missing),
        ("for a proxy", agents().header("proxy-authorization", &bearer), missing),
        ("in a header of another name", agents().header("x-authorization", &bearer), missing),
        (
            "twice",
            agents().header("authorization", &bearer).header("authorization", &bearer),
            "more than once",
        ),
        (
            "beside a bad one",
            agents().header("authorization", &bearer).header("authorization", "Bearer x.y.z"),
            "more than once",
        ),
        (
            "in letters of another alphabet",
            agents().header("authorization", HeaderValue::from_bytes("Bearer ключ".as_bytes()).unwrap()),
            "not ASCII",
        ),
    ];
    for (form, request, why) in forms {
        let answer = send(request).await;
        assert_eq!(answer.status, 401, "{form}: {}", answer.text);
        let problem = answer.problem(401, "unauthorized");
        assert!(problem.detail.contains(why), "{form}: {}", problem.detail);
    }
}

#[tokio::test]
async fn a_token_with_one_changed_or_missing_character_is_refused() {
    let site = Site::with(settings()).await;
    let whole = token(HEADER, good());
    let status = async |token: &str| {
        let request = site.request(Method::GET, "/v1/agents").bearer_auth(token);
        let answer = request.send().await.expect("an answer");
        let status = answer.status();
        // The body is read to its end, so that the connection takes the next request.
        answer.bytes().await.expect("a body");
        status
    };
    assert_eq!(status(&whole).await, 200);
    for (at, letter) in whole.char_indices() {
        let other = if letter == 'A' { 'B' } else { 'A' };
        let (before, behind) = (&whole[..at], &whole[at + 1..]);
        assert_eq!(status(&format!("{before}{other}{behind}")).await, 401, "changed at {at}: {whole}");
        assert_eq!(status(&format!("{before}{behind}")).await, 401, "left out at {at}: {whole}");
    }
}
