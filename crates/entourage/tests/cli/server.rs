//! Runs the binary as a server, with its log.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Child, ChildStderr, Command, Stdio},
};

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use serde_json::Value;

use super::data_dir::{DataDir, Patience};

/// A server that runs until it is dropped.
pub(crate) struct Server {
    child: Child,
    /// Its greeting.
    pub(crate) greeting: Value,
    log: BufReader<ChildStderr>,
    _patience: Patience,
}

impl Server {
    pub(crate) fn start(place: &DataDir) -> Self {
        Self::of(place.process(&["serve", "--bind", "127.0.0.1:0", "--json"]))
    }

    /// Starts a command that serves and prints its greeting as JSON.
    pub(crate) fn of(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        let patience = Patience::with(&child);
        let mut line = String::new();
        let stdout = child.stdout.take().expect("piped");
        BufReader::new(stdout).read_line(&mut line).expect("a greeting");
        let log = BufReader::new(child.stderr.take().expect("piped"));
        let greeting = serde_json::from_str(&line).expect("JSON");
        Self { child, greeting, log, _patience: patience }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn address(&self) -> &str {
        self.greeting["url"].as_str().and_then(|url| url.strip_prefix("http://")).expect("an address")
    }

    /// The JSON that answers a GET.
    pub(crate) fn body(&self, path: &str) -> Value {
        let answer = self.answer(path, None);
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        // A chunked body has lengths around it; the document is one line.
        let body = body.lines().find(|line| line.starts_with('{'));
        serde_json::from_str(body.unwrap_or_default()).unwrap_or_else(|_| panic!("no JSON: {head}"))
    }

    /// The status of a GET, with or without a token.
    pub(crate) fn get(&self, path: &str, token: Option<&str>) -> u16 {
        let answer = self.answer(path, token);
        answer.split_whitespace().nth(1).and_then(|status| status.parse().ok()).expect("a status")
    }

    fn answer(&self, path: &str, token: Option<&str>) -> String {
        let address = self.address();
        let mut stream = TcpStream::connect(address).expect("it listens");
        let token = token.map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\n{token}Connection: close\r\n\r\n")
            .expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("answered");
        answer
    }

    /// The next line of the log with this text.
    pub(crate) fn logged(&mut self, words: &str) -> String {
        self.logged_all(&[words]).lines().next_back().unwrap_or_default().to_owned()
    }

    /// The log from here on, until it has all of these texts.
    pub(crate) fn logged_all(&mut self, words: &[&str]) -> String {
        let mut log = String::new();
        while !words.iter().all(|words| log.contains(*words)) {
            let read = self.log.read_line(&mut log).expect("a log");
            assert_ne!(read, 0, "it ended before it said all of {words:?}: {log}");
        }
        log
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.child.id().cast_signed()).expect("a process");
        kill_process(pid, signal).expect("sent");
    }

    /// Stops the process, so that it answers no one: one of its threads takes the signal, and the others
    /// continue until it has.
    pub(crate) fn freezes(&self) {
        self.signal(Signal::STOP);
        let pid = Pid::from_raw(self.child.id().cast_signed()).expect("a process");
        waitpid(Some(pid), WaitOptions::UNTRACED).expect("it stops");
    }

    pub(crate) fn stop(self) -> i32 {
        self.signal(Signal::TERM);
        self.ended()
    }

    /// Its exit code once it has ended by itself.
    pub(crate) fn ended(mut self) -> i32 {
        self.child.wait().expect("it ends").code().expect("by itself")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
