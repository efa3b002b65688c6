//! Tests of the binary as users and programs use it: what they type, read and get back.

#![allow(clippy::expect_used, reason = "helpers of tests fail as tests do")]

mod acts;
mod agency;
mod answer;
mod bad_input;
mod beside;
mod budget;
mod conversation;
mod data_dir;
mod database;
mod docs;
mod doctor;
mod documents;
mod escapes;
mod examples;
mod explore;
mod goals;
mod help;
mod interrupt;
mod intervene;
mod json;
mod kill;
mod kill_loop;
mod kinds;
mod logs;
mod maintenance;
mod mcp;
mod model;
mod models;
mod moving;
mod picture;
mod provider;
mod python_kills;
mod reading;
mod restate;
mod run;
mod schedules;
mod secrets;
mod serve;
mod server;
mod settings;
#[cfg(target_os = "linux")]
mod supervise;
mod terminal;
mod webhooks;
