//! P5: the program itself: the time from its start to its first answer, and its memory when idle.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail, ensure};

use crate::{
    Benches, cpu, engine,
    model::{NAME, Script},
    p1::each,
    report::Report,
    seed,
    served::Client,
};

/// Starts, of which the quickest counts.
const STARTS: usize = 9;
/// How long the program is idle before its memory is read.
const IDLE: Duration = Duration::from_secs(1);
/// Runs after which memory is read again.
const RUNS: usize = 1_000;
/// The maximum time of a start.
const PATIENCE: Duration = Duration::from_secs(20);
/// The name of the database in the program's data directory.
const DATABASE: &str = "entourage.db";

pub(crate) fn measure(benches: &Benches, binary: &Path, agents: usize, report: &mut Report) -> Result<()> {
    ensure!(
        binary.exists(),
        "there is no {}: build it with `cargo build --release -p entourage`",
        binary.display()
    );
    let directory = tempfile::tempdir()?;
    let (start, memory) = starts(binary, directory.path())?;
    report.target("P5", "start to listening, new database", (start, "ms"), 50.0, Some(20.0));
    report.target("P5", "idle memory, new database", (memory, "MB"), 40.0, Some(20.0));
    let after = after_runs(benches, binary)?;
    report.target("P5", format!("idle memory, after {RUNS} runs"), (after, "MB"), 40.0, Some(20.0));
    let directory = tempfile::tempdir()?;
    let store = engine::open(&directory.path().join(DATABASE))?;
    benches.engine.block_on(seed::suspended(&store, agents))?;
    drop(store);
    let (full_start, full_memory) = starts(binary, directory.path())?;
    let with = format!("{agents} suspended agents");
    report.target("P5", format!("start to listening, {with}"), (full_start, "ms"), 50.0, Some(20.0));
    report.target("P5", format!("idle memory, {with}"), (full_memory, "MB"), 40.0, Some(20.0));
    report.target("P5", "start, with them / without", (full_start / start, "x"), 1.5, None);
    report.target("P5", "memory, with them / without", (full_memory / memory, "x"), 1.2, None);
    Ok(())
}

/// Returns the milliseconds to the first answer, of the quickest start, and the idle megabytes.
fn starts(binary: &Path, data: &Path) -> Result<(f64, f64)> {
    let rehearsal = [("ENTOURAGE_MODELS__DEFAULT", "rehearsal".to_owned())];
    let (mut times, mut memories) = (Vec::new(), Vec::new());
    for start in 0..=STARTS {
        let mut program = Program::start(binary, data, &rehearsal, &[])?;
        let time = program.answers()?;
        // The first start creates the database.
        if start == 0 {
            continue;
        }
        times.push(time.as_secs_f64() * 1000.0);
        // Memory hardly varies: three readings are enough.
        if start <= 3 {
            std::thread::sleep(IDLE);
            memories.push(program.megabytes()?);
        }
    }
    Ok((cpu::least(times), cpu::median(memories)))
}

/// Returns the idle megabytes after the first thousand runs, eight at once, each followed over
/// HTTP.
fn after_runs(benches: &Benches, binary: &Path) -> Result<f64> {
    let directory = tempfile::tempdir()?;
    let base = benches.model.base(Script::Text);
    let model = [
        ("ENTOURAGE_MODELS__DEFAULT", format!("openai::{NAME}")),
        ("ENTOURAGE_MODELS__PROVIDERS__OPENAI__BASE_URL", base),
        ("ENTOURAGE_MODELS__PROVIDERS__OPENAI__KEY", "none".to_owned()),
    ];
    let mut program = Program::start(binary, directory.path(), &model, &[])?;
    program.answers()?;
    let client = Client::new(program.address)?;
    benches.floor.block_on(each(RUNS, 8, || async { client.run(None).await.map(drop) }))?;
    std::thread::sleep(IDLE);
    program.megabytes()
}

/// The running program; it is killed when this is dropped.
pub(crate) struct Program {
    child: Child,
    begun: Instant,
    pub(crate) address: SocketAddr,
}

impl Program {
    /// Starts it, with these variables and more words of its command.
    pub(crate) fn start(
        binary: &Path,
        data: &Path,
        variables: &[(&str, String)],
        words: &[&str],
    ) -> Result<Self> {
        // The port was free a moment ago, and no other process here opens ports.
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let begun = Instant::now();
        let child = Command::new(binary)
            .args(["serve", "--data"])
            .arg(data)
            .args(words)
            .envs(variables.iter().map(|(name, value)| (name, value)))
            .env("ENTOURAGE_SERVER__BIND", address.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("{} does not start", binary.display()))?;
        Ok(Self { child, begun, address })
    }

    /// Waits until it answers, and returns how long that took from its start.
    pub(crate) fn answers(&mut self) -> Result<Duration> {
        while self.begun.elapsed() < PATIENCE {
            if self.healthy().unwrap_or(false) {
                return Ok(self.begun.elapsed());
            }
            if let Some(status) = self.child.try_wait()? {
                bail!("the program ended before it listened: {status}");
            }
            std::thread::sleep(Duration::from_micros(500));
        }
        bail!("the program did not listen within {} s", PATIENCE.as_secs())
    }

    fn healthy(&self) -> std::io::Result<bool> {
        let mut stream = TcpStream::connect(self.address)?;
        stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer.starts_with("HTTP/1.1 2"))
    }

    /// The megabytes that it holds in memory.
    fn megabytes(&self) -> Result<f64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kilobytes = line.and_then(|line| line.split_whitespace().next()).context("no VmRSS is shown")?;
        Ok(kilobytes.parse::<f64>()? / 1024.0)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
