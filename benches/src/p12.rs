//! P12: several processes that share a PostgreSQL: runs a second at one, two and three that work for agents, each run followed
//! at a further one at which no agent works. By hand: `tests/services/postgres.sh start` prints the URL of a server.

use std::{
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
    time::Instant,
};

use anyhow::{Context as _, Result, ensure};
use tempfile::{NamedTempFile, TempDir};

use crate::{
    Benches,
    model::{NAME, Script},
    p1::each,
    p5::Program,
    report::Report,
    served::Client,
};

/// Processes that work for agents, at most.
const MOST: usize = 3;
/// Agents at work at once in each of them while the model is slow.
const PLACES: usize = 32;
/// Runs for each place then.
const RUNS: usize = 10;
/// Runs with a model that answers at once, and how many of them are in flight.
const QUICK: (usize, usize) = (1_000, 64);
/// Runs before the measurement.
const WARM: usize = 50;
/// The database of this benchmark on the server; one that is left of before is dropped.
const DATABASE: &str = "entourage_p12";
/// The tables of the floor.
const TABLES: &str = "CREATE TABLE floor_agents (id int PRIMARY KEY, epoch int);
    INSERT INTO floor_agents SELECT n, 0 FROM generate_series(0, 63) AS n;
    CREATE TABLE floor_items (n bigserial PRIMARY KEY, agent int, body text);
    CREATE TABLE floor_events (n bigserial PRIMARY KEY, agent int, body text)";
/// What a commit of a step does at least.
const FLOOR: &str = "BEGIN;
UPDATE floor_agents SET epoch = epoch + 1 WHERE id = :client_id;
INSERT INTO floor_items (agent, body) VALUES (:client_id, repeat('x', 1200));
INSERT INTO floor_events (agent, body) VALUES (:client_id, repeat('y', 300)), (:client_id, repeat('z', 300));
COMMIT;
";

pub(crate) fn measure(
    benches: &Benches,
    binary: &Path,
    server: Option<&str>,
    report: &mut Report,
) -> Result<()> {
    let server =
        server.context("P12 needs `--postgres URL`; `tests/services/postgres.sh start` prints one")?;
    let floor = floor(server)?;
    report.note("P12", "floor: such transactions of pgbench, 16 clients, a second", floor, "");
    let (mut slow_one, mut quick_one) = (f64::NAN, f64::NAN);
    for nodes in 1..=MOST {
        let places = PLACES * nodes;
        let slow = Cluster::start(benches, binary, server, (nodes, PLACES), Script::Slow)?
            .measure(benches, (RUNS * places, 2 * places))?;
        let quick =
            Cluster::start(benches, binary, server, (nodes, 1024), Script::Calls)?.measure(benches, QUICK)?;
        if nodes == 1 {
            (slow_one, quick_one) = (slow.runs, quick.runs);
        }
        let what = format!("{nodes} at work, {PLACES} places each, a model of 200 ms");
        report.note("P12", format!("{what}: runs a second"), slow.runs, "");
        report.note("P12", format!("{what}: of those of one"), slow.runs / slow_one, "x");
        let what = format!("{nodes} at work, a model that answers at once");
        report.note("P12", format!("{what}: runs a second"), quick.runs, "");
        report.note("P12", format!("{what}: of those of one"), quick.runs / quick_one, "x");
        report.note("P12", format!("{what}: commits a second, of the floor's"), quick.commits / floor, "x");
    }
    sql(server, &format!("DROP DATABASE {DATABASE}")).map(drop)
}

/// Processes that share a database.
struct Cluster {
    url: String,
    /// Answers requests; no agent works at it.
    api: Program,
    _workers: Vec<Program>,
    _data: Vec<TempDir>,
}

/// What they do in a second.
struct Rates {
    runs: f64,
    /// Transactions that wrote something.
    commits: f64,
}

impl Cluster {
    fn start(
        benches: &Benches,
        binary: &Path,
        server: &str,
        (nodes, places): (usize, usize),
        script: Script,
    ) -> Result<Self> {
        let url = fresh(server)?;
        let set = [
            ("ENTOURAGE_STORE", url.clone()),
            ("ENTOURAGE_DISPATCH__CONCURRENCY", places.to_string()),
            ("ENTOURAGE_SERVER__STREAMS", "1000".to_owned()),
            ("ENTOURAGE_MODELS__DEFAULT", format!("openai::{NAME}")),
            ("ENTOURAGE_MODELS__PROVIDERS__OPENAI__BASE_URL", benches.model.base(script)),
            ("ENTOURAGE_MODELS__PROVIDERS__OPENAI__KEY", "none".to_owned()),
        ];
        let mut data = Vec::new();
        let mut start = |role| {
            let directory = tempfile::tempdir()?;
            let program = Program::start(binary, directory.path(), &set, &["--role", role]);
            data.push(directory);
            program
        };
        let mut api = start("api")?;
        api.answers()?;
        let workers = (0..nodes).map(|_| start("worker")).collect::<Result<_>>()?;
        Ok(Self { url, api, _workers: workers, _data: data })
    }

    /// Measures so many runs, of which so many are in flight.
    fn measure(self, benches: &Benches, (runs, flight): (usize, usize)) -> Result<Rates> {
        let client = Client::new(self.api.address)?;
        let followed = |runs| each(runs, flight, || async { client.run(None).await.map(drop) });
        benches.floor.block_on(followed(WARM))?;
        let (began, before) = (Instant::now(), self.written()?);
        benches.floor.block_on(followed(runs))?;
        let (seconds, written) = (began.elapsed().as_secs_f64(), self.written()? - before);
        Ok(Rates { runs: runs as f64 / seconds, commits: written / seconds })
    }

    /// How many transactions have written something.
    fn written(&self) -> Result<f64> {
        Ok(sql(&self.url, "SELECT pg_current_xact_id()")?.parse()?)
    }
}

/// Makes the database anew, and returns its URL.
fn fresh(server: &str) -> Result<String> {
    sql(server, &format!("DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)"))?;
    sql(server, &format!("CREATE DATABASE {DATABASE}"))?;
    let mut url = reqwest::Url::parse(server).context("the server's URL")?;
    url.set_path(DATABASE);
    Ok(url.into())
}

/// Returns how many transactions a second write the rows of a commit and do nothing else.
fn floor(server: &str) -> Result<f64> {
    let url = fresh(server)?;
    sql(&url, TABLES)?;
    let mut script = NamedTempFile::new()?;
    script.write_all(FLOOR.as_bytes())?;
    let words = ["--no-vacuum", "--client=16", "--jobs=1", "--time=10", "--protocol=prepared"];
    let ran = Command::new("pgbench").args(words).arg("--file").arg(script.path()).arg(&url).output();
    let ran = ran.context("pgbench cannot be run; it comes with PostgreSQL")?;
    let said = String::from_utf8(ran.stdout)?;
    let rate = said.lines().find_map(|line| line.strip_prefix("tps = "));
    let rate = rate.and_then(|rate| rate.split_whitespace().next());
    Ok(rate.with_context(|| String::from_utf8_lossy(&ran.stderr).into_owned())?.parse()?)
}

/// Runs a statement, and returns what it returns.
fn sql(url: &str, statement: &str) -> Result<String> {
    let words = ["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", statement, url];
    let ran = Command::new("psql").args(words).stdin(Stdio::null()).output().context("psql cannot be run")?;
    ensure!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    Ok(String::from_utf8(ran.stdout)?.trim().to_owned())
}
