//! Fetching pages: what is read, what is refused, and that no fetch reaches the engine's own network.

use std::{
    io::Write,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use entourage_tools::{Error, FetchSettings, FetchUrl};
use futures::future::join_all;
use serde_json::json;
use wiremock::{
    Mock, MockServer, ResponseTemplate,
    matchers::{method, path},
};

use crate::support::{call, done, fails};

/// The tool with hosts that the operator allows.
fn allowing(hosts: &[&str]) -> FetchUrl {
    fetch(json!({ "allow": hosts }))
}

fn fetch(settings: serde_json::Value) -> FetchUrl {
    FetchUrl::new(serde_json::from_value::<FetchSettings>(settings).unwrap())
}

async fn serving(at: &str, answer: ResponseTemplate) -> MockServer {
    let server = MockServer::start().await;
    Mock::given(method("GET")).and(path(at)).respond_with(answer).mount(&server).await;
    server
}

fn page(body: impl Into<Vec<u8>>, content_type: &str) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_raw(body, content_type)
}

fn redirect(to: impl Into<String>) -> ResponseTemplate {
    ResponseTemplate::new(302).insert_header("location", to.into())
}

/// Fetches one body as the only page of an allowed server.
async fn read(body: impl Into<Vec<u8>>, content_type: &str) -> String {
    let server = serving("/x", page(body, content_type)).await;
    let text = done(&allowing(&["127.0.0.1"]), json!({ "url": format!("{}/x", server.uri()) })).await.text;
    let (address, text) = text.split_once("\n\n").unwrap();
    assert!(address.ends_with(&format!("{}/x", server.uri())), "{address}");
    match address.split_once('\n') {
        Some((title, _)) => format!("{title}\n{text}"),
        None => text.to_owned(),
    }
}

#[tokio::test]
async fn non_public_addresses_are_refused_in_every_notation() {
    let vectors = [
        "http://127.0.0.1/",
        "http://127.0.0.1:8080/",
        "https://127.0.0.1/",
        "http://127.1/",
        "http://127.0.1/",
        "http://2130706433/",
        "http://0x7f000001/",
        "http://0x7f.0x0.0x0.0x1/",
        "http://0x7f.1/",
        "http://0177.0.0.1/",
        "http://017700000001/",
        "http://0177.0x0.0.1/",
        "http://127.0.0.1./",
        "http://%31%32%37.0.0.1/",
        "http://１２７.0.0.1/",
        "http://127。0。0。1/",
        "http://①②⑦.0.0.1/",
        "http://127.255.255.254/",
        "http://0/",
        "http://0.0.0.0/",
        "http://00.00.00.00/",
        "http://10.0.0.1/",
        "http://012.1.2.3/",
        "http://167772161/",
        "http://172.16.0.1/",
        "http://172.31.255.255/",
        "http://192.168.1.1/",
        "http://0xc0a80101/",
        "http://100.64.0.1/",
        "http://169.254.169.254/latest/meta-data/",
        "http://0xa9fea9fe/",
        "http://2852039166/",
        "http://0251.0376.0251.0376/",
        "http://168.63.129.16/",
        "http://192.0.0.1/",
        "http://192.0.2.1/",
        "http://198.18.0.1/",
        "http://198.51.100.1/",
        "http://203.0.113.1/",
        "http://224.0.0.1/",
        "http://255.255.255.255/",
        "http://[::]/",
        "http://[::1]/",
        "http://[0:0:0:0:0:0:0:1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://[::ffff:7f00:1]/",
        "http://[::ffff:8.8.8.8]/",
        "http://[::127.0.0.1]/",
        "http://[64:ff9b::127.0.0.1]/",
        "http://[64:ff9b::a9fe:a9fe]/",
        "http://[2002:7f00:1::]/",
        "http://[2001::1]/",
        "http://[fc00::1]/",
        "http://[fd00:ec2::254]/",
        "http://[fe80::1]/",
        "http://[fec0::1]/",
        "http://[ff02::1]/",
        "http://[2001:db8::1]/",
        "http://[100::1]/",
        // Names that resolve to such addresses.
        "http://localhost/",
        "http://LOCALHOST/",
        "http://localhost:65535/",
        // Not a page fetch at all.
        "file:///etc/passwd",
        "ftp://example.com/",
        "gopher://127.0.0.1:6379/_x",
        "data:text/html,x",
        "javascript:1",
        "http://user@example.com/",
        "http://user:secret@example.com/",
        "http://example.com@127.0.0.1/",
    ];
    let fetch = allowing(&[]);
    for url in vectors {
        let error = fails(&fetch, json!({ "url": url })).await;
        assert!(matches!(error, Error::NotAllowed(_)), "{url}: {error}");
        assert!(!error.to_string().contains("secret"), "{url}: {error}");
    }
    for url in ["", "example.com", "/etc/passwd", "http://", "http://[fe80::1%25eth0]/", "http://256.1.1.1/"]
    {
        let error = fails(&fetch, json!({ "url": url })).await;
        assert!(matches!(error, Error::Arguments { .. }), "{url}: {error}");
    }
}

#[tokio::test]
async fn a_redirect_target_is_checked_like_an_address() {
    let secret = serving("/secret", page("hush", "text/plain")).await;
    let port = secret.address().port();
    let targets = [
        format!("http://127.0.0.1:{port}/secret"),
        format!("//127.0.0.1:{port}/secret"),
        format!("http://localhost:{port}/secret"),
        format!("http://2130706433:{port}/secret"),
        format!("http://[::ffff:127.0.0.1]:{port}/secret"),
        "http://169.254.169.254/latest/meta-data/".to_owned(),
        "file:///etc/passwd".to_owned(),
        format!("http://user:pass@127.0.0.1:{port}/secret"),
    ];
    for target in targets {
        for status in [301, 302, 303, 307, 308] {
            let answer = ResponseTemplate::new(status).insert_header("location", target.as_str());
            let server = serving("/start", answer).await;
            let host = format!("127.0.0.1:{}", server.address().port());
            let error = fails(&allowing(&[&host]), json!({ "url": format!("http://{host}/start") })).await;
            assert!(matches!(error, Error::NotAllowed(_)), "{status} {target}: {error}");
        }
    }
    assert!(secret.received_requests().await.unwrap().is_empty());
}

#[tokio::test]
async fn at_most_five_redirects_are_followed() {
    let server = MockServer::start().await;
    for hop in 0..6 {
        let next = redirect(format!("/{}", hop + 1));
        Mock::given(path(format!("/{hop}"))).respond_with(next).mount(&server).await;
    }
    Mock::given(path("/6")).respond_with(page("there", "text/plain")).mount(&server).await;
    let fetch = allowing(&["127.0.0.1"]);
    let text = done(&fetch, json!({ "url": format!("{}/1", server.uri()) })).await.text;
    assert_eq!(text, format!("{}/6\n\nthere", server.uri()));
    let error = fails(&fetch, json!({ "url": format!("{}/0", server.uri()) })).await;
    assert!(error.to_string().contains("more than 5 redirects"), "{error}");
}

#[tokio::test]
async fn the_operator_may_allow_a_host_or_one_port_of_it() {
    let server = serving("/", page("in", "text/plain")).await;
    let url = json!({ "url": server.uri() });
    let port = server.address().port();
    for host in ["127.0.0.1".to_owned(), format!("127.0.0.1:{port}")] {
        done(&allowing(&[&host]), url.clone()).await;
    }
    done(&allowing(&["localhost"]), json!({ "url": format!("http://localhost:{port}/") })).await;
    for host in ["127.0.0.1:1", "localhost", "127.0.0.2"] {
        assert!(matches!(fails(&allowing(&[host]), url.clone()).await, Error::NotAllowed(_)), "{host}");
    }
}

#[tokio::test]
async fn an_article_becomes_markdown_without_navigation_and_scripts() {
    let paragraph =
        "The harbour was quiet, and the boats, all of them, lay still in the dark water. ".repeat(6);
    let html = format!(
        "<!doctype html><html><head><title>Harbour</title><style>p {{}}</style></head><body>\
         <nav><a href='/home'>Home</a> <a href='/about'>About</a></nav>\
         <article><h1>Harbour at night</h1><p>{paragraph}</p><p>{paragraph} <a href='/boats'>Boats</a></p>\
         <ul><li>one</li><li>two</li></ul><script>alert(1)</script></article>\
         <footer>Imprint</footer></body></html>"
    );
    let text = read(html, "text/html; charset=utf-8").await;
    assert!(text.starts_with("# Harbour"), "{text}");
    assert!(
        text.contains("lay still in the dark water") && text.contains("[Boats](http://127.0.0.1"),
        "{text}"
    );
    for noise in ["alert", "Imprint", "About", "<p>", "{}"] {
        assert!(!text.contains(noise), "{noise} in {text}");
    }
}

#[tokio::test]
async fn a_page_without_an_article_is_returned_whole() {
    let html = "<title>List</title><h2>Ports</h2><ul><li>Oslo</li><li>Riga</li></ul><script>no()</script>";
    let text = read(html, "text/html").await;
    assert!(text.starts_with("# List\n"), "{text}");
    assert!(text.contains("Ports") && text.contains("Oslo") && text.contains("Riga"), "{text}");
    assert!(!text.contains("no()"), "{text}");
}

#[tokio::test]
async fn plain_text_is_returned_unchanged_in_its_declared_charset() {
    assert_eq!(read(r#"{"a": [1]}"#, "application/json").await, r#"{"a": [1]}"#);
    assert_eq!(read("<a><b/></a>", "application/atom+xml").await, "<a><b/></a>");
    assert_eq!(read("# Title", "text/markdown").await, "# Title");
    assert_eq!(read("\u{feff}größe", "text/plain").await, "größe");
    assert_eq!(
        read(b"gr\xf6\xdfe \x93x\x94".as_slice(), "text/plain; charset=ISO-8859-1").await,
        "größe “x”"
    );
    assert_eq!(read(b"gr\xf6\xdfe".as_slice(), "text/plain").await, "gr\u{fffd}\u{fffd}e");
    let html = b"<meta charset=\"latin1\"><p>gr\xf6\xdfe</p>".as_slice();
    assert!(read(html, "text/html").await.contains("größe"));
}

#[tokio::test]
async fn content_that_is_not_text_is_refused_with_its_type() {
    for content_type in ["application/pdf", "image/png", "application/octet-stream", "application/zip"] {
        let server = serving("/x", page("x", content_type)).await;
        let error = fails(&allowing(&["127.0.0.1"]), json!({ "url": format!("{}/x", server.uri()) })).await;
        assert!(error.to_string().contains(content_type), "{error}");
    }
}

#[tokio::test]
async fn a_page_is_cut_at_max_chars_and_refused_above_max_bytes() {
    let server = serving("/x", page("ä".repeat(1000), "text/plain")).await;
    let url = format!("{}/x", server.uri());
    let cut = done(&allowing(&["127.0.0.1"]), json!({ "url": url, "max_chars": 10 })).await.text;
    assert!(
        cut.ends_with(&format!("\n\n{}\n[cut here; the text has 1000 characters]", "ä".repeat(10))),
        "{cut}"
    );
    let exact = fetch(json!({ "allow": ["127.0.0.1"], "max_bytes": 2000 }));
    assert!(done(&exact, json!({ "url": url, "max_chars": 1000 })).await.text.ends_with("ää"));
    let small = fetch(json!({ "allow": ["127.0.0.1"], "max_bytes": 1999 }));
    assert!(
        fails(&small, json!({ "url": url }))
            .await
            .to_string()
            .contains("larger than the limit of 1999 bytes")
    );
}

#[tokio::test]
async fn the_size_limit_applies_to_the_decompressed_page() {
    let mut gzip =
        Command::new("gzip").arg("-c").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = gzip.stdin.take().unwrap();
    std::thread::spawn(move || stdin.write_all(&vec![b'x'; 1_000_000]).unwrap());
    let bytes = gzip.wait_with_output().unwrap().stdout;
    assert!(bytes.len() < 10_000);
    let server = serving("/x", page(bytes, "text/plain").insert_header("content-encoding", "gzip")).await;
    let small = fetch(json!({ "allow": ["127.0.0.1"], "max_bytes": 999_999 }));
    let url = json!({ "url": format!("{}/x", server.uri()) });
    assert!(fails(&small, url.clone()).await.to_string().contains("larger than the limit of 999999 bytes"));
    assert!(done(&allowing(&["127.0.0.1"]), url).await.text.ends_with("xxx"));
}

#[tokio::test]
async fn a_fetch_error_names_the_status_or_the_cause() {
    let server = MockServer::start().await;
    let fetch = allowing(&["127.0.0.1"]);
    let missing = fails(&fetch, json!({ "url": format!("{}/x", server.uri()) })).await.to_string();
    assert!(missing.contains("404 Not Found"), "{missing}");
    let closed = format!("http://127.0.0.1:{}/", free_port());
    let refused = fails(&fetch, json!({ "url": closed })).await.to_string();
    assert!(refused.to_lowercase().contains("refused"), "{refused}");
}

/// Returns a port without a listener.
fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[tokio::test]
async fn a_server_that_does_not_answer_times_out() {
    let day = std::time::Duration::from_secs(86_400);
    let server = serving("/x", page("late", "text/plain").set_delay(day)).await;
    let fetch = fetch(json!({ "allow": ["127.0.0.1"], "max_seconds": 1 }));
    let error = fails(&fetch, json!({ "url": format!("{}/x", server.uri()) })).await.to_string();
    assert!(error.contains("takes longer than 1s"), "{error}");
}

#[tokio::test]
async fn a_hostile_page_is_refused_quickly() {
    let unclosed: String = (0..20_000).map(|n| format!("<b a={n}>")).collect();
    let hostile = [
        ("nested", "<div>".repeat(300_000)),
        ("nested in turns", "<ul><li><a><b><span>".repeat(20_000)),
        ("reopened", format!("<p>{unclosed}{}", "<p>x".repeat(20_000))),
        ("tables", "<table><tr><td>".repeat(50_000)),
        ("foster-parented", format!("<table>{}", "<div>".repeat(300_000))),
        ("attributes", format!("<p {}>", (0..500_000).map(|n| format!("a{n} ")).collect::<String>())),
        ("many", "<i>x</i>".repeat(600_000)),
    ];
    let started = Instant::now();
    join_all(hostile.map(|(name, html)| async move {
        let server = serving("/x", page(html, "text/html")).await;
        let error = fails(&allowing(&["127.0.0.1"]), json!({ "url": format!("{}/x", server.uri()) })).await;
        assert!(error.to_string().contains("not made for reading"), "{name}: {error}");
    }))
    .await;
    assert!(started.elapsed().as_secs() < 25, "{:?}", started.elapsed());
}

#[tokio::test]
async fn a_deeply_nested_page_does_not_exhaust_the_stack() {
    let html = format!("{}deep{}", "<div><ul><li>".repeat(80), "</li></ul></div>".repeat(80));
    assert!(read(html, "text/html").await.contains("deep"));
}

/// Long texts are cut into pieces internally, and come out whole.
#[tokio::test]
async fn a_page_of_special_characters_is_read_whole() {
    let ampersands = read("&".repeat(1 << 16), "text/html").await;
    assert_eq!(ampersands, "&".repeat(1 << 16));
    let article =
        format!("<article><p>{}</p><p>{}</p></article>", "words and more ".repeat(100), "&©".repeat(1 << 13));
    assert!(read(article, "text/html").await.ends_with(&"&©".repeat(1 << 13)));
    let attribute = format!("<p title='{}'>plain</p>", "&".repeat(1 << 16));
    assert_eq!(read(attribute, "text/html").await, "plain");
}

/// Links of a page without an article are absolute, so that they can be followed.
#[tokio::test]
async fn links_become_absolute_urls() {
    let server = serving("/x", page("<a href='/y?a=1'>on</a>", "text/html")).await;
    let text = done(&allowing(&["127.0.0.1"]), json!({ "url": format!("{}/x", server.uri()) })).await.text;
    assert!(text.ends_with(&format!("[on]({}/y?a=1)", server.uri())), "{text}");
}

/// Each special character is scanned once, not once for every character after it: as text or as an attribute,
/// a megabyte of them took twenty seconds, and a page may take three.
#[cfg(target_os = "linux")]
#[test]
fn a_page_of_special_characters_is_read_quickly() {
    // Without optimisation it takes ten times as long.
    const MANY: usize = if cfg!(debug_assertions) { 1 << 16 } else { 1 << 20 };
    for page in ["&".repeat(MANY), format!("<p title='{}'>plain</p>", "&".repeat(MANY))] {
        let worked = cpu_time_of_reading(page);
        assert!(worked < Duration::from_secs(4), "{worked:?}");
    }
}

/// Returns the CPU time of the thread that reads a page; other processes on the machine do not count.
#[cfg(target_os = "linux")]
fn cpu_time_of_reading(page: String) -> Duration {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(1).build().unwrap();
    runtime.block_on(async {
        read(page, "text/html").await;
        // The same thread: there is only one.
        let worked = || std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
        let worked = tokio::task::spawn_blocking(worked).await.unwrap();
        Duration::from_nanos(worked.split(' ').next().unwrap().parse().unwrap())
    })
}

/// An abandoned call leaves no thread at work. The page here keeps its reader busy for three seconds, the
/// maximum.
#[cfg(target_os = "linux")]
#[test]
fn an_abandoned_fetch_stops_its_reader_thread() {
    const READER: &str = "page-reader";
    let readers = || {
        let threads = std::fs::read_dir("/proc/self/task").unwrap();
        let names =
            threads.filter_map(|thread| std::fs::read_to_string(thread.ok()?.path().join("comm")).ok());
        names.filter(|name| name.trim() == READER).count()
    };
    // Everything else runs on the thread of the test, and an idle thread ends.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .thread_name(READER)
        .thread_keep_alive(Duration::from_millis(1))
        .build()
        .unwrap();
    runtime.block_on(async {
        let attributes: String = (0..500_000).map(|n| format!("a{n} ")).collect();
        let server = serving("/x", page(format!("<p {attributes}>"), "text/html")).await;
        let fetch = allowing(&["127.0.0.1"]);
        let mut call = Box::pin(call(&fetch, json!({ "url": format!("{}/x", server.uri()) })));
        while readers() == 0 {
            tokio::select! {
                biased;
                outcome = &mut call => panic!("it is read already: {outcome:?}"),
                () = tokio::time::sleep(Duration::from_millis(1)) => {}
            }
        }
        let dropped = Instant::now();
        drop(call);
        while readers() > 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
            assert!(dropped.elapsed() < Duration::from_millis(1_500), "it is still at work");
        }
    });
}
