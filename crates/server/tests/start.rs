//! Starting and stopping: nobody is cut off, and nobody holds the end up.

use std::time::Duration;

use entourage_server::Settings;
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::site::Site;

/// How long a test waits for something that must happen.
const PATIENCE: Duration = Duration::from_secs(30);

/// A request to make an agent, of which the last byte is still to come.
pub(crate) async fn unfinished(site: &Site) -> (TcpStream, u8) {
    let body = json!({"title": "late"}).to_string();
    let mut socket = TcpStream::connect(site.address).await.unwrap();
    let (begun, last) = body.split_at(body.len() - 1);
    let head = format!(
        "POST /v1/agents HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
         expect: 100-continue\r\n\r\n",
        site.address,
        body.len()
    );
    socket.write_all(head.as_bytes()).await.unwrap();
    // The server asks for the body once a handler waits for it: now the request is under way.
    let mut asked = [0; 25];
    socket.read_exact(&mut asked).await.unwrap();
    assert_eq!(&asked, b"HTTP/1.1 100 Continue\r\n\r\n");
    socket.write_all(begun.as_bytes()).await.unwrap();
    (socket, last.as_bytes()[0])
}

#[tokio::test]
async fn open_streams_end_and_the_server_stops_at_once() {
    let site = Site::open().await;
    let id = site.done("hello").await;
    let mut stream = site.follow(&id, 0).await;
    assert!(stream.next().await.is_some());
    site.stop.cancel();
    let ends = async { while stream.next().await.is_some() {} };
    tokio::time::timeout(PATIENCE, ends).await.expect("the stream ends");
    // The default grace is longer than the time a test waits for anything else.
    tokio::time::timeout(Duration::from_secs(5), site.served).await.expect("an end").unwrap().unwrap();
}

#[tokio::test]
async fn a_request_under_way_is_answered_before_the_server_stops() {
    let site = Site::open().await;
    let (mut socket, last) = unfinished(&site).await;
    site.stop.cancel();
    let mut refused = false;
    for _ in 0..1000 {
        refused = TcpStream::connect(site.address).await.is_err();
        if refused {
            break;
        }
        tokio::task::yield_now().await;
    }
    assert!(refused, "new connections are taken after the end");
    socket.write_all(&[last]).await.unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
    tokio::time::timeout(PATIENCE, site.served).await.expect("an end").unwrap().unwrap();
}

#[tokio::test]
async fn whoever_does_not_end_in_time_is_cut_off() {
    let site = Site::with(Settings { grace: Duration::from_millis(50), ..Settings::default() }).await;
    let (socket, _) = unfinished(&site).await;
    site.stop.cancel();
    tokio::time::timeout(PATIENCE, site.served).await.expect("an end").unwrap().unwrap();
    drop(socket);
}
