//! The console: pages over HTTP, as a browser asks for them. How they behave in one is tested in a real browser
//! (`tests/services/console.sh`).

mod agents;
mod budget;
mod changes;
mod chats;
mod contents;
mod filled;
mod forms;
mod inbox;
mod large;
mod logins;
mod markdown;
mod operator;
mod pages;
mod runs;
mod waits;
mod words;
mod work;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::{Method, RequestBuilder, StatusCode, redirect::Policy};

use crate::site::{Answer, Site, send};

/// A browser that follows no redirect by itself.
pub(crate) struct Browser<'s> {
    site: &'s Site,
    http: reqwest::Client,
    cookie: Option<String>,
}

impl<'s> Browser<'s> {
    pub(crate) fn of(site: &'s Site) -> Self {
        let http = reqwest::Client::builder().redirect(Policy::none()).no_gzip().build().expect("a client");
        Self { site, http, cookie: None }
    }

    /// The same, logged in with this token.
    pub(crate) async fn logged_in(site: &'s Site, token: &str) -> Self {
        let stranger = Self::of(site);
        let answer = stranger.post("/console/login", &[("token", token)]).await;
        assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.text);
        Self { cookie: Some(cookie_of(&answer)), ..stranger }
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.http.request(method, format!("http://{}{path}", self.site.address));
        match &self.cookie {
            Some(cookie) => request.header("cookie", cookie),
            None => request,
        }
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        send(self.request(Method::GET, path).header("accept", "text/html")).await
    }

    /// Sends a form of a page.
    pub(crate) async fn post(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        send(self.form(path, fields).header("sec-fetch-site", "same-origin")).await
    }

    /// A form, from nowhere yet.
    pub(crate) fn form(&self, path: &str, fields: &[(&str, &str)]) -> RequestBuilder {
        let encoded = |text| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
        let pairs = fields.iter().map(|(name, value)| format!("{name}={}", encoded(value)));
        let body = pairs.collect::<Vec<_>>().join("&");
        let request = self.request(Method::POST, path);
        request.header("content-type", "application/x-www-form-urlencoded").body(body)
    }

    /// The text of a page, once it is shown.
    pub(crate) async fn page(&self, path: &str) -> String {
        let answer = self.get(path).await;
        assert_eq!(answer.status, StatusCode::OK, "{path}: {}", answer.text);
        answer.text
    }
}

/// The cookie that a response sets, without its attributes.
pub(crate) fn cookie_of(answer: &Answer) -> String {
    let set = answer.headers["set-cookie"].to_str().expect("ASCII");
    set.split(';').next().expect("a cookie").to_owned()
}
