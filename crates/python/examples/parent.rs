//! A program that has code run by a worker, and goes on until it is killed: the tests kill it.
//!
//! Its arguments are the worker's program and the code. It prints the id of the worker's process before the code runs.

use std::error::Error;
use std::io::{self, Write};
use std::time::Duration;

use entourage_python::{Limits, Record, Script, Settings, WorkerCommand, Workers};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(program), Some(code)) = (arguments.next(), arguments.next()) else {
        return Err("it takes the worker's program and the code".into());
    };
    let command = WorkerCommand { program: program.into(), args: Vec::new() };
    // One that is kept serves its owner until this program ends.
    let settings = Settings { kept_for: Duration::from_secs(100), ..Settings::default() };
    let workers = Workers::new(command, settings);
    let record = Record::default();
    workers.run("someone", &Script::new("1"), &record, None).await?;
    for worker in workers.processes() {
        writeln!(io::stdout(), "{}", worker.id)?;
    }
    let long = Duration::from_secs(100);
    let limits = Limits { cpu: long, wall: long, ..Limits::default() };
    workers.run("someone", &Script { limits, ..Script::new(code) }, &record, None).await?;
    tokio::time::sleep(long).await;
    Ok(())
}
