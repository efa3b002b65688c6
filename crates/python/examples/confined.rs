//! A process that confines itself and then tries to get out: the tests read how far it came.

use std::fs::{self, File};
use std::io;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::process::Command;

use serde_json::{Map, Value};

/// What is tried, by name.
type Attempt = (&'static str, fn() -> io::Result<()>);

const ATTEMPTS: &[Attempt] = &[
    ("read a file", || fs::read("/etc/passwd").map(drop)),
    ("read about itself", || fs::read("/proc/self/status").map(drop)),
    ("list a folder", || fs::read_dir("/").map(drop)),
    ("see whether a file exists", || fs::metadata("/etc/passwd").map(drop)),
    ("write a file", || File::create("/tmp/entourage-python-escape").map(drop)),
    ("remove a file", || fs::remove_file("/tmp/entourage-python-no-such-file")),
    ("connect", || TcpStream::connect("127.0.0.1:9").map(drop)),
    ("listen", || TcpListener::bind("127.0.0.1:0").map(drop)),
    ("send datagrams", || UdpSocket::bind("127.0.0.1:0").map(drop)),
    ("start a program", || Command::new("/bin/true").status().map(drop)),
    ("start a thread", || std::thread::Builder::new().spawn(|| ()).map(drop)),
    ("copy a file handle", || {
        use std::os::fd::AsFd;
        io::stdout().as_fd().try_clone_to_owned().map(drop)
    }),
    ("signal its parent", || {
        let parent = rustix::process::getppid().ok_or(io::ErrorKind::NotFound)?;
        Ok(rustix::process::test_kill_process(parent)?)
    }),
    ("raise its own limits", || {
        let all = rustix::process::Rlimit { current: None, maximum: None };
        Ok(rustix::process::setrlimit(rustix::process::Resource::Nofile, all)?)
    }),
];

fn main() -> io::Result<()> {
    let confinement = entourage_python::confine();
    let tried = ATTEMPTS.iter().map(|(name, attempt)| {
        let result = match attempt() {
            Ok(()) => Value::Null,
            Err(error) => error.raw_os_error().map_or_else(|| error.to_string().into(), Value::from),
        };
        ((*name).to_owned(), result)
    });
    let mut told: Map<String, Value> = tried.collect();
    told.insert("confinement".to_owned(), serde_json::to_value(confinement)?);
    serde_json::to_writer(io::stdout(), &told)?;
    Ok(())
}
