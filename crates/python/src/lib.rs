//! Code of an agent, run in a process of its own.
//!
//! An agent's model writes Python that forks agents, waits for them, asks people and calls tools. What it asks for is
//! recorded by whoever runs it; while it waits there is no process. Once there are outcomes, [`Workers::run`] runs it
//! again: from its top, with what is on [`Record`], or from a snapshot, which comes to the same. [`PythonTool`] is the
//! tool of it; the rest of the crate knows nothing of engines, stores or agents.
//!
//! # What the code has
//!
//! | call | gives |
//! | --- | --- |
//! | `fork(prompt, kind=None)` | a handle, at once: `Agent(number=0)` |
//! | `wait(agent)`, `wait([agent, …])` | the text of the agent, or a list of texts in this order |
//! | `ask_user(text)` | the answer, or `None` if the person declined |
//! | `tool(name, key=value, …)` | the output of the tool |
//! | `emit(text)` | `None`, at once |
//!
//! `wait`, `ask_user` and `tool` wait in place. Where the code *awaits* what they give (`await tool(…)`,
//! `await asyncio.gather(wait(a), tool(…))`, also through names, lists and functions) they give an awaitable, so all of
//! a `gather` is asked for before anything is waited for. What failed raises `RuntimeError`, which the code may catch.
//!
//! The Python is [monty](https://docs.rs/monty): a subset with no access to the system. There is no clock and no
//! chance, and sets keep their order, so code takes the same way on each run: it is given outcomes one at a time, in
//! the order in which they arrived, and only when it cannot go on without.
//!
//! # What confines it
//!
//! Code runs in a process of [`worker_main`], which has no environment, no files and no network, and may make few
//! system calls; [`Workers::interpreter`] says what of that this system enforces. The parent bounds its time, its
//! replies and how many there are, and never gives a process that ran one owner's code that of another.
//!
//! Where the operator wants the standard library or packages, [`Workers::cpython`] runs the same code with CPython: same
//! functions, same record. It runs under bubblewrap, which takes files, network and other processes away, with a filter
//! of system calls and limits, in a process for each run.

mod code;
mod confine;
mod cpython;
mod error;
mod frame;
mod interpreter;
mod progress;
mod record;
mod script;
mod sub_calls;
mod tool;
mod worker;
mod workers;

pub use confine::{Confinement, Interpreter, Measure, confine};
pub use cpython::CPython;
pub use error::Error;
pub use interpreter::{MAX_SNAPSHOT_BYTES, run};
pub use progress::{Ended, Progress, PythonError};
pub use record::{Call, NewCall, Outcome, Record};
pub use script::{Limits, Script};
pub use tool::PythonTool;
pub use worker::worker_main;
pub use workers::{Settings, Worker, WorkerCommand, Workers};
