//! Tools that read the web: search it, and fetch a page of it without reaching into the network
//! that the engine itself stands in.

mod client;
mod content;
mod fetch_url;
mod guard;
mod readable;
mod search;
mod share;

pub use fetch_url::{FetchApproval, FetchSettings, FetchUrl};
pub use guard::AllowedHost;
pub use search::{SearchBackend, SearchSettings, WebSearch};
