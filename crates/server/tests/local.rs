//! Without authentication, the server trusts its machine, but not the web pages that are open on it.

use std::net::SocketAddr;

use entourage_server::{Auth, Error, Settings};
use reqwest::{Method, header::HeaderValue};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use tokio_util::sync::CancellationToken;

use crate::site::{Site, send};

#[tokio::test]
async fn a_server_without_authentication_refuses_a_public_address() {
    let site = Site::open().await;
    let listener = entourage_server::bind(([0, 0, 0, 0], 0).into()).await.unwrap();
    let settings = Settings { auth: Auth::None, ..Settings::default() };
    let ended =
        entourage_server::serve(listener, site.engine.clone(), settings, CancellationToken::new()).await;
    let error = ended.expect_err("it must not be served");
    assert!(matches!(error, Error::Unprotected(_)));
    assert!(error.to_string().contains("[server.auth.jwt]"), "{error}");
}

#[tokio::test]
async fn the_error_for_a_port_in_use_names_the_address_and_the_bind_option() {
    let site = Site::open().await;
    let error = entourage_server::bind(site.address).await.expect_err("the port is taken");
    assert!(error.to_string().contains(&site.address.to_string()), "{error}");
    assert!(error.to_string().contains("--bind"), "{error}");
}

#[tokio::test]
async fn the_error_for_an_address_of_another_machine_names_the_address() {
    // Reserved for documentation, so no machine has it (RFC 5737).
    let error = entourage_server::bind(([192, 0, 2, 1], 0).into()).await.expect_err("it is not ours");
    assert!(matches!(error, Error::Bind { .. }), "{error}");
    assert!(error.to_string().contains("192.0.2.1"), "{error}");
}

#[tokio::test]
async fn every_route_refuses_a_foreign_host_header() {
    let site = Site::open().await;
    for path in ["/v1/kinds", "/healthz", "/metrics", "/openapi.json", "/nowhere"] {
        let rebound = site.request(Method::GET, path).header("host", "evil.example");
        assert!(send(rebound).await.problem(403, "foreign-site").detail.contains("evil.example"));
    }
    for host in ["localhost", "127.0.0.1:4180", "[::1]:4180"] {
        assert_eq!(
            send(site.request(Method::GET, "/v1/kinds").header("host", host)).await.status,
            200,
            "{host}"
        );
    }
}

#[tokio::test]
async fn a_host_header_that_imitates_a_local_name_is_refused() {
    let site = Site::open().await;
    for host in [
        "",
        "0",
        "evil.example:80",
        "localhost.",
        "localhost6",
        "evil-localhost",
        "evil.localhost",
        "localhost.evil.example:4180",
        "localhost:evil",
        "localhost:",
        "localhost:99999",
        "localhost:80:80",
        "localhost:80.evil.example",
        "localhost evil.example",
        "localhost,evil.example",
        "localhost;evil.example",
        "localhost/evil.example",
        "localhost?evil.example",
        "localhost#evil.example",
        "localhost\\evil.example",
        "localhost@evil.example",
        "http://localhost",
        "%6cocalhost",
        "127.0.0.1.",
        "127.0.0.1.nip.io",
        "127.0.0.1.evil.example:4180",
        "127.0.0.1:4180.evil.example",
        "127.0.0.256",
        "127.1",
        "0177.0.0.1",
        "0x7f.0.0.1",
        "2130706433",
        "0.0.0.0",
        "10.0.0.1",
        "192.168.0.1",
        "169.254.169.254",
        "::1",
        "[::1",
        "[::]",
        "[::1].evil.example",
        "[::1]evil.example:4180",
        "[::ffff:127.0.0.1]",
        "[fe80::1]",
    ] {
        let answer = send(site.request(Method::GET, "/v1/kinds").header("host", host)).await;
        assert_eq!(answer.status, 403, "{host}");
        let problem = answer.problem(403, "foreign-site");
        assert!(problem.detail.contains(&format!("host `{host}`")), "{host}: {}", problem.detail);
    }
    let wide = HeaderValue::from_bytes("ｌocalhost".as_bytes()).unwrap();
    send(site.request(Method::GET, "/v1/kinds").header("host", wide)).await.problem(403, "foreign-site");
    // The host in the request line takes precedence over the header, and there may be neither.
    for head in [
        "GET http://evil.example/v1/kinds HTTP/1.1\r\nHost: localhost",
        "GET http://localhost.evil.example/v1/kinds HTTP/1.1\r\nHost: localhost",
        "GET http://user@localhost/v1/kinds HTTP/1.1\r\nHost: localhost",
        "GET /v1/kinds HTTP/1.0",
    ] {
        let mut stream = TcpStream::connect(site.address).await.unwrap();
        stream.write_all(format!("{head}\r\nConnection: close\r\n\r\n").as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert_eq!(answer.split(' ').nth(1), Some("403"), "{head}: {answer}");
    }
}

#[tokio::test]
async fn an_origin_that_imitates_this_server_is_refused_and_creates_nothing() {
    let site = Site::open().await;
    let (own, port) = (site.address, site.address.port());
    let post = |headers: &[(&str, &str)]| {
        let request = site.request(Method::POST, "/v1/agents").json(&json!({}));
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        send(request)
    };
    for origin in [
        &*format!("http://{own}/"),
        &format!("http://{own}/index.html"),
        &format!("HTTP://{own}"),
        &format!("http:{own}"),
        &format!("http:///{own}"),
        &format!("//{own}"),
        &format!("{own}"),
        &format!("ws://{own}"),
        &format!("wss://{own}"),
        &format!("ftp://{own}"),
        &format!("blob:http://{own}"),
        &format!("http://{own}.evil.example"),
        &format!("http://{own}@evil.example"),
        &format!("http://evil.example@{own}"),
        &format!("http://{own} http://evil.example"),
        &format!("http://{own}, http://evil.example"),
        &format!("null, http://{own}"),
        &format!("http://evil.example:{port}"),
        &format!("http://127.0.0.1.evil.example:{port}"),
        &format!("http://127.0.0.2:{port}"),
        &format!("http://127.1:{port}"),
        &format!("http://2130706433:{port}"),
        &format!("http://0.0.0.0:{port}"),
        &format!("http://[::1]:{port}"),
        &format!("http://[::ffff:127.0.0.1]:{port}"),
        &format!("http://localhost.:{port}"),
        &format!("http://evil.localhost:{port}"),
        &format!("http://127.0.0.1:{port}0"),
        "http://127.0.0.1",
        "http://127.0.0.1:",
        "NULL",
        "*",
        "about:blank",
        "file://",
        "chrome-extension://abcdefghijklmnop",
    ] {
        for headers in [&[("origin", origin)][..], &[("origin", origin), ("sec-fetch-site", "cross-site")]] {
            let answer = post(headers).await;
            assert_eq!(answer.status, 403, "{headers:?}");
            answer.problem(403, "foreign-site");
        }
    }
    // On the default port, which may be left out, an invalid port does not count as none.
    for (host, origin) in [
        ("127.0.0.1", "http://127.0.0.1:80.evil.example"),
        ("localhost", "http://localhost:evil"),
        ("[::1]", "http://[::1].evil.example"),
    ] {
        post(&[("host", host), ("origin", origin)]).await.problem(403, "foreign-site");
    }
    let own = format!("http://{own}");
    for said in ["Same-Origin", "same-origin, cross-site", "same-origin;", "\"same-origin\"", "same origin"] {
        for headers in
            [&[("sec-fetch-site", said)][..], &[("sec-fetch-site", said), ("origin", own.as_str())]]
        {
            post(headers).await.problem(403, "foreign-site");
        }
    }
    let foreign = HeaderValue::from_bytes("http://ｌocalhost".as_bytes()).unwrap();
    let request = site.request(Method::POST, "/v1/agents").json(&json!({}));
    send(request.header("origin", foreign)).await.problem(403, "foreign-site");
    assert_eq!(site.get("/v1/agents").await.expect(200)["data"], json!([]));
}

#[tokio::test]
async fn only_pages_of_the_servers_own_origin_may_send_requests() {
    let site = Site::open().await;
    let own = format!("http://{}", site.address);
    let port = site.address.port();
    let post = async |headers: &[(&str, &str)]| {
        let mut request = site.request(Method::POST, "/v1/agents").json(&json!({}));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        send(request).await
    };
    let (secure, other_name) = (format!("https://{}", site.address), format!("http://localhost:{port}"));
    let other_port = format!("http://127.0.0.1:{}", port.wrapping_add(1));
    for origin in ["https://evil.example", "null", "", "http://", &secure, &other_name, &other_port] {
        post(&[("origin", origin)]).await.problem(403, "foreign-site");
        post(&[("origin", origin), ("sec-fetch-site", "same-site")]).await.problem(403, "foreign-site");
    }
    for site in ["cross-site", "same-site", ""] {
        post(&[("sec-fetch-site", site)]).await.problem(403, "foreign-site");
    }
    post(&[("origin", &own)]).await.expect(201);
    post(&[("origin", &own), ("sec-fetch-site", "same-origin")]).await.expect(201);
    post(&[("sec-fetch-site", "same-origin")]).await.expect(201);
    post(&[("sec-fetch-site", "none")]).await.expect(201);
    // A name of this machine is as good as its address, and the default port may be left out.
    for (host, origin) in [("LOCALHOST", "http://localhost"), ("[::1]:80", "http://[::1]")] {
        post(&[("host", host), ("origin", origin)]).await.expect(201);
    }
}

/// A page can send these without a preflight request, since they need no JSON `Content-Type`.
#[tokio::test]
async fn a_foreign_page_cannot_use_operations_without_a_body() {
    let site = Site::open().await;
    let description: Value = serde_json::from_str(&entourage_server::openapi_json()).unwrap();
    let mut tried = Vec::new();
    for (path, operations) in description["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            if method == "get" || operation.get("requestBody").is_some() {
                continue;
            }
            let path = path.replace("{name}", "waits").replace("{chat}", "first");
            let method: Method = method.to_uppercase().parse().unwrap();
            let ask = |origin: String| send(site.request(method.clone(), &path).header("origin", origin));
            let job_run = async || site.get("/v1/jobs").await.expect(200)["data"][4]["at"].clone();
            let before = job_run().await;
            for origin in ["https://evil.example", "null", "http://127.0.0.1:1"] {
                let refused = ask(origin.to_owned()).await;
                match refused.headers["content-type"] == "application/json" {
                    true => drop(refused.detail(403)),
                    false => drop(refused.problem(403, "foreign-site")),
                }
            }
            assert_eq!(job_run().await, before, "{path}");
            assert_ne!(ask(format!("http://{}", site.address)).await.status, 403, "{method} {path}");
            tried.push(format!("{method} {path}"));
        }
    }
    assert_eq!(site.get("/v1/jobs").await.expect(200)["data"][4]["job"], "waits");
    for one in ["POST /v1/kinds/reload", "POST /v1/jobs/waits/run", "POST /v1/webhooks/waits/retry"] {
        assert!(tried.iter().any(|tried| tried == one), "{tried:?}");
    }
}

#[tokio::test]
async fn a_repeated_host_or_origin_header_or_a_host_with_a_user_is_refused() {
    let site = Site::open().await;
    let own = format!("http://{}", site.address);
    let get = |headers: [(&str, &str); 2]| {
        let request = site.request(Method::GET, "/v1/kinds");
        headers.into_iter().fold(request, |request, (name, value)| request.header(name, value))
    };
    for twice in [
        [("host", "localhost"), ("host", "evil.example")],
        [("host", "evil.example"), ("host", "localhost")],
        [("origin", own.as_str()), ("origin", "http://evil.example")],
        [("sec-fetch-site", "same-origin"), ("sec-fetch-site", "cross-site")],
    ] {
        send(get(twice)).await.problem(400, "invalid-header");
    }
    let named = site.request(Method::GET, "/v1/kinds").header("host", "user@localhost");
    send(named).await.problem(403, "foreign-site");
}

#[tokio::test]
async fn default_settings_bind_to_loopback_only() {
    let SocketAddr::V4(bind) = Settings::default().bind else { panic!("not IPv4") };
    assert!(bind.ip().is_loopback());
}
