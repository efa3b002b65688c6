//! Health: what is done about tasks and goals that go on for too long, or ended long ago.

mod kit;
mod prune;
mod rounds;
mod rules;
mod scale;
