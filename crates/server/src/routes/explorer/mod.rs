//! Explorations in the words of their design (S3): the tree of active agents, one agent, overrides, answers, streams.
//! Each handler translates a request, calls methods of the caller's client, and translates the results back.

mod agents;

use super::Routes;

pub(crate) const ROUTES: &[Routes] = &[agents::routes];
