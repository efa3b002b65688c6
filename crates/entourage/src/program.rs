//! Programs of your own: ordinary async functions that drive an agent's runs, in place of the loop of model and tools.
//!
//! A program takes decisions of the model, makes calls, starts agents and joins them. Each of these is a step on record:
//! after a crash the program runs again from its top and passes the steps that it has taken. Give it to an agent with
//! [`AgentBuilder::program`](crate::agency::AgentBuilder::program).

pub use entourage_engine::{
    Arrival, CallResult, Conversation, DecisionFailed, DecisionRequest, DecisionView, Interrupt, Joined,
    NewTask, Program, Run, Spawned, Stop, TurnOutcome, programs::converse, settings_of,
};
