//! A program that does nothing but run code: what the tests start as a worker.

use std::process::ExitCode;

fn main() -> ExitCode {
    entourage_python::worker_main()
}
