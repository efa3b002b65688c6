//! Explorations in the words of their design (S3): the tree of active agents, one agent, overrides, answers, streams.
//! Each handler translates a request, calls methods of the caller's client, and translates the results back.

mod agents;
mod stream;
mod token;
mod upstream;
mod ws;

use super::Routes;

pub(crate) const ROUTES: &[Routes] = &[stream::routes, token::routes, ws::routes, agents::routes];
