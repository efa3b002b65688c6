//! The embedded store: the conformance suite, and tests of what only this store has, such as opening, crashes
//! and views.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

mod author;
mod blocks;
mod branches;
mod chats;
mod conformance;
mod copies;
mod crashes;
mod ends_of_tasks;
mod in_words;
mod introduced;
mod lists;
mod notices;
mod older;
mod opening;
mod plans;
mod usage;
mod views;
mod words_of_months;
